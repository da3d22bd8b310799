"""Edits that a careful forger makes: records, shards and images changed with every hash over their bytes put right."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from damage import (
    JPEG_IMAGE,
    OTHER_PNG,
    PNG_IMAGE,
    SHARD,
    Make,
    assigned,
    edit_lines,
    edit_manifest,
    external_link,
    external_storage,
    found,
    outside,
    paths,
    remake_shard,
    replaced,
    soft_link,
    swap_classes,
    virtual,
)

from corruptset.manifests.records.digests import sha256_bytes


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


@pytest.mark.parametrize("field", ["name", "folder"])
def test_classes_exchanged_and_resealed(dataset: Make, field: str) -> None:
    root = dataset(containers=("hdf5",))
    swap_classes(root, field)
    (problem,) = found(root)
    assert (problem.path, problem.kind) == ("manifest.json", "digest")


MANIFEST_EDITS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "seed": lambda m: m.update(seed=8),
    "digest": lambda m: m.update(digest="sha256:" + "0" * 64),
    "source digest": lambda m: m["source"].update(digest="sha256:" + "0" * 64),
    "recipe's stages": lambda m: m["recipe"].update(sets=[{"id": "fog/3", "stages": []}]),
    "recipe's aliases": lambda m: m["recipe"].update(sets=[{"id": "fog/3", "aliases": []}]),
    "recipe's role": lambda m: m["recipe"].update(sets=[{"id": "fog/3", "role": "train"}]),
    "recipe's preprocessing": lambda m: m["recipe"].update(preprocessing={"kind": "resize"}),
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
    "image among files": lambda m: m["files"].insert(
        14, {"path": PNG_IMAGE, "bytes": 0, "sha256": "sha256:" + "2" * 64}
    ),
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


@pytest.mark.parametrize(
    "bad", ["../secret.png", "/etc/passwd", "images/fog/3/../../../../secret.png", "C:/x.png", "a\\b.png", "", "a//b"]
)
def test_paths_that_leave_the_directory(dataset: Make, bad: str) -> None:
    root = dataset()
    outside(root)

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
        next(f for r in rows for f in r["files"] if f["path"] == PNG_IMAGE).update(
            bytes=len(data), sha256=sha256_bytes(data)
        )

    before = sum(
        f["bytes"]
        for line in (root / "sets/fog/3.jsonl").read_text("utf-8").splitlines()
        for f in json.loads(line)["files"]
    )
    edit_lines(root / "sets/fog/3.jsonl", change)
    after = sum(
        f["bytes"]
        for line in (root / "sets/fog/3.jsonl").read_text("utf-8").splitlines()
        for f in json.loads(line)["files"]
    )
    edit_manifest(root, lambda m: m["sets"][2].update(bytes=m["sets"][2]["bytes"] + after - before), reseal=True)


def test_other_pixels_behind_matching_hashes(dataset: Make) -> None:
    root = dataset()
    other, jpeg = (root / OTHER_PNG).read_bytes(), (dataset(encoding_format="jpeg") / JPEG_IMAGE).read_bytes()
    for data, kind in [
        (other, "pixels"),
        (jpeg, "decode"),
        (other[: len(other) // 2], "decode"),
        (b"", "decode"),
        (b"text", "decode"),
    ]:
        reseal_image(root, data)
        assert found(root, level="hashes") == []
        assert [(p.path, p.kind) for p in found(root)] == [(PNG_IMAGE, kind)]


SHARD_EDITS: dict[str, Callable[[h5py.File], None]] = {
    "pixel": assigned("images", 3),
    "label": assigned("labels", 0),
    "index": assigned("index", 0),
    "pixel digest": assigned("pixels", 0),
    "no images": replaced("images"),
    "no labels": replaced("labels"),
    "labels float": replaced("labels", data=np.ones(2)),
    "pixels short": replaced("pixels", data=np.zeros((2, 16), np.uint8)),
    "more rows": replaced("images", data=np.zeros((3, 16, 20, 3), np.uint8)),
    "fewer rows": replaced("images", data=np.zeros((1, 16, 20, 3), np.uint8)),
    "other shape": replaced("images", data=np.zeros((2, 8, 20, 3), np.uint8)),
    "other type": replaced("images", data=np.zeros((2, 16, 20, 3), np.uint16)),
    "bomb": replaced("images", shape=(2, 2**20, 2**20, 3), chunks=(1, 64, 64, 3), dtype=np.uint8),
    "external link": external_link,
    "external storage": external_storage,
    "virtual": virtual,
    "soft link": soft_link,
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
