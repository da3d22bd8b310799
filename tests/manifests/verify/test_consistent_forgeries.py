"""Data sets in which every hash was put right: what is compared beside hashes, image by image, row by row, process by
process.
"""

from __future__ import annotations

import io
import json
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from damage import JPEG_IMAGE, PNG_IMAGE, SHARD, Make, edit_lines, edit_manifest, flip, found, redigest, remake_shard
from PIL import Image

from corruptset.manifests.disk.jsonl import read_jsonl
from corruptset.manifests.manifest_file import load_manifest
from corruptset.manifests.records.digests import sha256_bytes
from corruptset.manifests.records.models import SampleRecord
from corruptset.manifests.records.report import Problem
from corruptset.manifests.verify import sets
from corruptset.manifests.verify.ladder import verify_directory
from corruptset.manifests.verify.sets import SetCheck

ROWS = "sets/fog/3.jsonl"


def forge(root: Path, change: Callable[[list[dict[str, Any]]], Any]) -> None:
    """Edit the rows of a set and put its totals and every hash right, but not the digests of pixels."""
    edit_lines(root / ROWS, change)
    rows = [json.loads(line) for line in (root / ROWS).read_text("utf-8").splitlines()]

    def totals(m: dict[str, Any]) -> None:
        stored = [f for r in rows for f in r["files"]]
        m["sets"][2].update(count=len(rows), files=len(stored), bytes=sum(f["bytes"] for f in stored))

    edit_manifest(root, totals, reseal=True)


def test_pixels_of_a_shard_behind_matching_hashes(dataset: Make) -> None:
    root = dataset(containers=("hdf5",))
    with h5py.File(root / SHARD, "r+") as f:
        f["images"][1, 0, 0, 0] ^= 1
        data = f["images"][1].tobytes()
    forge(root, lambda rows: rows[3]["files"][0].update(sha256=sha256_bytes(data)))
    (problem,) = found(root)
    assert (problem.path, problem.kind) == (f"{SHARD}#1", "pixels")
    assert found(root, level="hashes") == []


def test_containers_that_hold_other_bytes(dataset: Make) -> None:
    """Each whole and as recorded: but the file and the shard are two encodings."""
    root = dataset(encoding_format="jpeg")
    out = io.BytesIO()
    Image.open(root / JPEG_IMAGE).save(out, "JPEG", quality=30)
    (root / JPEG_IMAGE).write_bytes(out.getvalue())

    def change(rows: list[dict[str, Any]]) -> None:
        where = next(f for r in rows for f in r["files"] if f["path"] == JPEG_IMAGE)
        where.update(bytes=len(out.getvalue()), sha256=sha256_bytes(out.getvalue()))

    forge(root, change)
    assert found(root) == [Problem(ROWS, "records", "the containers of row 3 hold different bytes")]


def test_a_shard_with_more_rows_than_are_recorded(dataset: Make) -> None:
    root = dataset(containers=("hdf5",))

    def longer(f: h5py.File) -> None:
        for name in ("images", "labels", "index", "pixels"):
            values = f[name][()]
            del f[name]
            f.create_dataset(name, data=np.concatenate([values, values[-1:]]), track_times=False)

    remake_shard(root, longer)
    assert found(root) == [Problem(SHARD, "shape", "has 3 rows, recorded are 2")]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("hdf5/fog/3-00009.h5", "no row of set fog/3 is in this shard"),
        ("hdf5/snow/3-00000.h5", "a shard of no set"),
        ("hdf5/notes.h5", "a shard of no set"),
    ],
)
def test_shards_that_no_row_names(dataset: Make, name: str, said: str) -> None:
    root = dataset()
    (root / name).parent.mkdir(exist_ok=True)
    shutil.copyfile(root / SHARD, root / name)
    data = (root / name).read_bytes()
    entry = {"path": name, "bytes": len(data), "sha256": sha256_bytes(data)}
    edit_manifest(root, lambda m: m.update(files=sorted([*m["files"], entry], key=lambda f: f["path"])), reseal=True)
    assert found(root) == [Problem(name, "unexpected", said)]


@pytest.mark.parametrize("name", ["hdf5/clean-00002.h5", "hdf5/fog/3-00007.h5"])
def test_a_row_in_a_shard_of_another_set_or_of_none(dataset: Make, name: str) -> None:
    root = dataset(containers=("hdf5",))
    forge(root, lambda rows: rows[4]["files"][0].update(path=name))
    details = {(p.path, p.detail) for p in found(root)}
    assert (ROWS, f"row 4 is in {name}, which is not a shard of this set in the manifest") in details


@pytest.mark.parametrize(
    ("row", "said"), [(0, f"row 3 is in {SHARD} at row 0, as is another"), (5, f"the rows in {SHARD} are not 0 to 1")]
)
def test_rows_of_a_shard_that_are_named_twice_or_left_out(dataset: Make, row: int, said: str) -> None:
    root = dataset(containers=("hdf5",))
    forge(root, lambda rows: rows[3]["files"][0].update(row=row))
    assert (ROWS, said) in {(p.path, p.detail) for p in found(root)}


