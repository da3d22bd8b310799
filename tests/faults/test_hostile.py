"""Hostile input: bombs, invalid archives, and datasets whose records or links lead out of them."""

from __future__ import annotations

import builtins
import gzip
import io
import os
import re
import resource
import shutil
import struct
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_builds
import source_archives
from damage import edit_lines, edit_manifest
from PIL import Image

import corruptset
from corruptset.errors import CorruptsetError, SourceError
from corruptset.generate.sources import tar_archives
from corruptset.generate.sources.check import check
from corruptset.generate.sources.source import open_source
from corruptset.manifests.verify.directory import verify_directory

SIDE = 10_000
"""Number of pixels of a large image: a hundred million."""


WITHIN = """
import resource, sys
from corruptset.generate.sources.decoding import decode
used = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
now = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + (256 << 20), resource.RLIM_INFINITY))
for path in sys.argv[1:]:
    data, before = open(path, "rb").read(), used()
    try:
        decode(data)
    except Exception as e:
        print(used() - before, e)
"""


def test_image_of_a_hundred_megapixels_is_listed_without_decoding(tmp_path):
    for kind, options in (("PNG", {"optimize": True}), ("TIFF", {"compression": "group4"})):
        Image.new("1", (SIDE, SIDE)).save(tmp_path / kind, kind, **options)
        assert (tmp_path / kind).stat().st_size < 200_000
    command = [sys.executable, "-c", WITHIN, *map(str, tmp_path.iterdir())]
    lines = subprocess.run(command, capture_output=True, text=True, timeout=120).stdout.splitlines()
    assert len(lines) == 2
    for line in lines:
        assert "more than the 89,478,485 pixels" in line
        assert int(line.split()[0]) < 20_000  # KiB


