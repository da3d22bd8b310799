"""Every single way to damage a data set is found and named; nothing that is whole is complained of."""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from corruptset.errors import IncompleteBuild, VerificationError
from corruptset.manifests import verifying
from corruptset.manifests.digests import sha256_bytes, sha256_file
from corruptset.manifests.report import KINDS, Problem, VerificationReport
from corruptset.manifests.verifying import verify_directory

Make = Callable[..., Path]

PNG_IMAGE = "images/fog/3/1 a dog/Ünal 7.png"
JPEG_IMAGE = "images/fog/3/1 a dog/Ünal 7.JPEG"
OTHER_PNG = "images/fog/3/1 a dog/deep/rex.png"
SHARD = "hdf5/fog/3-00001.h5"
WHOLE_FILES = ["manifest.json", "SHA256SUMS", "samples.jsonl", "sets/fog/3.jsonl", "contact.png", "README.md", SHARD]


def flip(path: Path, at: float = 0.5) -> None:
    data = bytearray(path.read_bytes())
    data[int(len(data) * at)] ^= 0x10
    path.write_bytes(data)


def found(root: Path, **options: Any) -> list[Problem]:
    report = verify_directory(root, **options)
    assert all(p.kind in KINDS for p in report.problems)
    assert report.problems == sorted(set(report.problems))
    json.dumps(report.as_json(), ensure_ascii=False).encode()
    return report.problems


def paths(problems: list[Problem], kind: str | None = None) -> set[str]:
    return {p.path for p in problems if kind in (None, p.kind)}


def edit_lines(path: Path, change: Callable[[list[dict[str, Any]]], Any]) -> None:
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    rows = change(rows) or rows
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), "utf-8")


def edit_manifest(root: Path, change: Callable[[dict[str, Any]], Any], *, reseal: bool = False) -> None:
    """Edit manifest.json; with `reseal`, put the new hashes of all files and of the manifest in, as a careful forger would."""
    path = root / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    change(manifest)
    if reseal:
        for f in manifest["files"]:
            if (root / f["path"]).is_file():
                f.update(bytes=(root / f["path"]).stat().st_size, sha256=sha256_file(root / f["path"]))
    path.write_text(json.dumps(manifest, ensure_ascii=False, indent=2) + "\n", "utf-8")
    if reseal:
        sums = {f["path"]: f["sha256"] for f in manifest["files"]} | {"manifest.json": sha256_file(path)}
        (root / "SHA256SUMS").write_text("".join(f"{v[7:]}  {k}\n" for k, v in sorted(sums.items())), "utf-8")


@pytest.mark.parametrize("uniform", [True, False])
@pytest.mark.parametrize("containers", [("folder",), ("hdf5",), ("folder", "hdf5")])
@pytest.mark.parametrize("encoding_format", ["png", "jpeg"])
def test_whole_data_sets_have_no_problems(dataset: Make, encoding_format: str, containers: tuple[str, ...], uniform: bool) -> None:
    report = verify_directory(dataset(encoding_format=encoding_format, containers=containers, uniform=uniform))
    assert report.ok, report.problems
    report.raise_for_problems()
    assert report.checked["sets"] == 3
    assert report.checked["samples"] == 5
    assert report.checked["images"] == 15 * len(containers)
    assert report.checked["bytes"] > 15 * 200
    assert report.digest is not None
    assert report.digest.startswith("sha256:")


@pytest.mark.parametrize("path", [*WHOLE_FILES[1:], PNG_IMAGE])
@pytest.mark.parametrize("level", ["structure", "pixels"])
def test_missing(dataset: Make, path: str, level: str) -> None:
    root = dataset()
    (root / path).unlink()
    problems = found(root, level=level)
    assert [(p.path, p.kind) for p in problems] == [(path, "missing")]


@pytest.mark.parametrize("path", [*WHOLE_FILES, PNG_IMAGE])
@pytest.mark.parametrize("at", [0.02, 0.5, 0.99])
def test_a_flipped_bit(dataset: Make, path: str, at: float) -> None:
    root = dataset()
    flip(root / path, at)
    problems = found(root)
    assert path in paths(problems)
    if path == "SHA256SUMS":
        # nothing but SHA256SUMS says what manifest.json should be, so either of the two may be named
        assert paths(problems) <= {"SHA256SUMS", "manifest.json"}
    if path in ("contact.png", "README.md", SHARD, PNG_IMAGE):
        assert [(p.path, p.kind) for p in problems] == [(path, "hash")]


