"""Gzipped files, read at any offset: what they hold, what is wrong with their ends, and how little is done twice."""

from __future__ import annotations

import gzip
import os
import random
import zlib

import archives
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corruptset.errors import SourceError
from corruptset.generate.sources import streams
from corruptset.generate.sources.streams import Place, Unpacking, expanded_size, read_place, unpacking


@pytest.fixture
def small(monkeypatch):
    """Chunks and places as small as tests want them."""
    for name, value in (("CHUNK", 700), ("PACKED", 300), ("SAVE_EVERY", 2000), ("MOST_SAVED", 6)):
        monkeypatch.setattr(streams, name, value)


def bytes_of(count, seed=0, letters=256):
    return bytes(random.Random(seed).choices(range(letters), k=count))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_order_of_reads_gives_what_the_whole_file_holds(small, tmp_path, data):
    members = data.draw(st.lists(st.tuples(st.integers(0, 9000), st.sampled_from([1, 3, 256])), min_size=1, max_size=4))
    parts = [bytes_of(size, i, letters) for i, (size, letters) in enumerate(members)]
    gaps = [b"\0" * data.draw(st.integers(0, 700)) for _ in parts]
    path = tmp_path / "x.gz"
    path.write_bytes(b"".join(gzip.compress(part) + gap for part, gap in zip(parts, gaps, strict=True)))
    whole = b"".join(parts)
    assert gzip.decompress(path.read_bytes()) == whole
    file = Unpacking(path)
    for _ in range(12):
        offset, size = data.draw(st.integers(0, len(whole) + 50)), data.draw(st.integers(0, 4000))
        assert file.read(offset, size) == whole[offset : offset + size]
        assert len(file._chunk) <= 700
        assert len(file._saved) <= 6
    assert file.size(1 << 20) == len(whole)
    assert file.size(len(whole)) == len(whole)
    if whole:
        assert file.size(len(whole) - 1) is None


def test_going_back_costs_a_stretch_and_not_the_file(monkeypatch, tmp_path):
    for name, value in (("CHUNK", 4096), ("PACKED", 4096), ("SAVE_EVERY", 10_000)):
        monkeypatch.setattr(streams, name, value)
    whole = bytes_of(600_000)
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(whole))
    size = path.stat().st_size
    taken = archives.packed_bytes(monkeypatch)
    file = Unpacking(path)
    # forwards in steps, over what was read, and with gaps: one pass
    for offset in range(0, 600_000, 3000):
        assert file.read(offset, 3000) == whole[offset : offset + 3000]
    assert file.size(1 << 30) == 600_000
    assert sum(taken) <= size + 4096
    # backwards: to each place from the nearest one before it
    taken.clear()
    reads = [*range(597_000, 0, -30_000)]
    for offset in reads:
        assert file.read(offset, 3000) == whole[offset : offset + 3000]
    assert sum(taken) <= len(reads) * 30_000
    # a leap forwards over what was passed before passes over it
    taken.clear()
    file.read(0, 10)
    assert file.read(590_000, 10) == whole[590_000:590_010]
    assert sum(taken) <= 2 * 30_000


def test_places_are_thinned_in_a_long_file(monkeypatch, tmp_path):
    for name, value in (("CHUNK", 1000), ("SAVE_EVERY", 1000), ("MOST_SAVED", 8)):
        monkeypatch.setattr(streams, name, value)
    whole = bytes_of(300_000, letters=7)
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(whole))
    file = Unpacking(path)
    assert file.size(1 << 30) == 300_000
    offsets = [saved.offset for saved in file._saved]
    assert offsets[0] == 0
    assert 4 <= len(offsets) <= 8
    assert max(b - a for a, b in zip(offsets, [*offsets[1:], 300_000], strict=True)) <= 300_000 / 3
    assert all(file.read(offset + 5, 100) == whole[offset + 5 : offset + 105] for offset in reversed(offsets))


def test_what_is_wrong_with_an_end_is_found_whatever_was_read_before(small, tmp_path):
    whole = bytes_of(20_000, letters=50)
    packed = gzip.compress(whole, mtime=0)
    good = [packed, packed + bytes(900), packed + gzip.compress(b"more", mtime=0)]
    bad = [packed[:-n] for n in (*range(1, 10), 500, len(packed) - 1, len(packed) - 2, len(packed) - 9)]
    for n in range(1, 9):
        flipped = bytearray(packed)
        flipped[-n] ^= 0x10
        bad.append(bytes(flipped))
    bad += [packed + b"x", packed + bytes(400) + b"\x1f", packed + b"\x1f\x8b", packed + gzip.compress(b"more")[:-1]]
    for i, data in enumerate([*good, *bad]):
        path = tmp_path / f"{i}.gz"
        path.write_bytes(data)
        for first in (None, 0, 15_000):
            streams._open_files.clear()
            if first is not None and len(data) >= len(packed):
                assert read_place(Place(path, first, 100, True)) == whole[first : first + 100]
            if data in good:
                assert expanded_size(path) == len(gzip.decompress(data))
                continue
            for _ in range(2):  # and found again
                with pytest.raises(SourceError, match=r"is cut|is damaged"):
                    expanded_size(path)
        if data not in good:
            with pytest.raises((EOFError, OSError, zlib.error)):
                gzip.decompress(data)


def test_damage_in_the_middle_is_no_other_bytes(small, tmp_path):
    whole = bytes_of(20_000, letters=50)
    packed = gzip.compress(whole, mtime=0)
    path = tmp_path / "x.gz"
    for at in range(12, len(packed), 997):
        path.write_bytes(packed[:at] + bytes([packed[at] ^ 0xFF]) + packed[at + 1 :])
        streams._open_files.clear()
        with pytest.raises(SourceError, match=r"is cut|is damaged"):
            expanded_size(path)


def test_a_file_that_changes_is_read_anew_and_one_that_goes_is_missed(small, tmp_path):
    path = tmp_path / "x.gz"
    for seed in range(3):
        whole = bytes_of(5000, seed)
        path.write_bytes(gzip.compress(whole))
        os.utime(path, ns=(seed, seed))  # whatever the clock's steps
        assert read_place(Place(path, 4000, 1000, True)) == whole[4000:]
        assert read_place(Place(path, 100, 50, True)) == whole[100:150]
    with pytest.raises(SourceError, match="ends 1 bytes before it should"):
        read_place(Place(path, 4000, 1001, True))
    path.unlink()
    with pytest.raises(SourceError, match="cannot be read"):
        read_place(Place(path, 0, 1, True))


def test_a_few_files_are_kept_open(small, tmp_path):
    paths = [tmp_path / f"{i}.gz" for i in range(4)]
    for i, path in enumerate(paths):
        path.write_bytes(gzip.compress(bytes_of(5000, i)))
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else None
    streams._open_files.clear()
    for offset in range(0, 5000, 1000):
        for i, path in enumerate(paths):
            assert read_place(Place(path, offset, 1000, True)) == bytes_of(5000, i)[offset : offset + 1000]
    assert [file.path for file in streams._open_files] == paths[: -streams.MOST_OPEN - 1 : -1]
    kept = unpacking(paths[2])
    assert unpacking(paths[3]) is not kept
    assert unpacking(paths[2]) is kept
    if before is not None:
        assert len(os.listdir("/proc/self/fd")) <= before + streams.MOST_OPEN
