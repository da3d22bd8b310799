"""The source hdf5: damaged files that hang the library, reading ahead, workers."""

from __future__ import annotations

import contextlib
import json
import os
import struct
import subprocess
import sys
import time
from pathlib import Path

import archives as a
import h5py
import numpy as np
import pytest

from corruptset.errors import SourceError
from corruptset.generate.build import build
from corruptset.generate.sources import hdf5 as shards
from corruptset.generate.sources.decoding import decode
from corruptset.generate.sources.source import BadSample, open_source
from corruptset.manifests.images.guard import GUARD, SECONDS_VARIABLE, NoAnswer
from corruptset.manifests.records.digests import sha256_bytes

IMAGES, LABELS = a.crops(60)


def write(path, *, encoded=False, **options):
    """Write images, as pixels or as encoded ones."""
    with h5py.File(path, "w") as file:
        file["labels"] = LABELS
        if encoded:
            rows = file.create_dataset("images", (len(IMAGES),), h5py.vlen_dtype(np.uint8))
            for i, image in enumerate(IMAGES):
                rows[i] = np.frombuffer(a.jpeg(image), np.uint8)
        else:
            file.create_dataset("images", data=IMAGES, **options)
    return f"hdf5:{path}"


def loop(path):
    """Damage a file of encoded images so that HDF5 loops for ever over one of its heaps: an object in it has no size."""
    data = bytearray(path.read_bytes())
    at = data.index(b"GCOL") + 16
    while struct.unpack_from("<H", data, at)[0]:
        at += 16 + (struct.unpack_from("<Q", data, at + 8)[0] + 7) // 8 * 8
    struct.pack_into("<Q", data, at + 8, 0)
    path.write_bytes(data)


@pytest.mark.parametrize(
    "options", [{}, {"chunks": (7, 32, 32, 3), "compression": "gzip"}, {"encoded": True}], ids=["plain", "compressed", "encoded"]
)
@pytest.mark.parametrize("order", ["forwards", "backwards", "every third", "random", "twice"])
def test_rows_are_those_of_the_file_in_whatever_order(tmp_path, monkeypatch, options, order):
    source = open_source(write(tmp_path / "x.h5", **options))
    asked = []
    ask = GUARD.ask
    monkeypatch.setattr(GUARD, "ask", lambda *args, **given: asked.append(given) or ask(*args, **given))
    n = len(IMAGES)
    places = {
        "forwards": list(range(n)),
        "backwards": list(range(n))[::-1],
        "every third": list(range(0, n, 3)),
        "random": np.random.default_rng(1).permutation(n).tolist(),
        "twice": [i for i in range(n) for _ in range(2)],
    }[order]
    for i in places:
        image, sha256 = vars(source.load(source.samples[i])).values()
        stored = a.jpeg(IMAGES[i]) if "encoded" in options else IMAGES[i].tobytes()
        assert sha256 == sha256_bytes(stored)
        assert np.array_equal(image, decode(stored) if "encoded" in options else IMAGES[i])
        image[:] = 0  # it is the caller's
    assert max(given["count"] for given in asked) <= shards.MOST_AHEAD
    if order in ("forwards", "twice"):
        assert len(asked) < n / 6
    else:
        assert sum(given["count"] for given in asked) <= 2 * n


def test_a_file_that_changes_is_read_again(tmp_path):
    text = write(tmp_path / "x.h5")
    source = open_source(text)
    for sample in source.samples[:8]:
        source.load(sample)
    with h5py.File(tmp_path / "y.h5", "w") as file:
        file["images"], file["labels"] = IMAGES[::-1], LABELS
    (tmp_path / "y.h5").replace(tmp_path / "x.h5")
    assert np.array_equal(source.load(source.samples[8]).image, IMAGES[::-1][8])
    with h5py.File(tmp_path / "y.h5", "w") as file:
        file["images"], file["labels"] = IMAGES[:, :16], LABELS
    (tmp_path / "y.h5").replace(tmp_path / "x.h5")
    with pytest.raises(BadSample, match="another shape"):
        source.load(source.samples[9])