@pytest.mark.parametrize("encoding_format", ["png", "jpeg"])
def test_a_flipped_bit_in_every_file(dataset: Make, encoding_format: str) -> None:
    root = dataset(encoding_format=encoding_format)
    files = [p for p in root.rglob("*") if p.is_file()]
    assert len(files) == 17 + 15
    for path in files:
        whole = path.read_bytes()
        flip(path, 0.3)
        named = paths(found(root, level="hashes"))
        assert path.relative_to(root).as_posix() in named or (path.name == "SHA256SUMS" and "manifest.json" in named)
        path.write_bytes(whole)
    assert found(root) == []


@pytest.mark.parametrize("path", [*WHOLE_FILES, PNG_IMAGE])
@pytest.mark.parametrize("keep", [0, 0.5, -1])
def test_truncated(dataset: Make, path: str, keep: float) -> None:
    root = dataset()
    data = (root / path).read_bytes()
    (root / path).write_bytes(data[: int(len(data) * keep) if keep >= 0 else -1])
    for level in ["sizes", "pixels"]:
        problems = found(root, level=level)
        assert path in paths(problems)
        if path not in ("manifest.json", "SHA256SUMS"):
            assert path in paths(problems, "size")


@pytest.mark.parametrize(
    "path",
    ["note.txt", "images/fog/3/1 a dog/new.png", "images/fog/3/new.png", "images/other/x.png", "hdf5/fog/3-00007.h5", "hdf5/junk.h5",
     "sets/junk.jsonl", ".hidden", "images/fog/x.png", "contact.png.part"],
)  # fmt: skip
def test_unexpected(dataset: Make, path: str) -> None:
    root = dataset()
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_bytes(b"x")
    assert [(p.path, p.kind) for p in found(root, level="structure")] == [(path, "unexpected")]


@pytest.mark.parametrize("path", ["images/fog/3/2_empty", "images/extra/1", "empty"])
def test_an_empty_folder_is_unexpected(dataset: Make, path: str) -> None:
    # torchvision's ImageFolder raises on an empty class folder
    root = dataset()
    (root / path).mkdir(parents=True)
    assert [(p.path, p.kind) for p in found(root)] == [(path, "unexpected")]


@pytest.mark.parametrize("name", [b"caf\xe9.png", b"new\nline", "schön".encode()])
def test_unexpected_names_are_printable(dataset: Make, name: bytes) -> None:
    root = dataset()
    (root / os.fsdecode(name)).write_bytes(b"x")
    (problem,) = found(root)
    assert problem.kind == "unexpected"
    assert problem.path.isprintable()


def test_swapped_images(dataset: Make) -> None:
    root = dataset()
    a, b = root / PNG_IMAGE, root / OTHER_PNG
    one, other = a.read_bytes(), b.read_bytes()
    a.write_bytes(other)
    b.write_bytes(one)
    assert paths(found(root)) == {PNG_IMAGE, OTHER_PNG}


def test_renamed(dataset: Make) -> None:
    root = dataset()
    (root / PNG_IMAGE).rename(root / "images/fog/3/1 a dog/Ünal 8.png")
    assert {(p.path, p.kind) for p in found(root)} == {(PNG_IMAGE, "missing"), ("images/fog/3/1 a dog/Ünal 8.png", "unexpected")}


def test_moved_to_another_class(dataset: Make) -> None:
    root = dataset()
    new = "images/fog/3/0_käfer/Ünal 7.png"
    (root / PNG_IMAGE).rename(root / new)

    def change(rows: list[dict[str, Any]]) -> None:
        next(f for r in rows for f in r["files"] if f["path"] == PNG_IMAGE)["path"] = new

    edit_lines(root / "sets/fog/3.jsonl", change)
    edit_manifest(root, lambda m: None, reseal=True)
    (problem,) = found(root)
    assert (problem.path, problem.kind) == ("sets/fog/3.jsonl", "records")
    assert "images/fog/3/1 a dog/" in problem.detail


