"""Class folders keep their labels, numbers are sorted numerically, and other layouts are rejected."""

from __future__ import annotations

import os
import re
import shutil
import tarfile
import tempfile
import unicodedata
from pathlib import Path

import numpy as np
import pytest
import source_archives as a

import corruptset
from corruptset.errors import SourceError
from corruptset.generate.build import build
from corruptset.generate.exports.export import export
from corruptset.generate.sources.check import check
from corruptset.generate.sources.source import open_source
from corruptset.manifests.verify.directory import verify_directory
from example_images import encode_image

RGB = (np.arange(12 * 10 * 3).reshape(12, 10, 3) * 5 % 251).astype(np.uint8)
PNG = encode_image(RGB)
COMPOSED, DECOMPOSED = (unicodedata.normalize(form, "mé") for form in ("NFC", "NFD"))
UNUSABLE = {
    "empty": ("mm/", "a class folder without an image"),
    "documents": ("mm/README.md", "a class folder without an image"),
    "unsupported": ("mm/1.npy", "a class folder in which no image can be used"),
    "not UTF-8": ("m\udcff/1.png", "has a name that is not UTF-8"),
    "too long": ("m" * 250 + "/1.png", "longer than 240 bytes"),
    "control character": ("m\tm/1.png", r"control characters in its name \(U\+0009\)"),
    "line separator": ("m\u2028m/1.png", r"control characters in its name \(U\+2028\)"),
    "backslash": ("m\\m/1.png", "backslash"),
    "drive": ("m:m/1.png", "a drive on Windows"),
    "images with bad names": ("mm/a\tb.png", "a class folder in which no image can be used"),
}
"""Paths of a class folder between ``b`` and ``x`` in which no image can be used."""


def write_images(root, *paths):
    for path in paths:
        os.makedirs(root / path.rpartition("/")[0], exist_ok=True)
        if not path.endswith("/"):
            (root / path).write_bytes(PNG)
    return root


def write_tar_of(path, *paths, top=""):
    """Write a tar. Names that end with a slash are folders."""
    with tarfile.open(path, "w", encoding="utf-8", errors="surrogateescape") as archive:
        for name in paths:
            member = tarfile.TarInfo(top + name.rstrip("/"))
            if name.endswith("/"):
                member.type = tarfile.DIRTYPE
                archive.addfile(member)
            else:
                member.size = len(PNG)
                with tempfile.TemporaryFile() as file:
                    file.write(PNG)
                    file.seek(0)
                    archive.addfile(member, file)
    return path


def check_labels_kept(source, reason, unusable=1):
    """Check that b and x have the labels that they get if there are `unusable` other class folders."""
    assert {s.id: s.label for s in source.samples} == {"b/1": 0, "x/1": 1 + unusable}
    assert [(c.index, c.name) for c in source.classes if c.name in "bx"] == [(0, "b"), (1 + unusable, "x")]
    assert len({c.name for c in source.classes}) == len({c.folder for c in source.classes}) == 2 + unusable
    assert all(c.name.isprintable() and c.name.encode() for c in source.classes)
    folders = [reason for path, reason in source.notes if path.endswith("/")]
    assert len(folders) == unusable, source.notes
    assert all(re.search(reason, message) for message in folders)
    with pytest.raises(SourceError, match=f"^{unusable} class folder"):
        check(source, source.samples).raise_for_bad(source.notes)


@pytest.mark.parametrize("form", ["folder", "tar", "tar with a folder around"])
@pytest.mark.parametrize("kind", UNUSABLE)
def test_class_without_usable_images_keeps_label(tmp_path, kind, form):
    path, reason = UNUSABLE[kind]
    if form == "folder":
        root = write_images(tmp_path / "root", "b/1.png", path, "x/1.png")
    else:
        top = "" if form == "tar" else "around/"
        root = write_tar_of(tmp_path / "x.tar", "b/1.png", path, "x/1.png", top=top)
    check_labels_kept(open_source(f"folder:{root}"), reason)