def test_a_file_that_is_written_to_in_place_is_read_again(tmp_path):
    """Neither its size nor its inode tells; rows that were read ahead are not those that are there now."""
    path = tmp_path / "x.h5"
    source = open_source(write(path))
    for sample in source.samples[:8]:
        source.load(sample)
    before = path.stat()
    with h5py.File(path, "r+") as file:
        file["images"][:] = IMAGES[::-1]
    os.utime(path, ns=(1, 1))
    assert (path.stat().st_size, path.stat().st_ino) == (before.st_size, before.st_ino)
    assert all(np.array_equal(source.load(source.samples[i]).image, IMAGES[::-1][i]) for i in (8, 9, 7))


def test_a_file_that_hangs_the_library_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "x.h5"
    text = write(path, encoded=True)
    loop(path)
    source = open_source(text)
    monkeypatch.setenv(SECONDS_VARIABLE, "2")
    # HDF5 may learn to refuse this: what it must not do is to keep us.
    with pytest.raises((SourceError, BadSample), match=r"x\.h5.*copy") as caught:
        source.load(source.samples[0])
    if caught.type is SourceError:
        assert "did not come back from it within 2 s" in str(caught.value)
        assert f"{SECONDS_VARIABLE}=" in str(caught.value)
        # With --skip-bad too: which rows hang could depend on who asked for what before.
        with pytest.raises(SourceError, match=r"row 0 of images"):
            build("cifar10-c", text, tmp_path / "out", sets=["contrast/1"], jobs=1, metrics=0, skip_bad=True)
        assert not list((tmp_path / "out").glob("*/*"))


def test_a_limit_that_nothing_keeps_is_a_listed_error(tmp_path, monkeypatch):
    text = write(tmp_path / "x.h5")
    GUARD.close()
    monkeypatch.setenv(SECONDS_VARIABLE, "0.000001")
    with pytest.raises(SourceError, match=r"x\.h5: its contents cannot be read: the HDF5 library did not come back"):
        open_source(text)


def test_a_row_that_hangs_stops_only_who_asks_for_it(tmp_path, monkeypatch):
    source = open_source(write(tmp_path / "x.h5"))
    ask, asked = GUARD.ask, []

    def hanging(do, path, *, first, count, **what):
        asked.append((first, count))
        if first <= 20 < first + count:
            raise NoAnswer("the HDF5 library did not come back from it within 60 s")
        return ask(do, path, first=first, count=count, **what)

    monkeypatch.setattr(GUARD, "ask", hanging)
    for i in range(60):
        if i != 20:
            assert np.array_equal(source.load(source.samples[i]).image, IMAGES[i])
    assert sum(first <= 20 < first + count for first, count in asked) == 1  # the limit is waited for once
    with pytest.raises(SourceError, match="row 20 of images cannot be read"):
        source.load(source.samples[20])


BUILD = """
import json, sys
from corruptset.generate.build import build
most = []
options = json.loads(sys.argv[2])
print(build("cifar10-c", sys.argv[1], jobs=2, progress=lambda event: most.append(event.parts_total), **options).directory, max(most))
"""


def test_workers_each_have_a_reader_that_ends_with_them(tmp_path):
    text = write(tmp_path / "x.h5", chunks=(7, 32, 32, 3), compression="gzip")
    options = {"sets": ["contrast/*", "brightness/*"], "metrics": 0, "format": "hdf5", "page": False}
    command = [sys.executable, "-c", BUILD, text, json.dumps({"out": str(tmp_path / "two"), **options})]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    said, complaint = process.communicate(timeout=600)
    assert (process.returncode, complaint) == (0, "")
    directory, parts = said.split()
    assert int(parts) > 1
    until = time.monotonic() + 60
    while readers := readers_of(process.pid):
        assert time.monotonic() < until, readers
        time.sleep(0.05)
    alone = build("cifar10-c", text, tmp_path / "one", jobs=1, **options)
    assert (alone.directory / "SHA256SUMS").read_bytes() == (Path(directory) / "SHA256SUMS").read_bytes()


def readers_of(group):
    """Return the readers that are left in a process group."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (path / "stat").read_text().rpartition(")")[2].split()
            if int(fields[2]) == group and fields[0] != "Z" and b"hdf5_child" in (path / "cmdline").read_bytes():
                found.append(path.name)
    return found
