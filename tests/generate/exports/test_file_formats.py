"""Test that the bytes of exported images match their suffixes, and their pixels those of the stored images."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_builds
from detection_sets import example_image, save_image
from small_builds import decode_image, export, tar_members
from source_archives import write_tar

import corruptset
from corruptset.errors import BuildError
from corruptset.generate.exports.export_check import check_export, verify_export
from corruptset.generate.exports.export_record import folder_record
from corruptset.manifests.records.digests import sha256_file

SETS = ["clean", "contrast/3"]
FORMATS = {b"\xff\xd8\xff": (".jpg", ".jpeg", ".jpe", ".jfif"), b"\x89PNG": (".png",)}


def files_match(files: dict[str, bytes]) -> bool:
    """Return whether there are image files whose formats match their suffixes."""
    images = {name: data for name, data in files.items() if not name.endswith((".json", ".cls", ".txt"))}
    assert images
    return all(
        name.lower().endswith(suffixes)
        for name, data in images.items()
        for begin, suffixes in FORMATS.items()
        if data.startswith(begin)
    )


def check_export_files(directory: Path, exported: Path) -> None:
    """Verify an export with its own record and against its dataset."""
    for report in (verify_export(exported), check_export(directory, exported)):
        assert report.ok, report.problems


def mixed(root: Path) -> Path:
    """Write class folders of images with different suffixes."""
    for number, name in enumerate(["a/x.png", "a/y.JPG", "b/x.PNG", "b/z.jpeg"]):
        form = "PNG" if name.lower().endswith("png") else "JPEG"
        save_image(example_image(32, 32, number), root / name, form)
    return root


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mixed(tmp_path_factory.mktemp("mixed") / "source")


def build(encoding: str, source: str, out: Path, **options: Any) -> Any:
    out.mkdir(parents=True, exist_ok=True)
    recipe = small_builds.write_recipe(out, encoding=encoding)
    options = {"sets": SETS, "jobs": 1, "metrics": 0, "page": False, "any_shape": True, **options}
    return corruptset.build(recipe, source, out, **options)


@pytest.mark.parametrize("form", ["folder", "hdf5", "both"])
def test_png_name_gets_png_of_stored_jpeg(source: Path, tmp_path: Path, form: str) -> None:
    directory = build("jpeg", f"folder:{source}", tmp_path, storage=form).directory
    result = export("source-tree", directory, tmp_path / "export")
    assert any("stores JPEG, and the names of 2 images of each set end in .png" in note for note in result.notes)
    data = corruptset.open(directory)
    for set_id in SETS:
        files = small_builds.read_files(tmp_path / "export/images" / set_id)
        assert sorted(files) == ["a/x.png", "a/y.JPG", "b/x.PNG", "b/z.jpeg"]
        assert files_match(files)
        for index, sample in enumerate(data.samples):
            np.testing.assert_array_equal(decode_image(files[str(sample.path)]), data[set_id].image(index))
    check_export_files(directory, tmp_path / "export")
    # a changed pixel of such a PNG is found by the build
    save_image(example_image(32, 32, 7), tmp_path / "export/images/clean/a/x.png", "PNG")
    assert [(p.path, p.kind) for p in check_export(directory, tmp_path / "export").problems] == [
        ("images/clean/a/x.png", "pixels")
    ]


def test_png_dataset_has_no_jpeg_names(source: Path, tmp_path: Path) -> None:
    """This applies to exports, and to datasets of a tree, whose images keep their names."""
    renamed = ["a/x.png", "a/y.png", "b/x.PNG", "b/z.png"]
    directory = build("png", f"folder:{source}", tmp_path / "folder").directory
    result = export("source-tree", directory, tmp_path / "export")
    check_export_files(directory, tmp_path / "export")
    tree = build("png", f"tree:{source}", tmp_path / "tree")
    for top, notes in (
        (tmp_path / "export/images", result.notes),
        (tree.directory / "images", tree.notes),
    ):
        files = small_builds.read_files(top / "clean")
        assert (sorted(files), files_match(files)) == (renamed, True)
        assert any("stores PNG, but the names of 2 images of each set end in the suffix of a JPEG" in n for n in notes)
        for name, path in zip(renamed, ["a/x.png", "a/y.JPG", "b/x.PNG", "b/z.jpeg"], strict=True):
            np.testing.assert_array_equal(decode_image(files[name]), decode_image((source / path).read_bytes()))
    assert corruptset.verify(tree.directory, rederive=2, source=f"tree:{source}").ok


def test_names_that_differ_only_in_suffix_cannot_all_be_png(tmp_path: Path) -> None:
    for name in ("x.jpg", "x.png"):
        save_image(example_image(32, 32), tmp_path / "tree" / name)
    with pytest.raises(BuildError, match=r"x\.jpg and x\.png: both would have the suffix \.png"):
        build("png", f"tree:{tmp_path / 'tree'}", tmp_path / "out")
    assert build("jpeg", f"tree:{tmp_path / 'tree'}", tmp_path / "out").images == 4


def test_dataset_with_own_names_is_exported_with_matching_suffixes(source: Path, tmp_path: Path) -> None:
    directory = build("jpeg", f"tree:{source}", tmp_path).directory
    for layout in ("source-tree",):
        export(layout, directory, tmp_path / layout)
        check_export_files(directory, tmp_path / layout)
        files = small_builds.read_files(tmp_path / layout)
        assert files_match(files)
        assert {Path(name).suffix.lower() for name in files} >= {".png", ".jpeg"}


def test_bytes_of_other_format_fail_export_check(jpeg: Path, tmp_path: Path) -> None:
    """An export of an earlier version can contain such files, which agree with its records."""
    export("source-tree", jpeg, tmp_path / "files", sets=["clean"])
    invalid = tmp_path / "files/images/clean/00_class/im.0.png"
    invalid.unlink()
    save_image(example_image(32, 32), invalid, "JPEG")
    record = json.loads((tmp_path / "files/VIEW.json").read_text())
    images = sorted(path for path in (tmp_path / "files/images/clean").rglob("*.png"))
    rows = [(p.relative_to(tmp_path / "files").as_posix(), sha256_file(p), p.stat().st_size) for p in images]
    record["folders"] = [folder_record("images/clean", rows).as_json()]
    (tmp_path / "files/VIEW.json").write_text(json.dumps(record))
    message = "begins like a JPEG, but its name ends in .png; export it again"
    for report in (verify_export(tmp_path / "files"), check_export(jpeg, tmp_path / "files")):
        assert [(p.path, p.kind, p.detail) for p in report.problems] == [
            ("images/clean/00_class/im.0.png", "decode", message)
        ]


def test_tar_members_are_checked_too(jpeg: Path, tmp_path: Path) -> None:
    export("webdataset", jpeg, tmp_path / "tars", sets=["clean"])
    (tar,) = (tmp_path / "tars").rglob("*.tar")
    renamed = {name.replace(".jpg", ".png"): data for name, data in tar_members(tar).items()}
    write_tar(tar, renamed)
    record = json.loads((tmp_path / "tars/VIEW.json").read_text())
    for file in record["files"]:
        file.update(
            bytes=(tmp_path / "tars" / file["path"]).stat().st_size,
            sha256=sha256_file(tmp_path / "tars" / file["path"]),
        )
    (tmp_path / "tars/VIEW.json").write_text(json.dumps(record))
    problems = verify_export(tmp_path / "tars").problems
    assert len(problems) == 20
    assert problems[0].detail.startswith("begins like a JPEG, but its name ends in .png")
