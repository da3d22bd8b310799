"""Test that builds of regions can be checked, packed and regenerated like all others."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import packs
import pytest
from damage import flip
from PIL import Image
from reference_regions import FOGGED, SIZES, place_of, reference_crop, small_images, write_recipe, write_rows

import corruptset
from corruptset.errors import BuildError
from corruptset.generate.build import build
from corruptset.generate.exports.export import export
from corruptset.generate.reproduction.rebuild import rebuild
from corruptset.generate.sources.source import Source
from corruptset.manifests.release.unpack import unpack


def originals(photos):
    """Return the photographs by the ids that their regions record."""
    return {p.relative_to(photos).with_suffix("").as_posix(): p for p in photos.rglob("*.*g")}


def test_each_region_is_sample(region_build, photos):
    data, files = corruptset.open(region_build.directory), originals(photos)
    rows = [json.loads(line) for line in (region_build.directory / "samples.jsonl").read_text().splitlines()]
    places = [(r["source"], r["side"], r["y"], r["x"]) for r in (row["region"] for row in rows)]
    assert places == sorted(set(places))
    assert len(rows) > 3 * 2 * 30
    pixels = {name: np.array(Image.open(path).convert("RGB")) for name, path in files.items()}
    for number, row in enumerate(rows):
        region, (source, side, y, x) = row["region"], places[number]
        assert row["id"] == f"{source}@s{side:04d}/y{y:04d}x{x:04d}"
        assert (row["class"], row["width"], row["height"]) == (source[0], side, side)
        assert row["path"] == files[source].relative_to(photos).as_posix()
        assert set(region) == {"source", "group", "fraction", "side", "y", "x", "role", "row", "col", "anchor"}
        assert (region["group"], region["fraction"]) in {("p20", 0.2), ("p80", 0.8)}
        if number % 3 == 0:
            assert np.array_equal(data["clean"].image(number), reference_crop(pixels[source], (side, y, x), 24))
    assert (region_build.directory / f"images/clean/{rows[0]['id']}.png").is_file()
    expected = region_build.manifest.recipe["regions"]
    assert (expected["store"], expected["blocks"], expected["block"], expected["out"]) == ("images", 2, 3, 24)
    assert region_build.manifest.preprocessing == {
        "kind": "resize",
        "channels": "rgb",
        "side": 24,
        "interpolation": "bilinear",
    }
    assert region_build.manifest.selection["total"] == region_build.manifest.selection["chosen"] == 3
    # what is corrupted is the region, under its own key
    for number in (0, 77):
        chain, key = "contrast-3+gaussian_noise-2", data.samples[number].id
        result = corruptset.corrupt(data["clean"].image(number), chain, calibration="cifar", key=key)
        assert np.array_equal(data[chain].image(number), result)


def test_complete_images_and_region_table_give_same_crops(region_build, table_build):
    images, table_dataset = corruptset.open(region_build.directory), corruptset.open(table_build.directory)
    assert table_dataset.manifest.storage.container == "folder"
    assert [(s.region, (s.width, s.height)) for s in table_dataset.samples] == [(None, size) for size in SIZES.values()]
    assert table_dataset["clean"].image(2).shape == (47, 61, 1)
    for name in SIZES:
        first, second = images.crops(name), table_dataset.crops(name)
        assert list(first.regions()) == list(second.regions())
        assert np.array_equal(first.array(), second.array())


def test_image_is_decoded_once_for_all_regions(photos, recipes, tmp_path, monkeypatch):
    decoded, original = [], Source.load
    monkeypatch.setattr(Source, "load", lambda source, sample: decoded.append(sample) or original(source, sample))
    build(recipes["photos"], f"folder:{photos}", tmp_path, jobs=1, page=False)
    # twice by the checks, once by the only process for all runs, and one more for the contact sheet
    assert len(decoded) <= 3 + 3 + 3 + 1


def test_regions_are_independent_of_other_sets_and_jobs(photos, recipes, region_build, table_build, tmp_path, files):
    source = f"folder:{photos}"
    first = build(recipes["photos"], source, tmp_path / "first", jobs=1, sets=["clean"], storage="both").directory
    extended = build(recipes["photos"], source, tmp_path, jobs=1, storage="both", extend=first)
    assert files(extended.directory) == files(region_build.directory)
    alone = build(recipes["plain"], source, tmp_path / "one", jobs=1, store="table", ids=["a/1"])
    first, second = (corruptset.open(b.directory).crops("a/1") for b in (table_build, alone))
    assert list(first.regions()) == list(second.regions())
    # another seed draws other blocks
    other = build(recipes["plain"], source, tmp_path / "other", jobs=1, seed=1, storage="folder", metrics=0, page=False)
    places = [
        {place_of(s.region) for s in corruptset.open(b.directory).samples if s.region} for b in (region_build, other)
    ]
    assert len(places[0] & places[1]) < len(places[0]) / 2


@pytest.mark.ci
def test_two_workers_equal_single_process(photos, recipes, table_build, tmp_path, files):
    result = build(recipes["plain"], f"folder:{photos}", tmp_path, jobs=2, store="table")
    assert files(result.directory) == files(table_build.directory)


@pytest.mark.parametrize(("which", "path"), [("made", "samples.jsonl"), ("table", "regions.jsonl")])
def test_region_build_is_verified_and_rederived(which, path, request, photos, tmp_path, files):
    valid, source = (
        request.getfixturevalue({"made": "region_build", "table": "table_build"}[which]).directory,
        f"folder:{photos}",
    )
    report = corruptset.verify(valid, rederive="all" if which == "table" else 9, source=source, jobs=1)
    assert report.ok, report.problems
    assert report.checked["rederived"] == (3 if which == "table" else 9)
    root = shutil.copytree(valid, tmp_path / valid.name)
    flip(root / path)
    report = corruptset.verify(root, repair=True, source=source, jobs=1)
    assert report.ok, report.problems
    assert files(root) == files(valid)


def test_release_without_pixels_can_be_rebuilt(table_build, photos, tmp_path, files):
    bag = packs.pack_dataset(table_build.directory, tmp_path / "release", manifest_only=True)
    release = unpack(packs.archive_paths(bag), tmp_path / "unpacked").path
    made_again = rebuild(release, f"folder:{photos}", tmp_path / "out", jobs=1)
    assert (made_again.whole, made_again.identical) == (True, True)
    assert files(made_again.built.directory) == files(table_build.directory)


def test_layouts_accept_regions_or_complete_images(region_build, table_build, tmp_path):
    message = "The layout {} is for whole images.*Layouts for regions: imagenet-c, tiny-imagenet-c, webd"
    for layout in ("cifar-c", "imagenet-c-5k"):
        with pytest.raises(BuildError, match=message.format(layout)):
            export(layout, region_build.directory, tmp_path)
    with pytest.raises(BuildError, match=r"stores its regions as a table.*--store images"):
        export("webdataset", table_build.directory, tmp_path)
    assert not list(tmp_path.iterdir())
    export("openood", region_build.directory, tmp_path / "exported")
    assert corruptset.verify(region_build.directory, export=tmp_path / "exported", jobs=1).ok


@pytest.mark.parametrize("kind", ["sampled", "exhaustive", "embed"])
def test_builds_accept_row_sources(kind, recipes, tmp_path):
    source = write_rows(tmp_path, small_images(3))
    result = build(recipes[kind], source, tmp_path, jobs=1, page=False)
    report = corruptset.verify(result.directory, rederive=20, source=source, jobs=1)
    assert report.ok, report.problems
    build_plan, samples = corruptset.plan(recipes[kind], source), corruptset.open(result.directory).samples
    assert build_plan.samples == pytest.approx(len(samples), rel=0.2 if kind == "sampled" else 0)


def test_build_is_stored_as_table_if_ten_times_smaller(tmp_path, photos, recipes):
    source = f"folder:{photos}"
    subset = write_recipe(tmp_path / "few", "fractions = [0.5]\nblocks = 1\nout = 8")
    small = corruptset.plan(subset, source)
    assert small.stores["table"] > small.stores["images"] / 10
    assert (small.store, small.notes) == ("images", ())
    regions = 'fractions = [0.5]\nmode = "sampled"\nblocks = 20\nout = 224'
    everything, fogged = write_recipe(tmp_path, regions), write_recipe(tmp_path / "fogged", regions, FOGGED)
    large = corruptset.plan(everything, source)
    assert "--store images" in large.notes[0]
    assert (large.store, large.samples, large.bytes) == ("table", 3, large.stores["table"])
    assert large.stores["table"] < large.stores["images"] / 10
    assert large.seconds > 0
    for options in ({"store": "images"}, {"storage": "folder"}):
        assert corruptset.plan(everything, source, **options).store == "images"
    assert corruptset.plan(fogged, source, sets=["clean"]).store == "images", "its other sets would not fit"


def test_example_on_page_finds_regions_of_every_anchor(region_build, tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs/regions.md").read_text("utf-8")
    (example,) = (block.partition("```")[0] for block in page.split("```python\n") if "index.get" in block)
    (tmp_path / "fragile-imagenet-1.0.0").symlink_to(region_build.directory)
    monkeypatch.chdir(tmp_path)
    results = []
    exec(example + "        found.append((sample, shifted, shrunk))\n", {"found": results})
    samples = corruptset.open(region_build.directory).samples
    assert len(results) == sum(s.region is not None and s.region.anchor for s in samples) >= 3 * 2 * 2 - 2
    for sample, shifted, shrunk in results:
        assert (len(set(shifted)), len(set(shrunk))) == (8, 9)
        assert {samples[i].width - sample.width for i in shifted} == {0}
        assert {samples[i].width - sample.width for i in shrunk} == {-2}


def test_regions_have_group_of_their_image(photos, recipes, tmp_path):
    """Therefore regions can be held out, checked and regenerated by group."""
    paths, csv = sorted(p.relative_to(photos).as_posix() for p in originals(photos).values()), tmp_path / "groups.csv"
    groups = zip(paths, ("others", "held", "others"), strict=True)
    csv.write_text("file,group\n" + "".join(f"{path},{group}\n" for path, group in groups))
    options = {"groups": csv, "hold_out": "group=held", "storage": "folder", "metrics": 0, "page": False, "jobs": 1}
    result = build(recipes["plain"], f"folder:{photos}", tmp_path / "out", **options)
    assert {(row.path, row.group) for row in corruptset.open(result.directory).samples} == {(paths[1], "held")}
    assert corruptset.verify(result.directory, rederive=4, source=f"folder:{photos}", groups=csv, jobs=1).ok
