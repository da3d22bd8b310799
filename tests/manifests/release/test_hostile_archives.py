"""Archives from strangers: refused with the member's name, and nothing is written outside the data set's folder."""

from __future__ import annotations

import hashlib
import io
import json
import os
import struct
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corruptset.errors import CorruptsetError
from corruptset.manifests.release.archives import ArchiveWriter, BadArchive, name_problem
from corruptset.manifests.release.pack import pack
from corruptset.manifests.release.unpack import unpack

Members = dict[str, bytes]
TOP = "tiny-c-1.0.0"
RECORD = f"{TOP}/archives/{TOP}-clean.json"
IMAGE = f"{TOP}/images/clean/0_käfer/zwei.png"
OUTSIDE = ["../../escaped", "../escaped", "/tmp/escaped-from-an-archive", f"{TOP}/../../escaped", "..", "C:/escaped", "a\\..\\escaped"]
ODD = [f"{TOP}/images/clean/./x.png", f"{TOP}//x.png", f"{TOP}/images/clean/0_käfer/a\nb.png", f"{TOP}/\x1b[2J", f"{TOP}/" + "x" * 300]
ODD += ["/".join([TOP, *["y" * 200] * 21])]


@pytest.fixture(autouse=True)
def no_power_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda fd: None)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory, templates: Callable[..., Path]) -> Members:
    """The members of a good archive, in order; it has a short name, as archives had before their names were of one pack alone."""
    out = tmp_path_factory.mktemp("packed")
    pack(templates(containers=("folder",)), out, family={"fog": "weather"}.__getitem__)
    with tarfile.open(next(out.glob("data/*-clean.tar"))) as t:
        _, *others = [(m.name, t.extractfile(m).read()) for m in t.getmembers()]  # type: ignore[union-attr]
        record = json.load(t.extractfile(t.getmembers()[0]))  # type: ignore[arg-type]
    return {RECORD: json.dumps({**record, "archive": f"{TOP}-clean"}).encode(), **dict(others)}


def write(path: Path, members: list[tuple[str, bytes]], form: str = "tar") -> Path:
    """Write an archive of members of any name, without the checks of the writer under test."""
    if form == "zip":
        with zipfile.ZipFile(path, "w") as z:
            for name, data in members:
                info = zipfile.ZipInfo("x")
                info.filename = name
                info.external_attr = 0o100644 << 16
                z.writestr(info, data)
        return path
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as t:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))
    return path


def refused(archive: Path, tmp_path: Path, match: str) -> None:
    """Unpack into a folder of its own; whatever is left must be below the data set's folder, which is no data set."""
    before = {p for p in tmp_path.rglob("*") if p.is_file()}
    with pytest.raises(CorruptsetError, match=match):
        unpack([archive], tmp_path / f"of {archive.stem}" / "out")
    after = {p for p in tmp_path.rglob("*") if p.is_file() or p.is_symlink()}
    root = tmp_path / f"of {archive.stem}" / "out" / TOP
    assert all(root in p.parents for p in after - before)
    assert not (root / "manifest.json").exists()
    assert not Path("/tmp/escaped-from-an-archive").exists()


@pytest.mark.parametrize("form", ["tar", "zip"])
def test_the_archive_that_the_others_are_made_from_is_good(good: Members, tmp_path: Path, form: str) -> None:
    assert list(good)[:2] == [RECORD, f"{TOP}/manifest.json"]
    assert unpack([write(tmp_path / "a", list(good.items()), form)], tmp_path / "out").sets == ["clean"]


@pytest.mark.parametrize("form", ["tar", "zip"])
@pytest.mark.parametrize("at", [0, 2, -1], ids=["first", "third", "last"])
@pytest.mark.parametrize("name", OUTSIDE + ODD, ids=lambda n: repr(n)[:40])
def test_names_that_lead_out_or_are_odd(good: Members, tmp_path: Path, name: str, at: int, form: str) -> None:
    members = list(good.items())
    members.insert(at if at >= 0 else len(members), (name, b"escaped"))
    refused(write(tmp_path / "a", members, form), tmp_path, r"member '.*(path|leads out|control|too long|records name)")
    assert name_problem(name) is not None


@pytest.mark.parametrize("form", ["tar", "zip"])
@pytest.mark.parametrize("at", [0, 1, 2, 4, -1])
def test_a_member_that_nothing_names(good: Members, tmp_path: Path, at: int, form: str) -> None:
    members = list(good.items())
    members.insert(at if at >= 0 else len(members), (f"{TOP}/setup.py", b"import os"))
    refused(write(tmp_path / "a", members, form), tmp_path, rf"member '{TOP}/setup.py' is not what the records name")


