"""Hostile archives: invalid names, members that are not files, bombs, and false sizes."""

import json
import os
import subprocess
import sys
import tarfile

import pytest
from packs import IMAGE, INVALID_NAMES, OUTSIDE, RECORD, TOP, check_unpack_fails, tar_header, write_archive

from corruptset.manifests.release.archives import BadArchive, read_members
from corruptset.manifests.release.unpack import unpack


def test_unsafe_and_unusual_names_are_rejected(valid_members, tmp_path):
    items = list(valid_members.items())
    for number, name in enumerate(OUTSIDE + INVALID_NAMES):
        for at in (2,) if number else (0, 2, len(items)):
            archive = write_archive(tmp_path / f"{number} at {at}", [*items[:at], (name, b"escaped"), *items[at:]])
            check_unpack_fails(
                archive, tmp_path, "is not listed in the record|must be its record|does not match the records"
            )
    archive = write_archive(tmp_path / "a", [(f"{TOP}/\x1b]0;x\x07", b"")])
    with pytest.raises(BadArchive) as exc_info:
        unpack([archive], tmp_path / "out")
    assert "\x1b" not in str(exc_info.value)
    assert "\\x1b]0;x\\x07" in str(exc_info.value)
    assert not (tmp_path / "out").exists()


def test_members_that_are_not_files_are_rejected(valid_members, tmp_path):
    """Links, devices, pipes, folders and sparse files as an image, a small file and a record."""
    flags = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE)
    for flag in (*flags, tarfile.GNUTYPE_SPARSE):
        for number, member_name in enumerate((IMAGE, f"{TOP}/samples.jsonl", RECORD)):
            members = list(valid_members.items())
            members.insert(list(valid_members).index(member_name), (tar_header(member_name, type=flag), b""))
            archive = write_archive(tmp_path / f"{flag.decode()}{number}", members)
            check_unpack_fails(archive, tmp_path, "not a regular file")


def test_wrong_sizes_are_rejected(valid_members, tmp_path):
    """A header that states more bytes than the archive has is refused before anything is read."""
    (tmp_path / "big").write_bytes(tar_header(RECORD, size=1 << 40).tobuf(tarfile.GNU_FORMAT) + bytes(2048))
    check_unpack_fails(tmp_path / "big", tmp_path, "exceeds the end of the archive")
    info = tar_header("y", type=tarfile.XHDTYPE, size=1 << 30)
    (tmp_path / "header").write_bytes(info.tobuf(tarfile.USTAR_FORMAT) + bytes(4096))
    check_unpack_fails(tmp_path / "header", tmp_path, "a header has 1,073,741,824 bytes")
    odd = (b"20 path=" + b"x" * 30, b"12 mtime=1.5\n", b"99999999 path=x\n", b"11 size=-1\n", b"x")
    for records in (*odd, b"25 GNU.sparse.major=100\n"):
        info.size = len(records)
        (tmp_path / "pax").write_bytes(info.tobuf(tarfile.USTAR_FORMAT) + records.ljust(512, b"\0") + bytes(2048))
        check_unpack_fails(tmp_path / "pax", tmp_path, "is truncated, damaged")
    for data in (b"", b"\x1f\x8b" + bytes(600), b"PK\x03\x04" + bytes(600), b"x" * 5000, bytes(10240)):
        (tmp_path / "none").write_bytes(data)
        check_unpack_fails(tmp_path / "none", tmp_path, "not a tar|cut off|is empty")


def test_tarfile_padding_is_accepted_but_no_data_after_it(valid_members, tmp_path):
    """After the first block of the end mark, there may be between one block and a record of zeros."""
    path = write_archive(tmp_path / "sound", list(valid_members.items()))
    sound = path.read_bytes()
    for behind in (sound, b"x", bytes(10240)):
        path.write_bytes(sound + behind)
        check_unpack_fails(path, tmp_path, "has data after its end")
    path = tmp_path / "a.tar"
    for size in range(0, tarfile.RECORDSIZE + 1, tarfile.BLOCKSIZE):
        write_archive(path, [("a", b"x" * size)])
        assert [(m.name, m.size) for m in read_members(path)] == [("a", size)]
        with path.open("ab") as file:
            file.write(b"x")
        with pytest.raises(BadArchive, match="after its end"):
            list(read_members(path))


UNPACK = """
import sys
from corruptset.errors import CorruptsetError
from corruptset.manifests.release.unpack import unpack

def most():
    # not getrusage, which begins with what the process had that started this one
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))

unpack([sys.argv[1]], sys.argv[2])  # a good one: everything that is imported, and what a data set of this size takes
before = most()
for archive in sys.argv[3:]:
    try:
        unpack([archive], sys.argv[2] + " bomb")
    except CorruptsetError as e:
        print(type(e).__name__, str(e).replace("\\n", " "))
    else:
        print("unpacked")
print(most() - before)
"""

BOMB = 120_000_000
"""Number of zero bytes in a bomb, twice the memory by which the process may grow. Without compression, its file is
sparse.
"""


def write_sparse_tar(path, members, name):
    """Write a tar with a member of `BOMB` zeros, which take no space on the disk."""
    with path.open("wb") as f:
        for member, data in members.items():
            info = tarfile.TarInfo(member)
            info.size = BOMB if member == name else len(data)
            f.write(info.tobuf(tarfile.PAX_FORMAT))
            if member == name:
                f.seek(BOMB + -BOMB % 512, os.SEEK_CUR)
            else:
                f.write(data + bytes(-len(data) % 512))
        f.write(bytes(10240))
    return path


def claim_size(valid, name):
    """Return members whose record states that one has `BOMB` bytes, with the manifest unchanged."""
    record = json.loads(valid[RECORD])
    for file in record["files"]:
        if f"{TOP}/{file['path']}" == name:
            file["bytes"] = BOMB
    return {**valid, RECORD: json.dumps(record).encode()}


def test_bombs_are_rejected_with_little_memory_and_disk(valid_members, tmp_path):
    """Sparse tars: a member has 120 MB although the records list a small one, or the records list it."""
    rows, samples = f"{TOP}/sets/clean.jsonl", f"{TOP}/samples.jsonl"
    bombs = [
        write_sparse_tar(tmp_path / f"tar{i}", valid_members, name)
        for i, name in enumerate([IMAGE, rows, samples, RECORD, f"{TOP}/manifest.json"])
    ]
    bombs += [
        write_sparse_tar(tmp_path / f"claim{i}", claim_size(valid_members, name), name)
        for i, name in enumerate([rows, samples, f"{TOP}/manifest.json"])
    ]
    sound = write_archive(tmp_path / "sound", list(valid_members.items()))
    command = [sys.executable, "-c", UNPACK, str(sound), str(tmp_path / "out"), *map(str, bombs)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    *messages, grown = result.stdout.splitlines()
    assert len(messages) == len(bombs)
    for line, bomb in zip(messages, bombs, strict=True):
        assert line.startswith(("BadArchive", "VerificationError")), (bomb.name, line)
    assert int(grown) < 60_000  # KiB
    remaining = (
        [p for p in (tmp_path / "out bomb").rglob("*") if p.is_file()] if (tmp_path / "out bomb").exists() else []
    )
    assert sum(p.stat().st_size for p in remaining) < 1_000_000
    assert not [p for p in remaining if p.name == "manifest.json"]
