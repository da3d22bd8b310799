"""Test the public names with mypy, `inspect.signature` and notebooks."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
import record_datasets

import corruptset
from corruptset.generate.plan.options import BuildKeywords, BuildOptions

ROOT = Path(__file__).resolve().parent.parent.parent


RIGHT = """
corruptset.build("imagenet-c", "sample", "out", seed=1, sets=["fog/*"], storage="hdf5", samples=3).digest
corruptset.build("imagenet-c", part=(0, 2)).images
corruptset.plan("imagenet-c", jobs=2, metrics="all").images
corruptset.open("d", prefer="hdf5").digest
corruptset.verify("d", rederive="all", source="sample", jobs=2).ok
corruptset.audit("d", "sample", samples=3, benchmark="cifar10-c").good
corruptset.rebuild("d", "sample", "out", sets=["fog/*"], jobs=2).identical
corruptset.page("d", out="page.html", labels="x.csv").bytes
corruptset.export("imagefolder", "d", "out", sets=["fog/*"], any_shape=True).images
corruptset.pack("d", "out", by="set", max_bytes=1000).digest
corruptset.unpack(["a.tar"], "out").digest
corruptset.publish("d", "place", go=True, creators=["Doe, J"]).sent
corruptset.fetch("https://example.org", "out", sets=["fog/*"]).digest
corruptset.predict("d", "m.toml", "out", batch=3, kind="top").images
corruptset.score("d", "predictions", seed=3, condition="correct@clean").notes
corruptset.score_table("t.csv", lower_is_better=["error"]).notes
corruptset.compare(["a", "b"], plots=False).notes
corruptset.report("d", ["a"], "r.html", predictions=["p"], sample="x").bytes
corruptset.preview("photo.jpg", sets=["fog/*"], regions=False).png
corruptset.check_corruption("fog", large=False).ok
corruptset.pairs(["fog"], ["snow"], severities=[1]).name
corruptset.names("recipes", family=None)
corruptset.recipes()[0].sets
corruptset.show("fog", ladder=None).kind
corruptset.load_surrogate("m.toml", batch=2)
corruptset.load_plugin("mine.py")
corruptset.corrupt(np.zeros((8, 8, 3), np.uint8), "fog", severity=3, seed=1)
corruptset.Corrupt("fog", severity=3, seed=1)
"""
"""A line for each public function, with some of its keywords."""
WRONG = [
    "corruptset.corupt",
    "from corruptset import biuld",
    "n: int = corruptset.__version__",
    'corruptset.build("imagenet-c", samples="3")',
    'corruptset.build("imagenet-c", storage="zip")',
]


@pytest.mark.ci
def test_type_checker_knows_every_name_and_keyword(tmp_path):
    """Run mypy on a normal installation, because it does not find an editable one."""
    for room in ("corruptions", "manifests", "pages", "generate", "scores", "audits", "cli"):
        (tmp_path / "corruptset" / room).parent.mkdir(exist_ok=True)
        (tmp_path / "corruptset" / room).symlink_to(ROOT / room)
    for path in (ROOT / "api").iterdir():
        (tmp_path / "corruptset" / path.name).symlink_to(path)
    valid_lines = RIGHT.strip().splitlines()
    called = {re.match(r"corruptset\.(\w+)", line)[1] for line in valid_lines}
    assert called == set(corruptset.__all__) - {"__version__"}
    # Functions that pass parameters on to a corruption accept any keyword.
    closed = [line for line in valid_lines if not re.match(r"corruptset\.[cC]orrupt\(", line)]
    misspelt = [re.sub(r"\((.*)\)", r"(\1, sed=1)" if "()" not in line else "(sed=1)", line) for line in closed]
    lines = ["import corruptset", "import numpy as np", *valid_lines, *misspelt, *WRONG]
    (tmp_path / "program.py").write_text("\n".join(lines) + "\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--config-file=", "program.py"]
    out = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout
    error_lines = {
        int(line.split(":")[1]) for line in out.splitlines() if line.startswith("program.py") and "error" in line
    }
    assert error_lines == set(range(3 + len(valid_lines), 1 + len(lines))), out


def test_error_classes_are_available_after_import():
    assert corruptset.__getattr__("errors") is sys.modules["corruptset.errors"]


def test_signatures_name_every_option():
    for name in corruptset._MODULES:
        parameters = inspect.signature(getattr(corruptset, name)).parameters
        hidden = [p.name for p in parameters.values() if p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
        # The keywords are parameters of the named corruption.
        expected = {"corrupt": ["parameters"], "Corrupt": ["parameters"], "build": ["options"], "plan": ["options"]}
        assert hidden == expected.get(name, [])
    options = [field.name for field in fields(BuildOptions)]
    assert list(BuildKeywords.__annotations__) == options
    described = re.findall(r"^    (\w+) : ", corruptset.build.__doc__, re.MULTILINE)
    assert [name for name in options if name not in described] == []


def check_short_repr(value, text=""):
    """Check that a value prints in a few lines, and how these begin."""
    assert len(repr(value)) <= 450, repr(value)[:2000]
    assert repr(value).count("\n") <= 4
    assert str(value) == repr(value)
    assert repr(value).startswith(text)


def test_build_results_have_short_repr(shared_data, tmp_path):
    file, source = shared_data.recipe(), f"folder:{shared_data.crops()}"
    options = {"sets": ["clean", "contrast/[13]"], "any_shape": True, "jobs": 1}
    build_plan = corruptset.plan(file, source, **options)
    check_short_repr(build_plan, "<Plan small-c 1.0.0 of folder: 3 sets of 20 samples, 60 images in")
    result = corruptset.build(file, source, tmp_path, metrics=0, page=False, **options)
    check_short_repr(
        result, f"<Built small-c 1.0.0 in {tmp_path}/small-c-1.0.0: 3 sets, 60 images built by this call in "
    )
    assert result.digest in repr(result)
    html = result._repr_html_()
    assert "data:image/jpeg;base64," in html
    assert len(html) < 400_000
    check_short_repr(result.manifest, "<Manifest small-c 1.0.0: 3 sets, ")
    data = corruptset.open(result.directory)
    for value in (data, data["clean"], data.severities("contrast"), data.select(severity=3), data.torch("clean")):
        check_short_repr(value)
    report = corruptset.verify(result.directory, jobs=1)
    counts = "{sets} sets, {samples} samples, {files} files, {images} images, {bytes:,} bytes".format(**report.checked)
    check_short_repr(report, f"<VerificationReport of {result.directory} up to pixels: ok; checked {counts}>")
    for path in result.directory.glob("images/clean/*/*"):
        path.unlink()
    text = repr(corruptset.verify(result.directory, level="sizes", jobs=1))
    assert ": 20 problems; checked 3 sets" in text
    assert "\n  images/clean/00_class/im.0.png: missing: " in text
    assert text.count("\n") <= 4


def test_score_results_have_short_repr(tmp_path):
    data = record_datasets.records_dataset(tmp_path)
    predictions = [record_datasets.random_predictions(data, seed, f"net-{seed}") for seed in range(2)]
    scores = [corruptset.score(data, model_predictions) for model_predictions in predictions]
    for value in (predictions[0], scores[0], corruptset.compare(scores, plots=False)):
        check_short_repr(value)
