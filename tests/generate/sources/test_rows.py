"""Rows of large sources: read in any order, digested where they are listed, and held once."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import pickle
import random
import subprocess
import sys
import tarfile

import archives as a
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corruptset.errors import SourceError
from corruptset.generate.build import build
from corruptset.generate.planning import plan
from corruptset.generate.sources.check import check
from corruptset.generate.sources.source import BadSample, open_source

TEST, TRAIN = a.crops(12), [a.crops(8, seed) for seed in range(1, 6)]
EXPECTED = np.concatenate([TEST[0], *(images for images, _ in TRAIN)])
SHA256 = ["sha256:" + hashlib.sha256(image.tobytes()).hexdigest() for image in EXPECTED]


def forms(root):
    """CIFAR-10 in every form that rows are kept in; in archives, the files in several orders."""
    made = []
    for name, files in (
        ("plain", a.ten_python(TEST, TRAIN)),
        ("text", a.ten_python(TEST, TRAIN, dump=a.modern_batch(2))),
        ("framed", a.ten_python(TEST, TRAIN, dump=a.modern_batch(5))),
        ("binary", a.ten_binary(TEST, TRAIN)),
    ):
        a.write(root / name, files)
        made.append(next((root / name).iterdir()))
        for order in range(2):
            names = random.Random(order).sample(sorted(files), len(files))
            made.append(a.tar(root / f"{name}{order}.tar.gz", {n: files[n] for n in names}, "w:gz"))
        made.append(a.tar(root / f"{name}.tar", dict(reversed(files.items()))))
    return made


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_order_of_loads_gives_the_same_rows(tmp_path_factory, data):
    root = tmp_path_factory.mktemp("forms")
    for path in forms(root):
        source = open_source(f"cifar10:{path}", split="all")
        assert [s.id for s in source.samples] == [f"test/{i:05d}" for i in range(12)] + [
            f"train/{i:05d}" for i in range(40)
        ]
        again = pickle.loads(pickle.dumps(source))
        order = data.draw(st.permutations(range(52)))
        runs = [i for start in order[:6] for i in range(start, min(start + 9, 52))]
        for i in (*order, *runs):
            reader = source if i % 2 else again
            loaded = reader.load(reader.samples[i])
            assert np.array_equal(loaded.image, EXPECTED[i]), (path, i)
            assert loaded.sha256 == SHA256[i]
            loaded.image[:] = 0  # memory of its own
        assert (
            [source.fingerprint(s) for s in source.samples] == [again.fingerprint(s) for s in source.samples] == SHA256
        )


def test_mnist_in_any_order(tmp_path):
    images = EXPECTED[..., 0]
    files = {f"{name}-{kind}-ubyte.gz": a.zipped(a.idx(array[part]))
             for name, part in (("t10k", slice(20)), ("train", slice(20, 52)))
             for kind, array in (("images-idx3", images), ("labels-idx1", np.arange(52) % 10))}  # fmt: skip
    source = open_source(f"mnist:{a.write(tmp_path, files)}", split="all")
    again = pickle.loads(pickle.dumps(source))
    for i in random.Random(1).choices(range(52), k=150):
        assert np.array_equal(again.load(again.samples[i]).image[..., 0], images[i])
    assert [source.fingerprint(s) for s in source.samples] == [again.fingerprint(s) for s in source.samples]


@pytest.mark.parametrize("name", ["plain", "text", "binary"])
def test_how_often_an_archive_is_unpacked(tmp_path, monkeypatch, name):
    files = {
        "plain": a.ten_python,
        "text": lambda *p: a.ten_python(*p, dump=a.modern_batch(2)),
        "binary": a.ten_binary,
    }[name](TEST, TRAIN)
    # in the order in which rows are read
    path = a.tar(tmp_path / "x.tar.gz", files, "w:gz")
    with gzip.open(path) as file:
        size = len(file.read())
    taken = a.unpacked_bytes(monkeypatch)
    source = open_source(f"cifar10:{path}", split="all")
    # to list its files, and to read its batches; text is decoded to find its rows
    assert sum(taken) <= (5 if name == "text" else 2) * size
    taken.clear()
    for sample in source.samples:
        source.load(sample)
    assert sum(taken) <= size
    taken.clear()
    found = check(source, source.samples)
    assert ([good[1] for good in found.good], found.bad) == (SHA256, [])
    assert sum(taken) <= size
    taken.clear()
    build(
        "cifar10-c",
        f"cifar10:{path}",
        tmp_path / "out",
        sets=["contrast/1"],
        split="all",
        format="hdf5",
        metrics=0,
        jobs=1,
    )
    assert sum(taken) <= (10 if name == "text" else 5) * size


def test_an_archive_that_changed_since_it_was_listed(tmp_path):
    path = a.tar(tmp_path / "x.tar.gz", a.ten_python(TEST), "w:gz")
    source = open_source(f"cifar10:{path}")
    copy = pickle.loads(pickle.dumps(source))
    sample = source.samples[4]
    assert source.load(sample).sha256 == SHA256[4]
    other = 255 - TEST[0]
    a.tar(path, a.ten_python((other, TEST[1])), "w:gz")
    os.utime(path, ns=(1, 1))
    expected = "sha256:" + hashlib.sha256(other[4].tobytes()).hexdigest()
    assert (
        source.fingerprint(sample)
        == source.probe(sample)[0]
        == source.load(sample).sha256
        == copy.fingerprint(sample)
        == expected
    )
    path.unlink()
    for function in (source.fingerprint, source.probe, source.load):
        with pytest.raises(BadSample, match="cannot be read any more"):
            function(sample)


@pytest.mark.parametrize("zipped", [False, True])
def test_a_file_of_the_same_size_may_be_another(tmp_path, zipped):
    """Images of another edition of the set take as many bytes: what was read or digested before is not theirs."""
    images, labels = TEST

    def write(pixels):
        files = {
            "cifar-10-batches-bin/batches.meta.txt": "\n".join(a.TEN).encode(),
            "cifar-10-batches-bin/test_batch.bin": pixels,
        }
        if not zipped:
            return a.write(tmp_path / "x", files), tmp_path / "x/cifar-10-batches-bin/test_batch.bin"
        plain = a.tar(tmp_path / "x.tar", files).read_bytes()
        path = tmp_path / "x.tar.gz"
        path.write_bytes(gzip.compress(plain, compresslevel=0, mtime=0))  # stored, so that its size says nothing
        return path, path

    place, file = write(a.binary(images, labels[:, None]))
    source = open_source(f"cifar10:{place}")
    assert source.load(source.samples[4]).sha256 == source.fingerprint(source.samples[4]) == SHA256[4]
    before = file.stat()
    write(a.binary(255 - images, labels[:, None]))
    os.utime(file, ns=(1, 1))
    assert (file.stat().st_size, file.stat().st_ino) == (before.st_size, before.st_ino)
    expected = "sha256:" + hashlib.sha256((255 - images[4]).tobytes()).hexdigest()
    assert source.load(source.samples[4]).sha256 == source.fingerprint(source.samples[4]) == expected


def test_an_archive_that_changes_after_the_check_stops_the_build(tmp_path):
    path = a.tar(tmp_path / "x.tar.gz", a.ten_python(TEST), "w:gz")

    def swap(event):
        if event.phase == "building" and not event.parts_done:
            a.tar(path, a.ten_python((255 - TEST[0], TEST[1])), "w:gz")
            os.utime(path, ns=(1, 1))

    with pytest.raises(SourceError, match=r"test/00000 has changed since the source was checked \(sha256:"):
        build(
            "cifar10-c", f"cifar10:{path}", tmp_path / "out", sets=["contrast/1"], format="hdf5", jobs=1, progress=swap
        )
    assert not list(tmp_path.glob("out/*/manifest.json"))


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
for s in samples[5000:5600]:
    source.load(s)
print(json.dumps([good, peak() - before]))
"""