@pytest.mark.parametrize("folder", ["images", "hdf5"])
def test_sets_exchanged(dataset: Make, folder: str) -> None:
    root = dataset()
    names = ("fog/3", "clean") if folder == "images" else ("fog/3-00000.h5", "clean-00000.h5")
    a, b = (root / folder / n for n in names)
    a.rename(root / "aside")
    b.rename(a)
    (root / "aside").rename(b)
    problems = found(root)
    assert {p.split("/")[1].split("-")[0] for p in paths(problems)} == {"fog", "clean"}
    assert {p.kind for p in problems} <= {"hash", "size"}


def test_set_records_exchanged_and_resealed(dataset: Make) -> None:
    root = dataset(containers=("folder",))
    a, b = root / "sets/fog/3.jsonl", root / "sets/clean.jsonl"
    one, other = a.read_bytes(), b.read_bytes()
    a.write_bytes(other)
    b.write_bytes(one)
    edit_manifest(root, lambda m: None, reseal=True)
    problems = found(root)
    assert paths(problems, "digest") == {"sets/fog/3.jsonl", "sets/clean.jsonl"}
    assert paths(problems, "records") == {"sets/fog/3.jsonl", "sets/clean.jsonl"}


MANIFEST_EDITS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "seed": lambda m: m.update(seed=8),
    "digest": lambda m: m.update(digest="sha256:" + "0" * 64),
    "source digest": lambda m: m["source"].update(digest="sha256:" + "0" * 64),
    "preprocessing": lambda m: m.update(preprocessing={"kind": "resize"}),
    "parameter": lambda m: m["sets"][2]["stages"][0]["parameters"].update(amount=2.0),
    "severity": lambda m: m["sets"][2]["stages"][0].update(severity=4),
    "pixel digest": lambda m: m["sets"][0].update(pixel_digest="blake3:" + "1" * 64),
    "count": lambda m: m["sets"][0].update(count=4),
    "files": lambda m: m["sets"][0].update(files=4),
    "bytes": lambda m: m["sets"][0].update(bytes=4),
    "set dropped": lambda m: m["sets"].pop(0),
    "set renamed": lambda m: m["sets"][2].update(id="fog/4"),
    "sets unsorted": lambda m: m["sets"].reverse(),
    "alias twice": lambda m: m["sets"][1].update(aliases=["original"]),
    "alias as id": lambda m: m["sets"][1].update(aliases=["clean"]),
    "revisions": lambda m: m["revisions"].update(fog=2),
    "revision extra": lambda m: m["revisions"].update(snow=2),
    "class name": lambda m: m["classes"][0].update(name="other"),
    "class folder": lambda m: m["classes"][0].update(folder="other"),
    "class folder climbs": lambda m: m["classes"][0].update(folder=".."),
    "class folders alike": lambda m: m["classes"][1].update(folder="0_KÄFER"),
    "class index": lambda m: m["classes"][0].update(index=1),
    "file dropped": lambda m: m["files"].pop(0),
    "file size": lambda m: m["files"][0].update(bytes=3),
    "file hash": lambda m: m["files"][0].update(sha256="sha256:" + "2" * 64),
    "file twice": lambda m: m["files"].append(m["files"][-1]),
    "file invented": lambda m: m["files"].append({"path": "zzz", "bytes": 0, "sha256": "sha256:" + "2" * 64}),
    "image among files": lambda m: m["files"].insert(14, {"path": PNG_IMAGE, "bytes": 0, "sha256": "sha256:" + "2" * 64}),
    "encoding": lambda m: m["encoding"].update(format="jpeg", quality=85, optimize=False, subsampling="4:2:0"),
    "containers": lambda m: m["encoding"].update(containers=["folder"]),
    "name": lambda m: m.update(name="other"),
    "version": lambda m: m.update(version="2.0.0"),
    "environment": lambda m: m["environment"].update(numpy="9"),
    "license": lambda m: m["source"].update(license="MIT"),
    "metrics": lambda m: m["sets"][2]["metrics"].update(ssim=0.5),
    "coupling": lambda m: m.update(coupling="severity"),
    "texture": lambda m: m["textures"].append({"name": "frost1", "sha256": "sha256:" + "2" * 64}),
}
UNDERIVABLE = {"environment", "license", "metrics", "coupling", "texture"}
"""These follow from nothing else: only SHA256SUMS speaks for them."""


