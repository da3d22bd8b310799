"""manifest.json and SHA256SUMS have one form, are read strictly, and all fields are documented."""

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import corruptset
from corruptset.errors import IncompleteBuild, VerificationError
from corruptset.manifests.checksums import parse_sha256sums
from corruptset.manifests.manifest_file import MANIFEST_CAP, load_manifest, manifest_bytes
from corruptset.manifests.records import models
from corruptset.manifests.records.models import Manifest

FIELDS = """
schema_version name version seed coupling scale recipe source preprocessing encoding storage textures classes excluded
selection metrics_images digest revisions sets files environment
"""


def reverse_keys(value):
    """Return a JSON value in which the keys of all objects have another order."""
    if isinstance(value, dict):
        return {k: reverse_keys(value[k]) for k in reversed(value)}
    return [reverse_keys(x) for x in value] if isinstance(value, list) else value


def test_equal_manifests_have_equal_bytes(templates):
    data = (templates() / "manifest.json").read_bytes()
    manifest, value = load_manifest(templates()), json.loads(data)
    assert manifest_bytes(manifest) == manifest_bytes(Manifest(**reverse_keys(value))) == data
    assert list(value) == FIELDS.split()
    assert data.endswith(b"}\n")
    assert b'\n  "schema_version": 3,\n' in data
    assert "käfer".encode() in data


def test_all_invalid_fields_are_listed_together(dataset, tmp_path):
    root = dataset(containers=("folder",))
    value = json.loads((root / "manifest.json").read_bytes())
    value["seed"] = -1
    value["sets"][1]["role"] = "exam"
    value["files"][0]["path"] = "../x"
    del value["name"]
    value["colour"] = 1
    (root / "manifest.json").write_text(json.dumps(value))
    with pytest.raises(VerificationError, match="does not follow schema 3") as exc_info:
        load_manifest(root)
    for message in ["seed: ", "sets[1].role: ", "files[0].path: ", "name: Field required", "colour: Extra", str(root)]:
        assert message in str(exc_info.value)
    with (tmp_path / "manifest.json").open("wb") as file:
        file.truncate(MANIFEST_CAP + 1)  # a sparse file, which takes no space
    with pytest.raises(VerificationError, match=f"at most {MANIFEST_CAP}"):
        load_manifest(tmp_path)


def test_invalid_dataset_folder_gives_advice(tmp_path, templates):
    for name in ("build/.corruptset/build.json", "archives/data/tiny-c-0123-metadata.tar", "stream/stream.json"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    cases = {
        "build": r"incomplete build.*To resume, run the same `corruptset build` command",
        "archives": r"contains the archives of a dataset\. Unpack them with `corruptset unpack .*/data/\* --out DIR`",
        "stream": r"is a stream.* corruptset-streams",
        "nowhere": "does not exist",
        # a folder that contains the dataset
        templates().parent: r"Did you mean .*tiny-c-1\.0\.0\?",
    }
    for directory, message in cases.items():
        with pytest.raises(IncompleteBuild, match=message):
            corruptset.open(tmp_path / directory)


def test_sha256sum_reads_written_checksums_and_bad_lines_are_named(templates):
    root = templates()
    command = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    ended = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    assert "manifest.json: OK" in ended.stdout
    recorded, errors = parse_sha256sums((root / "SHA256SUMS").read_bytes())
    assert (len(recorded), errors, list(recorded)) == (ended.stdout.count("OK"), [], sorted(recorded))
    valid = b"0" * 64 + b"  a\n"
    for bad in (b"x\n", b"0" * 64 + b" a\n", valid[:-1], b"G" * 64 + b"  a\n", valid * 2, b"\n", b"\xff\n"):
        assert [m for m in parse_sha256sums(bad)[1] if "line" in m], bad


PAGE = (Path(__file__).parents[2] / "docs/format.md").read_text("utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
DOCUMENTED = (
    "Manifest SetRecord StageRecord SampleRecord RegionRecord ImageRecord RegionRow StoredRecord FileRecord Metrics"
)


def test_format_page_documents_every_field_and_examples_run(dataset, monkeypatch):
    for name in DOCUMENTED.split():
        fields = [f.alias or key for key, f in getattr(models, name).model_fields.items()]
        assert [f for f in fields if not re.search(rf"`(files\[\]\.)?{f}`", PAGE)] == []
    (h5py_example,) = (e for e in EXAMPLES if "import h5py" in e)
    (ours,) = (e for e in EXAMPLES if "corruptset.open" in e)
    assert "corruptset" not in h5py_example
    for containers in (("folder",), ("hdf5",)):
        root = dataset(containers=containers, repeat=2)
        root.rename(root.with_name("imagenet-c-1.1.0"))
        monkeypatch.chdir(root.parent)
        names = {}
        exec(h5py_example, names)
        image, label = corruptset.open("imagenet-c-1.1.0")["fog/3"][5]
        np.testing.assert_array_equal(names["image"], image)
        assert names["label"] == label
        exec(ours.partition("report =")[0], names)
        assert names["image"].shape == (16, 20, 3)
