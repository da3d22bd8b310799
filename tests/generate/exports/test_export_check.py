"""Test that changes of an export are detected with its own record, and image by image with its dataset."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_builds
import source_archives
from small_builds import export, tar_members

import corruptset
from corruptset.generate.exports.export_check import check_export, verify_export
from corruptset.manifests.records.digests import sha256_file

SETS = ["contrast/*"]
Copy = Callable[[str], Path]
Files = dict[str, bytes]


@pytest.fixture(scope="module")
def dataset_dir(shared_data: small_builds.SharedData) -> Path:
    return shared_data.build(sets=SETS)


@pytest.fixture(scope="module")
def export_once(dataset_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """Return a function that exports in a layout, once."""
    results: dict[str, Path] = {}

    def exported(name: str) -> Path:
        if name not in results:
            results[name] = export(name, dataset_dir, tmp_path_factory.mktemp("good") / name).path
        return results[name]

    return exported


@pytest.fixture
def copy_export(export_once: Copy, tmp_path: Path) -> Copy:
    """Return a function that copies an export, so that the copy can be damaged."""
    return lambda layout: shutil.copytree(export_once(layout), tmp_path / f"{len(list(tmp_path.iterdir()))}")


def reseal(exported: Path) -> None:
    """Update the hashes in VIEW.json, so that only a comparison with the dataset detects a change."""
    record = json.loads((exported / "VIEW.json").read_text("utf-8"))
    for file in record["files"]:
        file.update(bytes=(exported / file["path"]).stat().st_size, sha256=sha256_file(exported / file["path"]))
    (exported / "VIEW.json").write_text(json.dumps(record))
    assert verify_export(exported).ok


def places(problems: list[Any]) -> set[str]:
    """Return the files with problems, except croissant.json, which contains the hashes of the tars."""
    return {p.path.partition("#")[0].partition(":")[0] for p in problems} - {"small-c-1.0.0/croissant.json"}


@pytest.mark.parametrize("layout", ["cifar-c", "imagenet-c", "webdataset", "openood", "croissant"])
def test_every_kind_of_damage_is_found(dataset_dir: Path, export_once: Copy, copy_export: Copy, layout: str) -> None:
    checks = (verify_export, lambda path: check_export(dataset_dir, path))
    for report in (check(export_once(layout)) for check in checks):
        assert (report.problems, report.digest) == ([], corruptset.open(dataset_dir).digest)
    files = [
        p.relative_to(export_once(layout))
        for p in export_once(layout).rglob("*")
        if p.is_file() and p.name != "VIEW.json"
    ]
    for kind in sorted({p.suffix for p in files}):
        first = min(p for p in files if p.suffix == kind)
        changed, gone, stray = copy_export(layout), copy_export(layout), copy_export(layout)
        data = bytearray((changed / first).read_bytes())
        data[len(data) * 2 // 3] ^= 1
        (changed / first).unlink()  # and nothing of the file that it may be linked to
        (changed / first).write_bytes(bytes(data))
        (gone / first).unlink()
        (stray / first).with_name("stray.png").write_bytes(b"")
        assert not verify_export(changed).ok
        assert not check_export(dataset_dir, changed).ok
        assert places(check_export(dataset_dir, changed).problems) <= {first.as_posix()}
        for check in checks:
            assert "missing" in {p.kind for p in check(gone).problems}
            assert {p.kind for p in check(stray).problems} == {"unexpected"}


def replace_bytes(name: str, old: bytes, new: bytes) -> Callable[[Files], Files]:
    return lambda files: {n: data.replace(old, new) if n == name else data for n, data in files.items()}


LABEL = ("label=9/", "label=1/")


@pytest.mark.parametrize(
    ("layout", "change", "where"),
    [
        ("webdataset", lambda files: files | {"00000004.cls": b"7"}, ":00000004.png"),
        ("webdataset", replace_bytes("00000004.json", b"02_class", b"03_class"), ":00000004.png"),
        ("webdataset", lambda f: {n: data for n, data in f.items() if n != "00000004.cls"}, ":00000004.png"),
        ("webdataset", lambda f: f | {"00000020.png": f["00000000.png"]}, ": data after the last image"),
        ("webdataset", lambda files: dict(sorted(files.items(), reverse=True)), ":00000000.png"),
        (
            "croissant",
            lambda f: {n.replace(*LABEL): data for n, data in f.items()},
            ":18-label=9/09_class/im.0.png",
        ),
    ],
    ids=["a label", "a class", "no label", "one more", "another order", "a digit of a label"],
)
def test_tar_contents_are_compared_with_build(
    dataset_dir: Path, copy_export: Copy, layout: str, change: Callable[[Files], Files], where: str
) -> None:
    copy = copy_export(layout)
    path = min(copy.rglob("*.tar"))
    changed = change(tar_members(path))
    assert list(changed.items()) != list(tar_members(path).items())
    path.unlink()
    source_archives.write_tar(path, changed)
    reseal(copy)
    problems = [p for p in check_export(dataset_dir, copy).problems if not p.path.endswith("croissant.json")]
    assert {p.kind for p in problems} == {"decode"}
    assert problems[0].path == path.relative_to(copy).as_posix() + where


def change_pixel(images: Any) -> Any:
    images[47, 3, 4, 1] ^= 1
    return images


def test_rows_labels_and_metadata_are_compared_with_build(dataset_dir: Path, copy_export: Copy) -> None:
    def npy(change: Callable[[Any], Any]) -> Callable[[Path], None]:
        return lambda path: np.save(path, change(np.load(path)))

    arrays, labels, metadata = "CIFAR-10-C/contrast.npy", "CIFAR-10-C/labels.npy", "small-c-1.0.0/metadata.jsonl"
    edits: list[tuple[str, str, Callable[[Path], Any]]] = [
        ("cifar-c", arrays, npy(change_pixel)),
        ("cifar-c", arrays, npy(lambda images: np.concatenate([images, images[:3]]))),
        ("cifar-c", labels, npy(lambda labels: labels[::-1])),
        ("imagefolder", metadata, lambda p: p.write_text(p.read_text("utf-8").replace('"class": "00', '"class": "0'))),
    ]
    for number, (layout, name, change) in enumerate(edits):
        copy = copy_export(layout)
        change(copy / name)
        reseal(copy)
        problems = check_export(dataset_dir, copy).problems
        assert places(problems) == {name}
        assert number or [(p.path, p.kind) for p in problems] == [(f"{arrays}#47", "pixels")]


def test_export_of_other_build_and_broken_or_missing_record_are_reported(
    dataset_dir: Path, shared_data: small_builds.SharedData, copy_export: Copy, tmp_path: Path
) -> None:
    exported = copy_export("cifar-c")
    other = shared_data.build(crops={"classes": 5}, sets=SETS)
    for report, expected in (
        (check_export(other, exported), ("VIEW.json", "digest")),
        (verify_export(tmp_path), ("VIEW.json", "missing")),
        (check_export(dataset_dir, tmp_path), ("VIEW.json", "missing")),
    ):
        assert [(p.path, p.kind) for p in report.problems] == [expected]
    record = json.loads((exported / "VIEW.json").read_text("utf-8"))
    changes: list[dict[str, Any]] = [{"layout": "no-such"}, {"top": "../x"}, {"extra": 1}]
    for change in (*changes, {"options": {"severities": 3}}, {"options": {"images": ["x"]}}):
        (exported / "VIEW.json").write_text(json.dumps(record | change))
        assert {p.path for p in check_export(dataset_dir, exported).problems} == {"VIEW.json"}, change
    (tmp_path / "aside").write_text(json.dumps(record))
    (exported / "VIEW.json").unlink()
    (exported / "VIEW.json").symlink_to(tmp_path / "aside")
    assert not verify_export(exported).ok


def test_operating_system_files_are_noted(dataset_dir: Path, export_once: Copy, copy_export: Copy) -> None:
    for name in ("imagenet-c", "cifar-c", "webdataset", "imagefolder"):
        exported = copy_export(name)
        folder = next(path for path in sorted(exported.rglob("*")) if path.is_file()).parent
        for stray in (exported / ".DS_Store", folder / "._x.png", folder / "Thumbs.db", exported / "desktop.ini"):
            stray.write_bytes(b"Mac OS X")
        for report in (verify_export(exported), check_export(dataset_dir, exported)):
            assert report.ok, report.problems
            assert len(report.system_files) == 4
            assert [note[:54] for note in report.notes] == ["Files that macOS or Windows left in the folders: 4 (.D"]


def test_names_in_other_unicode_form_are_reported(tmp_path: Path, shared_data: small_builds.SharedData) -> None:
    source = shared_data.crops(classes=2)
    shutil.copytree(source / "00_class", tmp_path / "source/caf\u00e9")
    shutil.copytree(source / "01_class", tmp_path / "source/dog")
    directory = small_builds.build_dataset(shared_data.recipe(), tmp_path / "source", tmp_path / "out", sets=SETS)
    exported = export("imagenet-c", directory, tmp_path / "export").path
    for folder in exported.rglob("caf*"):
        folder.rename(folder.with_name("cafe\u0301"))
    alone, beside = verify_export(exported).problems, check_export(directory, exported).problems
    assert {(p.path, p.kind) for p in alone} == {(f"ImageNet-C/contrast/{s}", "unicode") for s in range(1, 6)}
    assert [(p.path, p.kind) for p in beside] == [(".", "unicode")]
    assert all("Unicode form" in p.detail and "--nfc" in p.detail for p in (*alone, *beside))
