"""Bad input of folder:PATH: each is converted by the documented rule, ignored by one, or listed with all the others."""

from __future__ import annotations

import os
import pickle
import re
import shutil
import struct
import tempfile
import unicodedata
import zlib
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from corruptset.errors import SourceError
from corruptset.generate.pixels.preprocessing import ResizeCrop
from corruptset.generate.sources import decoding, labels, listing, naming
from corruptset.generate.sources.check import check
from corruptset.generate.sources.source import BadSample, Sample, open_source
from corruptset.workers import Workers
from pictures import encoded

RGB = (np.arange(20 * 30 * 3).reshape(20, 30, 3) * 5 % 251).astype(np.uint8)


def saved(image=RGB, kind="JPEG", **options):
    return encoded(image, kind, **options)


def put(root, path, data=None):
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(saved() if data is None else data)
    return file


def listed(root, **options):
    """Return the source, what the check found good, and everything that is listed, by path."""
    source = open_source(f"folder:{root}", **options)
    found = check(source, source.samples)
    return source, [sample.id for sample, *_ in found.good], dict([*source.notes, *found.bad])


def bomb():
    head = struct.pack(">IIBBBBB", 50_000, 50_000, 8, 2, 0, 0, 0)
    body = b"IHDR" + head
    return (
        b"\x89PNG\r\n\x1a\n"
        + struct.pack(">I", 13)
        + body
        + struct.pack(">I", zlib.crc32(body))
        + b"\0\0\0\0IDAT5\xaf\x06\x1e"
    )


