"""Samples made again from the source find what no hash of the data set can."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from remade import other_pixels, small_release_of

import corruptset
from corruptset.corruptions.keys import sample_keys
from corruptset.errors import ParameterError
from corruptset.generate.build import Built
from corruptset.generate.pixels.encoding import JpegEncoding
from corruptset.generate.plan import builds, tree
from corruptset.generate.reproduction import recorded_build
from corruptset.generate.sources.selection import spread


@pytest.mark.parametrize("kind", ["whole", "lossless"])
def test_a_good_build(request: pytest.FixtureRequest, kind: str) -> None:
    built: Built = request.getfixturevalue(kind)
    seen: list[tuple[str, int, int]] = []
    report = corruptset.verify(built.directory, rederive="all", jobs=1, progress=lambda *e: seen.append(e))
    assert report.ok, report.problems
    assert ("rederive", 8, 8) in seen


def test_other_draws_are_found_in_samples_that_are_spread_over_the_whole(
    whole: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree, "sample_keys", lambda ids: sample_keys([f"{i}x" for i in ids]))
    report = corruptset.verify(whole.directory, rederive=2, jobs=1)
    assert {p.kind for p in report.problems} == {"rederive"}
    noisy = {s.id for s in whole.manifest.sets if any(t.corruption == "gaussian_noise" for t in s.stages)}
    assert {p.path for p in report.problems} == {f"sets/{s}.jsonl" for s in noisy}
    assert len(report.problems) == 2 * len(noisy)
    samples = corruptset.open(whole.directory).samples
    assert report.checked["rederived"] == 2
    assert {p.detail.partition(":")[0] for p in report.problems} == {samples[0].id, samples[4].id}
    assert spread(range(50_000), 4) == [0, 12_500, 25_000, 37_500]
    assert (spread(range(8), 3), spread(range(5), 9)) == ([0, 2, 5], [0, 1, 2, 3, 4])


def test_other_lossy_bytes_and_other_clean_pixels_are_told_apart(whole: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pixel digests are right, and so are all hashes: only the encoding is another."""
    with monkeypatch.context() as patch:
        patch.setattr(recorded_build, "parse_encoding", lambda record: JpegEncoding(quality=84))
        report = corruptset.verify(whole.directory, rederive=1, jobs=1)
    assert {p.kind for p in report.problems} == {"rederive"}
    assert len(report.problems) == 2 * len(whole.manifest.sets)
    assert any(p.path.startswith("images/") for p in report.problems)
    assert any("#0" in p.path for p in report.problems)
    real = builds.load_clean
    monkeypatch.setattr(builds, "load_clean", lambda *a: real(*a) ^ np.uint8(1))
    report = corruptset.verify(whole.directory, rederive=3, jobs=1)
    assert [p.path for p in report.problems] == ["samples.jsonl"] * 3
    assert "the image of clean is blake3:" in report.problems[0].detail


def test_the_side_that_scales_is_the_manifests(make: Callable[..., Built]) -> None:
    built = make(scale="side", sets=["gaussian_noise/1"])
    assert corruptset.verify(built.directory, rederive=1, jobs=1).ok
    assert json.loads((built.directory / "manifest.json").read_text())["recipe"]["calibration_side"] == 64


def test_what_cannot_be_rederived(whole: Built, tmp_path: Path) -> None:
    counts: list[Any] = [0, -1, True, "some", 1.5]
    for count in counts:
        with pytest.raises(ParameterError, match="rederive is"):
            corruptset.verify(whole.directory, rederive=count)
    shutil.copytree(whole.directory, tmp_path / "copy")
    (tmp_path / "copy" / "manifest.json").unlink()
    report = corruptset.verify(tmp_path / "copy", rederive="all", jobs=1)
    assert [p.kind for p in report.problems] == ["incomplete"]


@pytest.mark.parametrize("digests", ["images", "sets"])
def test_a_release_without_pixels(whole: Built, tmp_path: Path, digests: str) -> None:
    release = small_release_of(whole.directory, tmp_path, digests)
    some, whole_sets = (corruptset.verify(release, rederive=count, jobs=1) for count in (2, "all"))
    assert (some.ok, whole_sets.ok, some.partial) == (True, True, True), some.problems + whole_sets.problems
    said = [note for note in some.notes if "have one digest each: `--rederive all` compares them" in note]
    assert len(said) == (digests == "sets")
    with other_pixels("contrast/1"):
        some, whole_sets = (corruptset.verify(release, rederive=count, jobs=1) for count in (2, "all"))
    if digests == "images":
        assert [len(report.problems) for report in (some, whole_sets)] == [2, 8]
    else:
        assert some.ok
        assert [p.path for p in whole_sets.problems] == ["manifest.json"]
        assert "the set contrast/1 has the digest blake3:" in whole_sets.problems[0].detail
