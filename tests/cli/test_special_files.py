"""Test that pipes, devices and endless files are refused wherever a command takes a file."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
from contextlib import suppress
from pathlib import Path

import pytest
from PIL import Image

import corruptset
from corruptset import files as opening
from corruptset.errors import CorruptsetError


@pytest.fixture(autouse=True)
def _time_limit():
    """Stop a test that waits for a pipe, or that reads an endless device."""

    def stop(number, frame):
        raise AssertionError("it hangs")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def test_pipe_is_rejected_by_name(run, dataset_dir, tmp_path):
    (tmp_path / "flat").mkdir()
    Image.new("RGB", (32, 32), (90, 120, 30)).save(tmp_path / "flat" / "a.png")
    (tmp_path / "tree" / "n01440764").mkdir(parents=True)
    Image.new("RGB", (32, 32)).save(tmp_path / "tree" / "n01440764" / "ILSVRC2012_val_00000293.JPEG")
    for ending in ("", ".toml", ".tar.gz"):
        os.mkfifo(tmp_path / f"PIPE{ending}")
    for line in (
        "plan cifar10-c --source folder:flat --labels PIPE",
        "plan imagenet-c --ids PIPE",
        "plan PIPE.toml",
        "plan cifar10-c --source cifar10:PIPE",
        "plan imagenet-c --source imagenet:tree --labels PIPE.tar.gz",
        "plan cifar10-c --source npy:PIPE,PIPE",
        "plan cifar10-c --source hdf5:PIPE",
        "unpack PIPE --out new",
        "corrupt PIPE fog -s 3 --out new.png",
        f"export cifar-c {dataset_dir} --severities PIPE --out new",
    ):
        err = run.fails("PIPE", line).err
        assert re.search("is a pipe|not a folder|IDX file", err), err
    # This device is endless.
    for line in ("plan cifar10-c --source folder:flat --labels", "plan imagenet-c --ids", "unpack --out new"):
        assert "a device, not a regular file" in run.fails("/dev/zero", line, "/dev/zero").err


def test_pipe_among_release_records_is_rejected(run, dataset_dir, tmp_path):
    for name in ("manifest.json", "samples.jsonl"):
        release = tmp_path / name.partition(".")[0]
        release.mkdir()
        for other in ("manifest.json", "samples.jsonl"):
            (release / other).write_bytes((dataset_dir / other).read_bytes())
        (release / name).unlink()
        os.mkfifo(release / name)
        result = run("rebuild --source sample --out new", release)
        assert (result.code in (1, 2), name in result.err) == (True, True), result
    (tmp_path / "exported").mkdir()
    os.mkfifo(tmp_path / "exported" / "VIEW.json")
    run.fails("VIEW.json", "verify", tmp_path / "exported", code=1)


def _read_all(root):
    for prefer in ("hdf5", "folder"):
        for images in corruptset.open(root, prefer=prefer).values():
            assert len(images.array()) == len(images.labels)


def test_pipe_or_endless_device_in_dataset_is_rejected(shared_data, tmp_path):
    """`test_ladder` tests these files for `verify`."""
    directory = shared_data.build(crops={"classes": 2}, sets=["contrast/*"], storage="both")
    shard, image = (
        next((directory / folder).rglob(f"*.{kind}")) for folder, kind in (("hdf5", "h5"), ("images", "png"))
    )
    for file in ("manifest.json", "samples.jsonl", "sets/contrast/1.jsonl", shard, image):
        for special in (os.mkfifo, lambda path: path.symlink_to("/dev/zero")):
            root = tmp_path / "copy"
            shutil.copytree(directory, root)
            path = root / file if isinstance(file, str) else root / file.relative_to(directory)
            path.unlink()
            special(path)
            with pytest.raises(CorruptsetError):
                _read_all(root)
            with suppress(CorruptsetError):
                corruptset.export("cifar-c", root, tmp_path / "export")
            with suppress(CorruptsetError):
                corruptset.page(root, out=tmp_path / "page.html")
            shutil.rmtree(root)
            shutil.rmtree(tmp_path / "export", ignore_errors=True)


def test_text_is_read_up_to_limit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = Path("some.toml")
    path.write_bytes("\ufeffä\r\nb\r".encode())
    assert opening.read_text(path) == "ä\nb\n"
    with pytest.raises(opening.UnfitFile, match=r"some\.toml cannot be read: it is larger than 8 bytes"):
        opening.read_text(path, 8)
    path.write_bytes(b"\xff")
    with pytest.raises(opening.UnfitFile, match="not UTF-8"):
        opening.read_text(path)
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind("socket")
        with pytest.raises(opening.UnfitFile, match="a socket, not a regular file"):
            opening.read_text(Path("socket"))
    result = [opening.file_problem(item) for item in (path, tmp_path, path / "below")]
    assert result == [None, "is a folder", "does not exist"]
