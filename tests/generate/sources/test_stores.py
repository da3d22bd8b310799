"""Sources in an object store are copied once, and are those of the disk."""

from __future__ import annotations

import os
import tarfile

import archives as a
import h5py
import numpy as np
import pytest
import stores

from corruptset.errors import StoreError
from corruptset.generate.sources.check import check
from corruptset.generate.sources.source import open_source
from corruptset.manifests.disk import remote

pytestmark = pytest.mark.ci


def test_a_source_in_a_store_is_the_one_on_the_disk(tmp_path, crops, monkeypatch):
    with stores.s3() as proxy:
        system = stores.bucket("data")
        for path in crops.rglob("*.png"):
            system.put_file(str(path), f"data/crops/{path.relative_to(crops)}")
        system.pipe_file("data/crops/README.md", b"text")
        with tarfile.open(tmp_path / "crops.tar", "w") as tar:
            tar.add(crops, "crops")
        images, labels = np.random.default_rng(0).integers(0, 256, (6, 32, 32, 3), np.uint8), np.arange(6)
        np.save(tmp_path / "x.npy", images)
        np.save(tmp_path / "y.npy", labels)
        with h5py.File(tmp_path / "set.h5", "w") as file:
            file["images"], file["labels"] = images, labels
        for path in tmp_path.iterdir():
            system.put_file(str(path), f"data/{path.name}")
        for near_text, far_text in (
            (f"folder:{crops}", "folder:s3://data/crops/"),
            (f"folder:{tmp_path}/crops.tar", "folder:s3://data/crops.tar"),
            (f"npy:{tmp_path}/x.npy,{tmp_path}/y.npy", "npy:s3://data/x.npy,s3://data/y.npy"),
            (f"hdf5:{tmp_path}/set.h5", "hdf5:s3://data/set.h5"),
        ):
            near, far = open_source(near_text), open_source(far_text)
            assert far.samples
            assert [s.path for s in far.samples] == [s.path for s in near.samples]
            assert (a.facts(far), far.classes) == (a.facts(near), near.classes), far_text
            proxy.reset()
            open_source(far_text)
            # it looks what is there, and fetches nothing again
            assert not {path for method, path in proxy.requests if method == "GET" and "list-type" not in path}
        # another object is another copy; failing requests are tried again
        monkeypatch.setattr(remote, "FIRST_WAIT_S", 0.001)
        system.pipe_file("data/crops/new.txt", os.urandom(8))
        proxy.reset(lambda number, *_: {0: "503", 3: "cut"}.get(number % 6))
        far = open_source("folder:s3://data/crops/")
        assert proxy.done["503"]
        assert proxy.done["cut"]
        assert not check(far, far.samples).bad
        a.refuses("folder:s3://data/none", r"no object at s3://data/none, and none below it")
        a.refuses("hdf5:s3://data/none.h5", r"no object at s3://data/none\.h5")
        with pytest.raises(StoreError, match="a user name, a password or a signature") as raised:
            open_source("folder:s3://me:word-of-mine@data/crops")
        assert "word-of-mine" not in str(raised.value)
