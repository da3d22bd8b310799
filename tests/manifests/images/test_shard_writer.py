"""Shards have the documented layout, and equal rows give equal bytes."""

import io

import h5py
import numpy as np
import pytest

from corruptset.manifests.images.shard_writer import by_hdf5, chunk_rows, shard_pieces
from corruptset.pixels import pixel_hashes


def images(count, shape=(9, 11, 3)):
    return np.random.Generator(np.random.Philox(1)).integers(0, 256, (count, *shape), dtype=np.uint8)


def shard(rows, encoding, set_id="fog/3"):
    count = len(rows)
    digests = pixel_hashes(images(count))
    labels = [i % 3 for i in range(count)]
    about = {"labels": labels, "indices": range(8, 8 + count), "pixels": digests, "build": "x 1"}
    return b"".join(shard_pieces(rows, set_id=set_id, encoding=encoding, **about))


def test_raw_and_encoded_rows_follow_documented_layout():
    for count in (1, 7, 130):
        rows = images(count)
        with h5py.File(io.BytesIO(shard(rows, "raw"))) as f:
            assert f["images"].compression is None
            assert np.array_equal(f["images"][:], rows)
            assert f["labels"].dtype == f["index"].dtype == np.int64
            assert list(f["labels"]) == [i % 3 for i in range(count)]
            assert list(f["index"]) == list(range(8, 8 + count))
            assert [bytes(r).hex() for r in f["pixel_digest"][:]] == pixel_hashes(rows)
            about = {"corruptset_schema": 2, "set": "fog/3", "build": "x 1", "encoding": "raw"}
            assert dict(f.attrs) == about
    for encoded in ([b"abc", b"", b"\xff\xd8longer"], [b"abc", b"def"]):  # also if they have the same length
        with h5py.File(io.BytesIO(shard(encoded, "jpeg"))) as f:
            assert [bytes(r) for r in f["encoded"]] == encoded
            assert f["encoded"].attrs["encoding"] == f.attrs["encoding"] == "jpeg"
        assert shard(encoded, "jpeg") == shard(encoded, "jpeg") != shard(encoded[::-1], "jpeg")


SIZES = [(1, (8, 8, 1)), (7, (9, 11, 3)), (1252, (5, 3, 1)), (130, (97, 60, 3))]


@pytest.mark.parametrize(("count", "shape"), SIZES)
def test_inserted_rows_equal_output_of_hdf5(count, shape):
    columns = {"labels": np.arange(count) % 3, "index": np.arange(8, 8 + count)}
    columns["pixel_digest"] = np.array(
        [list(bytes.fromhex(digest)) for digest in pixel_hashes(images(count))], np.uint8
    )
    for name in ("a", "a chain of several things, ä/12"):
        for rows in (images(count, shape), images(count, shape)[::-1].copy()):
            assert shard(rows, "raw", name) == by_hdf5(rows, columns, name, "x 1", "raw")[0]


def test_chunks_waste_little_space():
    for row_bytes in (784, 3072, 150528):
        for count in (1, 8, 63, 64, 100, 445, 1250, 2048):
            chunk = chunk_rows(count, row_bytes)
            assert min(count, 64) <= chunk <= 500
            assert -(-count // chunk) * chunk - count < -(-count // chunk)
