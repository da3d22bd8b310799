"""Sources in an object store are copied once, and are the same sources as on the disk."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
import stores

from corruptset.errors import SourceError, StoreError
from corruptset.generate.sources.check import check
from corruptset.generate.sources.source import open_source
from corruptset.manifests.disk import remote

pytestmark = pytest.mark.ci


@pytest.fixture(scope="module")
def proxy() -> Iterator[stores.Proxy]:
    with stores.s3() as running:
        yield running


@pytest.fixture(scope="module")
def both(proxy: stores.Proxy, tmp_path_factory: pytest.TempPathFactory, crops: Path) -> dict[str, tuple[str, str]]:
    """Kind -> the source on the disk and in the store."""
    system, folder = stores.bucket("data"), tmp_path_factory.mktemp("data")
    for path in crops.rglob("*.png"):
        system.put_file(str(path), f"data/crops/{path.relative_to(crops)}")
    system.pipe_file("data/crops/README.md", b"text")
    with tarfile.open(folder / "crops.tar", "w") as tar:
        tar.add(crops, "crops")
    images, labels = np.random.default_rng(0).integers(0, 256, (6, 32, 32, 3), np.uint8), np.arange(6)
    np.save(folder / "x.npy", images)
    np.save(folder / "y.npy", labels)
    with h5py.File(folder / "set.h5", "w") as file:
        file["images"], file["labels"] = images, labels
    for path in folder.iterdir():
        system.put_file(str(path), f"data/{path.name}")
    return {
        "folder": (f"folder:{crops}", "folder:s3://data/crops/"),
        "tar": (f"folder:{folder}/crops.tar", "folder:s3://data/crops.tar"),
        "npy": (f"npy:{folder}/x.npy,{folder}/y.npy", "npy:s3://data/x.npy,s3://data/y.npy"),
        "hdf5": (f"hdf5:{folder}/set.h5", "hdf5:s3://data/set.h5"),
    }


@pytest.mark.parametrize("kind", ["folder", "tar", "npy", "hdf5"])
def test_a_source_in_a_store_is_the_one_on_the_disk(both, kind):
    near, far = map(open_source, both[kind])
    assert far.samples
    assert [(s.id, s.label, s.path) for s in far.samples] == [(s.id, s.label, s.path) for s in near.samples]
    assert far.classes == near.classes
    for one, other in zip(far.samples, near.samples, strict=True):
        loaded, expected = far.load(one), near.load(other)
        assert loaded.sha256 == expected.sha256
        assert np.array_equal(loaded.image, expected.image)


@pytest.mark.parametrize("kind", ["folder", "tar", "npy", "hdf5"])
def test_a_copy_is_fetched_once_and_again_when_the_object_is_another(both, proxy, kind):
    open_source(both[kind][1])
    proxy.reset()
    open_source(both[kind][1])
    # it looks what is there
    assert not {path for method, path in proxy.requests if method == "GET" and "list-type" not in path}


def test_failing_requests_are_tried_again(both, proxy, monkeypatch):
    monkeypatch.setattr(remote, "FIRST_WAIT_S", 0.001)
    # so that the copy is another one than any in the cache
    stores.bucket("elsewhere").pipe_file("data/crops/new.txt", os.urandom(8))
    proxy.reset(lambda number, *_: {0: "503", 3: "cut"}.get(number % 6))
    far = open_source(both["folder"][1])
    assert proxy.done["503"]
    assert proxy.done["cut"]
    assert not check(far, far.samples).bad


def test_mistakes_are_said_plainly(both):
    with pytest.raises(SourceError, match=r"no object at s3://data/none, and none below it"):
        open_source("folder:s3://data/none")
    with pytest.raises(SourceError, match=r"no object at s3://data/none\.h5"):
        open_source("hdf5:s3://data/none.h5")
    with pytest.raises(StoreError, match="a user name, a password or a signature") as raised:
        open_source("folder:s3://me:word-of-mine@data/crops")
    assert "word-of-mine" not in str(raised.value)
