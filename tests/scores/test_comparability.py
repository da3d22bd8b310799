"""Test the notes on scores that are not comparable with published ones."""

from __future__ import annotations

import pytest
import record_datasets
from reference_fragile import region_record

import corruptset
from corruptset.published_frost import PUBLISHED_FROST
from corruptset.scores.comparability import comparability_notes, why_not_alexnet
from corruptset.scores.published import benchmark

FROST = [{"name": f"frost{i}.png", "sha256": sha256} for i, sha256 in enumerate(PUBLISHED_FROST)]


def notes(data, *, condition=None, baseline=None, scored=None):
    return comparability_notes(data, data.set_ids if scored is None else scored, condition, baseline)


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    """Return a function that returns CIFAR-10-C in its published size, with changed records."""
    data = record_datasets.records_dataset(tmp_path_factory.mktemp("data"), "cifar10-c", 10_000)

    def changed(**fields):
        other = corruptset.open(data.path)
        other.__dict__["samples"] = data.samples
        other.manifest = data.manifest.model_validate(data.manifest.as_json() | fields)
        return other

    return changed


def test_each_difference_has_one_note_and_published_benchmark_has_none(make):
    recipe = make().manifest.recipe
    jpeg = {"format": "jpeg", "quality": 85, "optimize": False, "subsampling": "4:2:0"}
    calibration = "those of the calibration imagenet, but the published sets use cifar"
    followed = [record.as_json() | {"reproducible": record.id != "fog/1"} for record in make().manifest.sets]
    for fields, message in (
        ({"version": "0.9.0"}, "has version 0.9.0, but the published sets have 1.0.0"),
        ({"name": "mine"}, "mine 1.1.0 is not a published benchmark"),
        ({"encoding": jpeg}, "stored as JPEG of quality 85 (4:2:0), but the published ones as PNG"),
        ({"scale": "side"}, "Lengths are proportional to the side of the image"),
        ({"coupling": "severity"}, "All severities of a sample use the same random draws"),
        (
            {"textures": [{"name": "sheet", "sha256": record_datasets.SHA256}]},
            "The frost images are not those of the published sets",
        ),
        ({"textures": FROST[:3]}, "The frost images are not those of the published sets"),
        ({"excluded": [{"path": "a.png", "reason": "truncated"}]}, "1 bad image of the source was excluded"),
        ({"recipe": recipe | {"calibration": "imagenet"}}, calibration),
        ({"recipe": recipe | {"unexpected": ["3 images are 64x64"]}}, "the recipe expects: 3 images are 64x64"),
        (
            {"sets": followed, "surrogates": [{"name": "resnet50"}]},
            "The sets fog/1 were made with the gradients of a model (resnet50).",
        ),
    ):
        (note,) = notes(make(**fields))
        assert message in note
    (note,) = notes(make(), condition="correct@clean")
    assert "Only images that meet the condition correct@clean are scored" in note
    (note,) = notes(make(), baseline="resnet18")
    assert "relative to the errors of resnet18, but published values are relative to those of AlexNet" in note
    assert notes(make()) == notes(make(textures=FROST)) == notes(make(), baseline="alexnet") == []


def test_missing_images_and_sets_are_noted(tmp_path, make):
    (note,) = notes(record_datasets.records_dataset(tmp_path / "few", "cifar10-c", 500))
    assert note == "The dataset has 500 images, but published scores were computed on 10,000."
    rows = [{"region": region_record(f"photo {n // 2}", 3, 0, n % 2).as_json()} for n in range(6)]
    result = notes(record_datasets.records_dataset(tmp_path / "regions", "fragile-cifar10", 6, samples=rows))
    assert "The dataset has 3 images, but published scores were computed on 10,000." in result
    (note,) = notes(make(), scored=["fog/1", "clean"])
    assert note.startswith("2 of the 96 sets of the recipe are scored (the rest was not built or not selected)")
    part = make()
    part.absent = ["fog/2"]
    (note,) = notes(part, scored=["fog/1"])
    assert "the rest of the dataset was not unpacked" in note
    subset = {"chosen": 20, "total": 600}
    message = "The dataset has 20 of the 600 images of its source."
    assert message in notes(
        record_datasets.records_dataset(tmp_path / "some", "image-degrade-30", 20, selection=subset)
    )
    held = subset | {"hold_out": {"groups": ["microsoft"]}}
    assert message not in notes(record_datasets.records_dataset(tmp_path / "held", "icons50-apple", 20, selection=held))
    for name in ("flageval-noise", "two-factor-69", "icons50-apple"):
        assert benchmark(name).remark in notes(record_datasets.records_dataset(tmp_path / name, name, 20))


def test_different_imagenet_size_is_noted(tmp_path):
    assert any("299x299" in note for note in notes(record_datasets.records_dataset(tmp_path / "299", "imagenet-c-299")))
    smaller = {"kind": "resize-crop", "resize": 110, "crop": 96}
    result = notes(record_datasets.records_dataset(tmp_path / "96", "imagenet-c", preprocessing=smaller))
    assert (
        "The corruptions, their parameters or the size of the images are not those of ImageNet-C at 224x224." in result
    )


def test_alexnet_is_baseline_of_imagenet_c_only(tmp_path, monkeypatch):
    rows = [{"id": f"ILSVRC2012_val_{i + 1:08d}"} for i in range(40)]
    genuine = record_datasets.records_dataset(tmp_path, "imagenet-c", samples=rows)
    monkeypatch.setattr("corruptset.scores.comparability.IMAGENET_IMAGES", 40)
    assert why_not_alexnet(genuine, None) == []
    assert why_not_alexnet(genuine, "correct@clean") == ["only some of the images are scored"]
    scores = corruptset.score(genuine, record_datasets.random_predictions(genuine))
    assert (scores.baseline, len(scores.values("ce"))) == ("alexnet", 15)
    fog = sum(1 - scores.sets[f"fog/{s}"].accuracy for s in range(1, 6))
    clean = 1 - scores.sets["clean"].accuracy
    assert scores["ce.fog"].value == pytest.approx(fog / (5 * 0.819324))
    assert scores["relative_ce.fog"].value == pytest.approx((fog - 5 * clean) / (5 * 0.819324 - 5 * 0.435))
    assert scores.get("mce") == pytest.approx(sum(scores.values("ce").values()) / 15)
    conditioned = corruptset.score(genuine, record_datasets.random_predictions(genuine), condition="correct@clean")
    assert (conditioned.get("mce"), conditioned.group("ce"), conditioned.baseline) == (None, {}, None)


def test_alexnet_is_not_baseline_of_other_images_or_recipes(tmp_path):
    data = record_datasets.records_dataset(tmp_path / "few", "imagenet-c")
    few = "its 40 images are not the 50,000 validation images of ImageNet"
    assert why_not_alexnet(data, None) == [few]
    reasons = why_not_alexnet(record_datasets.records_dataset(tmp_path / "cifar", "cifar10-c"), None)
    assert len(reasons) == 2
    assert reasons[0].startswith("its recipe is not that of ImageNet-C")
    for options in (None, "alexnet"):
        scores = corruptset.score(data, record_datasets.random_predictions(data), baseline=options)
        assert (scores.get("mce"), scores.get("relative_mce"), scores.group("ce"), scores.baseline) == (
            None,
            None,
            {},
            None,
        )
        assert any(f"not a baseline for this dataset: {few}" in note for note in scores.notes)
