"""Cityscapes' layout: images with their annotations, all of which go along."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from detection_sets import picture, write_cityscapes

from corruptset.errors import SourceError
from corruptset.generate.sources.source import open_source

STEM = "frankfurt/frankfurt_000000_000294"


def test_images_and_annotations(tmp_path: Path) -> None:
    source = open_source(f"cityscapes:{write_cityscapes(tmp_path)}")
    assert source.samples[0].id == source.samples[0].path == f"leftImg8bit/val/{STEM}_leftImg8bit.png"
    assert len(source.samples) == 2
    assert len(source.annotations) == 6
    assert f"gtFine/val/{STEM}_gtFine_polygons.json" in source.annotations
    assert source.notes == ()


def test_folders_that_are_links_elsewhere(tmp_path: Path) -> None:
    root, other = write_cityscapes(tmp_path / "there"), tmp_path / "here"
    other.mkdir()
    for top in ("leftImg8bit", "gtFine"):
        (other / top).symlink_to(root / top)
    source = open_source(f"cityscapes:{other}")
    assert [s.id for s in source.samples] == [s.id for s in open_source(f"cityscapes:{root}").samples]
    assert set(source.annotations) == set(open_source(f"cityscapes:{root}").annotations)


def test_what_is_wrong_is_listed(tmp_path: Path) -> None:
    root = write_cityscapes(tmp_path)
    (root / f"gtFine/val/{STEM}_gtFine_labelIds.png").unlink()
    picture(64, 32).save(root / "leftImg8bit/val/lindau/strange.png")
    (root / "annotations").mkdir()
    (root / "annotations/instancesonly_filtered_gtFine_val.json").write_text("{}")
    source = open_source(f"cityscapes:{root}")
    said = dict(source.notes)
    assert set(said) == {f"leftImg8bit/val/{STEM}_leftImg8bit.png", "leftImg8bit/val/lindau/strange.png"}
    assert "has no annotation" in said[f"leftImg8bit/val/{STEM}_leftImg8bit.png"]
    assert "annotations/instancesonly_filtered_gtFine_val.json" in source.annotations
    shutil.rmtree(root / "gtFine")
    with pytest.raises(SourceError, match=r"gtFine/val not there"):
        open_source(f"cityscapes:{root}")
