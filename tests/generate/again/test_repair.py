"""`verify --repair` makes again what is wrong, and nothing else; what it cannot mend it says."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import layouts
import numpy as np
import pytest
from PIL import Image

import corruptset
from corruptset.errors import BuildError, Interrupted, ParameterError, SourceError, VerificationError
from corruptset.generate.build import Built, build
from corruptset.generate.commit.locks import locked
from corruptset.generate.pixels.encoding import ImageEncoding
from corruptset.generate.work import pool as running
from corruptset.manifests.manifest_file import manifest_bytes, parse_manifest
from corruptset.manifests.records.report import VerificationReport
from corruptset.manifests.release.pack import pack
from corruptset.manifests.release.unpack import unpack

Files = Callable[[Path], dict[str, bytes]]


def flip(path: Path, at: float = 0.5) -> None:
    data = bytearray(path.read_bytes())
    data[int(len(data) * at)] ^= 0x10
    path.write_bytes(data)


def state(root: Path) -> dict[str, tuple[int, int]]:
    """Return (inode, mtime) of every file."""
    return {
        p.relative_to(root).as_posix(): (p.stat().st_ino, p.stat().st_mtime_ns) for p in root.rglob("*") if p.is_file()
    }


@pytest.fixture
def copy(whole: Built, lossless: Built, tmp_path: Path) -> Callable[..., Path]:
    """Return a function that gives a build of one's own to damage."""

    def make(kind: str = "whole") -> Path:
        root = tmp_path / kind / "small-1.0.0"
        shutil.copytree({"whole": whole, "lossless": lossless}[kind].directory, root)
        return root

    return make


def repaired(root: Path, good: Path, files: Files, damaged: set[str], **options: Any) -> VerificationReport:
    """Repair, and hold the result to the good build, file by file, and all that was whole to have been left alone."""
    before = state(root)
    report = corruptset.verify(root, repair=True, jobs=1, **options)
    assert report.ok, report.problems
    assert files(root) == files(good)
    assert set(report.mended or ()) == damaged
    after = state(root)
    assert {p for p in after if after[p] != before.get(p)} == damaged
    return report


def some_of(good: Path, suffix: str) -> list[str]:
    return sorted(p.relative_to(good).as_posix() for p in good.rglob(f"*{suffix}"))


def test_a_good_build_is_left_alone(whole: Built, copy: Callable[..., Path], files: Files) -> None:
    repaired(copy(), whole.directory, files, set())


@pytest.mark.parametrize("kind", ["whole", "lossless"])
@pytest.mark.parametrize(
    "path",
    ["image", "shard", "samples.jsonl", "sets/contrast/3.jsonl", "contact.png", "README.md", "LICENSE", "SHA256SUMS"],
)
@pytest.mark.parametrize("how", ["flip", "delete"])
def test_each_kind_of_file(
    request: pytest.FixtureRequest, copy: Any, files: Files, kind: str, path: str, how: str
) -> None:
    good = request.getfixturevalue(kind).directory
    root = copy(kind)
    if path in ("image", "shard"):
        path = some_of(good / ".", {"image": ".JPEG" if kind == "whole" else ".png", "shard": ".h5"}[path])[-3]
    if how == "flip":
        flip(root / path)
    else:
        (root / path).unlink()
    repaired(root, good, files, {path})


def test_many_at_once(whole: Built, copy: Callable[..., Path], files: Files) -> None:
    root = copy()
    images, shards = some_of(root, ".JPEG"), some_of(root, ".h5")
    flipped = {images[0], images[20], shards[1], "samples.jsonl", "sets/brightness/1.jsonl", "contact.png"}
    gone = {images[7], images[8], images[-1], shards[0], "sets/contrast/1.jsonl", "README.md", "SHA256SUMS"}
    for path in flipped:
        flip(root / path, 0.3)
    for path in gone:
        (root / path).unlink()
    (root / images[11]).write_bytes(b"")
    one, other = (root / images[30]).read_bytes(), (root / images[31]).read_bytes()
    (root / images[30]).write_bytes(other)
    (root / images[31]).write_bytes(one)
    repaired(root, whole.directory, files, flipped | gone | {images[11], images[30], images[31]})


