"""What stands in a file beside what a build writes: further data, other attributes, double keys, bytes behind
the end.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from damage import SHARD, Make, edit_manifest, found, remake_shard

from corruptset.errors import VerificationError
from corruptset.generate.views.view_check import verify_view
from corruptset.manifests.checksums import parse_sha256sums
from corruptset.manifests.images.arrays import ArrayFile, NotAShard
from corruptset.manifests.manifest_file import load_manifest
from corruptset.manifests.reader import DataSet
from corruptset.manifests.records.digests import sha256_bytes
from corruptset.manifests.records.report import Problem
from corruptset.manifests.release.archives import BadArchive
from corruptset.manifests.release.pack import pack
from corruptset.manifests.release.unpack import unpack


def stored_again(name: str, **options: Any) -> Callable[[h5py.File], None]:
    """Store a dataset again with the same values and other settings."""

    def change(f: h5py.File) -> None:
        values, about = f[name][()], dict(f[name].attrs)
        del f[name]
        f.create_dataset(name, data=values, track_times=False, **options).attrs.update(about)

    return change


def soft_link(f: h5py.File) -> None:
    f["more"] = h5py.SoftLink("/labels")


def external_link(f: h5py.File) -> None:
    f["more"] = h5py.ExternalLink("/etc/passwd", "x")


STRANGERS: dict[str, tuple[Callable[[h5py.File], Any], str]] = {
    "dataset": (lambda f: f.create_dataset("logits", data=np.zeros(3)), "holds 'logits', which no shard has"),
    "second images": (
        lambda f: f.create_dataset("encoded", data=np.zeros(2, np.uint8)),
        "holds 'encoded', which no shard has",
    ),
    "group": (lambda f: f.create_group("more"), "holds 'more', which no shard has"),
    "soft link": (soft_link, "holds 'more', which no shard has"),
    "external link": (external_link, "holds 'more', which no shard has"),
    "attribute": (lambda f: f.attrs.update(note="x"), "it has the attribute 'note', which no shard has"),
    "attribute of a dataset": (
        lambda f: f["labels"].attrs.update(note="x"),
        "'labels' has the attribute 'note', which no shard has",
    ),
    "attribute of images": (
        lambda f: f["images"].attrs.update(encoding="raw"),
        "'images' has the attribute 'encoding', which no shard has",
    ),
    "no build": (lambda f: f.attrs.__delitem__("build"), "it has no attribute 'build'; expected is 'tiny-c 1.0.0'"),
    "build": (
        lambda f: f.attrs.update(build="other 1.0.0"),
        "its attribute 'build' is 'other 1.0.0'; expected is 'tiny-c 1.0.0'",
    ),
    "encoding": (lambda f: f.attrs.update(encoding="jpeg"), "its attribute 'encoding' is 'jpeg'; expected is 'raw'"),
    "set": (lambda f: f.attrs.update(set="clean"), "its attribute 'set' is 'clean'; expected is 'fog/3'"),
    "set of another kind": (
        lambda f: f.attrs.update(set=np.arange(3)),
        "its attribute 'set' is '[0 1 2]'; expected is 'fog/3'",
    ),
    "schema": (
        lambda f: f.attrs.update(corruptset_schema=np.int64(2)),
        "its attribute 'corruptset_schema' is '2'; expected is 1",
    ),
    "compressed": (
        stored_again("images", chunks=(1, 16, 20, 3), compression="gzip"),
        "'images' is stored through filters (deflate)",
    ),
    "shuffled": (stored_again("labels", chunks=(2,), shuffle=True), "'labels' is stored through filters (shuffle)"),
    "checksums": (
        stored_again("pixels", chunks=(2, 32), fletcher32=True),
        "'pixels' is stored through filters (fletcher32)",
    ),
}


@pytest.mark.parametrize("name", STRANGERS)
def test_shards_hold_what_a_build_writes_and_nothing_else(dataset: Make, name: str) -> None:
    root = dataset()
    change, said = STRANGERS[name]
    remake_shard(root, change)
    (problem,) = found(root)
    assert (problem.path, problem.kind) == (SHARD, "records")
    assert said in problem.detail


def test_shards_of_encoded_images_too(dataset: Make) -> None:
    root = dataset(encoding_format="jpeg")
    remake_shard(root, lambda f: f["encoded"].attrs.update(encoding="png"))
    (problem,) = found(root)
    assert problem == Problem(SHARD, "records", "its attribute 'encoding' is 'png'; expected is 'jpeg'")


def test_bytes_behind_a_shard_and_before_it(dataset: Make) -> None:
    root = dataset()
    data = (root / SHARD).read_bytes()
    (root / SHARD).write_bytes(data + b"more")
    edit_manifest(root, lambda m: None, reseal=True)
    assert found(root) == [
        Problem(SHARD, "records", f"has {len(data) + 4} bytes, and HDF5 knows of {len(data)} of them")
    ]
    (root / SHARD).write_bytes(bytes(512) + data)  # HDF5 looks for its beginning at 512 too
    edit_manifest(root, lambda m: None, reseal=True)
    assert [(p.path, p.kind) for p in found(root)] == [(SHARD, "decode")]


def test_bytes_behind_an_array(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((2, 8, 8, 3), np.uint8))
    assert ArrayFile(tmp_path / "a.npy").rows == 2
    with (tmp_path / "a.npy").open("ab") as f:
        f.write(b"x")
    with pytest.raises(NotAShard, match="has 513 bytes; its header and rows are 512"):
        ArrayFile(tmp_path / "a.npy")


def doubled(path: Path, key: str) -> None:
    """Let a file say the same key twice: first another value, then its own, which parsers take."""
    text = path.read_text("utf-8")
    assert text.count(f'"{key}": ') >= 1
    path.write_text(text.replace(f'"{key}": ', f'"{key}": null, "{key}": ', 1), "utf-8")


@pytest.mark.parametrize(
    ("path", "key", "where"),
    [
        ("manifest.json", "seed", ""),
        ("manifest.json", "pixel_digest", ""),
        ("manifest.json", "amount", ""),  # where any key may stand
        ("samples.jsonl", "label", "line 1: "),
        ("sets/fog/3.jsonl", "pixels", "line 1: "),
        ("sets/fog/3.jsonl", "row", "line 1: "),
    ],
)
def test_a_key_that_stands_twice(dataset: Make, path: str, key: str, where: str) -> None:
    root = dataset()
    doubled(root / path, key)
    if path != "manifest.json":
        edit_manifest(root, lambda m: None, reseal=True)
    said = f"{where}the key '{key}' stands more than once in one object"
    assert Problem(path, "schema", said) in found(root, level="structure")
    with pytest.raises(VerificationError, match="stands more than once"):
        _ = (DataSet(root).samples, DataSet(root)["fog/3"].rows)


def test_a_key_that_stands_twice_behind_names_with_quotes(dataset: Make) -> None:
    """Quotation marks in a name, written as escapes, must not make up for those of a key."""
    root = dataset()
    path = root / "samples.jsonl"
    text = path.read_text("utf-8").replace('"label": 0', '"label": 1, "label": 0', 1)
    path.write_text(text.replace('"path": "', '"path": "' + "\\u0022" * 2, 1), "utf-8")
    edit_manifest(root, lambda m: None, reseal=True)
    assert Problem("samples.jsonl", "schema", "line 1: the key 'label' stands more than once in one object") in found(
        root
    )
    path.write_text(path.read_text("utf-8").replace('"label": 1, ', "", 1), "utf-8")
    edit_manifest(root, lambda m: None, reseal=True)
    assert found(root) == []


def test_a_key_that_stands_twice_beside_the_manifest(dataset: Make, tmp_path: Path) -> None:
    root = dataset(containers=("folder",))
    release = pack(root, tmp_path / "p", family_of={"fog": "weather"}.__getitem__)
    archive = next(release.path.glob("data/*-clean.tar"))
    part = unpack([archive], tmp_path / "u").path
    doubled(part / "PARTIAL.json", "digest")
    assert [(p.path, p.kind) for p in found(part) if "more than once" in p.detail] == [("PARTIAL.json", "schema")]
    with tarfile.open(archive) as t:
        members = [(m, t.extractfile(m).read()) for m in t.getmembers()]  # type: ignore[union-attr]
    with tarfile.open(tmp_path / "twice.tar", "w") as t:
        for info, data in members:
            if info.name.endswith("-clean.json"):
                data = data.replace(b'"digest": ', b'"digest": "", "digest": ', 1)
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))
    with pytest.raises(BadArchive, match="the key 'digest' stands more than once"):
        unpack([tmp_path / "twice.tar"], tmp_path / "v")
    record = {
        "schema_version": 1,
        "view": "x",
        "top": "x",
        "name": "x",
        "version": "1",
        "digest": "sha256:" + "0" * 64,
        "options": {},
    }
    record |= {"notes": [], "sets": [], "files": [], "folders": []}
    (tmp_path / "view").mkdir()
    (tmp_path / "view/VIEW.json").write_text(json.dumps(record))
    assert verify_view(tmp_path / "view").ok
    doubled(tmp_path / "view/VIEW.json", "top")
    assert [p.detail for p in verify_view(tmp_path / "view").problems] == [
        "the key 'top' stands more than once in one object"
    ]


STRICT: dict[str, Callable[[dict[str, Any]], Any]] = {
    "number as text": lambda m: m.update(seed="7"),
    "number with a fraction": lambda m: m.update(seed=7.0),
    "true for one": lambda m: m["sets"][1]["stages"][0].update(revision=True),
    "text of a count": lambda m: m["sets"][0].update(count="5"),
    "number for text": lambda m: m["environment"].update(numpy=2),
    "another field": lambda m: m.update(comment=""),
    "another field inside": lambda m: m["sets"][2]["metrics"].update(lpips=0.1),
    "a field too few": lambda m: m.pop("selection"),
    "a role of its own": lambda m: m["sets"][0].update(role="Test"),
    "an index as text": lambda m: m["classes"][0].update(index="0"),
}


@pytest.mark.parametrize("name", STRICT)
def test_a_manifest_is_taken_at_its_word(dataset: Make, name: str) -> None:
    root = dataset()
    edit_manifest(root, STRICT[name], reseal=True)
    assert {(p.path, p.kind) for p in found(root)} == {("manifest.json", "schema")}
    with pytest.raises(VerificationError, match="does not follow schema 2"):
        load_manifest(root)


@pytest.mark.parametrize("change", [{"label": "0"}, {"index": 0.0}, {"width": True}, {"class_": "käfer"}])
def test_rows_are_taken_at_their_word(dataset: Make, change: dict[str, Any]) -> None:
    root = dataset()
    lines = (root / "samples.jsonl").read_text("utf-8").splitlines(keepends=True)
    row = json.loads(lines[0])
    if "class_" in change:  # what the field is called in Python
        del row["class"]
    lines[0] = json.dumps(row | change, ensure_ascii=False) + "\n"
    (root / "samples.jsonl").write_text("".join(lines), "utf-8")
    edit_manifest(root, lambda m: None, reseal=True)
    assert ("samples.jsonl", "schema") in {(p.path, p.kind) for p in found(root)}


def control_characters(m: dict[str, Any]) -> None:
    m["\x1b[2J\nall is well"] = 1
    m["classes"][0]["folder"] = "\x1b[31m/\n"


def test_problems_are_words_that_a_terminal_can_take(dataset: Make) -> None:
    root = dataset()
    edit_manifest(root, control_characters)
    text = "\n".join(map(str, found(root)))
    assert "\x1b" not in text
    assert len(text.splitlines()) == len(found(root))
    root = dataset()
    edit_manifest(
        root,
        lambda m: m["files"].append({"path": "a\x1b[2J\nb", "bytes": 1, "sha256": "sha256:" + "0" * 64}),
        reseal=True,
    )
    assert all(str(p).isprintable() for p in found(root))


@pytest.mark.parametrize("sums", [True, False], ids=["with SHA256SUMS", "without"])
def test_bytes_behind_an_archive(dataset: Make, tmp_path: Path, sums: bool) -> None:
    release = pack(dataset(containers=("folder",)), tmp_path / "p", family_of={"fog": "weather"}.__getitem__)
    one, other = (next(release.path.glob(f"data/*-{name}.tar")) for name in ("clean", "weather"))
    good = one.read_bytes()
    if not sums:
        (release.path / "SHA256SUMS").unlink()
    cases = {
        "cat": good + other.read_bytes(),
        "one byte": good + b"x",
        "zeros": good + bytes(10240),
        "before": other.read_bytes() + good,
    }
    cases["padding"] = good[:-700] + b"y" + good[-699:]
    for number, (name, data) in enumerate(cases.items()):
        one.write_bytes(data)
        if sums:  # the release's own sums say it as well
            assert parse_sha256sums((release.path / "SHA256SUMS").read_bytes())[0][f"data/{one.name}"] != sha256_bytes(
                data
            )
        with pytest.raises(BadArchive) as e:
            unpack([one], tmp_path / f"u{number}")
        assert str(one) in str(e.value), name
        if name != "before":
            assert "has bytes behind its end" in str(e.value), (name, str(e.value))
        assert not (tmp_path / f"u{number}/tiny-c-1.0.0/manifest.json").exists()
    one.write_bytes(good)
    assert unpack([one], tmp_path / "good").sets == ["clean"]
