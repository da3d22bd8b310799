"""The validation images of ILSVRC2012: every form in which they exist gives the same samples."""

from __future__ import annotations

import hashlib
import pickle
import tarfile

import numpy as np
import pytest
import source_archives as a

from corruptset.generate.sources.check import check
from corruptset.generate.sources.source import open_source

SORTED, OF_IMAGES = sorted(a.WNIDS), [a.WNIDS[k - 1] for k in a.ground_truth()]
EXPECTED = [
    (name.removesuffix(".JPEG"), SORTED.index(wnid), None, "sha256:" + hashlib.sha256(data).hexdigest())
    for wnid, (name, data) in zip(OF_IMAGES, a.val_images().items(), strict=True)
]
KIT = "ILSVRC2012_devkit_t12.tar.gz"


@pytest.fixture
def root(tmp_path):
    """Write all forms of the dataset into one folder."""
    images, folders = a.val_images(), a.wnid_folders()
    a.write_tar(tmp_path / KIT, a.devkit_files(), "w:gz")
    a.write_files(tmp_path, a.devkit_files())
    a.write_tar(tmp_path / "ILSVRC2012_img_val.tar", images, format=tarfile.GNU_FORMAT)
    # as GNU tar archives a folder: unsorted, and each name begins with ./
    walked = {f"./{name}": data for name, data in reversed(folders.items())}
    a.write_tar(tmp_path / "folders.tar", walked, format=tarfile.PAX_FORMAT)
    a.write_tar(tmp_path / "val.tar", {f"val/{name}": data for name, data in folders.items()})
    for place, files in (("flat", images), ("folders", folders), ("around/val", folders)):
        a.write_files(tmp_path / place, files)
    (tmp_path / "synsets.txt").write_text("".join(f"{w}\n" for w in OF_IMAGES))
    boxes = [f"{s},{w} 85 1 499 272 {w} 1 1 2 2 " for (s, *_), w in zip(EXPECTED, OF_IMAGES, strict=True)]
    (tmp_path / "LOC_val_solution.csv").write_text("\n".join(["ImageId,PredictionString", *reversed(boxes), ""]))
    rows = [f"{name},{wnid}" for name, wnid in zip(images, OF_IMAGES, strict=True)]
    (tmp_path / "labels.csv").write_text("\n".join(["file,label", *rows, ""]))
    return tmp_path


def test_every_format_is_same_source(root):
    for path, labels in (
        ("ILSVRC2012_img_val.tar", None),
        ("", None),
        ("ILSVRC2012_img_val.tar", "ILSVRC2012_devkit_t12"),
        ("ILSVRC2012_img_val.tar", "LOC_val_solution.csv"),
        ("flat", None),
        ("flat", "synsets.txt"),
        ("flat", "labels.csv"),
        ("folders", None),
        ("folders", KIT),
        ("around", None),
        ("folders.tar", None),
        ("val.tar", None),
    ):
        source = open_source(f"imagenet:{root / path}", labels=root / labels if labels else None)
        assert a.source_contents(source) == EXPECTED, (path, labels)
        assert [(c.index, c.name, c.folder) for c in source.classes] == [(i, w, w) for i, w in enumerate(SORTED)]
        assert (source.scheme, source.notes) == ("imagenet", ())
        assert [s.index for s in source.samples] == list(range(7))
        unpickled = pickle.loads(pickle.dumps(source))
        assert np.array_equal(unpickled.load(unpickled.samples[0]).image, source.load(source.samples[0]).image)


def test_tar_is_read_in_place_including_unusual_images(root):
    before = sorted(root.rglob("*"))
    source = open_source(f"imagenet:{root / 'ILSVRC2012_img_val.tar'}")
    report = check(source, source.samples)
    assert (len(report.good), report.bad) == (7, [])
    # the CMYK file, the PNG that is named .JPEG, and the grey image
    assert [source.load(source.samples[i]).image.shape[2] for i in (1, 2, 3)] == [3, 3, 1]
    assert sorted(root.rglob("*")) == before
    with (root / "ILSVRC2012_img_val.tar").open("r+b") as f:
        f.truncate(2000)
    check_report = check(source, source.samples)
    assert (len(check_report.bad), "cannot be read any more" in check_report.bad[3][1]) == (7, True)