@pytest.mark.parametrize("form", ["folder", "tar"])
def test_classes_with_equal_names_keep_labels(tmp_path, form):
    for pair, order in ((("mm", "MM"), ["MM", "b", "mm", "x"]), ((COMPOSED, DECOMPOSED), None)):
        paths = ["b/1.png", *(f"{name}/1.png" for name in pair), "x/1.png"]
        shutil.rmtree(tmp_path / "root", ignore_errors=True)
        root = write_images(tmp_path / "root", *paths) if form == "folder" else write_tar_of(tmp_path / "x.tar", *paths)
        source = open_source(f"folder:{root}")
        if order is None:
            check_labels_kept(source, "the same name as .* Unicode forms", 2)
        else:
            assert [c.name for c in source.classes] == order
            assert {s.id: s.label for s in source.samples} == {"b/1": 1, "x/1": 3}
        assert [(path, reason.endswith("(1 image in it left out)")) for path, reason in source.notes] == [
            (f"{name}/", True) for name in sorted(pair)
        ]


def test_linked_or_unreadable_class_keeps_label(tmp_path):
    root = write_images(tmp_path / "root", "b/1.png", "x/1.png")
    (root / "m.v2").symlink_to(tmp_path / "not mounted")
    check_labels_kept(open_source(f"folder:{root}"), "is a broken link")
    (root / "m.v2").unlink()
    (root / "m").symlink_to("m")
    check_labels_kept(open_source(f"folder:{root}"), "leads back to itself")
    (root / "m").unlink()
    (root / "m").symlink_to(write_images(tmp_path / "elsewhere", "1.png"))
    assert [s.label for s in open_source(f"folder:{root}").samples] == [0, 1, 2]


def test_unreadable_class_keeps_label():
    base, user = Path(tempfile.mkdtemp()), os.geteuid()
    try:
        base.chmod(0o755)
        write_images(base, "b/1.png", "m/1.png", "x/1.png")
        (base / "m").chmod(0)
        if user == 0:  # permissions do not restrict root
            os.seteuid(65534)
        source = open_source(f"folder:{base}")
        os.seteuid(user)
        check_labels_kept(source, "Permission denied")
    finally:
        os.seteuid(user)
        (base / "m").chmod(0o755)
        shutil.rmtree(base)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_class_of_links_in_tar_keeps_label(tmp_path, kind):
    def change(member):
        if member.name.startswith("m/"):
            member.type, member.linkname, member.size = kind, "b/1.png", 0

    files = dict.fromkeys(("b/1.png", "m/1.png", "m/2.png", "x/1.png"), PNG)
    source = open_source(f"folder:{a.write_tar(tmp_path / 'x.tar', files, change=change)}")
    check_labels_kept(source, "no image can be used")
    assert [path for path, _ in source.notes] == ["m/", "m/1.png", "m/2.png"]


def test_linked_class_in_tar_keeps_label(tmp_path):
    def change(member):
        if member.name == "m":
            member.type, member.linkname, member.size = tarfile.SYMTYPE, "/elsewhere/m", 0

    files = dict.fromkeys(("b/1.png", "m", "x/1.png"), PNG)
    check_labels_kept(open_source(f"folder:{a.write_tar(tmp_path / 'x.tar', files, change=change)}"), "is a link")


def test_wnid_folders_without_images_keep_labels(tmp_path):
    first, empty, last = "n01440764", "n01443537", "n01484850"
    paths = (f"{first}/1.JPEG", f"{empty}/", f"{last}/2.JPEG")
    root = write_images(tmp_path / "root", *paths)
    linked = write_images(tmp_path / "linked", *paths[::2])
    (linked / empty).symlink_to(write_images(tmp_path / "elsewhere", "3.JPEG"))
    for path, labels in (
        (root, [0, 2]),
        (write_tar_of(tmp_path / "x.tar", *paths), [0, 2]),
        (write_tar_of(tmp_path / "val.tar", *paths, top="val/"), [0, 2]),
        (linked, [0, 2, 1]),
    ):
        source = open_source(f"imagenet:{path}")
        assert [s.label for s in source.samples] == labels
        assert [c.name for c in source.classes] == [first, empty, last]
        assert [path for path, _ in source.notes] == ([] if path == linked else [f"{empty}/"])


def test_icons_without_usable_images_keep_labels(tmp_path):
    root = write_images(tmp_path / "Icons-50", "boat/apple_1_boat.png", "cat/", "drink/apple_1_tea.png")
    source = open_source(f"icons50:{root}")
    assert [(s.id, s.label) for s in source.samples] == [("boat/apple_1_boat", 0), ("drink/apple_1_tea", 2)]
    assert [path for path, _ in source.notes] == ["cat/"]


