"""Rows are read in any order, kept in memory once, and read again if their file has changed."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import source_archives as a

from corruptset.generate.build import build
from corruptset.generate.planning import plan
from corruptset.generate.sources.check import check
from corruptset.generate.sources.source import BadSample, open_source

TEST, TRAIN = a.random_crops(12), [a.random_crops(8, seed) for seed in range(1, 6)]
EXPECTED = np.concatenate([TEST[0], *(images for images, _ in TRAIN)])
SHA256 = ["sha256:" + hashlib.sha256(image.tobytes()).hexdigest() for image in EXPECTED]
OPTIONS = {"sets": ["contrast/1"], "storage": "hdf5", "metrics": 0, "page": False, "jobs": 1}


def test_archive_is_unpacked_expected_number_of_times(tmp_path, monkeypatch):
    path = a.write_tar(tmp_path / "x.tar.gz", a.cifar10_python(TEST, TRAIN), "w:gz")
    size = len(gzip.decompress(path.read_bytes()))
    taken, read = [], gzip._GzipReader.read

    def counted(self, size=-1):
        data = read(self, size)
        taken.append(len(data))
        return data

    monkeypatch.setattr(gzip._GzipReader, "read", counted)
    source = open_source(f"cifar10:{path}", split="all")
    for sample in source.samples:
        source.load(sample)
    report = check(source, source.samples)
    assert ([valid[1] for valid in report.good], report.bad) == (SHA256, [])
    assert sum(taken) <= size
    build("cifar10-c", f"cifar10:{path}", tmp_path / "out", split="all", **OPTIONS)
    assert sum(taken) <= 2 * size


def test_source_changed_since_listing_is_rejected(tmp_path):
    """A file that is replaced by another file of the same size is read again."""
    images, labels = TEST

    def folder(pixels):
        files = {
            "batches.meta.txt": "\n".join(a.CIFAR10_CLASSES).encode(),
            "test_batch.bin": a.binary_rows(pixels, labels[:, None]),
        }
        return a.write_files(tmp_path / "x", files), tmp_path / "x/test_batch.bin"

    def archive(pixels):
        archive = a.write_tar(tmp_path / "x.tar", a.cifar10_binary((pixels, labels))).read_bytes()
        path = tmp_path / "x.tar.gz"
        path.write_bytes(
            gzip.compress(archive, compresslevel=0, mtime=0)
        )  # not compressed, so that the size of the file is the same
        return path, path

    for write in (folder, archive):
        path, file = write(images)
        source = open_source(f"cifar10:{path}")
        readers, sample = (source, pickle.loads(pickle.dumps(source))), source.samples[4]
        assert {reader.load(sample).sha256 for reader in readers} == {SHA256[4]}
        before = file.stat()
        write(255 - images)
        os.utime(file, ns=(1, 1))
        assert (file.stat().st_size, file.stat().st_ino) == (before.st_size, before.st_ino)
        expected = "sha256:" + hashlib.sha256((255 - images[4]).tobytes()).hexdigest()
        for reader in readers:
            assert reader.fingerprint(sample) == reader.probe(sample)[0] == reader.load(sample).sha256 == expected
        file.unlink()
        for function in (source.fingerprint, source.probe, source.load):
            with pytest.raises(BadSample, match="cannot be read any more"):
                function(sample)


PEAK = """
import json, sys
from corruptset.generate.sources.source import open_source
from corruptset.generate.sources.check import check

def peak():
    return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) * 1024

open_source(sys.argv[1])
before = peak()
source = open_source(sys.argv[2])
samples = source.samples
good = len(check(source, samples).good)
sums = [int(source.load(s).image.sum()) for s in samples[:: len(samples) // 500]]
print(json.dumps([good, peak() - before]))
"""


@pytest.mark.skipif(not os.path.isfile("/proc/self/status"), reason="the peak of a process is read from /proc")
def test_batch_is_held_twice_during_read(tmp_path):
    """Reading a batch of 18 MB needs little more memory than its file and its pixels."""
    paths = []
    for count in (200, 6_000):
        images = np.resize(EXPECTED, (count, 32, 32, 3))
        files = a.cifar10_python((images, np.arange(count) % 10), dump=a.modern_batch(4))
        paths.append(f"cifar10:{a.write_tar(tmp_path / f'{count}.tar.gz', files, 'w:gz', compresslevel=1)}")
    result = subprocess.run([sys.executable, "-c", PEAK, *paths], check=True, capture_output=True, text=True)
    valid, grown = json.loads(result.stdout)
    assert valid == 6_000
    assert grown < 2 * images.nbytes + (8 << 20)


def test_plan_counts_rows_held_by_each_worker(tmp_path):
    images, labels = a.random_crops(40)
    a.write_tar(tmp_path / "x.tar.gz", a.cifar10_python((images, labels)), "w:gz")
    source = open_source(f"cifar10:{tmp_path}/x.tar.gz")
    assert source.memory_bytes == images.nbytes
    options = {"sets": ["contrast/1"], "samples": 8, "jobs": 1}
    more = plan("cifar10-c", source, **options).memory_per_worker
    source.memory_bytes = 0
    assert more == plan("cifar10-c", source, **options).memory_per_worker + images.nbytes
