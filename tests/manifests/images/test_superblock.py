"""The checksum of a shard's first block, which HDF5 1.14 (h5py before 3.16) leaves wrong."""

from __future__ import annotations

import io

import h5py
import numpy as np
import pytest

from corruptset.manifests.images.shard_writer import shard_bytes
from corruptset.manifests.images.superblock import sealed

ROWS = np.arange(20 * 8 * 8 * 3, dtype=np.uint8).reshape(20, 8, 8, 3)


@pytest.mark.parametrize("rows", [ROWS, [bytes([i]) * (100 + i) for i in range(20)]], ids=["raw", "jpeg"])
def test_shards_open_with_every_hdf5_and_are_the_same_file(rows: np.ndarray) -> None:
    encoding = "raw" if rows is ROWS else "jpeg"
    made = shard_bytes(
        rows, labels=range(20), indices=range(20), pixels=["00" * 32] * 20, set_id="fog/3", build="b 1.0.0", encoding=encoding
    )
    with h5py.File(io.BytesIO(made), "r") as shard:
        assert shard.attrs["set"] == "fog/3"
        assert shard["labels"][:].tolist() == list(range(20))
    # as HDF5 1.14 leaves it: not to be opened; and as this module leaves that
    broken = made[:44] + bytes(byte ^ 0x55 for byte in made[44:48]) + made[48:]
    with pytest.raises(OSError, match="checksum"):
        h5py.File(io.BytesIO(broken), "r")
    assert sealed(broken) == made
    assert sealed(made[8:]) == made[8:]
