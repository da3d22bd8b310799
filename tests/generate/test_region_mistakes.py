"""Regions that cannot be built, and recorded regions that contradict each other."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from damage import edit_lines, edit_manifest, found
from PIL import Image
from slow_regions import PHOTOS, write_recipe

import corruptset
from corruptset.errors import BuildError, SourceError, VerificationError
from corruptset.generate.build import Built, build


def test_what_is_too_small_is_listed_with_all_that_is_wrong(
    photos: Path, recipes: dict[str, Path], tmp_path: Path
) -> None:
    root = tmp_path / "bad"
    shutil.copytree(photos, root)
    Image.new("RGB", (9, 9)).save(root / "a/small.png")
    (root / "b/empty.png").write_bytes(b"")
    with pytest.raises(SourceError) as error:
        build(recipes["plain"], f"folder:{root}", tmp_path / "out", jobs=1)
    text = str(error.value)
    assert "2 files of the source cannot be used" in text
    assert "a/small.png: is 9x9, too small for the recipe's regions (side 1 of p20 is below 3): leave it out" in text
    assert "b/empty.png: is empty" in text
    assert not (tmp_path / "out").exists()
    built = build(recipes["plain"], f"folder:{root}", tmp_path / "out", jobs=1, skip_bad=True)
    assert [e.path for e in built.manifest.excluded] == ["a/small.png", "b/empty.png"]
    report = corruptset.verify(built.directory, rederive=3, source=f"folder:{root}", jobs=1)
    assert report.ok, report.problems


def test_options_that_do_not_go_together(photos: Path, recipes: dict[str, Path]) -> None:
    source = f"folder:{photos}"
    with pytest.raises(BuildError, match=r"--store is for recipes with \[regions\]; cifar10-c has none"):
        corruptset.plan("cifar10-c", source, store="table")
    with pytest.raises(BuildError, match=r"--store table holds whole images .* not sets of corrupted regions"):
        corruptset.plan(recipes["photos"], source, store="table")
    with pytest.raises(BuildError, match="not the view imagefolder"):
        corruptset.plan(recipes["plain"], source, store="table", view="imagefolder")
    with pytest.raises(BuildError, match="store is 'rows'; expected one of images, table"):
        corruptset.plan(recipes["plain"], source, store="rows")  # type: ignore[arg-type]


def test_images_are_disjoint_whatever_their_regions(
    photos: Path, recipes: dict[str, Path], made: Built, tmp_path: Path
) -> None:
    with pytest.raises(BuildError, match=r"1 of the 1 samples are also samples of regions in .*:\n  a/1\n"):
        build(
            recipes["plain"], f"folder:{photos}", tmp_path, jobs=1, ids=["a/1"], seed=5, disjoint_from=[made.directory]
        )


def test_the_data_card_says_what_the_samples_are(made: Built, table: Built) -> None:
    assert "Each sample is a region" in (made.directory / "README.md").read_text("utf-8")
    assert "`regions.jsonl` says which regions" in (table.directory / "README.md").read_text("utf-8")


def test_other_regions_are_another_build(photos: Path, recipes: dict[str, Path], tmp_path: Path) -> None:
    source = f"folder:{photos}"
    build(recipes["plain"], source, tmp_path, jobs=1, store="images")
    with pytest.raises(BuildError, match=r"recipe.regions.store: here 'images', asked for 'table'"):
        build(recipes["plain"], source, tmp_path, jobs=1, store="table")
    more = write_recipe(tmp_path / "more", PHOTOS.replace("blocks = 2", "blocks = 3"))
    with pytest.raises(BuildError, match=r"recipe.regions.blocks: here 2, asked for 3"):
        build(more, source, tmp_path, jobs=1, store="images")


EDITS: list[tuple[str, Callable[..., Any], str]] = [
    ("samples", lambda rows: rows[3]["region"].update(y=rows[3]["region"]["y"] + 1), "has the region of"),
    ("samples", lambda rows: rows[3].pop("region") and None, "is no region, and the recipe says that samples are"),
    ("samples", lambda rows: rows[3].update(id="a/0"), "has the region of"),
    ("regions", lambda rows: rows[2].update(y0=200), "row 2 reaches beyond its image"),
    ("regions", lambda rows: rows[2].update(sample="c"), "row 2 is of 'c', which is no sample"),
    ("regions", lambda rows: rows.__delitem__(slice(8)), "has no row of the sample 'a/0'"),
    ("regions", lambda rows: rows[2].update(fit="pad", out=10, side=11), "row 2 pads regions of side 11 to 10"),
]


def test_records_that_do_not_fit_are_found(made: Built, table: Built, tmp_path: Path) -> None:
    for number, (name, change, detail) in enumerate(EDITS):
        good = (made if name == "samples" else table).directory
        root = shutil.copytree(good, tmp_path / str(number) / good.name)
        edit_lines(root / f"{name}.jsonl", change)
        assert any(detail in p.detail for p in found(root)), (detail, found(root))


def test_regions_of_a_manifest_that_no_build_has(made: Built, photos: Path, tmp_path: Path) -> None:
    root = tmp_path / made.directory.name
    shutil.copytree(made.directory, root)
    edit_manifest(root, lambda m: m["recipe"]["regions"].update(fit="crop"), reseal=True)
    with pytest.raises(VerificationError, match="No build has the regions of the manifest's recipe"):
        corruptset.verify(root, rederive=1, source=f"folder:{photos}", jobs=1)
    edit_manifest(root, lambda m: m["recipe"]["regions"].update(fit="resize", store="rows"), reseal=True)
    assert any("stored as 'rows'" in p.detail for p in found(root))