def numbered_paths(count, template="{}"):
    return [f"{template.format(i)}/{i}.png" for i in range(count)]


@pytest.mark.parametrize("form", ["folder", "tar"])
def test_numeric_class_folders_are_in_numeric_order(tmp_path, form):
    root = write_images(tmp_path / "x", *numbered_paths(12))
    source = open_source(
        f"folder:{root if form == 'folder' else write_tar_of(tmp_path / 'x.tar', *numbered_paths(12))}"
    )
    assert {int(s.id.partition("/")[0]): s.label for s in source.samples} == {i: i for i in range(12)}
    assert [(c.name, c.folder) for c in source.classes] == [(str(i), f"{i:02d}") for i in range(12)]
    (remark,) = source.remarks
    assert "so they are sorted as numbers: folder 11 has label 11." in remark
    assert "sorts the names of the source as text and gives 11 the label 3" in remark


def test_numbers_with_zeros_gaps_or_names_keep_consistent_order(tmp_path):
    padded = open_source(f"folder:{write_images(tmp_path / 'padded', *numbered_paths(12, '{:03d}'))}")
    assert [(c.name, c.folder) for c in padded.classes] == [(f"{i:03d}", f"{i:03d}") for i in range(12)]
    assert padded.remarks == ()
    gaps = open_source(f"folder:{write_images(tmp_path / 'gaps', '1/a.png', '5/a.png', '30/a.png')}")
    assert {s.id: s.label for s in gaps.samples} == {"1/a": 0, "5/a": 1, "30/a": 2}
    assert "folder 30 has label 2. The numbers are not 0, 1, 2, ... without gaps" in gaps.remarks[0]
    mixed = open_source(f"folder:{write_images(tmp_path / 'mixed', '2/a.png', '10/a.png', 'other/a.png')}")
    assert {s.id: s.label for s in mixed.samples} == {"10/a": 0, "2/a": 1, "other/a": 2}
    assert "Not all class folders are numbers ('other' is not), so all are sorted as text" in mixed.remarks[0]
    equal = open_source(f"folder:{write_images(tmp_path / 'equal', '1/a.png', '01/b.png', '2/c.png')}")
    assert {s.id: s.label for s in equal.samples} == {"2/c": 2}
    assert [path for path, reason in equal.notes if "is the same number as" in reason] == ["01/", "1/"]


def test_stored_numeric_folders_are_sorted_as_text(tmp_path):
    files = {name: encode_image(np.full((64, 64, 3), i, np.uint8)) for i, name in enumerate(numbered_paths(12))}
    root = a.write_files(tmp_path / "x", files)
    result = build("tiny-imagenet-c", f"folder:{root}", tmp_path, sets=["contrast/*"], jobs=1, storage="folder")
    assert any("sorted as numbers" in note for note in result.notes)
    assert verify_directory(result.directory).ok
    export_result = export("tiny-imagenet-c", result.directory, tmp_path / "exported")
    assert any("zero-padded names: class 0 is in folder 00." in note for note in export_result.notes)
    for folder in (result.directory / "images/contrast/1", export_result.top / "contrast/1"):
        # torchvision's ImageFolder assigns labels to the sorted names of folders
        actual = {
            label: sorted(path.name for path in folder_of_class.iterdir())
            for label, folder_of_class in enumerate(sorted(folder.iterdir()))
        }
        assert actual == {i: [f"{i}.JPEG"] for i in range(12)}
    data = corruptset.open(result.directory)
    assert [sample.id for sample in data.samples] == sorted(f"{i}/{i}" for i in range(12))
    assert all(sample.id == f"{sample.label}/{sample.label}" for sample in data.samples)