@pytest.mark.parametrize("name", MANIFEST_EDITS)
def test_an_edited_manifest(dataset: Make, name: str) -> None:
    root = dataset()
    edit_manifest(root, MANIFEST_EDITS[name])
    assert "manifest.json" in paths(found(root, level="structure"), "hash")


@pytest.mark.parametrize("name", sorted(MANIFEST_EDITS.keys() - UNDERIVABLE - {"file hash", "file size"}))
def test_an_edited_manifest_with_matching_hashes(dataset: Make, name: str) -> None:
    root = dataset()
    edit_manifest(root, MANIFEST_EDITS[name], reseal=True)
    problems = found(root)
    assert problems
    assert "hash" not in {p.kind for p in problems if p.path == "manifest.json"}


def _outside(root: Path) -> Path:
    secret = root.parent / "secret.png"
    shutil.copyfile(root / PNG_IMAGE, secret)
    return secret


@pytest.mark.parametrize("path", ["manifest.json", "SHA256SUMS", "samples.jsonl", "sets/fog/3.jsonl", SHARD, PNG_IMAGE])
def test_links_are_named_and_not_followed(dataset: Make, path: str) -> None:
    root = dataset()
    target = root.parent / "elsewhere"
    (root / path).rename(target)
    (root / path).symlink_to(target)
    problems = found(root)
    assert [(p.path, p.kind) for p in problems] == [(path, "symlink")]


@pytest.mark.parametrize("path", ["images", "images/fog", "images/fog/3", "images/fog/3/1 a dog", "sets", "sets/fog", "hdf5/fog"])
def test_linked_folders_are_named_and_not_followed(dataset: Make, path: str) -> None:
    root = dataset()
    target = root.parent / "elsewhere"
    (root / path).rename(target)
    (root / path).symlink_to(target, target_is_directory=True)
    problems = found(root)
    assert [(p.path, p.kind) for p in problems] == [(path, "symlink")]


@pytest.mark.parametrize("bad", ["../secret.png", "/etc/passwd", "images/fog/3/../../../../secret.png", "C:/x.png", "a\\b.png", "", "a//b"])
def test_paths_that_leave_the_directory(dataset: Make, bad: str) -> None:
    root = dataset()
    _outside(root)

    def change(rows: list[dict[str, Any]]) -> None:
        rows[3]["files"][0]["path"] = bad

    edit_lines(root / "sets/fog/3.jsonl", change)
    edit_manifest(root, lambda m: m["files"].append({"path": bad, "bytes": 1, "sha256": "sha256:" + "0" * 64}))
    (problem,) = found(root)
    assert (problem.path, problem.kind) == ("manifest.json", "schema")
    assert "files[15].path" in problem.detail
    edit_manifest(root, lambda m: m["files"].pop(), reseal=True)
    problems = found(root)
    assert ("sets/fog/3.jsonl", "schema") in {(p.path, p.kind) for p in problems}
    assert any("line 4: files[0].path" in p.detail for p in problems)


def test_a_record_of_another_file_of_the_data_set(dataset: Make) -> None:
    root = dataset()
    for wrong in ["contact.png", "images/clean/1 a dog/Ünal 7.png", OTHER_PNG, "images/fog/3"]:

        def change(rows: list[dict[str, Any]], wrong: str = wrong) -> None:
            rows[3]["files"][0]["path"] = wrong

        edit_lines(root / "sets/fog/3.jsonl", change)
        edit_manifest(root, lambda m: None, reseal=True)
        assert "sets/fog/3.jsonl" in paths(found(root, level="structure"), "records")


