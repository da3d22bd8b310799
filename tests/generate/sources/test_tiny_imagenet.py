"""Tiny ImageNet as a folder and as a zip archive."""

from __future__ import annotations

import shutil
import zipfile

import pytest
import source_archives as a

from corruptset.generate.build import build
from corruptset.generate.sources.check import check
from corruptset.generate.sources.source import open_source
from example_images import encode_image

WNIDS = ["n02123045", "n01443537", "n01532829"]
JPEGS = [a.jpeg_bytes(image) for image in a.random_crops(9)[0]]
TOP = "tiny-imagenet-200"


def files(**changes):
    """The files of the published archive, with fewer classes and images."""
    lines = "".join(f"val_{i}.JPEG\t{WNIDS[i % 3]}\t0\t32\t44\t62\n" for i in range(6))
    images = {f"val/images/val_{i}.JPEG": JPEGS[i] for i in range(6)}
    images |= {f"train/{wnid}/images/{wnid}_{i}.JPEG": JPEGS[i + 3] for i, wnid in enumerate(WNIDS)}
    images |= {f"train/{wnid}/{wnid}_boxes.txt": b"x" for wnid in WNIDS}
    texts = {"wnids.txt": "\n".join(WNIDS), "words.txt": "n01443537\tgoldfish\n", "val/val_annotations.txt": lines}
    archive_files = (
        {name: text.encode() for name, text in texts.items()} | images | {"test/images/test_0.JPEG": JPEGS[8]}
    )
    archive_files |= {name.replace("__", "/"): data for name, data in changes.items()}
    return {f"{TOP}/{name}": data for name, data in archive_files.items() if data is not None}


