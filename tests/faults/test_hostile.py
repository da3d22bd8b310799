"""Input from somebody who means harm: bombs, odd archives, and data sets whose records or links lead out of them."""

from __future__ import annotations

import builtins
import gzip
import io
import json
import os
import re
import resource
import shutil
import struct
import subprocess
import sys
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import archives
import layouts
import numpy as np
import pytest
from PIL import Image

import corruptset
from corruptset.errors import CorruptsetError, SourceError
from corruptset.generate.sources import tarred
from corruptset.generate.sources.check import check
from corruptset.generate.sources.decoding import MAX_PIXELS, decode
from corruptset.generate.sources.source import BadSample, open_source
from corruptset.manifests.checksums import sha256sums_bytes
from corruptset.manifests.records.models import FileRecord
from corruptset.manifests.verify.ladder import verify_directory

SIDE = 10_000
"""A hundred megapixels."""


def png_bomb() -> bytes:
    """A hundred megapixels of nothing, in some 100 kB."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    packed = zlib.compress(bytes((SIDE + 1) * SIDE), 9)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", SIDE, SIDE, 8, 0, 0, 0, 0))
        + chunk(b"IDAT", packed)
        + chunk(b"IEND", b"")
    )


def tiff_bomb() -> bytes:
    out = io.BytesIO()
    Image.new("1", (SIDE, SIDE)).save(out, "TIFF", compression="group4")
    return out.getvalue()


def within(data: bytes, code: str) -> subprocess.CompletedProcess[str]:
    """Run code with `data` on standard input, in a process of limited memory."""
    limit = "import resource, sys\ndata = sys.stdin.buffer.read()\n"
    limit += "now = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
    head, _, rest = code.partition("# limited\n")
    limit = (
        head
        + "\n"
        + limit
        + "resource.setrlimit(resource.RLIMIT_AS, (now + (256 << 20), resource.RLIM_INFINITY))\n"
        + rest
    )
    done = subprocess.run([sys.executable, "-c", limit], input=data, capture_output=True, timeout=120)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.parametrize("bomb", [png_bomb, tiff_bomb])
def test_a_picture_of_a_hundred_megapixels_is_listed_without_its_pixels_being_decoded(
    bomb: Callable[[], bytes],
) -> None:
    data = bomb()
    assert len(data) < 200_000
    assert SIDE * SIDE > MAX_PIXELS
    with pytest.raises(BadSample, match="more than the 89,478,485 pixels"):
        decode(data)
    code = (
        "from corruptset.generate.sources.decoding import decode\n"
        "# limited\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try:\n    decode(data)\nexcept Exception as e:\n    print(e)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = within(data, code)
    said, grown = done.stdout.splitlines()
    assert "more than the" in said
    assert int(grown) < 20_000  # KiB


def test_a_gzipped_file_that_expands_a_thousandfold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is lowered here: to expand eight gigabytes takes half a minute."""
    monkeypatch.setattr(tarred, "MOST_BYTES", 8 << 20)
    head = struct.pack(">IIII", 0x803, 1 << 20, 28, 28)
    (tmp_path / "m").mkdir()
    (tmp_path / "m/t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(head + bytes(64 << 20)))
    (tmp_path / "m/t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(archives.idx([1])))
    files = archives.ten_python(archives.crops(2))
    bomb = archives.tar(tmp_path / "x.tar.gz", {**files, "cifar-10-batches-py/bomb": bytes(64 << 20)}, "w:gz")
    assert bomb.stat().st_size < 200_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for text in (f"mnist:{tmp_path / 'm'}", f"cifar10:{bomb}"):
        with pytest.raises(SourceError, match=r"(expands to|has) more than 8,388,608 bytes"):
            open_source(text)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000  # KiB


def picture() -> bytes:
    out = io.BytesIO()
    Image.fromarray(archives.crops(1)[0][0]).save(out, "PNG")
    return out.getvalue()


@pytest.mark.parametrize(
    ("names", "kept", "said"),
    [
        (["a/" * 600 + "1.png"], [], "longer than"),
        (["a/" * 60 + "1.png"], ["a/" * 60 + "1"], None),
        (["/" + "x" * 4095], [], "leads out of the archive"),
        (["a/1.png", "a/1.png"], [], "twice"),
        (["a/one.png", "a/ONE.png"], [], "same id as"),
        (["a/one.png", "A/one.png"], [], "A/"),
        (["a/\x1b[31mred.png"], [], "control characters"),
        (["a/\x00hidden.png"], [], None),
        (["a/../a/2.png"], [], "leads out"),
        (["./a/2.png", "././a/3.png"], ["a/2", "a/3"], None),
        (["a\\..\\..\\x.png"], [], None),
    ],
)
def test_names_in_a_tar(tmp_path: Path, names: list[str], kept: list[str], said: str | None) -> None:
    path = tmp_path / "x.tar"
    data = picture()
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        for name in ["c/good.png", *names]:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    source = open_source(f"folder:{path}")
    ids = [s.id for s in source.samples]
    assert "c/good" in ids
    assert set(kept) <= set(ids)
    notes = " ".join(f"{name}: {reason}" for name, reason in source.notes)
    if said is not None:
        assert re.search(said, notes), notes
    assert not any(ord(c) < 32 for c in notes + "".join(ids))
    assert all(".." not in i.split("/") and not i.startswith("/") for i in ids)
    found = check(source, source.samples)
    assert len(found.good) == len(ids)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.tar"]


def test_a_tar_in_a_tar_is_no_image_and_is_not_opened(tmp_path: Path) -> None:
    inner = archives.tar(tmp_path / "inner.tar", {"c/1.png": picture()}).read_bytes()
    for _ in range(5):
        inner = archives.tar(tmp_path / "inner.tar", {"c/inner.tar": inner, "c/1.png": picture()}).read_bytes()
    source = open_source(f"folder:{tmp_path / 'inner.tar'}")
    assert [s.id for s in source.samples] == ["c/1"]
    assert [name for name, _ in source.notes] == ["c/inner.tar"]


# A data set from a stranger


@pytest.fixture(scope="session")
def built(shared: layouts.Shared) -> Path:
    return shared.build(crops={"classes": 2, "each": 1}, sets=["contrast/*", "clean"], format="both")


@pytest.fixture
def stranger(built: Path, tmp_path: Path) -> Path:
    """A copy, with a secret beside it."""
    root = tmp_path / "home" / "set"
    shutil.copytree(built, root)
    shutil.copy(next(root.rglob("*.png")), root.parent / "secret.png")
    return root


def outside(root: Path) -> set[str]:
    return {
        p.relative_to(root.parent.parent).as_posix() for p in root.parent.parent.rglob("*") if root not in p.parents
    }


def resealed(root: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Edit the manifest and make SHA256SUMS agree, as whoever means harm would."""
    record = json.loads((root / "manifest.json").read_text())
    change(record)
    data = json.dumps(record).encode()
    (root / "manifest.json").write_bytes(data)
    import hashlib

    entries = [FileRecord(path="manifest.json", bytes=len(data), sha256=f"sha256:{hashlib.sha256(data).hexdigest()}")]
    entries += [FileRecord.model_validate(f) for f in record["files"]]
    (root / "SHA256SUMS").write_bytes(sha256sums_bytes(entries))


EDITS: dict[str, Callable[[dict[str, Any]], None]] = {
    "class folder up": lambda m: m["classes"][0].update(folder="../../../../evil"),
    "class folder absolute": lambda m: m["classes"][0].update(folder="/tmp/evil"),
    "class folder empty": lambda m: m["classes"][0].update(folder=""),
    "name up": lambda m: m.update(name="../../evil"),
    "version up": lambda m: m.update(version="/../../evil"),
    "set id up": lambda m: m["sets"][0].update(id="../../evil"),
    "alias up": lambda m: m["sets"][0].update(aliases=["../../evil"]),
    "corruption up": lambda m: m["sets"][1]["stages"][0].update(corruption="../../evil"),
}


def sample_edits(root: Path, change: Callable[[dict[str, Any]], None]) -> None:
    rows = [json.loads(line) for line in (root / "samples.jsonl").read_text().splitlines()]
    change(rows[0])
    (root / "samples.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))


def test_records_of_a_stranger_write_nothing_outside(built: Path, tmp_path: Path) -> None:
    up = "../../../../evil"
    edits = {name: (resealed, edit) for name, edit in EDITS.items()}
    edits |= {f"sample {field}": (sample_edits, lambda row, f=field: row.update({f: up})) for field in ("id", "path")}
    for name, (apply, edit) in edits.items():
        home = tmp_path / name / "home"
        shutil.copytree(built, home / "set")
        apply(home / "set", edit)
        for view in ("imagenet-c", "webdataset"):
            before = outside(home / "set")
            try:
                verify_directory(home / "set")
                layouts.export(view, home / "set", home / view, sets=["contrast/*"])
            except CorruptsetError:
                pass
            made = outside(home / "set") - before
            assert all(p.startswith(f"home/{view}") for p in made), (name, view)
        for tar in home.glob("webdataset/**/*.tar"):
            with tarfile.open(tar) as archive:
                assert all(not n.startswith("/") and ".." not in n.split("/") for n in archive.getnames()), name
        assert not Path("/tmp/evil").exists()


@pytest.mark.parametrize("name", ["samples.jsonl", "image", "shard", "images"])
def test_links_that_lead_out_are_not_followed(stranger: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "image":
        path = next((stranger / "images/contrast/1").rglob("*.png"))
    elif name == "shard":
        path = next((stranger / "hdf5/contrast").glob("1-*.h5"))
    else:
        path = stranger / name
    elsewhere = stranger.parent / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    opened: list[str] = []
    real = builtins.open

    def watched(file: Any, *arguments: Any, **options: Any) -> Any:
        opened.append(os.path.realpath(file) if isinstance(file, (str, os.PathLike)) else "")
        return real(file, *arguments, **options)

    monkeypatch.setattr(builtins, "open", watched)
    monkeypatch.setattr(io, "open", watched)
    prefer: Any = "hdf5" if name == "shard" else "folder"
    with pytest.raises(CorruptsetError, match="symbolic link that leads out"):
        list(corruptset.open(stranger, prefer=prefer)["contrast/1"])
    if name != "shard":
        with pytest.raises(CorruptsetError, match="symbolic link that leads out"):
            layouts.export("imagenet-c", stranger, stranger.parent / "view", sets=["contrast/*"])
        assert not (stranger.parent / "view").exists()
    assert not verify_directory(stranger).ok
    assert not any(o.startswith(str(elsewhere)) for o in opened)


def test_a_link_that_stays_inside_is_followed_by_open(stranger: Path) -> None:
    """A data set may be kept in pieces by its owner; `verify` still names the link."""
    expected = corruptset.open(stranger, prefer="folder")["contrast/1"].array()
    (stranger / "images/contrast").rename(stranger / "images/kept")
    (stranger / "images/contrast").symlink_to("kept")
    np.testing.assert_array_equal(corruptset.open(stranger, prefer="folder")["contrast/1"].array(), expected)