@pytest.mark.skipif(not os.path.isfile("/proc/self/status"), reason="the peak of a process is read from /proc")
@pytest.mark.parametrize("form", ["bytes", *(pytest.param(form, marks=pytest.mark.ci) for form in ("text", "binary"))])
def test_a_batch_is_held_once(tmp_path, form):
    """37 MB in one batch, after one of 600 kB: beside its pixels, of a row its name, its label and its digest
    are held.
    """
    paths = []
    for count in (200, 12_000):
        images = np.resize(EXPECTED, (count, 32, 32, 3))
        batch = (images, np.arange(count) % 10)
        files = (
            a.ten_binary(batch)
            if form == "binary"
            else a.ten_python(batch, dump=a.modern_batch(2 if form == "text" else 4))
        )
        path = tmp_path / f"{count}.tar.gz"
        with gzip.open(path, "wb", compresslevel=1) as out, tarfile.open(fileobj=out, mode="w") as archive:
            for name, data in files.items():
                member = tarfile.TarInfo(name)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
        paths.append(f"cifar10:{path}")
    done = subprocess.run([sys.executable, "-c", PEAK, *paths], check=True, capture_output=True, text=True)
    good, grown = json.loads(done.stdout)
    assert good == 12_000
    # text takes three bytes for two in its pickle, and lies beside it
    held = images.nbytes * (5 / 2 if form == "text" else 1)
    assert grown < held + (16 << 20)


def test_the_plan_counts_the_rows_that_each_worker_holds(tmp_path):
    images, labels = a.crops(40)
    a.tar(tmp_path / "cifar-10-python.tar.gz", a.ten_python((images, labels)), "w:gz")
    source = open_source(f"cifar10:{tmp_path}/cifar-10-python.tar.gz")
    assert source.held_bytes == images.nbytes
    asked = {"sets": ["contrast/1"], "samples": 8, "jobs": 1}
    more = plan("cifar10-c", source, **asked).memory_per_worker
    source.held_bytes = 0
    assert more == plan("cifar10-c", source, **asked).memory_per_worker + images.nbytes
    np.save(tmp_path / "images.npy", images)
    np.save(tmp_path / "labels.npy", labels)
    assert open_source(f"npy:{tmp_path}/images.npy,{tmp_path}/labels.npy").held_bytes == 0  # it is mapped
