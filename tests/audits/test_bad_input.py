"""Audits of data that is damaged, incomplete or something else: one plain sentence or a finding for each."""

from __future__ import annotations

import pickle
import shutil

import corrupted_copies
import numpy as np
import pytest
from PIL import Image

import corruptset
from corruptset.errors import ParameterError, SourceError


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return corrupted_copies.write_source(tmp_path_factory.mktemp("clean"))


@pytest.fixture(scope="module")
def cifar(tmp_path_factory):
    return corrupted_copies.write_cifar(
        tmp_path_factory.mktemp("copy") / "CIFAR-10-C", ("motion_blur", "fog", "brightness")
    )


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    return corrupted_copies.write_folder_source(tmp_path_factory.mktemp("photographs"))


def codes(set_audit):
    return [finding.code for finding in set_audit.findings]


def test_folders_without_dataset_give_one_line_message(tmp_path):
    with pytest.raises(SourceError, match="It is empty"):
        corruptset.audit(tmp_path)
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "a.txt").write_text("no image")
    with pytest.raises(SourceError, match="No corrupted dataset was recognised"):
        corruptset.audit(tmp_path)
    with pytest.raises(SourceError, match="does not exist"):
        corruptset.audit(tmp_path / "absent")


def test_pickled_arrays_are_not_executed(tmp_path):
    class Runs:
        def __reduce__(self):
            return (open, (str(tmp_path / "ran"), "w"))

    np.save(tmp_path / "fog.npy", np.array([Runs()], dtype=object), allow_pickle=True)
    with pytest.raises(SourceError, match="contains pickled Python objects"):
        corruptset.audit(tmp_path)
    (tmp_path / "fog.npy").write_bytes(pickle.dumps(Runs()))
    with pytest.raises(SourceError, match="contains pickled Python objects"):
        corruptset.audit(tmp_path)
    assert not (tmp_path / "ran").exists()


def test_links_out_of_folder_are_not_followed(photographs, tmp_path):
    corrupted_copies.write_tree(tmp_path / "elsewhere", ("fog",), (1,))
    copy = corrupted_copies.write_tree(tmp_path / "copy", ("brightness",), (1,))
    (copy / "fog").symlink_to(tmp_path / "elsewhere" / "fog")
    audit = corruptset.audit(copy)
    assert list(audit.sets) == ["brightness/1"]
    assert "Links that lead out of the folder are not followed: fog." in " ".join(f.text for f in audit.findings)


def test_unusual_array_shapes_and_unreadable_images_are_findings(cifar, source, photographs, tmp_path):
    copy = shutil.copytree(cifar, tmp_path / "copy")
    np.save(copy / "fog.npy", np.zeros((5, 32), np.uint8))
    np.save(copy / "brightness.npy", np.load(copy / "brightness.npy")[:-1])
    audit = corruptset.audit(copy, source, sets=["brightness", "motion_blur/1"])
    assert {finding.code for finding in audit.findings} >= {"unreadable_images", "missing_images"}
    tree = corrupted_copies.write_tree(tmp_path / "tree", ("brightness",), (1,))
    next(tree.rglob("val_0002.JPEG")).write_bytes(b"not an image")
    set_audit = corruptset.audit(tree, photographs).sets["brightness/1"]
    assert (set_audit.verdict, codes(set_audit)) == ("same_pixels", ["unreadable_images"])


def test_grey_images_are_finding(source):
    images = corrupted_copies.corrupted_images(32, "brightness", 1)
    grey = [(np.asarray(Image.fromarray(image).convert("L").convert("RGB")), i % 4) for i, image in enumerate(images)]
    set_audit = corruptset.audit({"brightness/1": grey}, source).sets["brightness/1"]
    assert "The images are grey" in " ".join(finding.text for finding in set_audit.findings)


