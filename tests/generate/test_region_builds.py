"""Builds of regions: samples like all others, whatever makes, resumes, checks, packs or makes them again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import packs
import pytest
from damage import flip
from PIL import Image
from slow_regions import SIZES, place_of, slow_crop, small_images, write_recipe, write_rows

import corruptset
from corruptset.errors import BuildError
from corruptset.generate.build import Built, build
from corruptset.generate.reproduction.rebuild import rebuild
from corruptset.generate.sources.source import Probe, Sample, Source
from corruptset.generate.work import worker
from corruptset.manifests.release.unpack import unpack

Files = Callable[[Path], dict[str, bytes]]


def test_a_region_is_a_sample(made: Built, photos: Path) -> None:
    data = corruptset.open(made.directory)
    rows = [json.loads(line) for line in (made.directory / "samples.jsonl").read_text().splitlines()]
    assert rows == sorted(
        rows, key=lambda r: (r["region"]["source"], r["region"]["side"], r["region"]["y"], r["region"]["x"])
    )
    assert len({r["id"] for r in rows}) == len(rows) > 3 * 2 * 30
    originals = {p.relative_to(photos).with_suffix("").as_posix(): p for p in photos.rglob("*.*g")}
    pixels = {name: np.array(Image.open(path)) for name, path in originals.items()}
    for row in rows:
        region, side = row["region"], row["region"]["side"]
        assert row["id"] == f"{region['source']}@s{side:04d}/y{region['y']:04d}x{region['x']:04d}"
        assert (row["class"], row["width"], row["height"]) == (region["source"][0], side, side)
        assert row["path"] == originals[region["source"]].relative_to(photos).as_posix()
        assert set(region) == {"source", "group", "fraction", "side", "y", "x", "role", "row", "col", "anchor"}
        assert (region["group"], region["fraction"]) in {("p20", 0.2), ("p80", 0.8)}
    for number, row in enumerate(rows):
        image = pixels[row["region"]["source"]]
        slow = slow_crop(
            image if image.ndim == 3 else image[:, :, None], (row["width"], row["region"]["y"], row["region"]["x"]), 24
        )
        assert np.array_equal(data["clean"].image(number), slow if slow.shape[2] == 3 else np.repeat(slow, 3, axis=2))
    assert (made.directory / f"images/clean/{rows[0]['id']}.png").is_file()
    recorded = made.manifest.recipe["regions"]
    assert (recorded["store"], recorded["blocks"], recorded["block"], recorded["out"]) == ("images", 2, 3, 24)
    assert made.manifest.preprocessing == {"kind": "resize", "channels": "rgb", "side": 24, "interpolation": "bilinear"}
    assert made.manifest.selection["total"] == made.manifest.selection["chosen"] == 3


def test_a_corrupted_region_is_what_corrupt_makes_of_the_clean_one(made: Built) -> None:
    data = corruptset.open(made.directory)
    for number in (0, 77):
        clean = data["clean"].image(number)
        again = corruptset.corrupt(
            clean, "contrast-3+gaussian_noise-2", calibration="cifar", key=data.samples[number].id
        )
        assert np.array_equal(data["contrast-3+gaussian_noise-2"].image(number), again)


def test_whole_images_and_a_table_give_the_same_crops(made: Built, table: Built) -> None:
    images, whole = corruptset.open(made.directory), corruptset.open(table.directory)
    assert [s.region for s in whole.samples] == [None] * 3
    assert whole.manifest.encoding["containers"] == ["folder"]
    assert [(s.width, s.height) for s in whole.samples] == list(SIZES.values())
    assert whole["clean"].image(2).shape == (47, 61, 1)
    for name in SIZES:
        first, second = images.crops(name), whole.crops(name)
        assert list(first.regions()) == list(second.regions())
        assert np.array_equal(first.array(), second.array())


@pytest.mark.parametrize("which", ["made", "table"])
def test_it_verifies_and_comes_out_of_its_source_again(
    which: str, request: pytest.FixtureRequest, photos: Path
) -> None:
    report = corruptset.verify(
        request.getfixturevalue(which).directory, rederive="all", source=f"folder:{photos}", jobs=1
    )
    assert report.ok, report.problems
    assert report.checked["rederived"] == report.checked["samples"] > 2


@pytest.mark.parametrize("store", ["table"])
def test_jobs_and_other_images_change_nothing(
    store: Any, photos: Path, recipes: dict[str, Path], made: Built, table: Built, tmp_path: Path, files: Files
) -> None:
    """Of a region, pixels do not depend on what else is built."""
    recipe, whole = (recipes["photos"], made) if store == "images" else (recipes["plain"], table)
    built = build(
        recipe, f"folder:{photos}", tmp_path / "two", jobs=2, store=store, format="both" if store == "images" else None
    )
    assert files(built.directory) == files(whole.directory)
    alone = build(recipe, f"folder:{photos}", tmp_path / "one", jobs=1, store=store, ids=["a/1"], sets=["clean"])
    first, second = corruptset.open(whole.directory).crops("a/1"), corruptset.open(alone.directory).crops("a/1")
    assert list(first.regions()) == list(second.regions())
    assert np.array_equal(first.array(), second.array())


def test_an_image_is_decoded_once_for_its_regions_in_a_run(
    photos: Path, recipes: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded, runs = [], set()
    real, process = Source.load, worker.process

    def counted(source: Source, sample: Sample) -> Any:
        decoded.append(sample)
        return real(source, sample)

    def probed(source: Source, sample: Sample) -> Probe:
        loaded = real(source, sample)
        height, width, channels = loaded.image.shape
        return Probe(loaded.sha256, width, height, channels)

    def noted(job: Any, part: Any, *made: Any) -> Any:
        runs.add(part.run.number)
        return process(job, part, *made)

    monkeypatch.setattr(Source, "load", counted)
    monkeypatch.setattr(Source, "probe", probed)  # the check decodes them too
    monkeypatch.setattr("corruptset.generate.work.pool.process", noted)
    built = build(recipes["photos"], f"folder:{photos}", tmp_path, jobs=1)
    assert len(runs) > 3
    # once for all runs, for the first process is the only one, and once more for the contact sheet
    assert len(decoded) == 3 + 1, built


class Killed(BaseException):
    """What stops a build."""


@pytest.mark.parametrize(("store", "at"), [("images", 3)])
def test_a_stopped_build_goes_on(
    store: Any,
    at: int,
    photos: Path,
    recipes: dict[str, Path],
    made: Built,
    table: Built,
    tmp_path: Path,
    files: Files,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real, calls = worker.write_sidecar, []

    def commit(*arguments: Any) -> None:
        calls.append(arguments[1])
        if len(calls) >= (at if store == "images" else 1):  # a table of three images is one part
            raise Killed
        real(*arguments)

    recipe, whole = (recipes["photos"], made) if store == "images" else (recipes["plain"], table)
    options: dict[str, Any] = {"jobs": 1, "store": store, "format": "both" if store == "images" else None}
    with monkeypatch.context() as patched:
        patched.setattr(worker, "write_sidecar", commit)
        with pytest.raises(Killed):
            build(recipe, f"folder:{photos}", tmp_path, **options)
    built = build(recipe, f"folder:{photos}", tmp_path, **options)
    assert files(built.directory) == files(whole.directory)


def test_a_build_is_extended(photos: Path, recipes: dict[str, Path], made: Built, tmp_path: Path, files: Files) -> None:
    for sets in (["clean"], None):
        built = build(recipes["photos"], f"folder:{photos}", tmp_path, jobs=1, sets=sets, format="both")
    assert files(built.directory) == files(made.directory)


@pytest.mark.parametrize(
    ("which", "path"),
    [
        ("made", "samples.jsonl"),
        ("table", "regions.jsonl"),
        pytest.param("made", "shard", marks=pytest.mark.ci),
        pytest.param("table", "image", marks=pytest.mark.ci),
    ],
)
def test_it_is_repaired(
    which: str, path: str, request: pytest.FixtureRequest, photos: Path, tmp_path: Path, files: Files
) -> None:
    good: Path = request.getfixturevalue(which).directory
    root = tmp_path / good.name
    shutil.copytree(good, root)
    suffix = {"image": "*.png", "shard": "*.h5"}.get(path)
    damaged = (
        root / path if suffix is None else sorted((root / ("images" if path == "image" else "hdf5")).rglob(suffix))[-2]
    )
    flip(damaged)
    report = corruptset.verify(root, repair=True, source=f"folder:{photos}", jobs=1)
    assert report.ok, report.problems
    assert files(root) == files(good)


@pytest.mark.parametrize("which", ["table"])
def test_a_release_without_pixels_gives_it_back(
    which: str, request: pytest.FixtureRequest, photos: Path, tmp_path: Path, files: Files
) -> None:
    good: Path = request.getfixturevalue(which).directory
    bag = packs.packed(good, tmp_path / "release", manifest_only=True)
    release = unpack(packs.archive_paths(bag), tmp_path / "unpacked").path
    made_again = rebuild(release, f"folder:{photos}", tmp_path / "out", jobs=1)
    assert (made_again.whole, made_again.identical) == (True, True)
    assert files(made_again.built.directory) == files(good)


@pytest.mark.parametrize("view", ["cifar-c", "imagenet-c-5k"])
def test_views_of_whole_images_refuse_regions(
    view: str, made: Built, photos: Path, recipes: dict[str, Path], tmp_path: Path
) -> None:
    from corruptset.generate.views.export import export

    with pytest.raises(
        BuildError,
        match=rf"The view {view} is of whole images.*Views that take regions: imagenet-c, tiny-imagenet-c, webd",
    ):
        export(view, made.directory, tmp_path)
    if view != "imagenet-c-5k":
        with pytest.raises(BuildError, match=rf"The view {view} is of whole images"):
            corruptset.plan(recipes["photos"], f"folder:{photos}", view=view)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("view", ["openood"])
def test_other_views_take_regions(
    view: str, made: Built, photos: Path, recipes: dict[str, Path], tmp_path: Path
) -> None:
    built = build(recipes["photos"], f"folder:{photos}", tmp_path, jobs=1, view=view)
    assert built.digest == made.digest
    assert corruptset.verify(built.directory, jobs=1).ok


@pytest.mark.parametrize("kind", ["sampled", "exhaustive", "embed"])
def test_row_sources(kind: str, recipes: dict[str, Path], tmp_path: Path) -> None:
    source = write_rows(tmp_path, small_images(3))
    built = build(recipes[kind], source, tmp_path, jobs=1)
    report = corruptset.verify(built.directory, rederive=20, source=source, jobs=1)
    assert report.ok, report.problems
    planned = corruptset.plan(recipes[kind], source)
    assert planned.samples == pytest.approx(
        len(corruptset.open(built.directory).samples), rel=0.2 if kind == "sampled" else 0
    )


def test_another_seed_draws_other_blocks(photos: Path, recipes: dict[str, Path], made: Built, tmp_path: Path) -> None:
    other = build(recipes["plain"], f"folder:{photos}", tmp_path, jobs=1, seed=1, format="folder")
    places = [{place_of(s.region) for s in corruptset.open(b.directory).samples if s.region} for b in (made, other)]
    assert len(places[0] & places[1]) < len(places[0]) / 2


@pytest.mark.parametrize("mode", ["exhaustive", "sampled"])
def test_a_build_is_a_table_where_that_is_ten_times_smaller(tmp_path: Path, photos: Path, mode: str) -> None:
    few = write_recipe(tmp_path / "few", "fractions = [0.5]\nblocks = 1\nout = 8")
    small = corruptset.plan(few, f"folder:{photos}")
    assert small.stores["table"] > small.stores["images"] / 10
    assert (small.store, small.notes) == ("images", ())
    everything = write_recipe(
        tmp_path, f'fractions = [0.5]\nmode = "{mode}"\nout = 224' + "\nblocks = 20" * (mode == "sampled")
    )
    large = corruptset.plan(everything, f"folder:{photos}")
    assert "--store images" in large.notes[0]
    assert (large.store, large.samples, large.bytes) == ("table", 3, large.stores["table"])
    assert large.stores["table"] < large.stores["images"] / 10
    assert large.seconds > 0
    assert corruptset.plan(everything, f"folder:{photos}", sets=["clean", "*"], store="images").store == "images"
    assert corruptset.plan(everything, f"folder:{photos}", format="folder").store == "images"


def test_the_example_of_the_page_finds_the_regions_of_every_anchor(
    made: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).parents[2] / "docs/regions.md").read_text("utf-8")
    (example,) = (block.partition("```")[0] for block in page.split("```python\n") if "index.get" in block)
    shutil.copytree(made.directory, tmp_path / "fragile-imagenet-1.0.0")
    monkeypatch.chdir(tmp_path)
    found: list[Any] = []
    exec(example + "        found.append((sample, shifted, shrunk))\n", {"found": found})
    samples = corruptset.open(made.directory).samples
    assert len(found) == sum(s.region is not None and s.region.anchor for s in samples) >= 3 * 2 * 2 - 2
    for sample, shifted, shrunk in found:
        assert (len(set(shifted)), len(set(shrunk))) == (8, 9)
        assert {samples[i].width - sample.width for i in shifted} == {0}
        assert {samples[i].width - sample.width for i in shrunk} == {-2}


def test_regions_have_the_group_of_their_image(photos: Path, recipes: dict[str, Path], tmp_path: Path) -> None:
    """So that a hold-out is one of regions, and can be checked and made again."""
    paths = sorted(p.relative_to(photos).as_posix() for p in photos.rglob("*.*g"))
    csv = tmp_path / "groups.csv"
    csv.write_text(
        "file,group\n" + "".join(f"{path},{'held' if n == 1 else 'others'}\n" for n, path in enumerate(paths))
    )
    given = {"groups": csv, "hold_out": "group=held"}
    built = build(recipes["plain"], f"folder:{photos}", tmp_path / "out", jobs=1, format="folder", metrics=0, **given)
    rows = corruptset.open(built.directory).samples
    assert {(row.path, row.group) for row in rows} == {(paths[1], "held")}
    assert corruptset.verify(built.directory, rederive=4, source=f"folder:{photos}", groups=csv, jobs=1).ok
