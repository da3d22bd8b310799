"""Test that regenerated samples reveal differences that no hash of the dataset can reveal."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_builds
from regenerated import changed_pixels, pack_and_unpack_records

import corruptset
from corruptset.corruptions.keys import sample_keys
from corruptset.errors import ParameterError, SourceError
from corruptset.generate.build import Built
from corruptset.generate.pixels.encoding import JpegEncoding
from corruptset.generate.plan import builds, tree
from corruptset.generate.reproduction import recorded_build
from corruptset.generate.sources.selection import spread
from corruptset.manifests.records.report import VerificationReport


def rederive_report(root: Path, count: Any, **options: Any) -> VerificationReport:
    report = corruptset.verify(root, rederive=count, jobs=1, **options)
    assert {p.kind for p in report.problems} <= {"rederive"}
    return report


def test_valid_build_passes(whole_build: Built, lossless_build: Built, make: Callable[..., Built]) -> None:
    scaled = make(scale="side", sets=["gaussian_noise/1"])
    for build_result in (whole_build, lossless_build, scaled):
        events: list[tuple[str, int, int]] = []
        report = rederive_report(build_result.directory, "all", progress=lambda *e: events.append(e))  # noqa: B023
        assert report.ok, report.problems
        assert ("rederive", 8, 8) in events
    assert json.loads((scaled.directory / "manifest.json").read_text())["recipe"]["calibration_side"] == 64


def test_different_draws_are_found_in_spread_samples(whole_build: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "sample_keys", lambda ids: sample_keys([f"{i}x" for i in ids]))
    report = rederive_report(whole_build.directory, 2)
    assert report.checked["rederived"] == 2
    noisy = {s.id for s in whole_build.manifest.sets if any(t.corruption == "gaussian_noise" for t in s.stages)}
    samples = corruptset.open(whole_build.directory).samples
    assert sorted((p.path, p.detail.partition(":")[0]) for p in report.problems) == sorted(
        (f"sets/{s}.jsonl", samples[i].id) for s in noisy for i in (0, 4)
    )
    assert (spread(range(8), 3), spread(range(5), 9)) == ([0, 2, 5], [0, 1, 2, 3, 4])


def test_different_encoding_and_different_clean_pixels_are_distinguished(
    whole_build: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pixel digests and all hashes are correct, and only the encoding differs."""
    with monkeypatch.context() as patch:
        patch.setattr(recorded_build, "parse_encoding", lambda record: JpegEncoding(quality=84))
        paths = [p.path for p in rederive_report(whole_build.directory, 1).problems]
    assert len(paths) == 2 * len(whole_build.manifest.sets)
    assert any(path.startswith("images/") for path in paths)
    assert any("#0" in path for path in paths)
    original = builds.load_clean
    monkeypatch.setattr(builds, "load_clean", lambda *a: original(*a) ^ np.uint8(1))
    problems = rederive_report(whole_build.directory, 3).problems
    assert [p.path for p in problems] == ["samples.jsonl"] * 3
    assert "the clean image has the digest blake3:" in problems[0].detail
    counts: list[Any] = [0, -1, True, "some", 1.5]
    for count in counts:
        with pytest.raises(ParameterError, match="rederive is"):
            rederive_report(whole_build.directory, count)


@pytest.mark.parametrize("digests", ["images", "sets"])
def test_release_without_pixels_can_be_rederived(whole_build: Built, tmp_path: Path, digests: str) -> None:
    release = pack_and_unpack_records(whole_build.directory, tmp_path, digests)
    some, whole_sets = (rederive_report(release, count) for count in (2, "all"))
    assert (some.ok, whole_sets.ok, some.partial) == (True, True, True), some.problems + whole_sets.problems
    notes = [
        note for note in some.notes if "only a digest of all images together is recorded. Use `--rederive all`" in note
    ]
    assert len(notes) == (digests == "sets")
    with changed_pixels("contrast/1"):
        some, whole_sets = (rederive_report(release, count) for count in (2, "all"))
    assert (len(some.problems), len(whole_sets.problems)) == ((2, 8) if digests == "images" else (0, 1))
    if digests == "sets":
        assert whole_sets.problems[0].path == "manifest.json"
        assert "the set contrast/1 has the digest blake3:" in whole_sets.problems[0].detail


def test_missing_source_is_reported_before_reading(shared_data: small_builds.SharedData, tmp_path: Path) -> None:
    directory, events = shared_data.build(crops={"classes": 2}, sets=["contrast/1"]), []
    for source, message in (
        (None, "small-c was built from the source 'folder'.*Pass it with --source"),
        (f"folder:{tmp_path / 'none'}", "does not exist"),
        ("foldr:x", "is not a source"),
    ):
        with pytest.raises(SourceError, match=message):
            corruptset.verify(directory, rederive=1, source=source, progress=lambda *step: events.append(step))
    assert events == []
    assert corruptset.verify(directory, rederive=1, source=f"folder:{shared_data.crops(classes=2)}").ok