@pytest.mark.parametrize("form", ["folder", "tar"])
def test_build_without_bad_classes_keeps_labels_and_verifies(lossless_recipe, tmp_path, form):
    names = ("b/1.png", "m\udcff/1.png", "m\tm/1.png", "mm/", "x/1.png", "x/2.png", "x/3.jpg")
    if form == "folder":
        root = write_images(tmp_path / "root", *names, "mM/1.png", "MM/1.png")
    else:
        root = write_tar_of(tmp_path / "x.tar", *names, "mM/1.png", "MM/1.png")
    options = {"sets": ["contrast/1"], "jobs": 1, "storage": "both"}
    with pytest.raises(SourceError, match=r"^5 class folders of the source cannot be used"):
        build(lossless_recipe, f"folder:{root}", tmp_path / "out", **options)
    result = build(lossless_recipe, f"folder:{root}", tmp_path / "out", skip_bad=True, **options)
    assert verify_directory(result.directory).ok
    data = corruptset.open(result.directory)
    assert [(s.id, s.label) for s in data.samples] == [("b/1", 1), ("x/1", 6), ("x/2", 6), ("x/3", 6)]
    assert [c.name for c in data.classes] == ["MM", "b", "m%09m", "mM", "mm", "m%FF", "x"]


def test_split_folders_are_not_classes(tmp_path):
    two = [f"{split}/{name}/1.png" for split in ("train", "Val") for name in ("cat", "dog")]
    for i, (paths, folder) in enumerate(
        (
            (two, "Val"),
            ([*two, "annotations/boxes.json", "cover.png"], "Val"),
            (["training/cat/1.png", "TEST/cat/1.png"], "TEST"),
            (["train2017/1.png", "val2017/1.png"], "train2017"),
            (["dev/cat/1.png"], "dev"),
            (["images/train/1.png", "images/val/1.png", "labels/train/1.txt"], "images/val"),
            (["imagenet/val/n1/1.png", "imagenet/val/n2/1.png"], "imagenet/val"),
        )
    ):
        root = write_images(tmp_path / str(i), *paths)
        message = a.check_refused(f"folder:{root}", "has no class folders")
        assert f"specify its folder: folder:{root}/{folder}. " in message
        if folder == "dev":
            continue  # in a tar, a single folder that contains all class folders is ignored
        tar = write_tar_of(tmp_path / f"{i}.tar", *paths)
        assert "extract it, and specify its folder: folder:" in a.check_refused(f"folder:{tar}", "has no class folders")
    (tmp_path / "labels.csv").write_text("file,label\n" + "".join(f"{path},{i}\n" for i, path in enumerate(two)))
    assert len(open_source(f"folder:{tmp_path / '0'}", labels=tmp_path / "labels.csv").samples) == 4
    # classes that have the names of splits
    for paths in (
        ["test/1.png", "control/1.png"],
        ["cat/test/1.png", "cat/1.png"],
        ["test/1.png", "train-station/1.png"],
    ):
        shutil.rmtree(tmp_path / "x", ignore_errors=True)
        assert open_source(f"folder:{write_images(tmp_path / 'x', *paths)}").samples


def test_tiny_imagenet_validation_folder_is_rejected_and_suitable_source_named(tmp_path):
    val = write_images(tmp_path / "tiny imagenet/val", *(f"images/val_{i}.JPEG" for i in range(4)))
    (val / "val_annotations.txt").write_text("val_0.JPEG\tn01443537\t0\t0\t60\t60\n")
    for root in (val, val / "images"):
        message = a.check_refused(f"folder:{root}", "Tiny ImageNet's folder val")
        assert message.endswith(f"contains wnids.txt: 'tiny-imagenet:{val.parent}'.")
    for top in ("", "val/"):
        tar = write_tar_of(tmp_path / "val.tar", "images/val_0.JPEG", "val_annotations.txt", top=top)
        a.check_refused(f"folder:{tar}", "Tiny ImageNet's folder val: .*Use the source tiny-imagenet with the zip")


def test_single_class_is_reported(tmp_path):
    for paths, message in (
        (["images/1.png"], "one class folder, images, so every image has the label 0. If it is not a class"),
        (["data/cat/1.png", "data/dog/1.png"], "It has 2 folders. If these are the classes, use that folder"),
    ):
        shutil.rmtree(tmp_path / "x", ignore_errors=True)
        (remark,) = open_source(f"folder:{write_images(tmp_path / 'x', *paths)}").remarks
        assert message in remark
    assert open_source(f"folder:{write_images(tmp_path / 'two', 'a/1.png', 'b/1.png')}").remarks == ()