def test_rows_of_a_shard_that_were_exchanged(dataset: Make) -> None:
    """Both images are there, with their hashes; each says that it is the other."""
    root = dataset(containers=("hdf5",))

    def change(rows: list[dict[str, Any]]) -> None:
        rows[2]["files"][0]["row"], rows[3]["files"][0]["row"] = 1, 0

    forge(root, change)
    problems = found(root)
    assert {p.path for p in problems} == {f"{SHARD}#0", f"{SHARD}#1"}
    assert sum("index" in p.detail for p in problems) == 2


def test_ids_that_differ_in_capitals_alone(dataset: Make) -> None:
    root = dataset(containers=("hdf5",))
    edit_lines(root / "samples.jsonl", lambda rows: rows[1].update(id=rows[0]["id"].upper()))
    redigest(root)
    (problem,) = found(root)
    assert (problem.path, problem.kind) == ("samples.jsonl", "records")
    assert "capitals aside" in problem.detail


@pytest.mark.parametrize("field", ["count", "files", "bytes"])
def test_totals_of_a_set(dataset: Make, field: str) -> None:
    root = dataset()
    edit_manifest(root, lambda m: m["sets"][2].update({field: m["sets"][2][field] + 1}), reseal=True)
    if field == "count":
        redigest(root)
    real = json.loads((root / "manifest.json").read_text("utf-8"))["sets"][2][field] - 1
    said = f"the manifest's {field} of this set is {real + 1}, the rows give {real}"
    assert said in {p.detail for p in found(root, level="structure")}


def check_of(root: Path, set_id: str) -> SetCheck:
    """Return the check of a set of a whole data set, to the top of the ladder."""
    manifest = load_manifest(root)
    shards = frozenset(f.path for f in manifest.files if f.path.startswith(f"hdf5/{set_id}-"))
    return SetCheck(
        directory=root,
        manifest=manifest,
        record=next(s for s in manifest.sets if s.id == set_id),
        places=[f"images/{set_id}"],
        labels=np.array([s.label for s in read_jsonl(root / "samples.jsonl", SampleRecord)]),
        shards=shards,
        sound=shards,
    )


@pytest.mark.parametrize("parts", [1, 2, 3, 4, 7, 13])
def test_slices_together_look_at_every_image_once(dataset: Make, parts: int) -> None:
    root = dataset(repeat=2)
    check = check_of(root, "fog/3")
    single, rows = set((root / "images/fog/3").rglob("*.png")), {f"{s}#{n}" for s in check.shards for n in (0, 1)}
    slices = [replace(check, part=part, parts=parts).run() for part in range(parts)]
    assert [problems for problems, _ in slices] == [[]] * parts
    whole = check.run()[1]
    assert whole["images"] == 20
    assert sum((checked for _, checked in slices), Counter())["bytes"] == whole["bytes"]
    for path in single:
        flip(path)
    for shard in check.shards:
        with h5py.File(root / shard, "r+") as f:
            f["images"][...] ^= 1
    problems = [p for part in range(parts) for p in replace(check, part=part, parts=parts).run()[0]]
    assert {p.kind for p in problems} == {"hash"}
    assert sorted(p.path for p in problems) == sorted({p.relative_to(root).as_posix() for p in single} | rows)


def test_several_processes_find_what_one_finds(dataset: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice, named from another directory each time, as a notebook does: the workers of the first call are
    there still.
    """
    for damaged in (False, True):
        root = dataset(repeat=2)
        monkeypatch.chdir(root.parent)
        if damaged:
            with h5py.File(root / SHARD, "r+") as f:
                f["images"][...] ^= 1
            edit_manifest(root, lambda m: None, reseal=True)
            flip(root / PNG_IMAGE)
            flip(root / "images/clean/1 a dog/plain_stem~1.png")  # in the second slice of its set
        monkeypatch.setattr(sets, "SLICE_ROWS", 3)
        one, several = verify_directory(root.name), verify_directory(root.name, jobs=3)  # with two a set is one slice
        assert one.as_json() == several.as_json()
        assert len(one.problems) == 4 * damaged


LEADING_OUT = [
    "../up.jpg",
    "a/../../up.jpg",
    "/etc/passwd",
    "a\\b.jpg",
    "C:/x.jpg",
    "c:x.jpg",
    "//host/x.jpg",
    "./a.jpg",
    "",
]


@pytest.mark.parametrize("path", LEADING_OUT)
def test_paths_of_samples_that_lead_out_of_the_source(dataset: Make, path: str) -> None:
    root = dataset(containers=("hdf5",))
    edit_lines(root / "samples.jsonl", lambda rows: rows[1].update(path=path))
    redigest(root)
    said = f"the path {path!r} is not a relative path inside the source"
    assert found(root) == [Problem("samples.jsonl", "records", said)]


def test_a_path_of_two_samples(dataset: Make) -> None:
    root = dataset(containers=("hdf5",))
    edit_lines(root / "samples.jsonl", lambda rows: rows[1].update(path=rows[0]["path"]))
    redigest(root)
    path = json.loads((root / "samples.jsonl").read_text("utf-8").splitlines()[0])["path"]
    assert found(root) == [Problem("samples.jsonl", "records", f"two images have the path {path!r}")]


@pytest.mark.parametrize("path", ["12:30/a b.jpg", "..a/b..jpg", None])
def test_paths_of_samples_that_are_odd_and_right(dataset: Make, path: str | None) -> None:
    root = dataset(containers=("hdf5",))
    edit_lines(root / "samples.jsonl", lambda rows: rows[1].update(path=path))
    redigest(root)
    assert found(root) == []