def test_gzip_file_with_thousandfold_expansion_is_handled(tmp_path, monkeypatch):
    """The limit is lowered in this test, because expanding eight gigabytes takes half a minute."""
    monkeypatch.setattr(tar_archives, "MAX_EXPANDED_BYTES", 8 << 20)
    head = struct.pack(">IIII", 0x803, 1 << 20, 28, 28)
    (tmp_path / "m").mkdir()
    (tmp_path / "m/t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(head + bytes(64 << 20), 1))
    (tmp_path / "m/t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(source_archives.idx_bytes([1])))
    files = source_archives.cifar10_python(source_archives.random_crops(2))
    bomb = source_archives.write_tar(
        tmp_path / "x.tar.gz", {**files, "cifar-10-batches-py/bomb": bytes(64 << 20)}, "w:gz"
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for text in (f"mnist:{tmp_path / 'm'}", f"cifar10:{bomb}"):
        with pytest.raises(SourceError, match=r"(expands to|has) more than 8,388,608 bytes"):
            open_source(text)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000  # KiB


def test_unsafe_names_in_tar_are_handled(tmp_path):
    out = io.BytesIO()
    Image.fromarray(source_archives.random_crops(1)[0][0]).save(out, "PNG")
    path, data = tmp_path / "x.tar", out.getvalue()
    inner = source_archives.write_tar(tmp_path / "inner.tar", {"c/1.png": data}).read_bytes()
    (tmp_path / "inner.tar").unlink()
    for names, accepted, message in (
        (["a/" * 600 + "1.png"], [], "longer than"),
        (["a/" * 60 + "1.png"], ["a/" * 60 + "1"], ""),
        (["/" + "x" * 4095], [], "leads out of the archive"),
        (["a/1.png", "a/1.png"], [], "twice"),
        (["a/one.png", "a/ONE.png"], [], "same id as"),
        (["a/one.png", "A/one.png"], [], "A/"),
        (["a/\x1b[31mred.png"], [], "control characters"),
        (["a/\x00hidden.png"], [], ""),
        (["a/../a/2.png"], [], "leads out"),
        (["./a/2.png", "././a/3.png"], ["a/2", "a/3"], ""),
        (["a\\..\\..\\x.png"], [], ""),
        (["c/inner.tar"], [], "c/inner.tar"),
    ):
        with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
            for name in ["c/good.png", *names]:
                content = inner if name.endswith(".tar") else data
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
        source = open_source(f"folder:{path}")
        ids = [s.id for s in source.samples]
        assert {"c/good", *accepted} <= set(ids)
        assert "c/1" not in ids
        notes = " ".join(f"{name}: {reason}" for name, reason in source.notes)
        assert re.search(message, notes), notes
        assert not any(ord(c) < 32 for c in notes + "".join(ids))
        assert all(".." not in i.split("/") and not i.startswith("/") for i in ids)
        assert len(check(source, source.samples).good) == len(ids)
        assert sorted(p.name for p in tmp_path.iterdir()) == ["x.tar"]


# an untrusted dataset


@pytest.fixture
def foreign_dataset(shared_data, tmp_path):
    """Return a copy of a dataset in a new folder."""
    directory = shared_data.build(crops={"classes": 2, "each": 1}, sets=["contrast/*", "clean"], storage="both")
    return lambda name: Path(shutil.copytree(directory, tmp_path / name / "home" / "set"))


UP = "../../../../evil"
EDITS: dict[str, Callable[[dict[str, Any]], None]] = {
    "class folder up": lambda m: m["classes"][0].update(folder=UP),
    "class folder absolute": lambda m: m["classes"][0].update(folder="/tmp/evil"),
    "class folder empty": lambda m: m["classes"][0].update(folder=""),
    "name up": lambda m: m.update(name=UP),
    "version up": lambda m: m.update(version="/../../evil"),
    "set id up": lambda m: m["sets"][0].update(id=UP),
    "alias up": lambda m: m["sets"][0].update(aliases=[UP]),
    "corruption up": lambda m: m["sets"][1]["stages"][0].update(corruption=UP),
}


@pytest.mark.parametrize("edit", [*EDITS, "id", "path"])
def test_hostile_records_write_nothing_outside(foreign_dataset, tmp_path, edit):
    root = foreign_dataset("x")
    if edit in EDITS:
        edit_manifest(root, EDITS[edit], reseal=True)
    else:
        edit_lines(root / "samples.jsonl", lambda rows: rows[0].update({edit: UP}))
    for layout in ("imagenet-c", "webdataset"):
        try:
            verify_directory(root)
            small_builds.export(layout, root, root.parent / layout, sets=["contrast/*"])
        except CorruptsetError:
            pass
    result = {p.relative_to(root.parent).parts[0] for p in tmp_path.rglob("*") if p.is_file()}
    assert result <= {"set", "imagenet-c", "webdataset"}
    for tar in root.parent.glob("webdataset/**/*.tar"):
        with tarfile.open(tar) as archive:
            assert all(not n.startswith("/") and ".." not in n.split("/") for n in archive.getnames())
    assert not Path("/tmp/evil").exists()


def test_links_out_of_folder_are_not_followed(foreign_dataset, monkeypatch):
    opened_files = []
    original = builtins.open

    def watched(file, *arguments, **options):
        opened_files.append(os.path.realpath(file) if isinstance(file, (str, os.PathLike)) else "")
        return original(file, *arguments, **options)

    for name in ("samples.jsonl", "images", "images/contrast/1/*/*.png", "hdf5/contrast/1-*.h5"):
        root = foreign_dataset(name.replace("/", " "))
        path, elsewhere = next(root.glob(name)), root.parent / "elsewhere"
        path.rename(elsewhere)
        path.symlink_to(elsewhere)
        opened_files.clear()
        with monkeypatch.context() as patch:
            patch.setattr(builtins, "open", watched)
            patch.setattr(io, "open", watched)
            prefer = "hdf5" if "hdf5" in name else "folder"
            with pytest.raises(CorruptsetError, match="symbolic link that leads out"):
                list(corruptset.open(root, prefer=prefer)["contrast/1"])
            if prefer == "folder":
                with pytest.raises(CorruptsetError, match="symbolic link that leads out"):
                    small_builds.export("imagenet-c", root, root.parent / "export", sets=["contrast/*"])
                assert not (root.parent / "export").exists()
            assert not verify_directory(root).ok
        assert not any(o.startswith(str(elsewhere)) for o in opened_files)


def test_link_within_folder_is_followed_by_open(foreign_dataset):
    """The owner of a dataset may use links to other disks, which `verify` reports nevertheless."""
    root = foreign_dataset("x")
    expected = corruptset.open(root, prefer="folder")["contrast/1"].array()
    (root / "images/contrast").rename(root / "images/kept")
    (root / "images/contrast").symlink_to("kept")
    np.testing.assert_array_equal(corruptset.open(root, prefer="folder")["contrast/1"].array(), expected)
