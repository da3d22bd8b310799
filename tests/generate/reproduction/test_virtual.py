"""Test that a virtual dataset is equal to the stored one, and that it rejects inputs that would give other images."""

from __future__ import annotations

import pickle
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_builds
from PIL import Image
from regenerated import pack_records, write_photos

import corruptset
from corruptset.corruptions.registry import _registered
from corruptset.errors import ParameterError, SourceError, UnknownCorruption, VerificationError
from corruptset.generate.build import Built, build
from corruptset.generate.pixels.encoding import ImageEncoding
from corruptset.generate.plan import builds, parts, tree
from corruptset.generate.reproduction import inputs, virtual
from corruptset.manifests.reader import Dataset

Stored = tuple[Path, str]
"""A build and the source that it was made of."""
SHIPPED = {
    "imagenet-c": ["frost/2", "gaussian_noise/3", "jpeg_compression/5"],
    "two-factor-imagenet-c": [
        "contrast-3+brightness-3",
        "brightness-3+contrast-3",
        "contrast-3+gaussian_noise-3",
        "clean",
    ],
    "image-degrade-30": ["black_lines/0[1-5]", "clean"],
}


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the folder into which packed records are unpacked."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inputs, "cache_root", lambda: folder)
        yield folder


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Pack the records of a build, once for each kind of digests."""
    results: dict[tuple[Path, str], Path] = {}

    def pack(directory: Path, digests: str = "images") -> Path:
        if (directory, digests) not in results:
            results[directory, digests] = pack_records(directory, tmp_path_factory.mktemp("packed"), digests)
        return results[directory, digests]

    return pack


@pytest.fixture(scope="module")
def stored_build(
    request: pytest.FixtureRequest, shared_data: small_builds.SharedData, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Stored]:
    shipped: dict[str, Path] = {}
    options: dict[str, dict[str, Any]] = {
        "shards": {"storage": "hdf5"},
    }

    def create(kind: str) -> Stored:
        if kind in options:
            return shared_data.build(**options[kind]), f"folder:{shared_data.crops()}"
        if kind not in SHIPPED:
            build_result: Built = request.getfixturevalue(
                {"regions": "region_build", "jpeg": "whole_build", "table": "table_build"}.get(kind, kind)
            )
            return build_result.directory, "sample" if kind == "jpeg" else f"folder:{request.getfixturevalue('photos')}"
        if kind not in shipped:
            out, sets = tmp_path_factory.mktemp("shipped"), SHIPPED[kind]
            shipped[kind] = build(kind, "sample", out, jobs=1, metrics=0, page=False, samples=2, sets=sets).directory
        return shipped[kind], "sample"

    return create


def check_equal_datasets(virtual_data: Dataset, stored_data: Dataset) -> None:
    """Compare images in random order, then all images of each set, and the other properties of sets."""
    assert list(virtual_data) == list(stored_data)
    assert (virtual_data.aliases, virtual_data.absent) == (stored_data.aliases, [])
    assert virtual_data.digest == stored_data.digest
    places = [(s, i) for s in stored_data for i in range(len(stored_data[s]))]
    sets = {s: (virtual_data[s], stored_data[s]) for s in stored_data}
    random.Random(3).shuffle(places)
    for set_id, index in places:
        (image, label), (expected, expected_label) = (spec[index] for spec in sets[set_id])
        np.testing.assert_array_equal(image, expected)
        assert (label, image.flags.writeable) == (expected_label, True)
    for result, stored in sets.values():
        for image, expected in zip(result.images(), stored.images(), strict=True):
            np.testing.assert_array_equal(image, expected)
        assert (result.encoding, result.ids, len(result)) == (stored.encoding, stored.ids, len(stored))


@pytest.mark.parametrize("kind", ["jpeg", "shards", *SHIPPED, "regions", "table"])
def test_virtual_dataset_equals_stored_one(
    stored_build: Callable[[str], Stored], release: Callable[..., Path], kind: str
) -> None:
    directory, source = stored_build(kind)
    stored = corruptset.open(directory)
    for digests in ("images", "sets") if kind == "jpeg" else ("images",):
        check_equal_datasets(
            result := corruptset.open(release(directory, digests), source=source, check="each"), stored
        )
    if kind in ("regions", "table"):
        crops, expected = (data.crops("a/0") for data in (result, stored))
        assert len(crops) == len(expected)
        for number in range(0, len(crops), 7):
            np.testing.assert_array_equal(crops[number], expected[number])
            assert crops.region(number) == expected.region(number)


def test_complete_build_can_be_virtual_too(whole_build: Built, tmp_path: Path) -> None:
    """Only the records of the build are read."""
    release = tmp_path / "release"
    shutil.copytree(whole_build.directory, release, ignore=shutil.ignore_patterns("images", "*.png", "*.html"))
    events: list[tuple[str, int, int]] = []
    data = corruptset.open(release, source="sample", progress=lambda *step: events.append(step))
    assert events == [("source", count, len(data.samples)) for count in range(1, len(data.samples) + 1)]
    result, stored = data["contrast/3"], corruptset.open(whole_build.directory)["contrast/3"]
    np.testing.assert_array_equal(result.image(2), stored.image(2))
    assert result.rows == stored.rows
    with pytest.raises(VerificationError, match=r"has no stored images.*run `corruptset rebuild`"):
        result.stored(0)


def test_leading_stages_are_cached(
    stored_build: Callable[[str], Stored], monkeypatch: pytest.MonkeyPatch, release: Callable[..., Path]
) -> None:
    pairs, levels = (
        corruptset.open(release(stored_build(kind)[0]), source="sample", check="never")
        for kind in ("two-factor-imagenet-c", "image-degrade-30")
    )
    loaded_ids: list[str] = []
    applied: list[str] = []
    real_load, real_apply = builds.load_clean, tree.apply_stage

    def load(source: Any, chosen: Any, preprocessing: Any) -> Any:
        loaded_ids.append(chosen.sample.id)
        return real_load(source, chosen, preprocessing)

    def apply(images: Any, stage: Any, *args: Any, **options: Any) -> Any:
        applied.append(stage.corruption if stage.level is None else f"{stage.corruption} {stage.level}")
        return real_apply(images, stage, *args, **options)

    monkeypatch.setattr(builds, "load_clean", load)
    monkeypatch.setattr(tree, "apply_stage", apply)
    first, second = pairs["clean"].ids
    for set_id in ("contrast-3+brightness-3", "contrast-3+gaussian_noise-3", "brightness-3+contrast-3"):
        pairs[set_id].image(0)
    assert (loaded_ids, applied) == ([first], ["contrast", "brightness", "gaussian_noise", "brightness", "contrast"])
    list(pairs["contrast-3+brightness-3"].images())
    assert (loaded_ids, applied[5:]) == ([first, second], ["contrast", "brightness"])
    for level in range(1, 6):
        levels[f"black_lines/0{level}"].image(0)
    assert applied[7:] == [f"black_lines {level}" for level in range(1, 6)]


def test_cache_is_bounded_pickled_without_images_and_isolated_from_results(
    stored_build: Callable[[str], Stored], monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, source = stored_build("shards")
    stored, data = corruptset.open(directory), corruptset.open(directory, source=source)
    for set_id in ("clean", "contrast/3"):
        data[set_id].image(0)[:] = 0
        np.testing.assert_array_equal(data[set_id].image(0), stored[set_id].image(0))
    monkeypatch.setattr(virtual, "CACHE_BYTES", 10 * 3072)
    monkeypatch.setattr(parts, "BATCH_BYTES", 3 * 3072)
    check_equal_datasets(data, stored)
    maker = data["clean"]._store._images  # type: ignore[attr-defined]
    assert sum(image.nbytes for image in maker._cache.values()) == maker._cached_bytes == 10 * 3072
    assert len(pickle.dumps(data["contrast/3"])) < 3000
    check_equal_datasets(pickle.loads(pickle.dumps(data)), stored)


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ["spawn", pytest.param("fork", marks=pytest.mark.long)])
def test_data_loader_workers_give_same_images(
    stored_build: Callable[[str], Stored], release: Callable[..., Path], method: str
) -> None:
    from torch.utils.data import DataLoader

    directory, source = stored_build("jpeg")
    images = corruptset.open(inputs.release_folder(release(directory)), source=source)["contrast/3"]
    workers = 2 if method == "fork" else 1
    loader: Any = DataLoader(images, batch_size=3, num_workers=workers, multiprocessing_context=method)  # type: ignore[arg-type]
    pixels, labels = (np.concatenate([tensor.numpy() for tensor in column]) for column in zip(*loader, strict=True))
    assert labels.tolist() == images.labels.tolist()
    np.testing.assert_array_equal(pixels, corruptset.open(directory)["contrast/3"].array())


def test_sets_that_need_model_are_absent(whole_build: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_registered, "contrast", replace(_registered["contrast"], resources=("surrogate",)))
    needing = [s for s in virtual.specs_of(whole_build.manifest) if s.needs_surrogate]
    data = corruptset.open(whole_build.directory, source="sample")
    assert set(data.absent) == {s.id for s in needing}
    assert "brightness/1" in data
    follows = r"'contrast/1' was made with the gradients of a model.*rebuild .*--surrogate"
    with pytest.raises(UnknownCorruption, match=follows):
        data["contrast/1"]


def test_packed_release_is_unpacked_once(
    whole_build: Built, release: Callable[..., Path], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bag = release(whole_build.directory)
    (archive,) = (bag / "data").glob("*.tar")
    folder = inputs.release_folder(bag)
    assert cache in folder.parents
    assert not [path for path in (cache / "releases").iterdir() if path.name.startswith("tmp")]
    monkeypatch.setattr(inputs, "unpack", lambda *_: pytest.fail("the records were unpacked again"))
    for place in (bag, archive, folder, folder / "manifest.json"):
        assert inputs.release_folder(place) == folder


@pytest.mark.parametrize("kept", [lambda path: False, lambda path: path.name == "manifest.json"])
def test_release_with_deleted_cache_is_unpacked_again(
    whole_build: Built, release: Callable[..., Path], cache: Path, kept: Callable[[Path], bool]
) -> None:
    bag = release(whole_build.directory)
    folder = inputs.release_folder(bag)
    for path in folder.parent.rglob("*"):
        if path.is_file() and not kept(path):
            path.unlink()
    data = corruptset.open(bag, source="sample")
    assert data["brightness/1"][0][0].ndim == 3


def test_labels_are_always_checked_and_images_when_read(small_recipe: Path, tmp_path: Path) -> None:
    source, labels = write_photos(tmp_path / "photos", each=1), tmp_path / "labels.csv"
    labels.write_text("file,label\na/0.png,a\nb/0.png,b\n")
    directory = build(small_recipe, source, tmp_path / "one", jobs=1, sets=["contrast/1"], labels=labels).directory
    images = corruptset.open(directory, source=source, labels=labels, check="never")["contrast/1"]
    assert images.labels.tolist() == [0, 1]
    Image.new("RGB", (80, 90)).save(tmp_path / "photos/b/0.png")
    assert images.image(0).shape == (64, 64, 3)
    with pytest.raises(SourceError, match=r"b/0\.png has changed"):
        images.image(1)
    labels.write_text("file,label\na/0.png,b\nb/0.png,a\n")
    with pytest.raises(SourceError, match="b/0: has label 0, expected 1"):
        corruptset.open(directory, source=source, labels=labels, check="never")


def test_unsuitable_records_and_options_are_rejected(
    whole_build: Built, release: Callable[..., Path], tmp_path: Path
) -> None:
    records = inputs.release_folder(release(whole_build.directory))
    for name in ("manifest.json", "samples.jsonl", "PARTIAL.json"):
        (tmp_path / name).write_bytes((records / name).read_bytes().replace(b'"label": 0', b'"label": 1', 1))
    cases: list[tuple[type[Exception], Path, dict[str, Any], str]] = [
        (
            VerificationError,
            tmp_path,
            {"source": "sample"},
            r"samples\.jsonl: hash: has sha256:\w+, but sha256:\w+ is recorded",
        ),
        (
            ParameterError,
            whole_build.directory,
            {"source": "sample", "check": "all"},
            "check is 'all'; expected one of fir",
        ),
        (ParameterError, whole_build.directory, {"source": "sample", "prefer": "folder"}, "Leave `prefer` out"),
        (
            ParameterError,
            whole_build.directory,
            {"labels": "x.csv", "groups": "y.csv"},
            "only used with a source: labels, groups",
        ),
    ]
    for error, place, options, match in cases:
        with pytest.raises(error, match=match):
            corruptset.open(place, **options)
    with pytest.raises(
        UnknownCorruption,
        match=r"pass the source of the dataset to compute the images: corruptset\.open\(\.\.\., source=\.\.\.\)",
    ):
        corruptset.open(records)["contrast/1"]


def test_check_argument_selects_checked_images(whole_build: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    first, each, never = (
        corruptset.open(whole_build.directory, source="sample", check=c)["contrast/3"]
        for c in ("first", "each", "never")
    )
    original = tree.apply_stage
    monkeypatch.setattr(tree, "apply_stage", lambda *args, **options: original(*args, **options) ^ np.uint8(1))

    def refused(images: Any, index: int) -> None:
        pixels = r"of contrast/3 has the digest blake3:\w+, but blake3:\w+ is recorded\. .*numba"
        with pytest.raises(VerificationError, match=pixels):
            images.image(index)

    refused(first, 5)
    refused(each, 5)
    never.image(0)
    first.image(5)  # the first one was seen
    monkeypatch.setattr(virtual, "CHECK_INTERVAL", 3)
    for images, index in ((first, 0), (each, 5), (first, 6)):
        refused(images, index)


def test_differences_are_named(
    whole_build: Built, release: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clean pixels, the encoding or the digest of a set differ."""
    expected = {s.id: s.pixel_digest for s in whole_build.manifest.sets}
    whole_set = rf"'contrast/1' of small has the digest blake3:\w+, but {expected['contrast/1']} is recorded"
    load, apply, encode = builds.load_clean, tree.apply_stage, ImageEncoding.encode
    for digests in ("images", "sets"):
        data, other = (corruptset.open(release(whole_build.directory, digests), source="sample") for _ in range(2))
        assert data["contrast/3"].verify() == expected["contrast/3"]
        with monkeypatch.context() as patch:
            patch.setattr(tree, "apply_stage", lambda *args, **more: apply(*args, **more) ^ np.uint8(1))
            with pytest.raises(VerificationError, match=whole_set):
                data["contrast/1"].verify()
        with monkeypatch.context() as patch:
            patch.setattr(builds, "load_clean", lambda *args: load(*args) ^ np.uint8(1))
            with pytest.raises(VerificationError, match=r"clean image has the digest blake3:\w+, but .*pillow"):
                other["contrast/3"].image(1)
    monkeypatch.setattr(ImageEncoding, "encode", lambda self, image: encode(self, image ^ np.uint8(1)))
    with pytest.raises(VerificationError, match=r"of contrast/3 is encoded to sha256:\w+, but .*opencv"):
        corruptset.open(whole_build.directory, source="sample")["contrast/3"].image(1)
