"""Pipes, devices and files without end in every place that takes a file: refused by name, at once."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path
from types import FrameType

import pytest
from PIL import Image

from corruptset import files as opening


@pytest.fixture(autouse=True)
def _not_for_ever():
    """End a test that waits for a pipe, or reads a device to its end."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise AssertionError("it hangs")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def flat(tmp_path):
    (tmp_path / "flat").mkdir()
    Image.new("RGB", (32, 32), (90, 120, 30)).save(tmp_path / "flat" / "a.png")
    return tmp_path / "flat"


PIPES = [
    "plan cifar10-c --source folder:flat --labels PIPE",
    "plan imagenet-c --ids PIPE",
    "plan PIPE.toml",
    "plan cifar10-c --source cifar10:PIPE",
    "plan imagenet-c --source imagenet:tree --labels PIPE.tar.gz",
    "plan cifar10-c --source npy:PIPE,PIPE",
    "plan cifar10-c --source hdf5:PIPE",
    "unpack PIPE --out new",
    "corrupt PIPE fog -s 3 --out new.png",
    "export cifar-c BUILT --severities PIPE --out new",
]


@pytest.mark.parametrize("line", PIPES)
def test_a_pipe_is_refused_by_name(run, built, flat, tmp_path, line):
    for ending in ("", ".toml", ".tar.gz", ".npy"):
        os.mkfifo(tmp_path / f"PIPE{ending}")
    (tmp_path / "tree" / "n01440764").mkdir(parents=True)
    if "imagenet" in line:
        (flat / "a.png").rename(tmp_path / "tree" / "n01440764" / "ILSVRC2012_val_00000293.JPEG")
    done = run(*line.replace("BUILT", str(built)).split())
    assert done.code == 2, done.err
    assert "PIPE" in done.err
    assert any(
        said in done.err for said in ("it is a pipe", "is a pipe, not a regular file", "not a folder", "IDX file")
    ), done.err
    assert not (tmp_path / "new").exists()
    assert not (tmp_path / "new.png").exists()


def test_a_device_without_end_is_refused_by_name(run, flat):
    for line in ("plan cifar10-c --source folder:flat --labels", "plan imagenet-c --ids", "unpack --out new"):
        done = run(*line.split(), "/dev/zero")
        assert done.code == 2
        assert "/dev/zero" in done.err
        assert "a device, not a regular file" in done.err


def test_a_pipe_among_the_records_of_a_release(run, built, tmp_path):
    for name in ("manifest.json", "samples.jsonl"):
        release = tmp_path / name.partition(".")[0]
        release.mkdir()
        for other in ("manifest.json", "samples.jsonl"):
            (release / other).write_bytes((built / other).read_bytes())
        (release / name).unlink()
        os.mkfifo(release / name)
        done = run("rebuild", release, "--source", "sample", "--out", tmp_path / "new")
        assert done.code in (1, 2), done.err
        assert name in done.err
    (tmp_path / "view").mkdir()
    os.mkfifo(tmp_path / "view" / "VIEW.json")
    assert run("verify", tmp_path / "view").code == 1


def test_text_is_read_up_to_a_limit(tmp_path, monkeypatch):
    path = tmp_path / "some.toml"
    path.write_bytes("\ufeffä\r\nb\r".encode())
    assert opening.read_text(path) == "ä\nb\n"
    with pytest.raises(opening.UnfitFile, match=r"some\.toml cannot be read: it has more than 8 bytes"):
        opening.read_text(path, 8)
    path.write_bytes(b"\xff")
    with pytest.raises(opening.UnfitFile, match="not UTF-8"):
        opening.read_text(path)
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("socket")
        with pytest.raises(opening.UnfitFile, match="a socket, not a regular file"):
            opening.read_text(Path("socket"))
        assert opening.file_problem(Path("socket"))
    assert opening.file_problem(path) is None
    assert opening.file_problem(tmp_path) == "is a folder"
    assert opening.file_problem(path / "below") == "is not there"
