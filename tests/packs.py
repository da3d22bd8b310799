"""Helpers for packed datasets and forged archives."""

import io
import os
import signal
import tarfile
import warnings
from itertools import count
from multiprocessing import get_context
from pathlib import Path

import pytest

from corruptset.errors import CorruptsetError
from corruptset.manifests.records.digests import sha256_file
from corruptset.manifests.release.pack import pack
from corruptset.manifests.release.unpack import unpack

TOP = "tiny-c-1.0.0"
RECORD = f"{TOP}/archives/{TOP}-clean.json"
IMAGE = f"{TOP}/images/clean/0_käfer/zwei.png"
OUTSIDE = [
    "../../escaped",
    "../escaped",
    "/tmp/escaped-from-an-archive",
    f"{TOP}/../../escaped",
    "..",
    "C:/escaped",
    "a\\..\\escaped",
]
INVALID_NAMES = [
    f"{TOP}/images/clean/./x.png",
    f"{TOP}//x.png",
    f"{TOP}/images/clean/0_käfer/a\nb.png",
    f"{TOP}/\x1b[2J",
    f"{TOP}/" + "x" * 300,
]
INVALID_NAMES += ["/".join([TOP, *["y" * 200] * 21])]


def pack_dataset(root, out, **options):
    return pack(root, out, **{"by": "family", **options})


def archive_paths(bag):
    return [bag.path / a.path for a in bag.archives]


def file_hashes(root):
    """Return path -> sha256 of every file below a directory."""
    return {p.relative_to(root).as_posix(): sha256_file(p) for p in sorted(root.rglob("*")) if p.is_file()}


def run_and_kill(call, do, *args, **options):
    """Call a function in a process that kills itself at the given call of its progress callback. Return its code."""
    calls = count(1)

    def progress(*_):
        if next(calls) == call:
            os.kill(os.getpid(), signal.SIGKILL)

    process = get_context("fork").Process(target=do, args=args, kwargs={**options, "progress": progress})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn where other tests left threads
        process.start()
    process.join()
    return process.exitcode


def disk_usage_with(free):
    """Return a replacement for `shutil.disk_usage` on a disk with this number of free bytes."""
    return lambda path: type("Usage", (), {"free": free, "total": 1 << 40})()


def read_tar(archive):
    """Return the (name, content) pairs of the members of an archive, in order."""
    with tarfile.open(archive) as t:
        return [(m.name, t.extractfile(m).read()) for m in t.getmembers()]


def write_archive(path, members):
    """Write an archive with members of any name, without the checks of `pack`. A name may also be a `TarInfo`."""
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as t:
        for name, data in members:
            info = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            info.size = info.size or len(data)
            t.addfile(info, io.BytesIO(data) if data else None)
    return path


def tar_header(name, **fields):
    """Return the header of a member that is not a regular file, or has false fields."""
    info = tarfile.TarInfo(name)
    for field, value in {"linkname": "/etc/passwd", **fields}.items():
        setattr(info, field, value)
    return info


def check_unpack_fails(archive, tmp_path, match):
    """Assert that unpacking an archive fails, and leaves no manifest and no files outside of the dataset."""
    before = {p for p in tmp_path.rglob("*") if p.is_file()}
    with pytest.raises(CorruptsetError, match=match):
        unpack([archive], tmp_path / f"of {archive.stem}" / "out")
    after = {p for p in tmp_path.rglob("*") if p.is_file() or p.is_symlink()}
    root = tmp_path / f"of {archive.stem}" / "out" / TOP
    assert all(root in p.parents for p in after - before)
    assert not (root / "manifest.json").exists()
    assert not Path("/tmp/escaped-from-an-archive").exists()