@pytest.mark.parametrize("form", ["tar", "zip"])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_duplicates_and_names_that_differ_in_capitals(good: Members, tmp_path: Path, form: str) -> None:
    for number, name in enumerate([IMAGE, f"{TOP}/samples.jsonl", f"{TOP}/manifest.json"]):
        members = [*good.items(), (name, good[name])]
        refused(write(tmp_path / f"d{number}", members, form), tmp_path, "stands in it a second time")
    refused(write(tmp_path / "c", [*good.items(), (IMAGE.upper().replace(TOP.upper(), TOP), b"x")], form), tmp_path, "in capitals alone")


@pytest.mark.parametrize("form", ["tar", "zip"])
def test_missing_moved_and_cut_members(good: Members, tmp_path: Path, form: str) -> None:
    items = list(good.items())
    refused(write(tmp_path / "none", [], form), tmp_path, "neither a tar nor|is empty|cut off")
    refused(write(tmp_path / "short", items[:-1], form), tmp_path, "ends before")
    refused(write(tmp_path / "gap", [i for i in items if i[0] != IMAGE], form), tmp_path, "is not what the records name")
    refused(write(tmp_path / "headless", items[1:], form), tmp_path, "which says what is in it")
    for number, name in enumerate((IMAGE, f"{TOP}/samples.jsonl", f"{TOP}/manifest.json", f"{TOP}/sets/clean.jsonl")):
        other = bytes([good[name][0] ^ 1]) + good[name][1:]
        refused(write(tmp_path / f"x{number}", list({**good, name: other}.items()), form), tmp_path, f"{name.split('/')[-1]}.*recorded is")
        longer = good[name] + b" "
        refused(write(tmp_path / f"l{number}", list({**good, name: longer}.items()), form), tmp_path, f"{name.split('/')[-1]}.* bytes")
    whole = write(tmp_path / "cut", items, form).read_bytes()
    for at in (100, len(whole) // 2, len(whole) - 11_000):
        (tmp_path / "cut").write_bytes(whole[:at])
        refused(tmp_path / "cut", tmp_path, "cut off|beyond|neither|not a sound zip|ends before")


KINDS = {
    "link": (tarfile.SYMTYPE, "a symbolic link"),
    "hard link": (tarfile.LNKTYPE, "a hard link"),
    "device": (tarfile.CHRTYPE, "a device"),
    "block device": (tarfile.BLKTYPE, "a device"),
    "pipe": (tarfile.FIFOTYPE, "a pipe"),
    "folder": (tarfile.DIRTYPE, "a folder"),
    "sparse": (tarfile.GNUTYPE_SPARSE, "unknown kind"),
    "long name": (tarfile.GNUTYPE_LONGNAME, "unknown kind"),
    "global header": (tarfile.XGLTYPE, "unknown kind"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("where", [IMAGE, f"{TOP}/samples.jsonl", RECORD])
def test_members_that_are_no_files(good: Members, tmp_path: Path, kind: str, where: str) -> None:
    flag, said = KINDS[kind]
    with (tmp_path / "a").open("wb") as f:
        for name, data in good.items():
            if name == where:
                info = tarfile.TarInfo(name)
                info.type, info.linkname = flag, "/etc"
                # TarInfo would write extended headers for the name with an umlaut; they are allowed
                f.write(info.tobuf(tarfile.PAX_FORMAT, "utf-8", "strict"))
            info = tarfile.TarInfo(name)
            info.size = len(data)
            f.write(info.tobuf(tarfile.PAX_FORMAT) + data + bytes(-len(data) % 512))
        f.write(bytes(1024))
    refused(tmp_path / "a", tmp_path, said)


@pytest.mark.parametrize(
    ("mode", "said"), [(0o120777, "a symbolic link"), (0o040755, "a folder or a device"), (0o020644, "a folder or a device")], ids=str
)
def test_zip_members_that_are_no_files(good: Members, tmp_path: Path, mode: int, said: str) -> None:
    with zipfile.ZipFile(tmp_path / "a", "w") as z:
        for name, data in good.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (mode if name == IMAGE else 0o100644) << 16
            z.writestr(info, data)
    refused(tmp_path / "a", tmp_path, said)


def test_zip_bombs(good: Members, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "deflated", "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in good.items():
            z.writestr(name, bytes(50_000_000) if name == IMAGE else data)
    assert (tmp_path / "deflated").stat().st_size < 1_000_000
    refused(tmp_path / "deflated", tmp_path, "is compressed")
    with zipfile.ZipFile(tmp_path / "last", "w") as z:
        for name, data in good.items():
            z.writestr(name, bytes(50_000_000) if name == IMAGE else data, zipfile.ZIP_DEFLATED if name == IMAGE else zipfile.ZIP_STORED)
    refused(tmp_path / "last", tmp_path, "zwei.png' is compressed")
    # many members that share the bytes of one
    data = write(tmp_path / "shared", [("x", bytes(10_000))], "zip").read_bytes()
    at = data.index(b"PK\x01\x02")
    end = data.index(b"PK\x05\x06")
    entry = data[at:end]
    many = data[:at] + entry * 1000 + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1000, 1000, len(entry) * 1000, at, 0)
    (tmp_path / "shared").write_bytes(many)
    refused(tmp_path / "shared", tmp_path, "which says what is in it|whole archive")


def test_sizes_that_lie(good: Members, tmp_path: Path) -> None:
    """A header that promises more than the archive has is refused before anything is read."""
    info = tarfile.TarInfo(RECORD)
    info.size = 1 << 40
    (tmp_path / "big").write_bytes(info.tobuf(tarfile.GNU_FORMAT) + bytes(2048))
    refused(tmp_path / "big", tmp_path, "beyond the archive's end")
    info = tarfile.TarInfo("y")
    info.type, info.size = tarfile.XHDTYPE, 1 << 30
    (tmp_path / "header").write_bytes(info.tobuf(tarfile.USTAR_FORMAT) + bytes(4096))
    refused(tmp_path / "header", tmp_path, "extended header of 1073741824 bytes")
    for records in (b"20 path=" + b"x" * 30, b"12 mtime=1.5\n", b"99999999 path=x\n", b"11 size=-1\n", b"25 GNU.sparse.major=100\n", b"x"):
        info.size = len(records)
        (tmp_path / "pax").write_bytes(info.tobuf(tarfile.USTAR_FORMAT) + records.ljust(512, b"\0") + bytes(2048))
        refused(tmp_path / "pax", tmp_path, "extended header")


def test_what_is_no_archive(tmp_path: Path) -> None:
    for data in (b"", b"\x1f\x8b" + bytes(600), b"PK\x03\x04" + bytes(600), b"x" * 5000, bytes(10240), b"PK\x05\x06" + bytes(18)):
        (tmp_path / "a").write_bytes(data)
        refused(tmp_path / "a", tmp_path, "neither a tar nor a zip|not a sound zip|is empty")


def sealed(good: Members, name: str, data: bytes) -> Members:
    """Replace a member and make the records agree with it, as a stranger can."""
    members = dict(good)
    members[name] = data
    manifest = json.loads(members[f"{TOP}/manifest.json"])
    record = json.loads(members[RECORD]) if name != RECORD else json.loads(data)
    said = {"bytes": len(data), "sha256": f"sha256:{hashlib.sha256(data).hexdigest()}"}
    if name not in (RECORD, f"{TOP}/manifest.json"):
        for files in (manifest["files"], record["files"]):
            next(f for f in files if f"{TOP}/{f['path']}" == name).update(said)
        members[f"{TOP}/manifest.json"] = json.dumps(manifest).encode()
    whole = members[f"{TOP}/manifest.json"]
    record["files"][0].update({"bytes": len(whole), "sha256": f"sha256:{hashlib.sha256(whole).hexdigest()}"})
    members[RECORD] = json.dumps(record).encode()
    return members


def edited(good: Members, change: Callable[[Any], None], name: str = f"{TOP}/manifest.json") -> list[tuple[str, bytes]]:
    value = json.loads(good[name])
    change(value)
    return list(sealed(good, name, json.dumps(value).encode()).items())


@pytest.mark.parametrize(
    "path",
    ["../../escaped", "/tmp/escaped", "manifest.json", "images/fog/3/x.png", ".corruptset/x", "images/clean/a\nb.png", "images/clean/../x"],
)
def test_rows_that_lead_elsewhere(good: Members, tmp_path: Path, path: str) -> None:
    rows = good[f"{TOP}/sets/clean.jsonl"].replace("images/clean/0_käfer/zwei.png".encode(), path.replace("\n", "\\n").encode())
    refused(write(tmp_path / "a", list(sealed(good, f"{TOP}/sets/clean.jsonl", rows).items())), tmp_path, "line 2|is not below|control")


def test_rows_that_differ_in_capitals_alone(good: Members, tmp_path: Path) -> None:
    rows = good[f"{TOP}/sets/clean.jsonl"].replace(b"bild eins.png", b"ZWEI.png")
    refused(write(tmp_path / "a", list(sealed(good, f"{TOP}/sets/clean.jsonl", rows).items())), tmp_path, "capitals aside")


MANIFESTS: dict[str, tuple[Callable[[Any], None], str]] = {
    "name": (lambda m: m.update(name="../x"), "schema 2"),
    "version": (lambda m: m.update(version="../../x"), "schema 2"),
    "digest": (lambda m: m.update(digest="sha256:" + "0" * 64), "another data set"),
    "set id": (lambda m: m["sets"][0].update(id="../x"), "schema 2"),
    "file": (lambda m: m["files"][0].update(path="../../x"), "schema 2"),
    "class": (lambda m: m["classes"][0].update(folder=".."), "contradicts itself"),
    "view": (
        lambda m: (
            m["encoding"].update(containers=["view"]),
            m.update(views=[{"view": "x", "sets": {s["id"]: ["../x"] for s in m["sets"]}}]),
        ),
        "contradicts itself",
    ),
    "view inside": (
        lambda m: (
            m["encoding"].update(containers=["view"]),
            m.update(views=[{"view": "x", "sets": {s["id"]: [".corruptset"] for s in m["sets"]}}]),
        ),
        "contradicts itself",
    ),
}


@pytest.mark.parametrize("what", MANIFESTS)
def test_manifests_of_strangers(good: Members, tmp_path: Path, what: str) -> None:
    change, said = MANIFESTS[what]
    refused(write(tmp_path / "a", edited(good, change)), tmp_path, said)


RECORDS: dict[str, tuple[Callable[[Any], None], str]] = {
    "name": (lambda r: r.update(name="../x"), "not a record"),
    "archive": (lambda r: r.update(archive="other"), "archive other"),
    "file out": (lambda r: r["files"].append({**r["files"][1], "path": "../../x"}), "not a record"),
    "file in the work folder": (lambda r: r["files"].append({**r["files"][1], "path": ".corruptset/unpack.json"}), "not a small file"),
    "marker": (lambda r: r["files"].append({**r["files"][1], "path": "partial.json"}), "not a small file"),
    "unlisted file": (lambda r: r["files"].append({**r["files"][1], "path": "setup.py"}), "does not list"),
    "twice": (lambda r: r["files"].append(r["files"][1]), "names a file twice"),
    "capitals": (lambda r: r["files"].append({**r["files"][1], "path": r["files"][1]["path"].swapcase()}), "capitals alone"),
    "no samples": (lambda r: r.update(files=[f for f in r["files"] if f["path"] != "samples.jsonl"]), "does not name"),
    "unknown set": (lambda r: r["units"][0].update(sets=["nothing"]), "manifest has not"),
    "no sets": (lambda r: r["units"][0].update(sets=[]), "manifest has not"),
    "a set twice": (lambda r: r["units"].append(r["units"][0]), "or twice"),
    "more files": (lambda r: r["units"][0].update(total=10**9, count=10**9), "which has 5"),
    "beyond": (lambda r: r["units"][0].update(first=3), "names files 3 to 8"),
    "no manifest": (lambda r: r["files"].pop(0), "does not name manifest.json first|capitals|recorded"),
    "a field": (lambda r: r.update(run="rm -rf /"), "not a record"),
}


@pytest.mark.parametrize("what", RECORDS)
def test_records_of_strangers(good: Members, tmp_path: Path, what: str) -> None:
    change, said = RECORDS[what]
    if what == "no manifest":
        value = json.loads(good[RECORD])
        change(value)
        members = {**good, RECORD: json.dumps(value).encode()}
        refused(write(tmp_path / "a", list(members.items())), tmp_path, said)
    else:
        refused(write(tmp_path / "a", edited(good, change, RECORD)), tmp_path, said)


def test_links_in_the_way_are_not_followed(good: Members, tmp_path: Path) -> None:
    """A folder that someone prepared: links where folders or files of the data set belong."""
    archive = write(tmp_path / "a", list(good.items()))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / TOP).symlink_to(elsewhere)
    with pytest.raises(CorruptsetError, match="not a folder"):
        unpack([archive], tmp_path / "x")
    unpack([archive], tmp_path / "y")
    root = tmp_path / "y" / TOP
    image = root / IMAGE.removeprefix(f"{TOP}/")
    image.unlink()
    image.symlink_to(elsewhere / "image.png")
    unpack([archive], tmp_path / "y")
    assert not image.is_symlink()
    folder = root / "images/clean"
    folder.rename(elsewhere / "clean")
    folder.symlink_to(elsewhere / "clean")
    with pytest.raises(CorruptsetError, match="is a link or file"):
        unpack([archive], tmp_path / "y")
    assert list(elsewhere.iterdir()) == [elsewhere / "clean"]


@pytest.mark.parametrize("name", OUTSIDE + ODD, ids=lambda n: repr(n)[:40])
def test_such_names_are_not_packed_either(name: str) -> None:
    with pytest.raises(CorruptsetError, match="cannot go into an archive"):
        ArchiveWriter(io.BytesIO(), "tar").add(name, 3, io.BytesIO(b"abc"))


def test_a_refusal_names_the_member_in_print(good: Members, tmp_path: Path) -> None:
    archive = write(tmp_path / "a", [(f"{TOP}/\x1b]0;x\x07", b"")])
    with pytest.raises(BadArchive) as e:
        unpack([archive], tmp_path / "out")
    assert "\x1b" not in str(e.value)
    assert "\\x1b]0;x\\x07" in str(e.value)
    assert not (tmp_path / "out").exists()


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

BOMB = 300_000_000
"""Bytes that a bomb holds of zeros; where it is not compressed they are a hole in its file."""


def hollow(path: Path, members: list[tuple[str, bytes]], name: str) -> Path:
    """Write a tar in which a member has `BOMB` zeros, which take no place on the disk."""
    with path.open("wb") as f:
        for member, data in members:
            info = tarfile.TarInfo(member)
            info.size = BOMB if member == name else len(data)
            f.write(info.tobuf(tarfile.PAX_FORMAT))
            if member == name:
                f.seek(BOMB + -BOMB % 512, os.SEEK_CUR)
            else:
                f.write(data + bytes(-len(data) % 512))
        f.write(bytes(10240))
    return path


def claiming(good: Members, name: str) -> Members:
    """Return members of which the records say that one has `BOMB` bytes, with the manifest left as it is."""
    record = json.loads(good[RECORD])
    for file in record["files"]:
        if f"{TOP}/{file['path']}" == name:
            file["bytes"] = BOMB
    return {**good, RECORD: json.dumps(record).encode()}


def test_bombs_are_refused_in_little_memory_and_on_little_disk(good: Members, tmp_path: Path) -> None:
    """Tars with holes, and zips: a member of 300 MB where the records have a small one, or say so themselves."""
    rows, samples = f"{TOP}/sets/clean.jsonl", f"{TOP}/samples.jsonl"
    bombs = [
        hollow(tmp_path / f"tar{i}", list(good.items()), name)
        for i, name in enumerate([IMAGE, rows, samples, RECORD, f"{TOP}/manifest.json"])
    ]
    bombs += [
        hollow(tmp_path / f"claim{i}", list(claiming(good, name).items()), name)
        for i, name in enumerate([rows, samples, f"{TOP}/manifest.json"])
    ]
    for number, name in enumerate([IMAGE, samples, RECORD]):
        bombs.append(tmp_path / f"zip{number}")
        with zipfile.ZipFile(bombs[-1], "w", zipfile.ZIP_DEFLATED, compresslevel=1) as z:
            for member, data in good.items():
                with z.open(member, "w") as out:
                    if member == name:
                        for _ in range(BOMB // 6_000_000):
                            out.write(bytes(6_000_000))
                    else:
                        out.write(data)
    sound = write(tmp_path / "sound", list(good.items()))
    command = [sys.executable, "-c", UNPACK, str(sound), str(tmp_path / "out"), *map(str, bombs)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    *said, grown = done.stdout.splitlines()
    assert len(said) == len(bombs)
    for line, bomb in zip(said, bombs, strict=True):
        assert line.startswith(("BadArchive", "VerificationError")), (bomb.name, line)
    assert int(grown) < 60_000  # KiB
    left = [p for p in (tmp_path / "out bomb").rglob("*") if p.is_file()] if (tmp_path / "out bomb").exists() else []
    assert sum(p.stat().st_size for p in left) < 1_000_000
    assert not [p for p in left if p.name == "manifest.json"]