def test_unsuitable_devkits_are_rejected(tmp_path):
    valid, other = a.devkit_files(), a.devkit_files(year="2011")
    _, meta, truth = valid
    truths = a.ground_truth()
    for i, (files, message) in enumerate(
        (
            (a.devkit_files(year="2010"), r"no data/ILSVRC2012_validation_ground_truth.txt; is it .* another year\?"),
            (
                valid | {meta: other["ILSVRC2011_devkit_t12/data/meta.mat"]},
                "cannot be read as a MATLAB file with the synsets of ILSVRC2012.*ILSVRC2012_ID",
            ),
            (a.devkit_files(truths[:-1]), "has no line for it"),
            (a.devkit_files([*truths, 1]), "contains 7 images, but .* has the classes of 8"),
            (a.devkit_files([*truths[:-1], 4]), "lines that are not ids from 1 to 3:\n  line 7: '4'"),
            (valid | {truth: b"cat\n" * 7}, "line 1: 'cat'"),
            (
                a.devkit_files(wnids=["n02123045", "n02123045", "n01532829"]),
                "does not give every class a different wnid",
            ),
            ({truth: valid[truth]}, "has no data/meta.mat"),
        )
    ):
        a.check_refused(f"imagenet:{a.write_files(tmp_path / str(i), a.val_images() | files)}", message)
    truncated = a.write_tar(tmp_path / KIT, valid, "w:gz")
    truncated.write_bytes(truncated.read_bytes()[:-40])
    a.check_refused(f"imagenet:{a.write_files(tmp_path / 'flat', a.val_images())}", "is truncated", labels=truncated)


def test_unsuitable_labels_are_rejected(root):
    original, first, second = (root / "labels.csv").read_text(), *a.WNIDS[:2]
    swapped = original.replace(first, "x").replace(second, first).replace("x", second)
    for text, path, message in (
        ("\n".join(original.split("\n")[:-2]), "flat", "ILSVRC2012_val_00000007.JPEG: "),
        (original.replace("00000007", "00000001"), "flat", "line 8: ILSVRC2012_val_00000001 is listed twice"),
        (original.replace(second, "cat"), "flat", "line 4: 'cat' is not a wnid"),
        (original.replace("file,label", "image,class"), "flat", "line 1: 'class' is not a wnid(.|\n)*header line"),
        (swapped, "folders", f"mine.csv says {second}"),
    ):
        (root / "mine.csv").write_text(text)
        a.check_refused(f"imagenet:{root / path}", message, labels=root / "mine.csv")
    # the labels may cover more images than exist, because subsets of the images are allowed
    for name in list(a.val_images())[3:]:
        (root / "flat" / name).unlink()
    some = open_source(f"imagenet:{root / 'flat'}", labels=root / "labels.csv")
    assert (len(some.samples), len(some.classes)) == (3, 3)


def test_unsuitable_paths_are_rejected(root):
    images = a.val_images()
    for place, files in (
        ("bare/flat", images),
        ("mixed", images | a.wnid_folders()),
        ("year", {name.replace("2012", "2010"): data for name, data in images.items()} | a.devkit_files()),
        ("named", {"cat/1.JPEG": images["ILSVRC2012_val_00000001.JPEG"], "dog/1.JPEG": b""}),
        ("empty", {"n01440764/readme.txt": b""}),
    ):
        a.write_files(root / place, files)
    for path, message in (
        ("nothing", "does not exist"),
        ("bare/flat", "contains images without class folders, so it needs labels. Put the devkit"),
        ("mixed", "contains 14 images, but .* has the classes of 7"),
        ("year", "ILSVRC2010_val_00000001.JPEG: .* has no line for it"),
        ("named", "cat/: is not named by a wnid such as n01440764\n(.|\n)*use folder:"),
        ("empty", "contains no image"),
        (KIT, "is gzipped, but images are read"),
        ("labels.csv", "is not a tar archive"),
    ):
        a.check_refused(f"imagenet:{root / path}", message)
    a.check_refused("imagenet", "needs a path")
    a.check_refused(f"imagenet:{root / 'flat'}", r"does not exist\. Expected the devkit", labels=root / "no.tar.gz")


def test_image_in_two_folders_is_reported(root):
    a.write_files(root / "folders", {"n99999999/ILSVRC2012_val_00000001.JPEG": b"x"})
    source = open_source(f"imagenet:{root / 'folders'}")
    first, folder, second = source.notes
    assert all("has the same id as" in reason for _, reason in (first, second))
    assert folder == ("n99999999/", "is a class folder in which no image can be used: see the messages about its files")
    assert [s.label for s in source.samples] == [label for _, label, _, _ in EXPECTED[1:]]


def test_hidden_files_next_to_images_and_devkit_are_ignored(tmp_path):
    files = a.val_images() | {f"._{name}": b"Mac OS X" for name in a.val_images()}
    a.write_tar(a.write_files(tmp_path / "flat", files) / "a_devkit.tar.gz", a.devkit_files(), "w:gz")
    (tmp_path / "flat/._a_devkit.tar.gz").write_bytes(b"Mac OS X")
    assert a.source_contents(open_source(f"imagenet:{tmp_path / 'flat'}")) == EXPECTED
    a.write_files(
        tmp_path / "around", {f"val/{name}": data for name, data in a.wnid_folders().items()} | {"._x.JPEG": b"x"}
    )
    assert a.source_contents(open_source(f"imagenet:{tmp_path / 'around'}")) == EXPECTED
