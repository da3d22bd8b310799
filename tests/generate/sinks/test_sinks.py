"""Files of images and rows of arrays, as they are written."""

import os
import stat

import numpy as np

from corruptset.generate.sinks.set_writer import write_file, write_rows
from pictures import painted


def test_rows_of_an_array_are_on_disk_when_they_are_written(tmp_path, monkeypatch):
    """A part's sidecar may follow at once: after a power cut its rows must be there, and the array's name."""
    synced = []

    def fsync(fd):
        status = os.fstat(fd)
        name = next(p.name for p in tmp_path.rglob("*") if p.stat().st_ino == status.st_ino)
        synced.append((name, 0 if stat.S_ISDIR(status.st_mode) else os.pread(fd, 1, status.st_size - 1)[0]))

    monkeypatch.setattr(os, "fsync", fsync)
    rows = np.stack([painted(9, 11, which=i) for i in range(5)])
    rows[-1, -1, -1] = 77
    (tmp_path / "top").mkdir()
    write_rows(tmp_path / "top/fog.npy", 5, 0, rows)
    assert synced == [("fog.npy", 77), ("top", 0)]
    np.testing.assert_array_equal(np.load(tmp_path / "top/fog.npy"), rows)


def test_an_image_that_is_written_again_has_nothing_of_a_longer_one(tmp_path):
    for value in (b"one", b"2"):
        write_file(str(tmp_path / "image"), value)
        assert (tmp_path / "image").read_bytes() == value


def test_a_link_in_the_place_of_a_file_is_replaced_and_not_followed(tmp_path):
    outside, image, array = tmp_path / "outside", tmp_path / "image", tmp_path / "fog.npy"
    outside.write_bytes(b"mine")
    for link in (image, array):
        link.symlink_to(outside)
    write_file(str(image), b"new")
    rows = np.stack([painted(9, 11)])
    write_rows(array, 1, 0, rows)
    assert (outside.read_bytes(), image.read_bytes()) == (b"mine", b"new")
    np.testing.assert_array_equal(np.load(array), rows)
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "nowhere")
    write_file(str(dangling), b"new")
    assert not (tmp_path / "nowhere").exists()
