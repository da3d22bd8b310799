"""A view that was changed is found out: by itself, and image by image against its build."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
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
ALL = ["cifar-c", "imagenet-c", "imagenet-c-5k", "tiny-imagenet-c", "webdataset", "imagefolder", "openood", "croissant"]


@pytest.fixture(scope="session")
def built(shared: layouts.Shared) -> Path:
    return shared.build(sets=SETS)


@pytest.fixture(scope="session")
def exported(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    made: dict[str, Path] = {}

    def make(view: str) -> Path:
        if view not in made:
            made[view] = tmp_path_factory.mktemp("exported") / view
            options: dict[str, Any] = (
                {"images": [f"{c:02d}_class/im.1" for c in range(8)]} if view == "imagenet-c-5k" else {}
            )
            export(view, built, made[view], **options)
        return made[view]

    return make


def changes(path: Path) -> None:
    """Change one byte of a file's data, and nothing of the file that it may be linked to."""
    data = bytearray(path.read_bytes())
    data[len(data) * 2 // 3] ^= 1
    path.unlink()
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("view", ALL)
def test_a_good_view_verifies_and_every_kind_of_damage_is_found(
    built: Path, exported: Callable[[str], Path], tmp_path: Path, view: str
) -> None:
    good = exported(view)
    for report in (verify_view(good), check_view(built, good)):
        assert report.ok, report.problems
        assert report.digest == corruptset.open(built).digest
    assert check_view(built, good).checked["images"] == sum(
        s["count"] for s in json.loads((good / "VIEW.json").read_text("utf-8"))["sets"]
    )
    kinds = sorted({p.suffix for p in good.rglob("*") if p.is_file() and p.name != "VIEW.json"})
    for number, kind in enumerate(kinds):
        first = min(p.relative_to(good) for p in good.rglob(f"*{kind}") if p.name != "VIEW.json")

        def damaged(name: str, change: Callable[[Path], None], at: Path = first, n: int = number) -> Path:
            copy = tmp_path / f"{n}-{name}"
            shutil.copytree(good, copy)
            change(copy / at)
            return copy

        one = damaged("changed", changes)
        assert not verify_view(one).ok
        named = {p.path.partition("#")[0].partition(":")[0] for p in check_view(built, one).problems}
        # croissant.json holds the hashes of the tars
        assert named - {"small-c-1.0.0/croissant.json"} == {first.as_posix()} - {"small-c-1.0.0/croissant.json"}
        assert named
        gone = damaged("gone", Path.unlink)
        for report in (verify_view(gone), check_view(built, gone)):
            assert {p.kind for p in report.problems} >= {"missing"}
        stray = damaged("stray", lambda path: path.with_name("stray.png").write_bytes(b""))
        for report in (verify_view(stray), check_view(built, stray)):
            assert {p.kind for p in report.problems} == {"unexpected"}


def test_the_image_that_was_changed_is_named(built: Path, exported: Callable[[str], Path], tmp_path: Path) -> None:
    copy = tmp_path / "view"
    shutil.copytree(exported("cifar-c"), copy)
    path = copy / "CIFAR-10-C/contrast.npy"
    images = np.load(path)
    images[47, 3, 4, 1] ^= 1
    np.save(path, images)
    (problem,) = check_view(built, copy).problems
    assert (problem.path, problem.kind) == ("CIFAR-10-C/contrast.npy#47", "pixels")
    # the hashes in VIEW.json made to match: the pixels of the build still do not
    record = json.loads((copy / "VIEW.json").read_text("utf-8"))
    for file in record["files"]:
        file["sha256"] = sha256_file(copy / file["path"])
    (copy / "VIEW.json").write_text(json.dumps(record))
    (problem,) = verify_view(copy).problems
    assert problem.kind == "pixels"
    assert "set contrast/3" in problem.detail


def test_tars_with_their_members_in_another_order_or_more_of_them_are_found(
    built: Path, exported: Callable[[str], Path], tmp_path: Path
) -> None:
    for name in ("more", "other"):
        copy = tmp_path / name
        shutil.copytree(exported("webdataset"), copy)
        path = next(copy.rglob("contrast/3/000000.tar"))
        with tarfile.open(path) as archive:
            members = [(m, archive.extractfile(m).read()) for m in archive.getmembers()]  # type: ignore[union-attr]
        members = [*members, members[0]] if name == "more" else [*members[3:6], *members[:3], *members[6:]]
        with tarfile.open(path, "w") as archive:
            for info, data in members:
                archive.addfile(info, io.BytesIO(data))
        assert not check_view(built, copy).ok


def reseal(view: Path) -> None:
    """Make the hashes in VIEW.json match what lies there."""
    record = json.loads((view / "VIEW.json").read_text("utf-8"))
    for file in record["files"]:
        file.update(bytes=(view / file["path"]).stat().st_size, sha256=sha256_file(view / file["path"]))
    (view / "VIEW.json").write_text(json.dumps(record))


def test_an_array_with_more_rows_or_other_labels_is_held_to_the_build(
    built: Path, exported: Callable[[str], Path], tmp_path: Path
) -> None:
    for name, change in {
        "contrast.npy": lambda images: np.concatenate([images, images[:3]]),
        "labels.npy": lambda labels: labels[::-1],
    }.items():
        copy = tmp_path / name
        shutil.copytree(exported("cifar-c"), copy)
        path = copy / "CIFAR-10-C" / name
        np.save(path, change(np.load(path)))
        reseal(copy)
        assert verify_view(copy).ok
        assert {p.path.partition("#")[0] for p in check_view(built, copy).problems} == {f"CIFAR-10-C/{name}"}


def relabelled(members: list[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    return [(name, b"7" if name == "00000004.cls" else data) for name, data in members]


def renamed_class(members: list[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    return [
        (name, data.replace(b"02_class", b"03_class") if name == "00000004.json" else data) for name, data in members
    ]


def without_a_label(members: list[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    return [(name, data) for name, data in members if name != "00000004.cls"]


def one_more(members: list[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    return [*members, ("00000020.png", members[0][1])]


@pytest.mark.parametrize("edit", [relabelled, renamed_class, without_a_label, one_more])
def test_what_lies_beside_the_images_of_a_tar_is_held_to_the_build(
    built: Path, exported: Callable[[str], Path], tmp_path: Path, edit: Callable[[Any], Any]
) -> None:
    """The tar's hash in VIEW.json is made to match, so that the build alone can tell."""
    copy = tmp_path / "view"
    shutil.copytree(exported("webdataset"), copy)
    (path,) = copy.rglob("contrast/3/000000.tar")
    with tarfile.open(path) as archive:
        members = [(m.name, archive.extractfile(m).read()) for m in archive.getmembers()]  # type: ignore[union-attr]
    edited = edit(members)
    assert edited != members
    with tarfile.open(path, "w") as archive:
        for name, data in edited:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    reseal(copy)
    assert verify_view(copy).ok
    problems = check_view(built, copy).problems
    assert {p.kind for p in problems} == {"decode"}
    where = ": what follows its last image" if edit is one_more else ":00000004.png"
    assert problems[0].path == path.relative_to(copy).as_posix() + where


def test_a_view_of_another_build_a_broken_record_or_none_is_said(
    built: Path, exported: Callable[[str], Path], tmp_path: Path
) -> None:
    good = exported("cifar-c")
    crops = layouts.write_crops(tmp_path / "crops", classes=5)
    other = layouts.make(layouts.write_recipe(tmp_path), crops, tmp_path / "out", sets=SETS)
    (problem,) = check_view(other, good).problems
    assert (problem.path, problem.kind) == ("VIEW.json", "digest")
    for report in (verify_view(tmp_path), check_view(built, tmp_path)):
        assert [(p.path, p.kind) for p in report.problems] == [("VIEW.json", "missing")]
    for change in (
        {"view": "no-such"},
        {"options": {"severities": 3}},
        {"options": {"images": ["x"]}},
        {"top": "../x"},
        {"extra": 1},
    ):
        copy = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        shutil.copytree(good, copy)
        record = json.loads((copy / "VIEW.json").read_text("utf-8"))
        (copy / "VIEW.json").write_text(json.dumps(record | change))
        assert {p.path for p in check_view(built, copy).problems} == {"VIEW.json"}, change
    copy = tmp_path / "linked"
    shutil.copytree(good, copy)
    (copy / "VIEW.json").unlink()
    (copy / "VIEW.json").symlink_to(good / "VIEW.json")
    assert not verify_view(copy).ok


def rewrite(tar: Path, files: dict[str, bytes]) -> None:
    tar.unlink()
    archives.tar(tar, files)


def test_a_label_or_name_that_was_changed_in_a_view_is_found(
    named: Path, named_views: Callable[[str], Path], tmp_path: Path
) -> None:
    """Folder against name, the number in a tar, and what stands beside an image or a tar."""

    def damaged(view: str, change: Callable[[Path], None], to: str) -> None:
        copy = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        shutil.copytree(named_views(view), copy)
        change(copy)
        assert to in {p.kind for p in check_view(named, copy).problems}

    def names_for_folders(root: Path) -> None:
        path = root / "small-c-1.0.0/metadata.jsonl"
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        rows[0]["class"] = f"{rows[0]['label']:02d}"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def one_digit(root: Path) -> None:
        tar = next(root.glob("*/*/clean.tar"))
        files = members(tar)
        name = next(n for n in files if "label=11/" in n)
        rewrite(tar, {n.replace("label=11/", "label=1/") if n == name else n: data for n, data in files.items()})

    def beside_a_tar(root: Path) -> None:
        next(root.glob("*/*/clean.tar")).with_name("more.tar").write_bytes(b"")

    def beside_an_image(suffix: str, content: bytes) -> Callable[[Path], None]:
        def change(root: Path) -> None:
            tar = next(root.glob("*/clean/000000.tar"))
            rewrite(tar, {n: content if n == f"00000005.{suffix}" else data for n, data in members(tar).items()})

        return change

    damaged("imagefolder", names_for_folders, "records")
    damaged("croissant", one_digit, "decode")
    damaged("croissant", beside_a_tar, "unexpected")
    damaged("webdataset", beside_an_image("cls", b"7"), "decode")
    damaged("webdataset", beside_an_image("json", b"{}"), "decode")
