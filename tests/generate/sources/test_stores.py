"""Sources in an object store are copied once, and give the same samples as on a disk."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import source_archives as a
import stores

from corruptset.errors import StoreError
from corruptset.generate.sources.check import check
from corruptset.generate.sources.source import open_source
from corruptset.manifests.disk import remote

pytestmark = pytest.mark.ci


def test_source_in_object_store_equals_local_source(tmp_path, crops, monkeypatch):
    with stores.s3() as proxy:
        system = stores.create_bucket("data")
        files = {path.relative_to(crops).as_posix(): path.read_bytes() for path in crops.rglob("*.png")}
        a.write_files(tmp_path / "crops", files | {"README.md": b"text"})
        a.write_tar(tmp_path / "crops.tar", files)
        np.save(tmp_path / "x.npy", np.random.default_rng(0).integers(0, 256, (6, 32, 32, 3), np.uint8))
        np.save(tmp_path / "y.npy", np.arange(6))
        for path in filter(Path.is_file, tmp_path.rglob("*")):
            system.put_file(str(path), f"data/{path.relative_to(tmp_path)}")
        for text in ("folder:{0}/crops/", "folder:{0}/crops.tar", "npy:{0}/x.npy,{0}/y.npy"):
            near, far = open_source(text.format(tmp_path)), open_source(text.format("s3://data"))
            assert far.samples
            assert [s.path for s in far.samples] == [s.path for s in near.samples]
            assert (a.source_contents(far), far.classes) == (a.source_contents(near), near.classes), text
            proxy.reset()
            open_source(text.format("s3://data"))
            # the store is listed, but nothing is downloaded again
            assert not {path for method, path in proxy.requests if method == "GET" and "list-type" not in path}
        # a changed or additional object leads to a new copy, and failed requests are repeated
        np.save(tmp_path / "x.npy", np.zeros((6, 32, 32, 3), np.uint8))
        system.put_file(str(tmp_path / "x.npy"), "data/x.npy")
        far = open_source("npy:s3://data/x.npy,s3://data/y.npy")
        assert not far.load(far.samples[0]).image.any()
        monkeypatch.setattr(remote, "FIRST_WAIT_S", 0.001)
        system.pipe_file("data/crops/new.txt", os.urandom(8))
        proxy.reset(lambda number, *_: {0: "503", 3: "cut"}.get(number % 6))
        far = open_source("folder:s3://data/crops/")
        assert proxy.done["503"]
        assert proxy.done["cut"]
        assert not check(far, far.samples).bad
        a.check_refused("folder:s3://data/none", r"no object at s3://data/none, and none below it")
        a.check_refused("hdf5:s3://data/none.h5", r"no object at s3://data/none\.h5")
        with pytest.raises(StoreError, match="a user name, a password or a signature") as exc_info:
            open_source("folder:s3://me:word-of-mine@data/crops")
        assert "word-of-mine" not in str(exc_info.value)