ROW_EDITS: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "order": lambda rows: rows[::-1],
    "dropped": lambda rows: rows[:-1],
    "doubled": lambda rows: [*rows, rows[-1]],
    "pixels": lambda rows: rows[0].update(pixels="blake3:" + "0" * 64),
    "sha256 of a file": lambda rows: rows[0]["files"][0].update(sha256="sha256:" + "0" * 64),
    "sha256 of a row": lambda rows: rows[0]["files"][1].update(sha256="sha256:" + "0" * 64),
    "bytes of a file": lambda rows: rows[0]["files"][0].update(bytes=1),
    "bytes of a row": lambda rows: rows[0]["files"][1].update(bytes=1),
    "row": lambda rows: rows[0]["files"][1].update(row=1),
    "row beyond": lambda rows: rows[4]["files"][1].update(row=9),
    "shard": lambda rows: rows[0]["files"][1].update(path="hdf5/clean-00000.h5"),
    "container": lambda rows: rows[0]["files"].pop(),
    "no container": lambda rows: rows[0].update(files=[]),
    "field": lambda rows: rows[0].update(extra=1),
    "type": lambda rows: rows[0].update(index="0"),
}


@pytest.mark.parametrize("name", ROW_EDITS)
def test_edited_rows_with_matching_hashes(dataset: Make, name: str) -> None:
    root = dataset()
    edit_lines(root / "sets/fog/3.jsonl", ROW_EDITS[name])
    assert paths(found(root)) >= {"sets/fog/3.jsonl"}
    edit_manifest(root, lambda m: None, reseal=True)
    problems = found(root)
    assert problems
    assert all("fog/3" in p for p in paths(problems)), problems


SAMPLE_EDITS: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "order": lambda rows: rows[::-1],
    "dropped": lambda rows: rows[:-1],
    "label": lambda rows: rows[0].update({"label": 1, "class": "a dog"}),
    "label beyond": lambda rows: rows[0].update(label=7),
    "class": lambda rows: rows[0].update({"class": "a dog"}),
    "id": lambda rows: rows[0].update(id="x"),
    "ids alike": lambda rows: rows[1].update(id=rows[0]["id"].upper()),
    "sha256": lambda rows: rows[0].update(sha256="sha256:" + "0" * 64),
    "negative": lambda rows: rows[0].update(label=-1),
}


@pytest.mark.parametrize("name", SAMPLE_EDITS)
def test_edited_samples_with_matching_hashes(dataset: Make, name: str) -> None:
    root = dataset()
    edit_lines(root / "samples.jsonl", SAMPLE_EDITS[name])
    edit_manifest(root, lambda m: None, reseal=True)
    assert "samples.jsonl" in paths(found(root, level="structure"))


def reseal_image(root: Path, data: bytes) -> None:
    """Replace an image and every hash over its bytes, but not the pixel digest."""
    (root / PNG_IMAGE).write_bytes(data)

    def change(rows: list[dict[str, Any]]) -> None:
        next(f for r in rows for f in r["files"] if f["path"] == PNG_IMAGE).update(bytes=len(data), sha256=sha256_bytes(data))

    before = sum(f["bytes"] for line in (root / "sets/fog/3.jsonl").read_text("utf-8").splitlines() for f in json.loads(line)["files"])
    edit_lines(root / "sets/fog/3.jsonl", change)
    after = sum(f["bytes"] for line in (root / "sets/fog/3.jsonl").read_text("utf-8").splitlines() for f in json.loads(line)["files"])
    edit_manifest(root, lambda m: m["sets"][2].update(bytes=m["sets"][2]["bytes"] + after - before), reseal=True)


