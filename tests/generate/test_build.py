"""Test builds: records, digests, layout, free space, plan and errors."""

import json
import shutil

import numpy as np
import pytest
from small_builds import write_crops

import corruptset
from corruptset.errors import BuildError, CorruptsetError, MachineError, UnknownCorruption
from corruptset.generate.build import build
from corruptset.generate.pixels.encoding import PngEncoding
from corruptset.generate.pixels.metrics import measure
from corruptset.generate.planning import plan
from corruptset.manifests.records.digests import sha256_bytes
from corruptset.pixels import pixel_digest


def test_build_verifies_and_is_complete(whole_build, small_sets):
    report = corruptset.verify(whole_build.directory, jobs=1)
    assert report.ok, report.problems
    assert str(whole_build.directory) not in (whole_build.directory / "manifest.json").read_text(encoding="utf-8")
    assert ({s.id for s in whole_build.manifest.sets}, whole_build.images) == (small_sets, 8 * len(small_sets))
    assert not list(whole_build.directory.rglob("*.part"))
    assert whole_build.contact_sheet.read_bytes().startswith(b"\x89PNG")
    assert {p.name for p in whole_build.directory.iterdir()} == {
        "manifest.json", "samples.jsonl", "sets", "images", "hdf5", "contact.png", "index.html", "README.md",
        "LICENSE", "SHA256SUMS",
    }  # fmt: skip


def test_stored_records_describe_stored_bytes(whole_build, lossless_build):
    """A folder and a shard contain the same JPEG, and a shard of pixels contains the pixels of the PNG."""
    data, by_shard = corruptset.open(whole_build.directory), corruptset.open(whole_build.directory, prefer="hdf5")
    for spec in whole_build.manifest.sets:
        for line in (whole_build.directory / "sets" / f"{spec.id}.jsonl").read_text(encoding="utf-8").splitlines():
            file, row = json.loads(line)["files"]
            assert (file["row"], row["path"].startswith("hdf5/")) == (None, True)
            assert file["path"].startswith(f"images/{spec.id}/")
            assert (file["bytes"], file["sha256"]) == (row["bytes"], row["sha256"])
        assert np.array_equal(by_shard[spec.id].image(3), data[spec.id].image(3))
    image = corruptset.open(lossless_build.directory)["contrast/3"].image(2)
    record = json.loads(
        (lossless_build.directory / "sets/contrast/3.jsonl").read_text(encoding="utf-8").splitlines()[2]
    )
    file, row = record["files"]
    assert (record["pixels"], file["sha256"]) == (pixel_digest(image), sha256_bytes(PngEncoding().encode(image)))
    assert (row["bytes"], row["sha256"]) == (image.nbytes, sha256_bytes(image.tobytes()))


def test_metrics_are_means_over_first_images(lossless_build):
    data = corruptset.open(lossless_build.directory)
    for name in ("gaussian_noise/3", "contrast-3+gaussian_noise-1"):
        expected = np.mean([measure(data["clean"].image(i), data[name].image(i)) for i in range(8)], axis=0)
        result = data[name].record.metrics
        assert result.images == 8
        assert [result.psnr, result.ssim, result.changed] == pytest.approx(expected, abs=1e-4)
    clean = data["clean"].record.metrics
    assert (clean.psnr, clean.ssim, clean.changed) == (None, 1.0, 0.0)


def test_sets_are_found_by_alias_and_clean_only_by_name(small_recipe):
    for sets, expected in ((["*"], 9), (["*", "clean"], 10), (["clean"], 1)):
        assert len(plan(small_recipe, sets=sets, jobs=1).sets) == expected
    assert [s.id for s in plan(small_recipe, sets=["Noise*"], jobs=1).sets] == ["gn300+contrast-1"]
    with pytest.raises(UnknownCorruption, match=r"'contrasd/1' matches no set.*Did you mean 'contrast/1'"):
        plan(small_recipe, sets=["contrasd/1"])