@pytest.mark.parametrize("kind", ["whole", "lossless"])
def test_a_release_without_pixels_is_filled_in_place(
    request: pytest.FixtureRequest, copy: Any, files: Files, kind: str
) -> None:
    good = request.getfixturevalue(kind).directory
    root = copy(kind)
    lost = {p for p in files(root) if p.startswith(("images/", "hdf5/"))}
    shutil.rmtree(root / "images")
    shutil.rmtree(root / "hdf5")
    repaired(root, good, files, lost)


def test_sets_exchanged(whole: Built, copy: Callable[..., Path], files: Files) -> None:
    root = copy()
    a, b = root / "images/contrast/1", root / "images/contrast/3"
    a.rename(root / "aside")
    b.rename(a)
    (root / "aside").rename(b)
    damaged = {p for p in files(root) if p.startswith("images/contrast/")}
    assert repaired(root, whole.directory, files, damaged).mended


@pytest.mark.ci
def test_with_workers(whole: Built, copy: Callable[..., Path], files: Files) -> None:
    root = copy()
    for path in some_of(root, ".JPEG")[::3]:
        flip(root / path)
    for path in some_of(root, ".h5"):
        (root / path).unlink()
    report = corruptset.verify(root, repair=True, jobs=2)
    assert report.ok
    assert files(root) == files(whole.directory)


@pytest.mark.parametrize("view", ["cifar-c", "imagenet-c", "openood"])
def test_views(tmp_path: Path, files: Files, view: str) -> None:
    crops = layouts.write_crops(tmp_path / "crops", each=2)
    root = layouts.make(
        layouts.write_recipe(tmp_path), crops, tmp_path / "one", sets=["contrast/*", "brightness/*"], view=view
    )
    good = tmp_path / "good"
    shutil.copytree(root, good)
    top = json.loads((root / "manifest.json").read_text("utf-8"))["views"][0]["top"]
    inside = [p for p in files(root) if p.startswith(f"{top}/")]
    damaged = {inside[0], inside[-1], next((p for p in inside if "contrast" in p), inside[1])}
    for path in damaged:
        flip(root / path)
    repaired(root, good, files, damaged, source=f"folder:{crops}")


def test_a_manifest_that_was_edited_is_said(copy: Callable[..., Path], files: Files) -> None:
    """An edit that nothing contradicts but SHA256SUMS: the images are mended, the two files are not."""
    root = copy()
    manifest = parse_manifest((root / "manifest.json").read_bytes())
    edited = manifest.model_copy(update={"environment": {**manifest.environment, "numpy": "9"}})
    (root / "manifest.json").write_bytes(manifest_bytes(edited))
    image = some_of(root, ".JPEG")[4]
    (root / image).unlink()
    report = corruptset.verify(root, repair=True, jobs=1)
    assert report.mended == [image]
    assert {(p.path, p.kind) for p in report.problems} == {("manifest.json", "hash"), ("manifest.json", "unmended")}


@pytest.mark.parametrize("edit", ["seed", "schema", "revision", "missing"])
def test_nothing_is_made_from_a_manifest_that_contradicts_itself(
    copy: Callable[..., Path], files: Files, edit: str
) -> None:
    root = copy()
    path = root / "manifest.json"
    text = path.read_text("utf-8")
    (root / some_of(root, ".JPEG")[4]).unlink()
    if edit == "missing":
        path.unlink()
    else:
        old, new = {
            "seed": ('"seed": 0', '"seed": 1'),
            "schema": ('"seed": 0', '"sead": 0'),
            "revision": ('"contrast": 1', '"contrast": 2'),
        }[edit]
        assert old in text
        path.write_text(text.replace(old, new, 1), "utf-8")
    before = state(root)
    report = corruptset.verify(root, repair=True, jobs=1)
    assert state(root) == before
    assert report.mended == []
    assert ("manifest.json", "unmended") in {(p.path, p.kind) for p in report.problems}


