"""Test that bytes do not depend on workers, other sets, batches or containers, and equal those of `corrupt`."""

import numpy as np
import pytest

import corruptset
from corruptset.generate.build import build
from corruptset.generate.plan import parts


def digests(build_result):
    return {s.id: s.pixel_digest for s in build_result.manifest.sets}


def test_one_and_two_jobs_give_equal_bytes(whole_build, make, files):
    assert files(make(jobs=2).directory) == files(whole_build.directory)


def test_subset_build_has_same_sets(whole_build, make, files):
    """This includes a chain whose first stages are not a set."""
    one = make(sets=["contrast-3+gaussian_noise-1", "brightness/3"], page=False)
    every, some = files(whole_build.directory), files(one.directory)
    per_set = {p for p in some if p.startswith(("images/", "hdf5/", "sets/", "samples"))}
    assert len(per_set) == 2 * (8 + 1 + 1) + 1
    assert {p: every[p] for p in per_set} == {p: some[p] for p in per_set}
    assert digests(one).items() <= digests(whole_build).items()


def test_batches_groups_and_chunks_do_not_change_images(whole_build, make, files, monkeypatch):
    monkeypatch.setattr(parts, "BATCH_BYTES", 2 * 64 * 64 * 3)  # two images
    monkeypatch.setattr(parts, "TARGET_PARTS", 1)
    monkeypatch.setattr(parts, "MIN_CHUNK_SAMPLES", 3)
    result = make()
    assert result.digest == whole_build.digest
    assert len(list((result.directory / "hdf5").rglob("*-00002.h5"))) == len(whole_build.manifest.sets)
    assert files(result.directory / "images") == files(whole_build.directory / "images")
    assert corruptset.verify(result.directory, jobs=1).ok


def test_stored_images_equal_output_of_corrupt(lossless_build, small_sets):
    for prefer in ("folder", "hdf5"):
        data = corruptset.open(lossless_build.directory, prefer=prefer)
        for spec in small_sets:
            chain = [{"corruption": "gaussian_noise", "parameters": {"sigma": 0.3}}, "contrast-1"]
            for i, sample in enumerate(data.samples):
                result = chain if spec.startswith("gn300") else spec
                repeated = corruptset.corrupt(data["clean"].image(i), result, calibration="tiny", key=sample.id)
                assert np.array_equal(data[spec].image(i), repeated), (prefer, spec, sample.id)
        assert np.array_equal(data["Noise 0.3"].image(5), data["gn300+contrast-1"].image(5))


def test_digest_ignores_storage_format_and_encoding(whole_build, lossless_build):
    shared_data = digests(lossless_build)
    assert shared_data.pop("clean")
    assert shared_data == digests(whole_build)


def test_seed_and_coupling_change_only_noise(small_recipe, whole_build, tmp_path):
    before, options = digests(whole_build), {"sets": ["gaussian_noise/1", "contrast/1"], "page": False, "metrics": 0}
    for number, option in enumerate(({"seed": 1}, {"coupling": "severity"})):
        after = digests(build(small_recipe, "sample", tmp_path / str(number), jobs=1, **option, **options))
        assert after["contrast/1"] == before["contrast/1"]
        assert after["gaussian_noise/1"] != before["gaussian_noise/1"]


@pytest.mark.long  # .ci/run compares the digests of the same recipe for one and for all processors
def test_one_and_two_jobs_give_equal_bytes_of_imagenet_c_all(tmp_path, files):
    one, two = (build("imagenet-c-all", "sample", tmp_path / str(j), jobs=j, metrics=1, samples=2) for j in (1, 2))
    assert files(one.directory) == files(two.directory)
    assert len(one.manifest.sets) == 96
