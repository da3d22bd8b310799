"""Shards as they are written: laid out as documented, the same bytes for the same rows."""

import io

import h5py
import numpy as np
import pytest

from corruptset.manifests.images.shard_writer import by_hdf5, chunk_rows, shard_pieces
from corruptset.pixels import pixel_hashes


def images(count: int, shape: tuple[int, ...] = (9, 11, 3)) -> np.ndarray:
    return np.random.Generator(np.random.Philox(1)).integers(0, 256, (count, *shape), dtype=np.uint8)


def shard(rows: np.ndarray | list[bytes], encoding: str) -> bytes:
    count = len(rows)
    columns = {
        "labels": [i % 3 for i in range(count)],
        "indices": range(8, 8 + count),
        "pixels": pixel_hashes(images(count)),
    }
    return b"".join(shard_pieces(rows, set_id="fog/3", build="x 1", encoding=encoding, **columns))  # type: ignore[arg-type]


def test_raw_and_encoded_rows_are_laid_out_as_documented() -> None:
    for count in (1, 7, 130):
        rows = images(count)
        with h5py.File(io.BytesIO(shard(rows, "raw"))) as f:
            assert f["images"].compression is None
            assert np.array_equal(f["images"][:], rows)
            assert f["labels"].dtype == f["index"].dtype == np.int64
            assert list(f["labels"]) == [i % 3 for i in range(count)]
            assert list(f["index"]) == list(range(8, 8 + count))
            assert [bytes(r).hex() for r in f["pixels"][:]] == pixel_hashes(rows)
            assert f.attrs["set"] == "fog/3"
    for encoded in ([b"abc", b"", b"\xff\xd8longer"], [b"abc", b"def"]):  # of one length too
        with h5py.File(io.BytesIO(shard(encoded, "jpeg"))) as f:
            assert [bytes(r) for r in f["encoded"]] == encoded
            assert f["encoded"].attrs["encoding"] == "jpeg"
        assert shard(encoded, "jpeg") == shard(encoded, "jpeg") != shard(encoded[::-1], "jpeg")


SIZES = [(1, (8, 8, 1)), (7, (9, 11, 3)), (1251, (5, 3, 1)), (1252, (5, 3, 1)), (130, (97, 60, 3)), (1000, (32, 32, 3))]


@pytest.mark.parametrize(("count", "shape"), SIZES)
def test_rows_put_between_are_what_hdf5_itself_writes(count: int, shape: tuple[int, ...]) -> None:
    rows = images(count, shape)
    columns = {"labels": np.arange(count) % 7, "index": np.arange(3, 3 + count), "pixels": images(count, (32,))}
    about = {
        "labels": columns["labels"],
        "indices": columns["index"],
        "pixels": [bytes(p).hex() for p in columns["pixels"]],
    }
    for name in ("a", "fog/3", "a chain of several things, ä/12"):
        for given in (rows, rows[::-1].copy()):
            made = b"".join(shard_pieces(given, set_id=name, build="x 1", encoding="raw", **about))  # type: ignore[arg-type]
            assert made == by_hdf5(given, columns, name, "x 1", "raw")[0]


def test_chunks_waste_little() -> None:
    for row_bytes in (784, 3072, 150528):
        for count in (1, 8, 63, 64, 100, 445, 1250, 2048):
            chunk = chunk_rows(count, row_bytes)
            assert min(count, 64) <= chunk <= 500
            assert -(-count // chunk) * chunk - count < -(-count // chunk)
