"""Places of files, gzipped or not: what they hold, what is wrong with their ends, and how little is done twice."""

from __future__ import annotations

import gzip
import os
import random

import archives
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corruptset.errors import SourceError
from corruptset.generate.sources.places import Place, expanded_size, read_place


def bytes_of(count, seed=0, letters=256):
    return bytes(random.Random(seed).choices(range(letters), k=count))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_order_of_reads_gives_what_the_whole_file_holds(tmp_path, data):
    members = data.draw(st.lists(st.tuples(st.integers(0, 40_000), st.sampled_from([1, 3, 256])), min_size=1, max_size=4))
    parts = [bytes_of(size, i, letters) for i, (size, letters) in enumerate(members)]
    gaps = [b"\0" * data.draw(st.integers(0, 700)) for _ in parts]
    path = tmp_path / "x.gz"
    path.write_bytes(b"".join(gzip.compress(part) + gap for part, gap in zip(parts, gaps, strict=True)))
    whole = b"".join(parts)
    assert gzip.decompress(path.read_bytes()) == whole
    for _ in range(12):
        offset = data.draw(st.integers(0, len(whole)))
        size = data.draw(st.integers(0, min(4000, len(whole) - offset)))
        assert read_place(Place(path, offset, size, True)) == whole[offset : offset + size]
    assert expanded_size(path) == len(whole)


def test_rows_in_order_are_one_pass_over_a_file(tmp_path, monkeypatch):
    whole = bytes_of(3_000_000)
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(whole))
    taken = archives.unpacked_bytes(monkeypatch)
    place = Place(path, 0, len(whole), True)
    for offset in range(0, len(whole), 3000):
        assert read_place(place.part(offset, 1000)) == whole[offset : offset + 1000]
    assert len(whole) - 3000 <= sum(taken) <= len(whole)
    # to go back begins the file anew
    taken.clear()
    assert read_place(place.part(1_000_000, 10)) == whole[1_000_000:1_000_010]
    assert 1_000_000 <= sum(taken) <= 1_100_000


def test_what_is_wrong_with_an_end_is_found_whatever_was_read_before(tmp_path):
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
        for first in (None, 0, 10_000):
            if first is not None and len(data) >= len(packed):
                assert read_place(Place(path, first, 100, True)) == whole[first : first + 100]
            if data in good:
                assert expanded_size(path) == len(gzip.decompress(data))
                continue
            for _ in range(2):  # and found again
                with pytest.raises(SourceError, match=r"is cut|is damaged"):
                    expanded_size(path)
                with pytest.raises(SourceError, match=r"is cut|is damaged"):
                    read_place(Place(path, 0, 1 << 20, True))


def test_damage_in_the_middle_is_no_other_bytes(tmp_path):
    whole = bytes_of(20_000, letters=50)
    packed = gzip.compress(whole, mtime=0)
    path = tmp_path / "x.gz"
    for at in range(12, len(packed), 997):
        path.write_bytes(packed[:at] + bytes([packed[at] ^ 0xFF]) + packed[at + 1 :])
        with pytest.raises(SourceError, match=r"is cut|is damaged"):
            expanded_size(path)


@pytest.mark.parametrize("zipped", [True, False])
def test_a_file_that_changes_is_read_anew_and_one_that_goes_is_missed(tmp_path, zipped):
    path = tmp_path / "x.gz"
    for seed in range(3):
        whole = bytes_of(5000, seed)
        path.write_bytes(gzip.compress(whole) if zipped else whole)
        os.utime(path, ns=(seed, seed))  # whatever the clock's steps
        assert read_place(Place(path, 4000, 1000, zipped)) == whole[4000:]
        assert read_place(Place(path, 100, 50, zipped)) == whole[100:150]
    with pytest.raises(SourceError, match="ends 1 bytes before it should"):
        read_place(Place(path, 4000, 1001, zipped))
    path.unlink()
    with pytest.raises(SourceError, match="cannot be read"):
        read_place(Place(path, 0, 1, zipped))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="open files are counted in /proc")
def test_one_file_is_kept_open_and_not_shared_with_a_fork(tmp_path):
    paths = [tmp_path / f"{i}.gz" for i in range(4)]
    for i, path in enumerate(paths):
        path.write_bytes(gzip.compress(bytes_of(300_000, i)))
    before = len(os.listdir("/proc/self/fd"))
    for offset in range(0, 5000, 1000):
        for i, path in enumerate(paths):
            assert read_place(Place(path, offset, 1000, True)) == bytes_of(300_000, i)[offset : offset + 1000]
    assert len(os.listdir("/proc/self/fd")) <= before + 1
    child = os.fork()
    if not child:
        os._exit(read_place(Place(paths[3], 200_000, 9, True)) != bytes_of(300_000, 3)[200_000:200_009])
    assert os.waitpid(child, 0)[1] == 0
    assert read_place(Place(paths[3], 100_000, 9, True)) == bytes_of(300_000, 3)[100_000:100_009]