def test_plan_matches_build(whole_build, small_recipe, monkeypatch):
    build_plan = plan(small_recipe, jobs=1)
    actual_bytes = sum(p.stat().st_size for p in whole_build.directory.rglob("*") if p.is_file())
    assert (build_plan.images, build_plan.storage) == (whole_build.images, "both")
    notes = {scale: plan(small_recipe, jobs=1, calibration="imagenet", scale=scale).notes for scale in ("none", "side")}
    events = "The parameters of imagenet were chosen for images of 224 pixels."
    assert ([events in note for note in notes["none"]], build_plan.notes, notes["side"]) == ([True], (), ())
    assert abs(build_plan.bytes / actual_bytes - 1) < 0.15
    for form in ("folder", "hdf5"):
        assert build_plan.alone[form] == pytest.approx(plan(small_recipe, jobs=1, storage=form).bytes, rel=0.01)
    monkeypatch.setattr("corruptset.generate.estimate.LOOKED_AT", 4)
    half = plan(small_recipe, jobs=1)
    assert (half.looked_at, abs(half.bytes / actual_bytes - 1) < 0.15) == (4, True)
    # contrast/3 is shared by itself and two chains
    assert (build_plan.stages_applied, build_plan.stages_naive) == (10, 12)
    assert json.loads(json.dumps(build_plan.as_json()))["images"] == build_plan.images


def test_plan_shows_progress(small_recipe, capsys):
    events = []
    plan(small_recipe, sets=["contrast/*"], jobs=1, progress=events.append)
    phases = list(dict.fromkeys(event.phase for event in events if event.phase != "compiling"))
    assert phases == ["checking", "preparing", "measuring"]
    assert capsys.readouterr().err == ""
    plan(small_recipe, sets=["contrast/1"], jobs=1, progress=True)
    lines = [line for line in capsys.readouterr().err.splitlines() if "compiling" not in line]
    assert lines == ["plan: checking", "plan: preparing", "plan: measuring"]


def test_plan_names_unusable_images(small_recipe, tmp_path):
    source = write_crops(tmp_path / "source", classes=2, each=5, side=96)
    bad = [f"{c:02d}_class/im.{i}.png" for c in range(2) for i in range(1, 4)]
    for path in bad:
        (source / path).write_text("text")
    (source / "00_class/data.bin").write_bytes(b"x")
    (source / "empty").mkdir()
    (note,) = plan(small_recipe, f"folder:{source}", sets=["contrast/1"], jobs=1).notes
    expected = "Among the checked images, 1 class folder and 7 files of the source cannot be used: 00_class/data.bin, "
    assert note.startswith(f"{expected}00_class/im.1")
    assert note.endswith(" A build stops if there are such files. Use --skip-bad to leave them out.")


def test_progress_counts_to_total(make):
    events = []
    make(sets=["contrast/*"], progress=events.append)
    phases = list(dict.fromkeys(e.phase for e in events if e.phase != "building"))
    assert phases == ["checking", "preparing", "finishing", "done"]
    building = [e for e in events if e.phase == "building"]
    assert (building[0].images_done, building[-1].images_done, building[-1].images_total) == (0, 16, 16)
    assert [e.images_done for e in building] == sorted(e.images_done for e in building)
    assert any(e.images_done for e in building if e.parts_done == 0)  # an unfinished part's count too
    assert list(dict.fromkeys(e.parts_done for e in building)) == list(range(building[-1].parts_total + 1))
    checking = [(e.images_done, e.images_total) for e in events if e.phase == "checking"]
    assert (checking[0], checking[-1]) == ((0, 8), (8, 8))


def test_insufficient_space_is_rejected_before_writing(small_recipe, tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1000))
    for options in ({}, {"part": (0, 2)}):
        with pytest.raises(MachineError, match="free, but the build needs about"):
            build(small_recipe, "sample", tmp_path / "new", jobs=1, **options)
    assert not (tmp_path / "new").exists()