def test_a_hash_in_the_checksums_is_told_from_a_changed_manifest(
    whole: Built, copy: Callable[..., Path], files: Files
) -> None:
    root = copy()
    sums = (root / "SHA256SUMS").read_text()
    at = sums.index("  manifest.json") - 5
    (root / "SHA256SUMS").write_text(sums[:at] + ("0" if sums[at] != "0" else "1") + sums[at + 1 :])
    assert {p.path for p in corruptset.verify(root, jobs=1).problems} == {"SHA256SUMS"}
    repaired(root, whole.directory, files, {"SHA256SUMS"})


def test_lossy_files_of_another_encoder_are_said(copy: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    root = copy()
    image = some_of(root, ".JPEG")[4]
    flip(root / image)
    flip(root / "contact.png")
    real = ImageEncoding.encode
    monkeypatch.setattr(ImageEncoding, "encode", lambda self, pixels: real(self, pixels) + b"\n")
    report = corruptset.verify(root, repair=True, jobs=1)
    assert report.mended == ["contact.png"]
    assert {(p.path, p.kind) for p in report.problems} == {(image, "hash"), (image, "unmended")}
    (said,) = (p.detail for p in report.problems if p.kind == "unmended")
    assert "made again, it is sha256:" in said
    assert "opencv-python-headless" in said


def test_what_no_record_names_is_left_for_its_owner(copy: Callable[..., Path]) -> None:
    root = copy()
    image = some_of(root, ".JPEG")[0]
    (root / image).rename(root / "images/renamed.JPEG")
    report = corruptset.verify(root, repair=True, jobs=1)
    assert report.mended == [image]
    assert [(p.path, p.kind) for p in report.problems] == [("images/renamed.JPEG", "unexpected")]


def test_no_link_is_followed_and_no_folder_replaced(copy: Callable[..., Path], tmp_path: Path) -> None:
    root = copy()
    images = some_of(root, ".JPEG")
    outside = tmp_path / "outside"
    outside.mkdir()
    linked = (root / images[0]).parent
    shutil.rmtree(linked)
    linked.symlink_to(outside, target_is_directory=True)
    (root / images[-1]).unlink()
    (root / images[-1]).mkdir()
    (root / images[-2]).unlink()
    (root / images[-2]).symlink_to(tmp_path / "nowhere")
    report = corruptset.verify(root, repair=True, jobs=1)
    assert list(outside.iterdir()) == []
    assert not (tmp_path / "nowhere").exists()
    assert report.mended == [images[-2]]
    assert {p.path for p in report.problems} == {linked.relative_to(root).as_posix(), images[-1]}
    shutil.rmtree(root / "images")
    (root / ".corruptset").symlink_to(outside, target_is_directory=True)
    report = corruptset.verify(root, repair=True, jobs=1)
    assert (".corruptset", "unmended") in {(p.path, p.kind) for p in report.problems}
    assert list(outside.iterdir()) == []


def test_images_that_only_lost_rows_name_are_mended_with_them(
    whole: Built, copy: Callable[..., Path], files: Files
) -> None:
    root = copy()
    lost = {"sets/contrast/1.jsonl", *(p for p in some_of(root, ".JPEG")[:40] if p.startswith("images/contrast/1/"))}
    assert len(lost) > 1
    for path in lost:
        (root / path).unlink()
    repaired(root, whole.directory, files, lost)


@pytest.mark.parametrize("options", [{"per_class": 1}, {"samples": 4}, {"first": 5}], ids=str)
def test_samples_are_chosen_again_as_they_were(tmp_path: Path, files: Files, options: dict[str, int]) -> None:
    crops = layouts.write_crops(tmp_path / "crops", classes=3, each=3)
    root = layouts.make(
        layouts.write_recipe(tmp_path), crops, tmp_path / "out", sets=["contrast/1"], format="folder", **options
    )
    good = shutil.copytree(root, tmp_path / "good")
    (root / "samples.jsonl").unlink()
    repaired(root, good, files, {"samples.jsonl"}, source=f"folder:{crops}")


def test_rows_and_shards_are_not_put_behind_a_link_or_a_file(copy: Callable[..., Path], tmp_path: Path) -> None:
    """The folder itself is the link, not one above it."""
    root = copy()
    outside = tmp_path / "outside"
    outside.mkdir()
    shutil.rmtree(root / "sets/contrast")
    (root / "sets/contrast").symlink_to(outside, target_is_directory=True)
    shutil.rmtree(root / "sets/brightness")
    (root / "sets/brightness").write_bytes(b"")
    report = corruptset.verify(root, repair=True, jobs=1)
    assert list(outside.iterdir()) == []
    left = {p.path: p.detail for p in report.problems if p.kind == "unmended"}
    assert left.keys() == {f"sets/{name}/{s}.jsonl" for name in ("contrast", "brightness") for s in (1, 3)}
    assert "sets/contrast is a link" in left["sets/contrast/1.jsonl"]
    assert "sets/brightness is no folder" in left["sets/brightness/3.jsonl"]
    assert report.mended == []


def test_what_a_killed_repair_left_is_taken_away(whole: Built, copy: Callable[..., Path], files: Files) -> None:
    root = copy()
    (root / ".corruptset/repair/images").mkdir(parents=True)
    (root / ".corruptset/repair/images/x").write_bytes(b"half")
    report = corruptset.verify(root, repair=True, jobs=1)
    assert report.ok
    assert report.mended == [".corruptset"]
    assert files(root) == files(whole.directory)


def test_what_was_mended_before_a_stop_stays(
    whole: Built, copy: Callable[..., Path], files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = copy()
    images = some_of(root, ".JPEG")
    lost = [images[0], images[-1]]
    for path in lost:
        (root / path).unlink()
    real, calls = running.process, []

    def process(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(running, "process", process)
    with pytest.raises(Interrupted, match="run the same command again"):
        corruptset.verify(root, repair=True, jobs=1)
    assert sorted(set(files(whole.directory)) - set(files(root))) in ([lost[0]], [lost[1]])
    assert not (root / ".corruptset").exists()
    report = corruptset.verify(root, repair=True, jobs=1)
    assert report.ok
    assert len(report.mended or ()) == 1
    assert files(root) == files(whole.directory)


def test_it_does_not_work_beside_a_build(copy: Callable[..., Path]) -> None:
    root = copy()
    (root / "README.md").unlink()
    with locked(root), pytest.raises(BuildError, match="Another build is working"):
        corruptset.verify(root, repair=True, jobs=1)


def test_the_source_is_held_to_its_digest_and_only_asked_for_where_it_is_needed(
    small_recipe: Path, tmp_path: Path
) -> None:
    photos = tmp_path / "photos" / "a"
    photos.mkdir(parents=True)
    for i in range(2):
        Image.fromarray(np.full((90, 80, 3), 90 + i, np.uint8)).save(photos / f"{i}.png")
    source = f"folder:{tmp_path / 'photos'}"
    (tmp_path / "ids").write_text("a/0\na/1\n")
    root = build(
        small_recipe, source, tmp_path / "out", jobs=1, sets=["gaussian_noise/1"], ids=tmp_path / "ids"
    ).directory
    (root / "README.md").unlink()
    assert corruptset.verify(root, repair=True, jobs=1).mended == ["README.md"]
    image = some_of(root, ".JPEG")[0]
    (root / image).unlink()
    with pytest.raises(SourceError, match="name it with --source"):
        corruptset.verify(root, repair=True, jobs=1)
    # what is left of samples.jsonl still says which samples these are; without it a list of ids is lost
    data = (root / "samples.jsonl").read_bytes()
    (root / "samples.jsonl").write_bytes(data.replace(b'"width": 80', b'"width": 81', 1))
    assert corruptset.verify(root, repair=True, jobs=1, source=source).mended == sorted([image, "samples.jsonl"])
    assert (root / "samples.jsonl").read_bytes() == data
    (root / "samples.jsonl").unlink()
    report = corruptset.verify(root, repair=True, jobs=1, source=source)
    assert {(p.path, p.kind) for p in report.problems} >= {("samples.jsonl", "unmended")}
    (root / "samples.jsonl").write_bytes(data)
    (root / image).unlink()
    Image.fromarray(np.full((90, 80, 3), 7, np.uint8)).save(photos / "1.png")
    with pytest.raises(SourceError, match="not the one that"):
        corruptset.verify(root, repair=True, jobs=1, source=source)
    assert not (root / ".corruptset").exists()


def test_other_revisions_are_refused(copy: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from corruptset.corruptions.registry import _registered

    root = copy()
    (root / some_of(root, ".JPEG")[0]).unlink()
    monkeypatch.setitem(_registered, "contrast", replace(_registered["contrast"], revision=2))
    with pytest.raises(VerificationError, match="contrast: revision 2 here"):
        corruptset.verify(root, repair=True, jobs=1)


def test_levels_below_pixels_are_refused(whole: Built) -> None:
    with pytest.raises(ParameterError, match="a repair looks at everything"):
        corruptset.verify(whole.directory, repair=True, level="sizes")


@pytest.mark.skipif(os.name == "nt", reason="permissions")
def test_permissions_of_what_is_made_follow_the_umask(copy: Callable[..., Path]) -> None:
    root = copy()
    image = some_of(root, ".JPEG")[0]
    mode = (root / image).stat().st_mode
    (root / image).unlink()
    assert corruptset.verify(root, repair=True, jobs=1).ok
    assert (root / image).stat().st_mode == mode


def test_of_a_part_of_a_data_set_only_what_is_there_is_mended(whole: Built, tmp_path: Path, files: Files) -> None:
    release = pack(whole.directory, tmp_path / "release", family_of=lambda name: name, by="set")
    some = [release.path / a.path for a in release.archives if any(s.startswith("contrast/") for s in a.sets)]
    assert 0 < len(some) < len(release.archives)
    root = unpack(some, tmp_path / "part").path
    good = files(root)
    images = sorted(p for p in good if p.startswith("images/"))
    shards = sorted(p for p in good if p.startswith("hdf5/"))
    damaged = {images[0], images[-1], shards[0], "samples.jsonl"}
    (root / images[0]).unlink()
    (root / images[-1]).write_bytes(b"something else")
    (root / shards[0]).write_bytes(good[shards[0]][:-1])
    (root / "samples.jsonl").unlink()
    report = corruptset.verify(root, repair=True, jobs=1)
    assert (report.problems, report.partial) == ([], True)
    assert report.absent == sorted(s.id for s in whole.manifest.sets if not s.id.startswith("contrast/"))
    assert set(report.mended or ()) >= damaged
    assert files(root) == good  # and no set that is in other archives
    # A set that PARTIAL.json promises is made again whole.
    shutil.rmtree(root / "images" / "contrast" / "1")
    assert corruptset.verify(root, repair=True, jobs=1).problems == []
    assert files(root) == good
    # Where it cannot be read, nobody knows what is to be here.
    said = (root / "PARTIAL.json").read_bytes()
    for other in (said[:-9], said.replace(whole.digest.encode(), b"sha256:" + b"0" * 64)):
        (root / "PARTIAL.json").write_bytes(other)
        (root / images[0]).unlink(missing_ok=True)
        report = corruptset.verify(root, repair=True, jobs=1)
        assert ("PARTIAL.json", "unmended") in {(p.path, p.kind) for p in report.problems}
        assert not report.mended
        assert not (root / "contact.png").exists()
        assert not (root / images[0]).exists()
    (root / "PARTIAL.json").write_bytes(said)
    # The rest comes later, as to any part.
    unpack([release.path / a.path for a in release.archives], tmp_path / "part")
    assert files(root) == files(whole.directory)
