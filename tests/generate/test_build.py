"""A build is what the design says it is: records, digests, layout, free space, plan, errors."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import corruptset
from corruptset.errors import BuildError, CorruptsetError, MachineError, UnknownCorruption
from corruptset.generate.build import Built, ProgressEvent, build
from corruptset.generate.pixels.encoding import PngEncoding
from corruptset.generate.pixels.metrics import measure
from corruptset.generate.planning import plan
from corruptset.manifests.records.digests import sha256_bytes
from corruptset.pixels import pixel_digest


def test_it_verifies_and_is_complete(whole: Built, small_sets: set[str]) -> None:
    report = corruptset.verify(whole.directory, jobs=1)
    assert report.ok, report.problems
    assert str(whole.directory) not in (whole.directory / "manifest.json").read_text(encoding="utf-8")
    assert {s.id for s in whole.manifest.sets} == small_sets
    assert whole.images == 8 * len(small_sets)
    assert not (whole.directory / ".corruptset").exists()
    assert not list(whole.directory.rglob("*.part"))
    assert whole.contact_sheet.read_bytes().startswith(b"\x89PNG")
    assert {p.name for p in whole.directory.iterdir()} == {
        "manifest.json", "samples.jsonl", "sets", "images", "hdf5", "contact.png", "index.html", "README.md",
        "LICENSE", "SHA256SUMS",
    }  # fmt: skip


def test_folder_and_shard_hold_the_same_jpeg_bytes(whole: Built) -> None:
    data = corruptset.open(whole.directory)
    for one in whole.manifest.sets:
        for line in (whole.directory / "sets" / f"{one.id}.jsonl").read_text(encoding="utf-8").splitlines():
            file, row = json.loads(line)["files"]
            assert file["path"].startswith(f"images/{one.id}/")
            assert (file["row"], row["path"].startswith("hdf5/")) == (None, True)
            assert (file["bytes"], file["sha256"]) == (row["bytes"], row["sha256"])
        by_shard = corruptset.open(whole.directory, prefer="hdf5")[one.id]
        assert np.array_equal(by_shard.image(3), data[one.id].image(3))


def test_metrics_are_means_over_the_first_images(lossless: Built) -> None:
    data = corruptset.open(lossless.directory)
    for name in ("gaussian_noise/3", "contrast-3+gaussian_noise-1"):
        rows = [measure(data["clean"].image(i), data[name].image(i)) for i in range(8)]
        found = data[name].record.metrics
        assert found is not None
        assert found.images == 8
        assert found.psnr == pytest.approx(np.mean([r[0] for r in rows]), abs=1e-4)  # type: ignore[misc]
        assert found.ssim == pytest.approx(np.mean([r[1] for r in rows]), abs=1e-4)  # type: ignore[misc]
        assert found.changed == pytest.approx(np.mean([r[2] for r in rows]), abs=1e-4)  # type: ignore[misc]
    clean = data["clean"].record.metrics
    assert clean is not None
    assert (clean.psnr, clean.ssim, clean.changed) == (None, 1.0, 0.0)


def test_clean_must_be_named(small_recipe: Path) -> None:
    assert plan(small_recipe, sets=["*"]).images == 72
    assert plan(small_recipe, sets=["*", "clean"]).images == 80
    assert plan(small_recipe, sets=["clean"]).sets[0].stages == ()


def test_sets_are_found_by_alias_and_unknown_ones_are_refused(small_recipe: Path) -> None:
    assert [s.id for s in plan(small_recipe, sets=["Noise*"]).sets] == ["gn300+contrast-1"]
    with pytest.raises(UnknownCorruption, match=r"'contrasd/1' matches no set.*Did you mean 'contrast/1'"):
        plan(small_recipe, sets=["contrasd/1"])


def test_the_plan_is_what_is_built(whole: Built, small_recipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = plan(small_recipe, jobs=1)
    real = sum(p.stat().st_size for p in whole.directory.rglob("*") if p.is_file())
    assert planned.images == whole.images
    assert abs(planned.bytes / real - 1) < 0.05
    for form in ("folder", "hdf5"):
        assert planned.alone[form] == pytest.approx(plan(small_recipe, jobs=1, format=form).bytes, rel=0.01)
    monkeypatch.setattr("corruptset.generate.estimate.MOST_SAMPLES", 4)
    half = plan(small_recipe, jobs=1)
    assert half.looked_at == 4
    assert abs(half.bytes / real - 1) < 0.1
    assert planned.format == "both"
    # contrast/3 is shared by itself and two chains
    assert (planned.stages_applied, planned.stages_naive) == (10, 12)
    assert json.loads(json.dumps(planned.as_json()))["images"] == planned.images


def test_progress_counts_up_to_everything(make: Callable[..., Built]) -> None:
    events: list[ProgressEvent] = []
    make(sets=["contrast/*"], jobs=1, progress=events.append)
    assert list(dict.fromkeys(e.phase for e in events if e.phase != "building")) == [
        "checking",
        "preparing",
        "finishing",
        "done",
    ]
    building = [e for e in events if e.phase == "building"]
    assert (building[0].images_done, building[-1].images_done, building[-1].images_total) == (0, 16, 16)
    assert [e.images_done for e in building] == sorted(e.images_done for e in building)
    assert any(e.images_done for e in building if e.parts_done == 0)  # an unfinished part's count too
    assert list(dict.fromkeys(e.parts_done for e in building)) == list(range(building[-1].parts_total + 1))
    checking = [(e.images_done, e.images_total) for e in events if e.phase == "checking"]
    assert (checking[0], checking[-1]) == ((0, 8), (8, 8))


def test_too_little_space_is_refused_before_an_image_is_written(
    make: Callable[..., Built], small_recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1000))
    with pytest.raises(MachineError, match="free, and the build needs about"):
        make()
    assert not list(tmp_path.rglob("*.JPEG"))
    with pytest.raises(MachineError, match="free, and the build needs about"):
        build(small_recipe, "sample", tmp_path / "new", jobs=1)
    with pytest.raises(MachineError, match="free, and the build needs about"):
        build(small_recipe, "sample", tmp_path / "new", part=(0, 2), jobs=1)
    assert not (tmp_path / "new").exists()


def test_options_that_cannot_be_used_are_listed(make: Callable[..., Built], tmp_path: Path) -> None:
    wrong = {"jobs": 0, "format": "tar", "metrics": -1, "coupling": "loose", "scale": "big", "surrogate_batch": True}
    with pytest.raises(BuildError, match="6 options cannot be used") as caught:
        make(**wrong)
    for name, value in wrong.items():
        assert f"{name} is {value!r}; expected" in str(caught.value)
    for name, value in (("seed", -1), ("samples", 0)):
        with pytest.raises(CorruptsetError, match=f"{name} is {value}"):
            make(**{name: value})
    assert list(tmp_path.iterdir()) == []


def test_optimize_is_for_jpeg_and_keeps_the_pixels(
    make: Callable[..., Built], lossless_recipe: Path, whole: Built, tmp_path: Path
) -> None:
    with pytest.raises(BuildError, match="--optimize is for JPEG"):
        build(lossless_recipe, out=tmp_path, optimize=True)
    small = make(sets=["contrast/*"], optimize=True)
    by_id = {s.id: s for s in whole.manifest.sets}
    for one in small.manifest.sets:
        assert one.pixel_digest == by_id[one.id].pixel_digest
        assert one.bytes < by_id[one.id].bytes


def test_a_directory_that_is_no_build_is_left_alone(make: Callable[..., Built], tmp_path: Path, files: Any) -> None:
    (tmp_path / "small-1.0.0").mkdir()
    (tmp_path / "small-1.0.0" / "thesis.tex").write_text("years of work")
    with pytest.raises(BuildError, match=r"holds no build \(thesis.tex\)"):
        make()
    assert files(tmp_path) == {"small-1.0.0/thesis.tex": b"years of work"}


def test_images_of_several_shapes(tmp_path: Path) -> None:
    from PIL import Image

    for i, (width, height) in enumerate([(40, 30), (30, 40), (40, 30), (9, 8)]):
        folder = tmp_path / "photos" / f"c{i % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        picture = np.add.outer(np.arange(height) * 3, np.arange(width) * 5).astype(np.uint8)
        Image.fromarray(
            picture if i == 0 else np.stack([picture, picture.T.reshape(picture.shape), 255 - picture], 2)
        ).save(folder / f"{i}.png")
    text = (
        'name = "any"\nversion = "1"\ncalibration = "cifar"\npreprocessing = {kind = "none", channels = "keep"}\n'
        'encoding = {format = "png"}\n'
        'sets = [{corruptions = ["gaussian_noise", "contrast"], severities = [2]}, {clean = true}]\n'
    )
    (tmp_path / "any.toml").write_text(text)
    source = f"folder:{tmp_path / 'photos'}"
    with pytest.raises(BuildError, match="do not fit into HDF5 arrays"):
        build(tmp_path / "any.toml", source, tmp_path / "out", format="hdf5", jobs=1)
    assert not (tmp_path / "out").exists()
    built = build(tmp_path / "any.toml", source, tmp_path / "out", format="folder", jobs=1)
    assert corruptset.verify(built.directory, rederive="all", source=source, jobs=1).ok
    data = corruptset.open(built.directory)
    assert {image.shape for image in data["gaussian_noise/2"].images()} == {
        (30, 40, 1),
        (40, 30, 3),
        (30, 40, 3),
        (8, 9, 3),
    }
    samples = data.samples
    for i, sample in enumerate(samples):
        again = corruptset.corrupt(
            data["clean"].image(i), "gaussian_noise", severity=2, calibration="cifar", key=sample.id
        )
        assert np.array_equal(again, data["gaussian_noise/2"].image(i))


def test_stored_records_are_of_the_stored_bytes(lossless: Built) -> None:
    data = corruptset.open(lossless.directory)
    image = data["contrast/3"].image(2)
    record = json.loads((lossless.directory / "sets/contrast/3.jsonl").read_text(encoding="utf-8").splitlines()[2])
    assert record["pixels"] == pixel_digest(image)
    file, row = record["files"]
    assert (row["bytes"], row["sha256"]) == (image.nbytes, sha256_bytes(image.tobytes()))
    assert file["sha256"] == sha256_bytes(PngEncoding().encode(image))
