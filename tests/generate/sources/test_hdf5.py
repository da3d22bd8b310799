"""The source hdf5: reading ahead, files that change or are damaged, workers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
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


@pytest.mark.parametrize(
    "options",
    [{}, {"chunks": (7, 32, 32, 3), "compression": "gzip"}, {"encoded": True}],
    ids=["plain", "compressed", "encoded"],
)
@pytest.mark.parametrize("order", ["forwards", "backwards", "every third", "random", "twice"])
def test_rows_are_those_of_the_file_in_whatever_order(tmp_path, monkeypatch, options, order):
    source = open_source(write(tmp_path / "x.h5", **options))
    asked, rows = [], shards._rows
    before = rows.cache_info().misses
    monkeypatch.setattr(shards, "_rows", lambda *given: asked.append(given[-1]) or rows(*given))
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
    assert max(asked) <= shards.MOST_AHEAD
    opened = rows.cache_info().misses - before
    assert order == "random" or opened < n / 6


def test_a_damaged_row_stops_only_who_asks_for_it(tmp_path):
    path = tmp_path / "x.h5"
    source = open_source(write(path, chunks=(1, 32, 32, 3), compression="gzip"))
    with h5py.File(path, "r") as file:
        at = file["images"].id.get_chunk_info(20).byte_offset
    data = bytearray(path.read_bytes())
    data[at : at + 40] = bytes(40)
    path.write_bytes(data)
    for i in range(60):
        if i != 20:
            assert np.array_equal(source.load(source.samples[i]).image, IMAGES[i])
    with pytest.raises(BadSample, match=r"cannot be read from x\.h5 .*copy the file again"):
        source.load(source.samples[20])


def test_what_is_no_hdf5_file_or_half_of_one_is_refused(tmp_path):
    path = tmp_path / "x.h5"
    text = write(path)
    whole = path.read_bytes()
    for content in (b"", b"no hdf5", whole[:3000], whole[: len(whole) // 2]):
        path.write_bytes(content)
        with pytest.raises(SourceError, match=r"x\.h5 is not an HDF5 file, or a damaged one .*Copy it again"):
            open_source(text)


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


BUILD = """
import json, sys
from corruptset.generate.build import build
most = []
options = json.loads(sys.argv[2])
made = build("cifar10-c", sys.argv[1], jobs=2, progress=lambda event: most.append(event.parts_total), **options)
print(made.directory, max(most))
"""


def test_two_workers_make_what_one_makes(tmp_path):
    text = write(tmp_path / "x.h5", chunks=(7, 32, 32, 3), compression="gzip")
    options = {"sets": ["contrast/*", "brightness/*"], "metrics": 0, "format": "hdf5", "page": False}
    command = [sys.executable, "-c", BUILD, text, json.dumps({"out": str(tmp_path / "two"), **options})]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    said, complaint = process.communicate(timeout=600)
    assert (process.returncode, complaint) == (0, "")
    directory, parts = said.split()
    assert int(parts) > 1
    alone = build("cifar10-c", text, tmp_path / "one", jobs=1, **options)
    assert (alone.directory / "SHA256SUMS").read_bytes() == (Path(directory) / "SHA256SUMS").read_bytes()