def test_other_pixels_behind_matching_hashes(dataset: Make) -> None:
    root = dataset()
    other, jpeg = (root / OTHER_PNG).read_bytes(), (dataset(encoding_format="jpeg") / JPEG_IMAGE).read_bytes()
    for data, kind in [(other, "pixels"), (jpeg, "decode"), (other[: len(other) // 2], "decode"), (b"", "decode"), (b"text", "decode")]:
        reseal_image(root, data)
        assert found(root, level="hashes") == []
        assert [(p.path, p.kind) for p in found(root)] == [(PNG_IMAGE, kind)]


def remake_shard(root: Path, change: Callable[[h5py.File], None]) -> None:
    with h5py.File(root / SHARD, "r+") as f:
        change(f)
    edit_manifest(root, lambda m: None, reseal=True)


def _replace(name: str, **options: Any) -> Callable[[h5py.File], None]:
    def change(f: h5py.File) -> None:
        del f[name]
        if options:
            f.create_dataset(name, **options)

    return change


def _external(f: h5py.File) -> None:
    del f["images"]
    f["images"] = h5py.ExternalLink("../../../secret.h5", "images")


def _external_storage(f: h5py.File) -> None:
    del f["images"]
    f.create_dataset("images", shape=(2, 16, 20, 3), dtype=np.uint8, external=[("/etc/passwd", 0, h5py.h5f.UNLIMITED)])


def _virtual(f: h5py.File) -> None:
    del f["images"]
    layout = h5py.VirtualLayout(shape=(2, 16, 20, 3), dtype=np.uint8)
    layout[:] = h5py.VirtualSource("../../clean-00000.h5", "images", shape=(2, 16, 20, 3))
    f.create_virtual_dataset("images", layout)


def _soft(f: h5py.File) -> None:
    f.move("images", "other")
    f["images"] = h5py.SoftLink("/other")


def _assign(name: str, value: Any) -> Callable[[h5py.File], None]:
    def change(f: h5py.File) -> None:
        f[name][0] = value

    return change


SHARD_EDITS: dict[str, Callable[[h5py.File], None]] = {
    "pixel": _assign("images", 3),
    "label": _assign("labels", 0),
    "index": _assign("index", 0),
    "pixel digest": _assign("pixels", 0),
    "no images": _replace("images"),
    "no labels": _replace("labels"),
    "labels float": _replace("labels", data=np.ones(2)),
    "pixels short": _replace("pixels", data=np.zeros((2, 16), np.uint8)),
    "more rows": _replace("images", data=np.zeros((3, 16, 20, 3), np.uint8)),
    "fewer rows": _replace("images", data=np.zeros((1, 16, 20, 3), np.uint8)),
    "other shape": _replace("images", data=np.zeros((2, 8, 20, 3), np.uint8)),
    "other type": _replace("images", data=np.zeros((2, 16, 20, 3), np.uint16)),
    "bomb": _replace("images", shape=(2, 2**20, 2**20, 3), chunks=(1, 64, 64, 3), dtype=np.uint8),
    "external link": _external,
    "external storage": _external_storage,
    "virtual": _virtual,
    "soft link": _soft,
    "set": lambda f: f.attrs.update(set="fog/4"),
    "set of another type": lambda f: f.attrs.update(set=np.arange(3)),
}


@pytest.mark.parametrize("name", SHARD_EDITS)
def test_edited_shards_with_matching_hashes(dataset: Make, name: str) -> None:
    root = dataset()
    remake_shard(root, SHARD_EDITS[name])
    problems = found(root)
    assert problems
    assert {p.path.partition("#")[0] for p in problems} == {SHARD}
    assert {p.kind for p in problems} <= {"hash", "records", "decode", "shape", "size", "missing"}
    if name in ("external link", "external storage", "virtual", "soft link", "bomb"):
        # refused before a byte of it is read
        assert [p.kind for p in problems] == ["decode"]


def test_the_row_of_a_shard_is_named(dataset: Make) -> None:
    root = dataset()
    remake_shard(root, SHARD_EDITS["pixel"])
    assert [(p.path, p.kind) for p in found(root)] == [(f"{SHARD}#0", "hash")]


def test_encoded_rows_are_hashed_and_decoded(dataset: Make) -> None:
    root = dataset(encoding_format="jpeg", containers=("hdf5",))
    whole = (root / SHARD).read_bytes()

    def swap(f: h5py.File) -> None:
        f["encoded"][0], f["encoded"][1] = f["encoded"][1], f["encoded"][0]

    remake_shard(root, swap)
    assert paths(found(root), "hash") | paths(found(root), "size") == {f"{SHARD}#0", f"{SHARD}#1"}
    (root / SHARD).write_bytes(whole)

    def cut(f: h5py.File) -> None:
        f["encoded"][0] = f["encoded"][0][:-30]

    remake_shard(root, cut)
    rows_path = root / "sets/fog/3.jsonl"
    with h5py.File(root / SHARD) as f:
        data = f["encoded"][0].tobytes()

    def change(rows: list[dict[str, Any]]) -> None:
        rows[2]["files"][0].update(bytes=len(data), sha256=sha256_bytes(data))

    edit_lines(rows_path, change)
    edit_manifest(root, lambda m: m["sets"][2].update(bytes=m["sets"][2]["bytes"] - 30), reseal=True)
    assert [(p.path, p.kind) for p in found(root)] == [(f"{SHARD}#0", "decode")]


GARBAGE = [
    b"",
    b"\n",
    b"null\n",
    b"[]\n",
    b"{}\n",
    b"[" * 100_000,
    b"\xff\xfe\x00" * 50,
    b'{"a":' * 5000,
    b"\0" * 4096,
    b"NaN\n",
    b"1e999\n",
]


@pytest.mark.parametrize("path", [*WHOLE_FILES, PNG_IMAGE])
@pytest.mark.parametrize("reseal", [False, True])
def test_garbage_is_reported_not_raised(dataset: Make, path: str, reseal: bool) -> None:
    root = dataset()
    for data in GARBAGE:
        (root / path).write_bytes(data)
        if reseal and path not in ("manifest.json", "SHA256SUMS", "contact.png", "README.md"):
            edit_manifest(root, lambda m: None, reseal=True)
        assert path in paths(found(root))


@pytest.mark.parametrize("value", [2**60, 10**400, -1, 1.5, "1", None, True, [], {}, float("nan"), "\ud800"])
@pytest.mark.parametrize("where", ["seed", "stage", "recipe", "count", "digest"])
def test_values_out_of_bounds_are_reported_not_raised(dataset: Make, where: str, value: Any) -> None:
    root = dataset()
    manifest = json.loads((root / "manifest.json").read_text("utf-8"))
    holder, key = {
        "seed": (manifest, "seed"),
        "stage": (manifest["sets"][2]["stages"][0]["parameters"], "amount"),
        "recipe": (manifest["recipe"], "x"),
        "count": (manifest["sets"][0], "count"),
        "digest": (manifest, "digest"),
    }[where]
    holder[key] = value
    (root / "manifest.json").write_text(json.dumps(manifest))
    assert "manifest.json" in paths(found(root))


def test_special_files_are_named_and_not_opened(dataset: Make) -> None:
    root = dataset()
    (root / PNG_IMAGE).unlink()
    os.mkfifo(root / PNG_IMAGE)
    os.mkfifo(root / "pipe")
    assert {(p.path, p.kind) for p in found(root)} == {(PNG_IMAGE, "special"), ("pipe", "special")}
    (root / "manifest.json").unlink()
    os.mkfifo(root / "manifest.json")
    assert [(p.path, p.kind) for p in found(root)] == [("manifest.json", "special")]


def test_a_folder_in_the_place_of_a_file(dataset: Make) -> None:
    root = dataset()
    for path in [PNG_IMAGE, "samples.jsonl", "sets/fog/3.jsonl", SHARD]:
        (root / path).unlink()
        (root / path).mkdir()
        problems = found(root)
        assert path in paths(problems, "missing")
        assert path in paths(problems, "unexpected")


def test_incomplete_builds(dataset: Make) -> None:
    root = dataset()
    (root / "manifest.json").unlink()
    report = verify_directory(root)
    assert [(p.path, p.kind) for p in report.problems] == [("manifest.json", "incomplete")]
    (root / ".corruptset").mkdir()
    with pytest.raises(IncompleteBuild, match="Resume it by running the same `corruptset build`"):
        verify_directory(root).raise_for_problems()


@pytest.mark.parametrize("name", ["nowhere", "file"])
def test_no_directory(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(IncompleteBuild, match=name):
        verify_directory(tmp_path / name).raise_for_problems()


def test_what_a_build_has_left_behind(dataset: Make) -> None:
    root = dataset()
    (root / ".corruptset/parts").mkdir(parents=True)
    (root / ".corruptset/parts/1.json").write_bytes(b"{}")
    assert [(p.path, p.kind) for p in found(root)] == [(".corruptset", "unexpected")]


def test_everything_is_collected_and_raised_once(dataset: Make) -> None:
    root = dataset()
    (root / PNG_IMAGE).unlink()
    flip(root / OTHER_PNG)
    (root / "note.txt").write_bytes(b"")
    flip(root / SHARD)
    report = verify_directory(root)
    assert report.by_kind() == {"hash": 2, "missing": 1, "unexpected": 1}
    with pytest.raises(VerificationError) as caught:
        report.raise_for_problems()
    for name in [PNG_IMAGE, OTHER_PNG, "note.txt", SHARD]:
        assert name in str(caught.value)


def test_levels_climb(dataset: Make) -> None:
    root = dataset()
    flip(root / PNG_IMAGE)
    assert found(root, level="structure") == found(root, level="sizes") == []
    assert len(found(root, level="hashes")) == 1
    (root / OTHER_PNG).write_bytes(b"short")
    assert found(root, level="structure") == []
    assert [p.kind for p in found(root, level="sizes")] == ["size"]
    with pytest.raises(ValueError, match="structure, sizes, hashes, pixels"):
        verify_directory(root, level="deep")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="jobs"):
        verify_directory(root, jobs=0)


def test_rederive_is_called_on_sound_records_only(dataset: Make) -> None:
    root = dataset()
    calls: list[Any] = []

    def rederive(data: Any, count: int | None) -> list[Problem]:
        calls.append((data["fog/3"][0].shape, count))
        return [Problem("sets/fog/3.jsonl", "rederive", "image 0 comes out otherwise")]

    report = verify_directory(root, rederive=rederive, rederive_count=3)
    assert calls == [((16, 20, 3), 3)]
    assert [p.kind for p in report.problems] == ["rederive"]
    flip(root / "samples.jsonl", 0.01)
    verify_directory(root, rederive=rederive)
    assert len(calls) == 1


def test_progress_counts_up_to_the_total(dataset: Make) -> None:
    steps: list[tuple[str, int, int]] = []
    verify_directory(dataset(), progress=lambda *step: steps.append(step))
    assert [s for s in steps if s[0] == "sets"] == [("sets", n, 3) for n in (1, 2, 3)]
    assert steps[14] == ("files", 15, 15)


def test_report_as_json() -> None:
    report = VerificationReport("x", "pixels", problems=[Problem("a", "hash", "b")])
    assert report.as_json()["problems"] == [{"path": "a", "kind": "hash", "detail": "b"}]
    assert report.as_json()["ok"] is False


@pytest.mark.ci
def test_several_processes_find_the_same(dataset: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    root = dataset(repeat=20)
    monkeypatch.setattr(verifying, "SLICE_BYTES", 1000)
    remake_shard(root, _assign("images", 3))
    for path in [PNG_IMAGE, "images/clean/1 a dog/plain_stem~19.png", "contact.png", "hdf5/clean-00020.h5"]:
        flip(root / path)
    (root / "images/clean/new.png").write_bytes(b"")
    one, several = verify_directory(root), verify_directory(root, jobs=4)
    assert len(one.problems) == 6
    assert one.as_json() == several.as_json()


def test_nothing_outside_is_opened(dataset: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the records say, every file that is opened lies in the data set."""
    root = dataset()
    _outside(root)
    remake_shard(root, _external)
    edit_lines(root / "sets/clean.jsonl", lambda rows: rows[0]["files"][0].update(path="../../secret.png"))
    (root / "images/clean/link.png").symlink_to(root.parent / "secret.png")
    opened: list[str] = []
    real = os.open, Path.open, Path.read_bytes
    monkeypatch.setattr(Path, "open", lambda self, *a, **k: (opened.append(os.path.realpath(self)), real[1](self, *a, **k))[1])
    monkeypatch.setattr(Path, "read_bytes", lambda self: (opened.append(os.path.realpath(self)), real[2](self))[1])
    monkeypatch.setattr(socket, "socket", None)
    verify_directory(root)
    assert opened
    assert all(o.startswith(os.path.realpath(root) + os.sep) for o in opened), opened