def test_invalid_build_is_rejected_without_changes(make, lossless_recipe, tmp_path, files):
    invalid = {"jobs": 0, "storage": "tar", "metrics": -1, "coupling": "loose", "scale": "big", "surrogate_batch": 0}
    with pytest.raises(BuildError, match="6 options cannot be used") as exc_info:
        make(**invalid)
    assert all(f"{name} is {value!r}; expected" in str(exc_info.value) for name, value in invalid.items())
    for name, value in (("seed", -1), ("samples", 0)):
        with pytest.raises(CorruptsetError, match=f"{name} is {value}"):
            make(**{name: value})
    with pytest.raises(BuildError, match="--optimize applies to JPEG"):
        build(lossless_recipe, out=tmp_path, optimize=True)
    for encoding in ("gif", "jpeg:0", "jpeg:101", "png:9", "JPEG"):
        with pytest.raises(BuildError, match=f"encoding is '{encoding}'; expected png, jpeg, or jpeg with a quality"):
            make(encoding=encoding)
    (tmp_path / "small-1.0.0").mkdir()
    (tmp_path / "small-1.0.0" / "thesis.tex").write_text("years of work")
    with pytest.raises(BuildError, match=r"does not contain a build \(thesis.tex\)"):
        make()
    assert files(tmp_path) == {"small-1.0.0/thesis.tex": b"years of work"}


def test_optimized_jpegs_have_same_pixels(make, whole_build):
    by_id = {s.id: s for s in whole_build.manifest.sets}
    for spec in make(sets=["contrast/*"], optimize=True, page=False).manifest.sets:
        assert (spec.pixel_digest, spec.bytes < by_id[spec.id].bytes) == (by_id[spec.id].pixel_digest, True)


@pytest.mark.parametrize(
    ("encoding", "manifest", "first"),
    [
        ("png", {"format": "png"}, b"\x89PNG"),
        ("jpeg", {"format": "jpeg", "quality": 85}, b"\xff\xd8"),
        ("jpeg:30", {"format": "jpeg", "quality": 30}, b"\xff\xd8"),
    ],
)
def test_encoding_option_overrides_recipe(small_recipe, tmp_path, encoding, manifest, first):
    """The encoding differs, but the pixels before encoding are the same."""
    options = {"sets": ["contrast/1"], "samples": 2, "jobs": 1, "metrics": 0, "page": False}
    result = build(small_recipe, out=tmp_path, encoding=encoding, storage="folder", **options)
    assert manifest.items() <= result.manifest.encoding.items()
    images = list((result.directory / "images").rglob("*.*"))
    assert len(images) == 2
    assert all(image.read_bytes().startswith(first) for image in images)
    assert result.digest == build(small_recipe, out=tmp_path / "own", **options).digest


def test_images_may_have_several_shapes(photos, tmp_path, monkeypatch):
    recipe, source = tmp_path / "any.toml", f"folder:{photos}"
    text = (
        'name = "any"\nversion = "1"\ncalibration = "cifar"\npreprocessing = {{kind = "{}", channels = "keep"}}\n'
        'encoding = {{format = "png"}}\n'
        'sets = [{{corruptions = ["gaussian_noise", "contrast"], severities = [2]}}, {{clean = true}}]\n'
    )
    for preprocessing in ('resize-crop", resize = 40, crop = "32', "none"):  # one size, but grey and colour; all sizes
        recipe.write_text(text.format(preprocessing).replace('"32"', "32"))
        for make in (build, plan):
            with pytest.raises(BuildError, match=r"HDF5 arrays need images of one shape\. Use --storage folder"):
                make(recipe, source, out=tmp_path / "out", storage="hdf5", jobs=1)
        assert plan(recipe, source, jobs=1).storage == "folder"
    assert not (tmp_path / "out").exists()
    monkeypatch.setattr("corruptset.generate.plan.recipe_build.PROBED_IMAGES", 1)  # so the others are seen later
    assert plan(recipe, source, jobs=1).storage == "folder"
    result = build(recipe, source, tmp_path / "out", jobs=1, page=False)
    assert result.manifest.storage.container == "folder"
    assert corruptset.verify(result.directory, rederive="all", source=source, jobs=1).ok
    data = corruptset.open(result.directory)
    noisy, clean = data["gaussian_noise/2"], data["clean"]
    assert [image.shape for image in noisy.images()] == [(90, 120, 3), (120, 90, 3), (47, 61, 1)]
    for i, sample in enumerate(data.samples):
        repeated = corruptset.corrupt(clean.image(i), "gaussian_noise", severity=2, calibration="cifar", key=sample.id)
        assert np.array_equal(repeated, noisy.image(i))
