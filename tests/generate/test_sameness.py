"""The same bytes whatever the workers, the sets built beside, the batch, the container; and the same as `corrupt`."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import corruptset
from corruptset.generate.build import Built, build
from corruptset.generate.plan import parts


def test_every_byte_is_equal_for_one_and_two_jobs(whole: Built, make: Callable[..., Built], files: Any) -> None:
    assert files(make(jobs=2).directory) == files(whole.directory)


def test_a_subset_has_the_same_sets(whole: Built, make: Callable[..., Built], files: Any) -> None:
    """Also where a chain's beginning is no set of its own."""
    one = make(sets=["contrast-3+gaussian_noise-1", "brightness/3"])
    every, some = files(whole.directory), files(one.directory)
    per_set = {p for p in some if p.startswith(("images/", "hdf5/", "sets/"))}
    assert len(per_set) == 2 * (8 + 1 + 1)
    assert {p: every[p] for p in per_set} == {p: some[p] for p in per_set}
    digests = {s.id: s.pixel_digest for s in whole.manifest.sets}
    assert {s.id: s.pixel_digest for s in one.manifest.sets}.items() <= digests.items()
    assert some["samples.jsonl"] == every["samples.jsonl"]


def test_batches_and_groups_change_nothing(
    whole: Built, make: Callable[..., Built], files: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "BATCH_BYTES", 3 * 64 * 64 * 3)  # three images
    monkeypatch.setattr(parts, "PARTS_WANTED", 1)
    assert files(make().directory) == files(whole.directory)


def test_runs_change_no_image(
    whole: Built, make: Callable[..., Built], files: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "LEAST_SAMPLES", 3)
    built = make()
    assert built.digest == whole.digest
    assert len(list((built.directory / "hdf5").rglob("*-00002.h5"))) == len(whole.manifest.sets)
    every, cut = files(whole.directory), files(built.directory)
    assert {p: d for p, d in cut.items() if p.startswith("images/")} == {
        p: d for p, d in every.items() if p.startswith("images/")
    }
    assert corruptset.verify(built.directory, jobs=1).ok
    data, others = corruptset.open(built.directory, prefer="hdf5"), corruptset.open(whole.directory)
    assert all(
        np.array_equal(a, b) for a, b in zip(data["contrast/3"].images(), others["contrast/3"].images(), strict=True)
    )


def test_stored_images_are_what_corrupt_makes(lossless: Built) -> None:
    for prefer in ("folder", "hdf5"):
        data = corruptset.open(lossless.directory, prefer=prefer)  # type: ignore[arg-type]
        clean = data["clean"]
        for one in (
            "gaussian_noise/1",
            "gaussian_noise/3",
            "contrast/1",
            "brightness/3",
            "contrast-3+gaussian_noise-1",
        ):
            for i, sample in enumerate(data.samples):
                again = corruptset.corrupt(clean.image(i), one, calibration="tiny", key=sample.id)
                assert np.array_equal(data[one].image(i), again), (prefer, one, sample.id)
        chain = [{"corruption": "gaussian_noise", "parameters": {"sigma": 0.3}}, "contrast-1"]
        again = corruptset.corrupt(clean.image(5), chain, calibration="tiny", key=data.samples[5].id)
        assert np.array_equal(data["Noise 0.3"].image(5), again)


def test_container_and_encoding_are_outside_the_digest(
    lossless_recipe: Path, make: Callable[..., Built], tmp_path: Path
) -> None:
    png = build(lossless_recipe, "sample", tmp_path / "png", jobs=1, sets=["contrast/*"], format="hdf5")
    jpeg = make(sets=["contrast/*"], format="folder")
    assert png.digest == jpeg.digest
    assert not (png.directory / "images").exists()
    assert not (jpeg.directory / "hdf5").exists()


def test_seed_and_coupling_change_the_noise(make: Callable[..., Built], whole: Built, tmp_path: Path) -> None:
    before = {s.id: s.pixel_digest for s in whole.manifest.sets}
    for option in ({"seed": 1}, {"coupling": "severity"}):
        built = make(**option, sets=["gaussian_noise/*", "contrast/1"])
        after = {s.id: s.pixel_digest for s in built.manifest.sets}
        assert after["contrast/1"] == before["contrast/1"]
        assert after["gaussian_noise/1"] != before["gaussian_noise/1"]
        shutil.rmtree(built.directory)


@pytest.mark.ci
def test_every_byte_of_imagenet_c_all_is_equal_for_one_and_two_jobs(tmp_path: Path, files: Any) -> None:
    one = build("imagenet-c-all", "sample", tmp_path / "one", jobs=1, metrics=1, samples=3)
    two = build("imagenet-c-all", "sample", tmp_path / "two", jobs=2, metrics=1, samples=3)
    assert files(one.directory) == files(two.directory)
    assert len(one.manifest.sets) == 96
