"""Test that `verify --repair` regenerates damaged files, changes no others, and reports files that it cannot repair."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import small_builds
from damage import flip
from regenerated import write_photos

import corruptset
from corruptset.errors import BuildError, Interrupted, ParameterError, SourceError
from corruptset.generate.build import Built, build
from corruptset.generate.commit.locks import lock_dataset
from corruptset.generate.pixels.encoding import ImageEncoding
from corruptset.generate.work import pool as running
from corruptset.manifests.manifest_file import manifest_bytes, parse_manifest
from corruptset.manifests.records.report import VerificationReport
from corruptset.manifests.release.pack import pack
from corruptset.manifests.release.unpack import unpack

Files = Callable[[Path], dict[str, bytes]]
TEXTS = ["samples.jsonl", "contact.png", "index.html", "README.md", "LICENSE", "SHA256SUMS", "sets/contrast/3.jsonl"]


@pytest.fixture
def root(whole_build: Built, tmp_path: Path) -> Path:
    """Copy a build, so that the copy can be damaged."""
    return shutil.copytree(whole_build.directory, tmp_path / "whole" / "small-1.0.0")


def repair_report(root: Path, **options: Any) -> VerificationReport:
    return corruptset.verify(root, repair=True, jobs=1, **options)


def kinds(report: VerificationReport) -> set[tuple[str, str]]:
    return {(p.path, p.kind) for p in report.problems}


def files_with_suffix(root: Path, suffix: str) -> list[str]:
    return sorted(p.relative_to(root).as_posix() for p in root.rglob(f"*{suffix}"))


def state(root: Path) -> dict[str, tuple[int, int]]:
    """Return (inode, mtime) of every file."""
    stats = {p.relative_to(root).as_posix(): p.stat() for p in root.rglob("*") if p.is_file()}
    return {path: (stat.st_ino, stat.st_mtime_ns) for path, stat in stats.items()}


def check_repair(root: Path, original: Path, files: Files, damaged: set[str], **options: Any) -> None:
    """Repair a dataset, compare it with the original, and check that intact files were not touched."""
    before = state(root)
    report = repair_report(root, **options)
    assert report.ok, report.problems
    assert files(root) == files(original)
    assert set(report.mended or ()) == damaged
    after = state(root)
    assert {p for p in after if after[p] != before.get(p)} == damaged


@pytest.mark.parametrize("kind", ["whole", "lossless"])
def test_only_changed_and_lost_files_are_repaired(
    request: pytest.FixtureRequest, tmp_path: Path, files: Files, kind: str
) -> None:
    original: Path = request.getfixturevalue(f"{kind}_build").directory
    root = shutil.copytree(original, tmp_path / original.name)
    images, shards = (
        [p for p in files_with_suffix(root, "") if p.startswith("images/") and "." in p],
        files_with_suffix(root, ".h5"),
    )
    changed = {images[0], images[20], shards[1], *TEXTS}
    gone = {images[7], images[-1], shards[0], "sets/contrast/1.jsonl"}
    for path in changed:
        flip(root / path, 0.3)
    for path in gone:
        (root / path).unlink()
    check_repair(root, original, files, changed | gone)
    # a release without pixels is filled in place
    shutil.rmtree(root / "images")
    shutil.rmtree(root / "hdf5")
    check_repair(root, original, files, {*images, *shards})
    # images that only lost rows name are mended with them
    lost = {p for p in files(root) if p.startswith(("images/contrast/1/", "sets/contrast/1."))}
    for path in lost:
        (root / path).unlink()
    check_repair(root, original, files, lost)


@pytest.mark.ci
def test_repair_works_with_workers(whole_build: Built, root: Path, files: Files) -> None:
    for path in files_with_suffix(root, ".JPEG")[::3]:
        flip(root / path)
    for path in files_with_suffix(root, ".h5"):
        (root / path).unlink()
    assert corruptset.verify(root, repair=True, jobs=2).ok
    assert files(root) == files(whole_build.directory)


def test_edited_manifest_is_reported(root: Path) -> None:
    """If only SHA256SUMS contradicts an edited manifest, the images are repaired, but neither of these two files."""
    manifest = parse_manifest((root / "manifest.json").read_bytes())
    edited = manifest.model_copy(update={"environment": {**manifest.environment, "numpy": "9"}})
    (root / "manifest.json").write_bytes(manifest_bytes(edited))
    image = files_with_suffix(root, ".JPEG")[4]
    (root / image).unlink()
    report = repair_report(root)
    assert report.mended == [image]
    assert kinds(report) == {("manifest.json", "hash"), ("manifest.json", "unmended"), ("SHA256SUMS", "records")}


def test_inconsistent_manifest_is_not_used_for_repair(root: Path) -> None:
    path = root / "manifest.json"
    (root / files_with_suffix(root, ".JPEG")[4]).unlink()
    text = path.read_text("utf-8")
    for old, new in (
        ('"seed": 0', '"seed": 1'),
        ('"seed": 0', '"sead": 0'),
        ('"contrast": 1', '"contrast": 2'),
        ("", ""),
    ):
        assert old in text
        path.write_text(text.replace(old, new, 1), "utf-8") if old else path.unlink()
        before = state(root)
        report = repair_report(root)
        assert state(root) == before
        assert report.mended == []
        assert (("manifest.json", "unmended") in kinds(report)) == path.exists()


def test_other_encodings_and_unlisted_files_are_kept_and_reported(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, image = files_with_suffix(root, ".JPEG")[0], files_with_suffix(root, ".JPEG")[4]
    (root / first).rename(root / "images/renamed.JPEG")
    report = repair_report(root)
    assert (report.mended, kinds(report)) == ([first], {("images/renamed.JPEG", "unexpected")})
    (root / "images/renamed.JPEG").unlink()
    flip(root / image)
    flip(root / "contact.png")
    original = ImageEncoding.encode
    monkeypatch.setattr(ImageEncoding, "encode", lambda self, pixels: original(self, pixels) + b"\n")
    report = repair_report(root)
    assert (report.mended, kinds(report)) == (["contact.png"], {(image, "hash"), (image, "unmended")})
    (details,) = (p.detail for p in report.problems if p.kind == "unmended")
    assert "the regenerated file is sha256:" in details
    assert "opencv-python-headless" in details


def test_repair_follows_no_links_and_replaces_no_folders(root: Path, tmp_path: Path) -> None:
    images = files_with_suffix(root, ".JPEG")
    outside = tmp_path / "outside"
    outside.mkdir()
    linked = (root / images[0]).parent
    shutil.rmtree(linked)
    linked.symlink_to(outside, target_is_directory=True)
    for path in images[-2:]:
        (root / path).unlink()
    (root / images[-1]).mkdir()
    (root / images[-2]).symlink_to(tmp_path / "nowhere")
    report = repair_report(root)
    assert not (tmp_path / "nowhere").exists()
    assert report.mended == [images[-2]]
    assert {p.path for p in report.problems} == {linked.relative_to(root).as_posix(), images[-1]}
    # the folder of rows itself is the link, or a file
    for name in ("contrast", "brightness"):
        shutil.rmtree(root / "sets" / name)
    (root / "sets/contrast").symlink_to(outside, target_is_directory=True)
    (root / "sets/brightness").write_bytes(b"")
    remaining = {p.path: p.detail for p in repair_report(root).problems if p.kind == "unmended"}
    assert "sets/contrast is a link" in remaining["sets/contrast/1.jsonl"]
    assert "sets/brightness is not a folder" in remaining["sets/brightness/3.jsonl"]
    (root / ".corruptset").symlink_to(outside, target_is_directory=True)
    assert (".corruptset", "unmended") in kinds(repair_report(root))
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("options", [{"per_class": 1}, {"samples": 4}, {"first": 10}], ids=str)
def test_samples_are_reselected_identically(
    shared_data: small_builds.SharedData, tmp_path: Path, files: Files, options: dict[str, int]
) -> None:
    """This includes builds with an excluded image, and with a single image in the last shard."""
    crops = small_builds.write_crops(tmp_path / "crops", classes=3, each=4)
    (crops / "00_class/im.1.png").write_bytes(b"no image")
    chosen: dict[str, Any] = {"sets": ["contrast/1"], "storage": "hdf5", "skip_bad": True, **options}
    original = small_builds.build_dataset(shared_data.recipe(), crops, tmp_path / "out", **chosen)
    root = shutil.copytree(original, tmp_path / "copy")
    lost = {"samples.jsonl", files_with_suffix(root, ".h5")[-1]}
    for path in lost:
        (root / path).unlink()
    check_repair(root, original, files, lost, source=f"folder:{crops}")


def test_repaired_files_remain_after_interruption(
    whole_build: Built, root: Path, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    # what a killed repair left is taken away
    (root / ".corruptset/repair/images").mkdir(parents=True)
    (root / ".corruptset/repair/images/x").write_bytes(b"half")
    assert repair_report(root).mended == [".corruptset"]
    images = files_with_suffix(root, ".JPEG")
    lost, mode = [images[0], images[-1]], (root / images[0]).stat().st_mode
    for path in lost:
        (root / path).unlink()
    original, calls = running.process, []

    def process(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(*arguments)

    monkeypatch.setattr(running, "process", process)
    with pytest.raises(Interrupted, match="Run the same command again"):
        repair_report(root)
    remaining = set(files(whole_build.directory)) - set(files(root))
    assert (len(remaining), remaining <= {*lost}, (root / ".corruptset").exists()) == (1, True, False)
    check_repair(root, whole_build.directory, files, remaining)
    assert os.name == "nt" or (root / images[0]).stat().st_mode == mode


def test_source_is_required_only_when_needed(small_recipe: Path, tmp_path: Path) -> None:
    source = write_photos(tmp_path / "photos", each=1)
    (tmp_path / "ids").write_text("a/0\nb/0\n")
    options: dict[str, Any] = {"jobs": 1, "sets": ["gaussian_noise/1"], "ids": tmp_path / "ids"}
    root = build(small_recipe, source, tmp_path / "out", **options).directory
    (root / "README.md").unlink()
    assert repair_report(root).mended == ["README.md"]
    image = files_with_suffix(root, ".JPEG")[0]
    (root / image).unlink()
    with pytest.raises(SourceError, match="Pass it with --source"):
        repair_report(root)
    with pytest.raises(ParameterError, match="a repair needs the level 'pixels'"):
        repair_report(root, level="sizes")
    with lock_dataset(root), pytest.raises(BuildError, match="Another build or repair is writing"):
        repair_report(root, source=source)
    # what is left of samples.jsonl still says which samples these are; without it a list of ids is lost
    data = (root / "samples.jsonl").read_bytes()
    (root / "samples.jsonl").write_bytes(data.replace(b'"width": 90', b'"width": 91', 1))
    assert repair_report(root, source=source).mended == sorted([image, "samples.jsonl"])
    assert (root / "samples.jsonl").read_bytes() == data
    (root / "samples.jsonl").unlink()
    assert ("samples.jsonl", "unmended") in kinds(repair_report(root, source=source))


def test_partial_dataset_is_repaired_without_adding_sets(whole_build: Built, tmp_path: Path, files: Files) -> None:
    release = pack(whole_build.directory, tmp_path / "release", by="set")
    archives = {release.path / a.path: a.sets for a in release.archives}
    some = [path for path, sets in archives.items() if any(s.startswith("contrast/") for s in sets)]
    assert 0 < len(some) < len(archives)
    root = unpack(some, tmp_path / "part").path
    original = files(root)
    images, shards = files_with_suffix(root, ".JPEG"), files_with_suffix(root, ".h5")
    (root / images[0]).unlink()
    (root / images[-1]).write_bytes(b"something else")
    (root / shards[0]).write_bytes(original[shards[0]][:-1])
    (root / "samples.jsonl").unlink()
    report = repair_report(root)
    assert (report.problems, report.partial) == ([], True)
    assert report.absent == sorted(s.id for s in whole_build.manifest.sets if not s.id.startswith("contrast/"))
    assert set(report.mended or ()) >= {images[0], images[-1], shards[0], "samples.jsonl"}
    assert files(root) == original  # and no set that is in other archives
    # a set that PARTIAL.json promises is made again whole
    shutil.rmtree(root / "images" / "contrast" / "1")
    assert repair_report(root).problems == []
    assert files(root) == original
    # where it cannot be read, nobody knows what is to be here
    (root / images[0]).unlink()
    (root / "PARTIAL.json").write_bytes(original["PARTIAL.json"][:-9])
    report = repair_report(root)
    assert ("PARTIAL.json", "unmended") in kinds(report)
    assert (report.mended, (root / images[0]).exists()) == ([], False)
    (root / "PARTIAL.json").write_bytes(original["PARTIAL.json"])
    # the rest comes later, as to any part
    unpack([*archives], tmp_path / "part")
    assert files(root) == files(whole_build.directory)
