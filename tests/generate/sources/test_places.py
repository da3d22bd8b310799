"""Bytes of files, gzipped or not: what they hold, and what is wrong with their ends."""

from __future__ import annotations

import gzip
import random

import pytest

from corruptset.errors import SourceError
from corruptset.generate.sources.source import Place
from corruptset.generate.sources.tarred import read_place, read_whole

MOST = 1 << 20


def bytes_of(count, seed=0, letters=256):
    return bytes(random.Random(seed).choices(range(letters), k=count))


def test_what_is_wrong_with_an_end_is_found(tmp_path):
    whole = bytes_of(20_000, letters=50)
    packed = gzip.compress(whole, mtime=0)
    good = [packed, packed + bytes(900), packed + gzip.compress(b"more", mtime=0)]
    bad = [packed[:-n] for n in (*range(1, 10), 500, len(packed) - 2, len(packed) - 9)]
    for n in range(1, 9):
        flipped = bytearray(packed)
        flipped[-n] ^= 0x10
        bad.append(bytes(flipped))
    bad += [packed + b"x", packed + bytes(400) + b"\x1f", packed + b"\x1f\x8b", packed + gzip.compress(b"more")[:-1]]
    path = tmp_path / "x.gz"
    for data in good:
        path.write_bytes(data)
        assert read_whole(path, MOST) == gzip.decompress(data)
    for data in bad:
        path.write_bytes(data)
        with pytest.raises(SourceError, match=r"is cut|is damaged"):
            read_whole(path, MOST)


def test_damage_in_the_middle_is_no_other_bytes(tmp_path):
    packed = gzip.compress(bytes_of(20_000, letters=50), mtime=0)
    path = tmp_path / "x.gz"
    for at in range(12, len(packed), 997):
        path.write_bytes(packed[:at] + bytes([packed[at] ^ 0xFF]) + packed[at + 1 :])
        with pytest.raises(SourceError, match=r"is cut|is damaged"):
            read_whole(path, MOST)


@pytest.mark.parametrize("zipped", [True, False])
def test_no_more_is_read_than_such_a_file_has(tmp_path, zipped):
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(bytes(5000)) if zipped else bytes(5000))
    assert read_whole(path, 5000) == bytes(5000)
    with pytest.raises(SourceError, match="has more than 4,999 bytes"):
        read_whole(path, 4999)


def test_a_file_that_ends_before_and_one_that_goes(tmp_path):
    path, whole = tmp_path / "x", bytes_of(5000)
    path.write_bytes(whole)
    assert read_place(path, Place(4000, 1000)) == whole[4000:]
    with pytest.raises(SourceError, match="ends 1 bytes before it should"):
        read_place(path, Place(4000, 1001))
    path.unlink()
    with pytest.raises(SourceError, match="cannot be read"):
        read_place(path, Place(0, 1))
