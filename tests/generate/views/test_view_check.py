"""A view that was changed is found out: by itself, and image by image against its build."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import archives
import layouts
import numpy as np
import pytest
from layouts import export, members

import corruptset
from corruptset.generate.views.view_check import check_view, verify_view
from corruptset.manifests.records.digests import sha256_file

SETS = ["contrast/*"]
Files = dict[str, bytes]


@pytest.fixture(scope="session")
def built(shared: layouts.Shared) -> Path:
    return shared.build(sets=SETS)


@pytest.fixture
def copied(built: Path, tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that gives a copy of a view, to damage."""
    made: dict[str, Path] = {}

    def copy(view: str) -> Path:
        if view not in made:
            made[view] = export(view, built, tmp_path / "good" / view).path
        return shutil.copytree(made[view], tmp_path / f"{len(list(tmp_path.iterdir()))}")

    return copy


def reseal(view: Path) -> None:
    """Make the hashes in VIEW.json match what lies there."""
    record = json.loads((view / "VIEW.json").read_text("utf-8"))
    for file in record["files"]:
        file.update(bytes=(view / file["path"]).stat().st_size, sha256=sha256_file(view / file["path"]))
    (view / "VIEW.json").write_text(json.dumps(record))


def places(problems: list[Any]) -> set[str]:
    """Return the files that problems are in."""
    return {p.path.partition("#")[0].partition(":")[0] for p in problems}


@pytest.mark.parametrize("view", ["cifar-c", "imagenet-c", "webdataset", "openood", "croissant"])
def test_a_good_view_verifies_and_every_kind_of_damage_is_found(
    built: Path, copied: Callable[[str], Path], view: str
) -> None:
    good = copied(view)
    for report in (verify_view(good), check_view(built, good)):
        assert report.ok, report.problems
        assert report.digest == corruptset.open(built).digest
    record = json.loads((good / "VIEW.json").read_text("utf-8"))
    assert check_view(built, good).checked["images"] == sum(s["count"] for s in record["sets"])
    for kind in sorted({p.suffix for p in good.rglob("*") if p.is_file() and p.name != "VIEW.json"}):
        first = min(p.relative_to(good) for p in good.rglob(f"*{kind}") if p.name != "VIEW.json")
        changed, gone, stray = copied(view), copied(view), copied(view)
        data = bytearray((changed / first).read_bytes())
        data[len(data) * 2 // 3] ^= 1
        (changed / first).unlink()  # and nothing of the file that it may be linked to
        (changed / first).write_bytes(bytes(data))
        assert not verify_view(changed).ok
        # croissant.json holds the hashes of the tars
        found = places(check_view(built, changed).problems) - {"small-c-1.0.0/croissant.json"}
        assert found == {first.as_posix()} - {"small-c-1.0.0/croissant.json"}
        assert not check_view(built, changed).ok
        (gone / first).unlink()
        (stray / first).with_name("stray.png").write_bytes(b"")
        for check in (verify_view, lambda path: check_view(built, path)):
            assert {p.kind for p in check(gone).problems} >= {"missing"}
            assert {p.kind for p in check(stray).problems} == {"unexpected"}


def test_the_image_that_was_changed_is_named(built: Path, copied: Callable[[str], Path]) -> None:
    copy = copied("cifar-c")
    path = copy / "CIFAR-10-C/contrast.npy"
    images = np.load(path)
    images[47, 3, 4, 1] ^= 1
    np.save(path, images)
    (problem,) = check_view(built, copy).problems
    assert (problem.path, problem.kind) == ("CIFAR-10-C/contrast.npy#47", "pixels")


def edited_json(name: str, old: bytes, new: bytes) -> Callable[[Files], Files]:
    return lambda files: {n: data.replace(old, new) if n == name else data for n, data in files.items()}


EDITS: dict[str, tuple[str, Callable[[Files], Files], str]] = {
    "a label": ("webdataset", lambda files: files | {"00000004.cls": b"7"}, ":00000004.png"),
    "a class": ("webdataset", edited_json("00000004.json", b"02_class", b"03_class"), ":00000004.png"),
    "no label": ("webdataset", lambda f: {n: d for n, d in f.items() if n != "00000004.cls"}, ":00000004.png"),
    "one more": ("webdataset", lambda f: f | {"00000020.png": f["00000000.png"]}, ": what follows its last image"),
    "another order": ("webdataset", lambda files: dict(sorted(files.items(), reverse=True)), ":00000000.png"),
    "a digit of a label": (
        "croissant",
        lambda files: {n.replace("label=9/", "label=1/"): data for n, data in files.items()},
        ":18-label=9/09_class/im.0.png",
    ),
}


@pytest.mark.parametrize("edit", EDITS)
def test_what_lies_in_a_tar_is_held_to_the_build(built: Path, copied: Callable[[str], Path], edit: str) -> None:
    """The tar's hash in VIEW.json is made to match, so that the build alone can tell."""
    view, change, where = EDITS[edit]
    copy = copied(view)
    path = min(copy.rglob("*.tar"))
    changed = change(members(path))
    assert list(changed.items()) != list(members(path).items())
    path.unlink()
    archives.tar(path, changed)
    reseal(copy)
    assert verify_view(copy).ok
    problems = [p for p in check_view(built, copy).problems if not p.path.endswith("croissant.json")]
    assert {p.kind for p in problems} == {"decode"}
    assert problems[0].path == path.relative_to(copy).as_posix() + where


def test_more_rows_other_labels_and_other_metadata_are_held_to_the_build(
    built: Path, copied: Callable[[str], Path]
) -> None:
    def npy(change: Callable[[Any], Any]) -> Callable[[Path], None]:
        return lambda path: np.save(path, change(np.load(path)))

    edits: list[tuple[str, str, Callable[[Path], Any]]] = [
        ("cifar-c", "CIFAR-10-C/contrast.npy", npy(lambda images: np.concatenate([images, images[:3]]))),
        ("cifar-c", "CIFAR-10-C/labels.npy", npy(lambda labels: labels[::-1])),
        (
            "imagefolder",
            "small-c-1.0.0/metadata.jsonl",
            lambda path: path.write_text(path.read_text("utf-8").replace('"class": "00', '"class": "0', 1)),
        ),
    ]
    for view, name, change in edits:
        copy = copied(view)
        change(copy / name)
        reseal(copy)
        assert verify_view(copy).ok
        assert places(check_view(built, copy).problems) == {name}


def test_a_view_of_another_build_a_broken_record_or_none_is_said(
    built: Path, shared: layouts.Shared, copied: Callable[[str], Path], tmp_path: Path
) -> None:
    good = copied("cifar-c")
    other = shared.build(crops={"classes": 5}, sets=SETS)
    (problem,) = check_view(other, good).problems
    assert (problem.path, problem.kind) == ("VIEW.json", "digest")
    for report in (verify_view(tmp_path), check_view(built, tmp_path)):
        assert [(p.path, p.kind) for p in report.problems] == [("VIEW.json", "missing")]
    record = json.loads((good / "VIEW.json").read_text("utf-8"))
    changes: list[dict[str, Any]] = [{"view": "no-such"}, {"top": "../x"}, {"extra": 1}]
    for change in (*changes, {"options": {"severities": 3}}, {"options": {"images": ["x"]}}):
        (good / "VIEW.json").write_text(json.dumps(record | change))
        assert {p.path for p in check_view(built, good).problems} == {"VIEW.json"}, change
    (tmp_path / "aside").write_text(json.dumps(record))
    (good / "VIEW.json").unlink()
    (good / "VIEW.json").symlink_to(tmp_path / "aside")
    assert not verify_view(good).ok
