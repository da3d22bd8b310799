"""Test errors for regions that cannot be built, and for recorded regions that contradict each other."""

from __future__ import annotations

import re
import shutil

import pytest
from damage import edit_lines, edit_manifest, verify_problems
from PIL import Image
from reference_regions import PHOTOS, write_recipe

import corruptset
from corruptset.errors import BuildError, SourceError, VerificationError
from corruptset.generate.build import build


def test_too_small_images_are_listed_with_other_problems(photos, recipes, tmp_path):
    root = shutil.copytree(photos, tmp_path / "bad")
    Image.new("RGB", (9, 9)).save(root / "a/small.png")
    (root / "b/empty.png").write_bytes(b"")
    options = {"jobs": 1, "metrics": 0, "page": False}
    with pytest.raises(SourceError, match="2 files of the source cannot be used") as error:
        build(recipes["plain"], f"folder:{root}", tmp_path / "out", **options)
    small = "a/small.png: is 9x9, too small for the recipe's regions (side 1 of p20 is below 3): leave it out"
    assert re.search(f"{re.escape(small)}(.|\n)*b/empty.png: is empty", str(error.value))
    assert not (tmp_path / "out").exists()
    result = build(recipes["plain"], f"folder:{root}", tmp_path / "out", skip_bad=True, **options)
    assert [e.path for e in result.manifest.excluded] == ["a/small.png", "b/empty.png"]
    report = corruptset.verify(result.directory, rederive=3, source=f"folder:{root}", jobs=1)
    assert report.ok, report.problems


def test_incompatible_options_are_rejected(photos, recipes):
    for recipe, options, message in (
        ("cifar10-c", {"store": "table"}, r"--store is for recipes with \[regions\]; cifar10-c has none"),
        (
            recipes["photos"],
            {"store": "table"},
            r"--store table stores complete images .* cannot store corrupted regions\. Use --store images",
        ),
        (recipes["plain"], {"store": "rows"}, "store is 'rows'; expected one of images, table"),
    ):
        with pytest.raises(BuildError, match=message):
            corruptset.plan(recipe, f"folder:{photos}", **options)


def test_images_are_disjoint_for_any_regions(photos, recipes, region_build, tmp_path):
    options = {"jobs": 1, "ids": ["a/1"], "seed": 5, "disjoint_from": [region_build.directory]}
    with pytest.raises(BuildError, match=r"1 of the 1 samples are also samples of regions in .*:\n  a/1\n"):
        build(recipes["plain"], f"folder:{photos}", tmp_path, **options)


def test_data_card_describes_samples(region_build, table_build):
    assert "Each sample is a region" in (region_build.directory / "README.md").read_text("utf-8")
    assert "`regions.jsonl` lists the regions" in (table_build.directory / "README.md").read_text("utf-8")


def test_different_regions_are_different_build(photos, recipes, region_build, tmp_path):
    more = write_recipe(tmp_path, PHOTOS.replace("blocks = 2", "blocks = 3"))
    for recipe, store, message in (
        (recipes["plain"], "table", r"recipe.regions.store: existing 'images', requested 'table'"),
        (more, "images", r"recipe.regions.blocks: existing 2, requested 3"),
    ):
        with pytest.raises(BuildError, match=message):
            build(recipe, f"folder:{photos}", region_build.directory.parent, jobs=1, store=store)


def test_inconsistent_records_are_found(region_build, table_build, tmp_path):
    for number, (name, at, change, detail) in enumerate(
        (
            (
                "samples",
                3,
                lambda row: row["region"].update(y=row["region"]["y"] + 1),
                "has the region that belongs to",
            ),
            ("samples", 3, lambda row: row.pop("region") and None, "is not a region, but according to the recipe"),
            ("samples", 3, lambda row: row.update(id="a/0"), "has the region that belongs to"),
            ("regions", 2, lambda row: row.update(y0=200), "row 2 extends beyond its image"),
            ("regions", 2, lambda row: row.update(sample="c"), "row 2 refers to 'c', which is not a sample"),
            ("regions", slice(8), None, "has no row for the sample 'a/0'"),
            (
                "regions",
                2,
                lambda row: row.update(fit="pad", out=10, side=11),
                "row 2 pads regions of side 11",
            ),
        )
    ):
        valid = (region_build if name == "samples" else table_build).directory
        # images are of no matter: only records are copied
        root = shutil.copytree(valid, tmp_path / str(number), ignore=shutil.ignore_patterns("images", "hdf5"))
        edit_lines(root / f"{name}.jsonl", lambda rows: rows.__delitem__(at) if change is None else change(rows[at]))  # noqa: B023
        assert any(detail in p.detail for p in verify_problems(root)), (detail, verify_problems(root))


def test_invalid_regions_in_manifest_are_rejected(region_build, photos, tmp_path):
    root = shutil.copytree(region_build.directory, tmp_path / "made")
    edit_manifest(root, lambda m: m["recipe"]["regions"].update(fit="crop"), reseal=True)
    with pytest.raises(VerificationError, match="The manifest's recipe has invalid regions"):
        corruptset.verify(root, rederive=1, source=f"folder:{photos}", jobs=1)
    edit_manifest(root, lambda m: m["recipe"]["regions"].update(fit="resize", store="rows"), reseal=True)
    assert any("stores regions as 'rows'" in p.detail for p in verify_problems(root))
