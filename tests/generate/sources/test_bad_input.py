"""Invalid files in a folder source are converted, ignored or listed, as documented."""

from __future__ import annotations

import os
import pickle
import re
import shutil
import tempfile
import unicodedata
from pathlib import Path

import numpy as np
import pytest
import source_archives as a

from corruptset.errors import SourceError
from corruptset.generate.pixels.preprocessing import ResizeCrop
from corruptset.generate.sources.check import BATCH, check
from corruptset.generate.sources.source import BadSample, Sample, open_source
from corruptset.workers import Workers
from example_images import encode_image

RGB = (np.arange(20 * 30 * 3).reshape(20, 30, 3) * 5 % 251).astype(np.uint8)
JPEG, PNG = encode_image(RGB, "JPEG"), encode_image(RGB)


def write_images(root, *paths, data=JPEG):
    return a.write_files(root, dict.fromkeys(paths, data))


def check_folder(root):
    """Return the source, the usable samples, and path -> problem for all files that are listed."""
    source = open_source(f"folder:{root}")
    report = check(source, source.samples)
    return source, [sample.id for sample, *_ in report.good], dict([*source.notes, *report.bad])


def test_all_problems_are_listed_together(tmp_path):
    files = {
        "good/plain.jpg": (JPEG, None),
        "good/png named.jpg": (PNG, None),
        "good/żółw и кот.JPEG": (JPEG, None),
        "bad/truncated.jpg": (JPEG[: len(JPEG) * 2 // 3], "truncated"),
        "bad/zero.jpg": (b"", "zero bytes"),
        "bad/text.jpg": (b"<html>404 Not Found</html>", "does not have the content of an image"),
        "bad/1x1.png": (encode_image(RGB[:1, :1]), "is 1x1"),
        "bad/two.jpg": (JPEG, "same id as bad/two.png"),
        "bad/two.png": (PNG, "same id as bad/two.jpg"),
        "bad/case.jpg": (JPEG, "same id as bad/CASE.png"),
        "bad/CASE.png": (PNG, "same id as bad/case.jpg"),
        "bad/tab\there.jpg": (JPEG, r"control characters.*U\+0009"),
        "bad/line\nhere.jpg": (JPEG, r"control characters.*U\+000A"),
        "bad/back\\slash.jpg": (JPEG, "backslash"),
        "bad/noext": (JPEG, "no suffix of an image"),
        "bad/" + "x" * 242 + ".jpg": (JPEG, "longer than"),
        "loose.jpg": (JPEG, "outside the class folders"),
    }
    a.write_files(tmp_path, {path: data for path, (data, _) in files.items()})
    with open(os.fsencode(tmp_path) + b"/bad/\xff.jpg", "wb") as file:
        file.write(JPEG)
    os.mkfifo(tmp_path / "bad/pipe.jpg")
    (tmp_path / "bad/gone.jpg").symlink_to("nowhere.jpg")
    (tmp_path / "bad/zeros.jpg").symlink_to("/dev/zero")
    (tmp_path / "empty").mkdir()
    expected = {
        path.replace("\t", "\\t").replace("\n", "\\n"): reason for path, (_, reason) in files.items() if reason
    } | {
        "bad/\\xff.jpg": "has a name that is not UTF-8: rename it",
        "bad/pipe.jpg": "a pipe",
        "bad/gone.jpg": "is a broken link",
        "bad/zeros.jpg": "a pipe, a device",
        "empty/": "class folder without an image",
    }
    source, valid, problems = check_folder(tmp_path)
    assert valid == [f"good/{n}" for n in ("plain", "png named", "żółw и кот")]
    assert {
        path: bool(re.search(expected.get(path, "^$"), reason)) for path, reason in problems.items()
    } == dict.fromkeys(expected, True)
    summary_line = (
        f"^1 class folder and {len(expected) - 1} files of the source cannot be used:\n  empty/: (.|\n)*--skip-bad"
    )
    with pytest.raises(SourceError, match=summary_line) as error:
        check(source, source.samples).raise_for_bad(source.notes)
    assert all(f"  {path}: " in str(error.value) for path in expected)
    # labels do not depend on whether bad images are left out
    assert [c.name for c in source.classes] == ["bad", "empty", "good"]
    assert {s.label for s in source.samples if s.id.startswith("good/")} == {2}


def test_ignored_files_and_class_membership_follow_rules(tmp_path):
    write_images(tmp_path, "a/1.jpg", "a/deep/er/1.jpg", "b/a/1.jpg")
    write_images(tmp_path, ".DS_Store", "a/Thumbs.db", "a/desktop.ini", "a/._1.jpg", ".git/x.jpg", "__MACOSX/a/1.jpg")
    write_images(tmp_path, "README", "LICENSE.txt", "labels.csv", "a/boxes.txt", "a/notes.md", data=b"words")
    source, valid, problems = check_folder(tmp_path)
    assert (valid, problems) == (["a/1", "a/deep/er/1", "b/a/1"], {})
    assert [c.name for c in source.classes] == ["a", "b"]
    assert [s.label for s in source.samples] == [0, 0, 1]
    copy = pickle.loads(pickle.dumps(source))  # as workers receive it
    assert copy.load(Sample(0, "a/1", 0, "a/1.jpg")).sha256 == source.fingerprint(source.samples[0])


def test_links_are_followed_like_in_torchvision(tmp_path):
    """Subsets, and the cache of Hugging Face, consist of links, and a class may be on another disk."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    write_images(root, "a/1.jpg", "b/1.jpg")
    write_images(outside, "c/2.jpg", "blobs/0123")
    os.mkfifo(outside / "pipe")
    for link, target in {
        "a/inside.jpg": "../b/1.jpg",
        "a/again.jpg": "../b/1.jpg",
        "a/out.jpg": outside / "c/2.jpg",
        "a/blob.jpg": "../../outside/blobs/0123",
        "c": outside / "c",
        "d": "../outside/c",
        # links that cannot be followed
        "a/loop": "..",
        "b/self.jpg": "self.jpg",
        "b/pipe.jpg": outside / "pipe",
        "e": root,
        "f": tmp_path / "gone",
        "g": tmp_path,
        "h.jpg": "nowhere.jpg",
    }.items():
        (root / link).symlink_to(target)
    (tmp_path / "alias").symlink_to(root)  # the path of the folder itself may contain a link
    for path in (root, tmp_path / "alias"):
        source, valid, problems = check_folder(path)
        assert valid == ["a/1", "a/again", "a/blob", "a/inside", "a/out", "b/1", "c/2", "d/2"]
        assert problems.keys() == {"a/loop/", "b/self.jpg", "b/pipe.jpg", "e/", "f/", "g/", "h.jpg"}
        assert all("link" in problems[path] for path in problems if path != "b/pipe.jpg")
        assert all("an endless loop" in problems[path] for path in ("a/loop/", "e/", "g/"))
        assert all("is a broken link" in problems[path] for path in ("f/", "h.jpg"))
        assert "leads back to itself" in problems["b/self.jpg"]
        assert [c.name for c in source.classes] == ["a", "b", "c", "d", "e", "f", "g"]
        assert [s.label for s in source.samples] == [0, 0, 0, 0, 0, 1, 2, 3]


def test_folders_with_cyclic_links_are_listed_in_finite_time(tmp_path):
    names = [f"c{i}" for i in range(12)]
    write_images(tmp_path, *(f"{name}/1.jpg" for name in names))
    for name in names:
        for other in names:
            (tmp_path / name / f"to-{other}").symlink_to(f"../{other}")
    source = open_source(f"folder:{tmp_path}")
    assert [s.label for s in source.samples if s.id.count("/") == 1] == list(range(12))
    assert any("more than 100 paths to one folder" in reason for _, reason in source.notes)


def test_unreadable_files_and_folders_are_listed():
    base, user = Path(tempfile.mkdtemp()), os.geteuid()
    try:
        base.chmod(0o755)
        write_images(base, "a/good.jpg", "a/secret.jpg", "b/1.jpg", "c/1.jpg", "c/2.jpg")
        (base / "a/secret.jpg").chmod(0)
        source = check_folder(base)[0]  # modules that are imported on first use are imported before permissions change
        (base / "b").chmod(0)
        if user == 0:  # permissions do not restrict root
            os.seteuid(65534)
        valid, problems = check_folder(base)[1:]
        os.seteuid(user)
        assert valid == ["a/good", "c/1", "c/2"]
        assert all("Permission denied" in problems[path] for path in ("a/secret.jpg", "b/"))
        # a file that is replaced by a pipe or deleted after the listing does not block a worker
        for name in ("1", "2"):
            (base / f"c/{name}.jpg").unlink()
        os.mkfifo(base / "c/1.jpg")
        for sample, message in zip(source.samples[-2:], ("not a regular file", "No such file"), strict=True):
            for function in (source.load, source.probe):
                with pytest.raises(BadSample, match=message):
                    function(sample)
    finally:
        os.seteuid(user)
        (base / "b").chmod(0o755)
        shutil.rmtree(base)


def test_colliding_names_are_listed(tmp_path):
    composed, decomposed = unicodedata.normalize("NFC", "café"), unicodedata.normalize("NFD", "café")
    source, valid, problems = check_folder(
        write_images(tmp_path / "one", f"{decomposed}/{unicodedata.normalize('NFD', 'é')}.jpg")
    )
    assert (valid, source.classes[0].name, problems) == ([unicodedata.normalize("NFC", "café/é")], composed, {})
    folders = (composed, decomposed, "Kept", "two", "TWO")
    _, valid, problems = check_folder(
        write_images(tmp_path / "clash", *(f"{folder}/{folder[0]}.jpg" for folder in folders))
    )
    assert (valid, set(problems)) == (["Kept/K"], {f"{composed}/", f"{decomposed}/", "two/", "TWO/"})


def test_folders_without_valid_classes_are_rejected(tmp_path):
    (tmp_path / "void").mkdir()
    (tmp_path / "hollow/a").mkdir(parents=True)
    write_images(tmp_path, "flat/1.jpg", "rotten/a/bad\tname.jpg")
    a.check_refused("folder:", "needs a path")
    for path, message in {
        "missing": "does not exist",
        "flat/1.jpg": "is a file, not a folder",
        "void": "contains no image",
        "hollow": "contains no image in its 1 class folders",
        "flat": "--labels CSV",
        "rotten": "control characters",
    }.items():
        a.check_refused(f"folder:{tmp_path / path}", message)


def test_size_that_preprocessing_rejects_is_listed(tmp_path):
    write_images(tmp_path, "a/1.jpg")
    write_images(tmp_path, "a/sliver.png", data=encode_image(np.zeros((8, 40_000), np.uint8)))
    source = open_source(f"folder:{tmp_path}")
    report = check(source, source.samples, check_size=ResizeCrop(kind="resize-crop", resize=256, crop=224).problem)
    assert [s.id for s, *_ in report.good] == ["a/1"]
    assert "40000x8" in dict(report.bad)["a/sliver.png"]


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.ci)])
def test_check_keeps_order_of_source(tmp_path, jobs):
    count = 3 * BATCH + 8
    a.write_files(tmp_path, {f"c{i % 3}/{i:03d}.jpg": b"" if i % 17 == 0 else JPEG for i in range(count)})
    source, events = open_source(f"folder:{tmp_path}"), []
    bad = {s.path for s in source.samples if int(s.id[3:]) % 17 == 0}
    with Workers(jobs) as workers:
        report = check(source, source.samples, workers=workers, min_seconds_for_workers=-1, on_checked=events.append)
        assert [s for s, *_ in report.good] == [s for s in source.samples if s.path not in bad]
        assert [path for path, _ in report.bad] == [s.path for s in source.samples if s.path in bad]
        assert (events[-1], workers.count) == (count, 0 if jobs == 1 else 2)