def test_images_stored_as_grey_jpegs_keep_verdict(photographs, tmp_path):
    tree = corrupted_copies.write_tree(tmp_path, ("brightness",), (1,))
    for path in tree.rglob("*.JPEG"):
        Image.open(path).convert("L").save(path, quality=85)
    set_audit = corruptset.audit(tree, photographs).sets["brightness/1"]
    assert (set_audit.verdict, codes(set_audit)) == ("same_pixels", ["other_preprocessing"])
    assert set_audit.encoding == "JPEG quality 85, grey"


def test_sets_of_different_size_are_not_compared(cifar, source, tmp_path):
    copy = shutil.copytree(cifar, tmp_path / "copy")
    np.save(copy / "fog.npy", np.concatenate([corrupted_copies.corrupted_images(64, "fog", s) for s in range(1, 6)]))
    set_audit = corruptset.audit(copy, source, sets=["brightness/1", "fog/1"]).sets["fog/1"]
    assert (set_audit.verdict, codes(set_audit)) == ("not_checked", ["resized"])
    assert "64x64 pixels, but 32x32 are expected" in set_audit.findings[0].text


def test_folder_without_usable_array_reports_each_file(tmp_path):
    np.save(tmp_path / "fog.npy", np.zeros((5, 32), np.uint8))
    np.save(tmp_path / "snow.npy", np.zeros((5, 3, 32, 32), np.float32))
    with pytest.raises(SourceError, match=r"(?s)fog.npy has the shape \(5, 32\).*snow.npy has .* the type float32"):
        corruptset.audit(tmp_path)


def test_images_are_compared_despite_unreadable_labels(cifar, source, tmp_path):
    copy = shutil.copytree(cifar, tmp_path / "copy")
    np.save(copy / "labels.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    audit = corruptset.audit(copy, source, sets=["brightness/1"])
    assert audit.sets["brightness/1"].verdict == "same_pixels"
    assert "labels.npy contains pickled Python objects" in audit.findings[0].text


def test_single_set_is_not_flagged_as_incomplete(photographs, tmp_path):
    tree = corrupted_copies.write_tree(tmp_path, ("brightness",), (1,))
    audit = corruptset.audit(tree / "brightness" / "1", photographs)
    assert (list(audit.sets), audit.good) == (["brightness/1"], True)


def test_source_with_fewer_images_is_finding(cifar, source, tmp_path):
    np.save(tmp_path / "images.npy", corrupted_copies.photographs(32)[:3])
    np.save(tmp_path / "labels.npy", np.arange(3))
    small_source = f"npy:{tmp_path / 'images.npy'},{tmp_path / 'labels.npy'}"
    set_audit = corruptset.audit(cifar, small_source, sets=["brightness/1"]).sets["brightness/1"]
    assert (set_audit.verdict, codes(set_audit)) == ("same_pixels", ["extra_images"])
    assert "The set has 8 images, but the source has 3." in set_audit.findings[0].text


def test_audit_rejects_invalid_arguments(cifar):
    with pytest.raises(ParameterError, match="expected at least 2"):
        corruptset.audit(cifar, samples=1)
    with pytest.raises(ParameterError, match="no published benchmark 'imagenet'"):
        corruptset.audit(cifar, benchmark="imagenet")
    with pytest.raises(ParameterError, match="No set is called"):
        corruptset.audit(cifar, sets=["snow/*"])
    with pytest.raises(ParameterError, match="Pass a source too, or leave frost_textures"):
        corruptset.audit(cifar, frost_textures=cifar)


def test_unknown_sets_with_numbered_folders_keep_their_names(tmp_path):
    image = Image.fromarray(corrupted_copies.photographs(32)[0])
    for name in ("mystery", "riddle"):
        path = tmp_path / name / "3" / "n00000000" / "val_0000.png"
        path.parent.mkdir(parents=True)
        image.save(path)
    audit = corruptset.audit(tmp_path)
    assert {set_id: codes(audited)[0] for set_id, audited in audit.sets.items()} == {
        "mystery/3": "unknown_set",
        "riddle/3": "unknown_set",
    }