def pack(path, members, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.mkdir(TOP)
        for name, data in members.items():
            archive.writestr(name, data)
    return path


@pytest.mark.parametrize("form", ["folder", "around", "deflated", "stored"])
def test_samples_equal_folder_source(tmp_path, form):
    a.write_files(tmp_path, files())
    lines = (tmp_path / TOP / "val/val_annotations.txt").read_text().splitlines()
    rows = "".join(f"{line.split()[0]},{line.split()[1]}\n" for line in lines)
    (tmp_path / "labels.csv").write_text(f"file,label\n{rows}")
    val = open_source(f"folder:{tmp_path / TOP / 'val/images'}", labels=tmp_path / "labels.csv")
    train = open_source(f"folder:{tmp_path / TOP / 'train'}")
    path = {"folder": tmp_path / TOP, "around": tmp_path}.get(form) or pack(
        tmp_path / "x.zip", files(), zipfile.ZIP_STORED if form == "stored" else zipfile.ZIP_DEFLATED
    )
    for source, same, split in (
        (open_source(f"tiny-imagenet:{path}"), val, "val"),
        (open_source(f"tiny-imagenet:{path}", split="train"), train, "train"),
    ):
        assert [(s.id, s.label) for s in source.samples] == [(s.id, s.label) for s in same.samples]
        assert [source.fingerprint(s) for s in source.samples] == [same.fingerprint(s) for s in same.samples]
        assert source.classes == same.classes
        assert ({s.split for s in source.samples}, source.notes) == ({split}, ())
    assert (source.samples[0].id, source.samples[0].label) == ("n01443537/images/n01443537_1", 0)


@pytest.mark.parametrize("form", ["folder", "zip"])
def test_bad_images_are_listed_and_excluded_on_request(tmp_path, form):
    changes = {
        "val__images__val_2.JPEG": JPEGS[2][:-300],
        "val__images__val_3.JPEG": None,
        "val__images__more.JPEG": JPEGS[0],
        "train__n01443537__images__n01443537_1.JPEG": None,
        "train__n09999999__images__a.JPEG": JPEGS[0],
    }
    members = files(**changes)
    path = a.write_files(tmp_path / "in", members) if form == "folder" else pack(tmp_path / "x.zip", members)
    source = open_source(f"tiny-imagenet:{path}")
    assert dict(source.notes) == {
        "images/more.JPEG": "has no line in val_annotations.txt: add one, or leave the image out",
        "images/val_3.JPEG": "is named in val_annotations.txt, but does not exist: unpack or download the dataset "
        "again",
    }
    assert [name for name, _ in check(source, source.samples).bad] == ["images/val_2.JPEG"]
    train = open_source(f"tiny-imagenet:{path}", split="train")
    assert [name for name, _ in train.notes] == ["n01443537/", "n09999999/images/a.JPEG"]
    assert [s.label for s in train.samples] == [1, 2]
    result = build(
        "cifar10-c", source=f"tiny-imagenet:{path}", out=tmp_path, sets=["clean"], skip_bad=True, jobs=1, page=False
    )
    assert len(result.manifest.excluded) == 3


def test_unsuitable_archives_and_folders_are_rejected(tmp_path):
    line = b"val_0.JPEG\tn01443537\t0\t0\t9\t9\n"
    for changes, message in (
        ({"wnids.txt": None}, "has no wnids.txt. Expected tiny-imagenet-200.zip"),
        ({"wnids.txt": b""}, "wnids.txt does not list the classes"),
        ({"wnids.txt": b"n01443537\nn01443537\ncat"}, "'cat' is not a wnid(.|\n)*n01443537 is given 2 times"),
        ({"val__val_annotations.txt": None}, "val_annotations.txt"),
        ({"val__val_annotations.txt": line * 2}, "line 2: 'val_0.JPEG' was given before"),
        ({"val__val_annotations.txt": b"val_0.JPEG n01443537\nx\tn0\n"}, "line 1: .*(.|\n)*line 2: "),
    ):
        members = files(**changes)
        for path in (a.write_files(tmp_path / "in", members), pack(tmp_path / "x.zip", members)):
            a.check_refused(f"tiny-imagenet:{path}", message)
        shutil.rmtree(tmp_path / "in")
    result = pack(tmp_path / "x.zip", files())
    a.check_refused(f"tiny-imagenet:{result}", "only has labels for val .* and train", split="test")
    result.write_bytes(result.read_bytes()[:-60])
    a.check_refused(f"tiny-imagenet:{result}", "x.zip is truncated, damaged or another kind of file")
    result.write_bytes(b"PK\x05\x06" + bytes(18))
    a.check_refused(f"tiny-imagenet:{result}", "has no wnids.txt")


def test_hostile_zip_members_are_never_read(tmp_path):
    members = files()
    path = pack(tmp_path / "x.zip", members)
    with zipfile.ZipFile(path, "a") as archive:
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr(f"{TOP}/val/images/val_0.JPEG", JPEGS[5])
        archive.writestr(f"{TOP}/val/images/../../../up.JPEG", JPEGS[5])
        link = zipfile.ZipInfo(f"{TOP}/val/images/link.JPEG")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr(f"{TOP}/val/images/packed.JPEG", JPEGS[5], zipfile.ZIP_BZIP2)
    opened_source = dict(open_source(f"tiny-imagenet:{path}").notes)
    for name, reason in {
        "val_0.JPEG": "is in the archive twice",
        "../../../up.JPEG": "leads out of the archive",
        "link.JPEG": "is a link or another kind of special file",
        "packed.JPEG": "is compressed with a method other than deflate",
    }.items():
        assert reason in opened_source[f"{TOP}/val/images/{name}"]

    # a member that expands to more than its stated size, and one whose checksum differs
    image = encode_image(a.random_crops(1)[0][0])
    path = pack(tmp_path / "x.zip", members | {f"{TOP}/val/images/val_1.JPEG": image + bytes(100_000)})
    data = path.read_bytes()
    size = len(image + bytes(100_000)).to_bytes(4, "little")
    path.write_bytes(data.replace(size, (999).to_bytes(4, "little")))
    source = open_source(f"tiny-imagenet:{path}")
    (bad,) = check(source, source.samples).bad
    assert bad[0] == "images/val_1.JPEG"
    assert "is truncated or damaged" in bad[1]