@contextmanager
def not_root():
    """Run as a user whom permissions bind: root is not."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_everything_at_once_is_listed_at_once(tmp_path):
    jpeg = saved()
    palette = Image.fromarray(RGB[:, :, 0]).convert("P")
    put(tmp_path, "good/plain.jpg")
    put(tmp_path, "good/png named.jpg", saved(kind="PNG"))
    put(tmp_path, "good/cmyk.jpg", saved(Image.fromarray(RGB).convert("CMYK")))
    put(tmp_path, "good/palette.png", saved(palette, "PNG", transparency=bytes(range(256))))
    put(tmp_path, "good/grey16.png", saved(np.full((20, 20), 30_000, np.uint16), "PNG"))
    put(tmp_path, "good/żółw и кот.JPEG")
    put(tmp_path, "bad/truncated.jpg", jpeg[: len(jpeg) * 2 // 3])
    put(tmp_path, "bad/zero.jpg", b"")
    put(tmp_path, "bad/text.jpg", b"<html>404 Not Found</html>")
    put(tmp_path, "bad/1x1.png", saved(RGB[:1, :1], "PNG"))
    put(tmp_path, "bad/bomb.png", bomb())
    put(tmp_path, "bad/two.jpg")
    put(tmp_path, "bad/two.png", saved(kind="PNG"))
    put(tmp_path, "bad/case.jpg")
    put(tmp_path, "bad/CASE.png", saved(kind="PNG"))
    put(tmp_path, "bad/tab\there.jpg")
    put(tmp_path, "bad/line\nhere.jpg")
    put(tmp_path, "bad/back\\slash.jpg")
    put(tmp_path, "bad/noext", jpeg)
    put(tmp_path, "bad/array.npy", b"\x93NUMPY")
    put(tmp_path, "bad/" + "x" * 242 + ".jpg")
    os.mkfifo(tmp_path / "bad/pipe.jpg")
    (tmp_path / "bad/gone.jpg").symlink_to("nowhere.jpg")
    (tmp_path / "bad/zeros.jpg").symlink_to("/dev/zero")
    (tmp_path / "empty").mkdir()
    put(tmp_path, "loose.jpg")
    source, good, problems = listed(tmp_path)
    assert good == [f"good/{n}" for n in ("cmyk", "grey16", "palette", "plain", "png named", "żółw и кот")]
    said = {
        "bad/truncated.jpg": "truncated",
        "bad/zero.jpg": "zero bytes",
        "bad/text.jpg": "is not an image by its bytes",
        "bad/1x1.png": "is 1x1",
        "bad/bomb.png": "pixels that one image may have",
        "bad/two.jpg": "same id as bad/two.png",
        "bad/two.png": "same id as bad/two.jpg",
        "bad/case.jpg": "same id as bad/CASE.png",
        "bad/CASE.png": "same id as bad/case.jpg",
        "bad/tab\\there.jpg": "control characters.*U\\+0009",
        "bad/line\\nhere.jpg": "control characters.*U\\+000A",
        "bad/back\\slash.jpg": "backslash",
        "bad/noext": "no suffix of an image",
        "bad/array.npy": "no suffix of an image",
        "bad/" + "x" * 242 + ".jpg": "longer than",
        "bad/pipe.jpg": "a pipe",
        "bad/gone.jpg": "leads nowhere",
        "bad/zeros.jpg": "outside the source",
        "empty/": "class folder without an image",
        "loose.jpg": "outside the class folders",
    }
    assert set(problems) == set(said)
    for path, pattern in said.items():
        with pytest.raises(SourceError, match=pattern):
            raise SourceError(problems[path])
    with pytest.raises(SourceError) as error:
        check(source, source.samples).raise_for_bad(source.notes)
    text = str(error.value)
    assert text.startswith(f"{len(said)} files of the source cannot be used")
    assert "--skip-bad" in text
    assert all(f"  {path}: " in text for path in said)
    # left out or not, no label moves
    assert [c.name for c in source.classes] == ["bad", "empty", "good"]
    assert {s.label for s in source.samples if s.id.startswith("good/")} == {2}


def test_what_lies_beside_images_is_ignored(tmp_path):
    put(tmp_path, "a/1.jpg")
    for path in (
        ".DS_Store",
        "a/.DS_Store",
        "a/Thumbs.db",
        "a/desktop.ini",
        "a/._1.jpg",
        ".git/x.jpg",
        "__MACOSX/a/1.jpg",
    ):
        put(tmp_path, path, b"\0")
    for path in ("README", "LICENSE.txt", "labels.csv", "a/boxes.txt", "a/notes.md"):
        put(tmp_path, path, b"words")
    source, good, problems = listed(tmp_path)
    assert good == ["a/1"]
    assert not problems
    assert [c.name for c in source.classes] == ["a"]


def test_links(tmp_path):
    root, outside = tmp_path / "root", tmp_path / "outside"
    put(root, "a/1.jpg")
    put(root, "b/1.jpg")
    put(outside, "c/2.jpg")
    (root / "a/inside.jpg").symlink_to("../b/1.jpg")
    (root / "a/out.jpg").symlink_to(outside / "c/2.jpg")
    (root / "a/up.jpg").symlink_to("../../outside/c/2.jpg")
    (root / "linked").symlink_to(outside / "c")
    (root / "loop").symlink_to(root)
    (root / "b/self.jpg").symlink_to("self.jpg")
    source, good, problems = listed(root)
    assert good == ["a/1", "a/inside", "b/1"]
    assert {p: "link" in r for p, r in problems.items()} == dict.fromkeys(
        ["a/out.jpg", "a/up.jpg", "linked", "loop", "b/self.jpg"], True
    )
    assert [c.name for c in source.classes] == ["a", "b"]
    # the folder itself may be reached through a link
    (tmp_path / "alias").symlink_to(root)
    assert listed(tmp_path / "alias")[1] == good


def test_an_unreadable_file_and_folder_are_listed():
    base = Path(tempfile.mkdtemp())
    try:
        base.chmod(0o755)
        put(base, "a/good.jpg")
        put(base, "a/secret.jpg").chmod(0)
        put(base, "b/1.jpg")
        put(base, "c/1.jpg")
        listed(base)  # what is imported on first use is imported as the user who may
        (base / "b").chmod(0)
        with not_root():
            _, good, problems = listed(base)
        assert good == ["a/good", "c/1"]
        assert "cannot be read (Permission denied)" in problems["a/secret.jpg"]
        assert "Permission denied" in problems["b/"]
    finally:
        (base / "b").chmod(0o755)
        shutil.rmtree(base)


def test_a_file_that_becomes_a_pipe_or_goes_does_not_hang_a_worker(tmp_path):
    put(tmp_path, "a/1.jpg")
    put(tmp_path, "a/2.jpg")
    source = open_source(f"folder:{tmp_path}")
    for name in ("1", "2"):
        (tmp_path / f"a/{name}.jpg").unlink()
    os.mkfifo(tmp_path / "a/1.jpg")
    for sample, said in zip(source.samples, ("not a regular file", "No such file"), strict=True):
        for function in (source.load, source.probe):
            with pytest.raises(BadSample, match=said):
                function(sample)


def test_ids_are_normalised_and_class_folders_that_become_one_are_listed(tmp_path):
    composed, decomposed = unicodedata.normalize("NFC", "café"), unicodedata.normalize("NFD", "café")
    put(tmp_path / "one", f"{decomposed}/é.jpg".replace("é", unicodedata.normalize("NFD", "é")))
    source, good, problems = listed(tmp_path / "one")
    assert good == [unicodedata.normalize("NFC", "café/é")]
    assert (source.classes[0].name, problems) == (composed, {})
    for folder in (composed, decomposed, "Kept", "two", "TWO"):
        put(tmp_path / "clash", f"{folder}/{folder[0]}.jpg")
    _, good, problems = listed(tmp_path / "clash")
    assert good == ["Kept/K"]
    assert set(problems) == {f"{composed}/", f"{decomposed}/", "two/", "TWO/"}


def test_names_that_are_not_utf8_are_listed_and_shown(tmp_path):
    put(tmp_path, "a/1.jpg")
    with open(os.fsencode(tmp_path) + b"/a/\xff.jpg", "wb") as file:
        file.write(saved())
    _, good, problems = listed(tmp_path)
    assert good == ["a/1"]
    assert problems == {"a/\\xff.jpg": "has a name that is not UTF-8: rename it"}


def test_an_image_that_would_lie_where_a_folder_must(tmp_path):
    put(tmp_path, "a/x.jpg")
    put(tmp_path, "a/x.JPEG/1.jpg")
    _, good, problems = listed(tmp_path)
    assert good == ["a/x.JPEG/1"]
    assert "name of a folder" in problems["a/x.jpg"]


def test_nested_folders_belong_to_the_first(tmp_path):
    put(tmp_path, "a/deep/er/1.jpg")
    put(tmp_path, "b/a/1.jpg")
    source, good, problems = listed(tmp_path)
    assert good == ["a/deep/er/1", "b/a/1"]
    assert ([s.label for s in source.samples], problems) == ([0, 1], {})


def test_wholly_wrong_folders(tmp_path):
    (tmp_path / "void").mkdir()
    (tmp_path / "hollow/a").mkdir(parents=True)
    put(tmp_path, "flat/1.jpg")
    put(tmp_path, "rotten/a/bad\tname.jpg")
    cases = {
        "": "needs a path",
        str(tmp_path / "missing"): "is not there",
        str(tmp_path / "flat/1.jpg"): "is a file, not a folder",
        str(tmp_path / "void"): "holds no image",
        str(tmp_path / "hollow"): "holds no image in its 1 class folders",
        str(tmp_path / "flat"): "--labels CSV",
        str(tmp_path / "rotten"): "control characters",
    }
    for path, said in cases.items():
        with pytest.raises(SourceError, match=said):
            open_source(f"folder:{path}")


def test_a_size_that_the_preprocessing_cannot_take_is_listed(tmp_path):
    put(tmp_path, "a/1.jpg")
    put(tmp_path, "a/sliver.png", saved(np.zeros((8, 40_000), np.uint8), "PNG"))
    source = open_source(f"folder:{tmp_path}")
    judge = ResizeCrop(kind="resize-crop", resize=256, crop=224).problem
    found = check(source, source.samples, judge=judge)
    assert [s.id for s, *_ in found.good] == ["a/1"]
    assert "40000x8" in dict(found.bad)["a/sliver.png"]


@pytest.mark.ci
def test_the_check_is_the_same_in_parallel(tmp_path):
    for i in range(200):
        put(tmp_path, f"c{i % 3}/{i:03d}.jpg", b"" if i % 17 == 0 else None)
    source = open_source(f"folder:{tmp_path}")
    alone = check(source, source.samples)
    with Workers(2) as workers:
        assert check(source, source.samples, workers=workers, worth_workers_s=100) == alone
        assert workers.count == 0
        assert check(source, source.samples, workers=workers, worth_workers_s=-1) == alone
        assert workers.count == 2
    assert len(alone.bad) == 12
    assert len(source.samples) == 200


def test_a_source_travels_to_workers(tmp_path):
    put(tmp_path, "a/1.jpg")
    source = open_source(f"folder:{tmp_path}")
    copy = pickle.loads(pickle.dumps(source))
    assert copy.load(Sample(0, "a/1", 0, "a/1.jpg")).sha256 == source.fingerprint(source.samples[0])


def test_the_documented_rules_are_the_ones_in_force():
    text = (Path(__file__).parents[3] / "docs" / "sources.md").read_text(encoding="utf-8")
    words = set(re.findall(r"[\w$@+]+", text.lower()))
    for known in (listing.IMAGE_SUFFIXES, listing.DOCUMENT_SUFFIXES, listing.DOCUMENT_NAMES):
        assert {k for k in known if k not in words} <= {"licence"}
    assert all(name in text.lower() for name in listing.SYSTEM_NAMES)
    assert f"{decoding.MAX_PIXELS:,}" in text
    assert f"{decoding.MAX_FILE_BYTES // 2**20} MiB" in text
    assert f"{naming.MAX_NAME_BYTES} bytes" in text
    assert f"more than {naming.MAX_ID_BYTES}" in text
    assert f"0 to {labels.MAX_LABEL}" in text
