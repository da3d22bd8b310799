"""What the levels of gradual degradations change: the paper's table, measured."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest

import corruptset
from corruptset.corruptions.calibrations import LADDERS
from corruptset.corruptions.registry import corruption_names, get_corruption
from corruptset.errors import ImageError, ParameterError, UnknownCorruption
from corruptset.generate.build import build
from corruptset.generate.level_effects import Change, change_table
from pictures import painted

GRADUAL = [name for name in corruption_names() if get_corruption(name).gradual is not None and not get_corruption(name).needs_model]
# name -> level -> per cent of pixels changed, in the paper's tables
PAPER = {"black_lines": {6: 6.4, 10: 10.6}, "random_boxes": {2: 3.4, 5: 8.5}, "adjacent_pixel_swap": {2: 56.6, 4: 76.8}}


def test_a_table_of_a_models_gradient_needs_the_model() -> None:
    with pytest.raises(ParameterError, match="give images of the model's size, a label for each, and the surrogate"):
        change_table("model_gradient", images=[painted(24, 30, 3, 0)])


@pytest.mark.parametrize("ladder", LADDERS)
@pytest.mark.parametrize("name", GRADUAL)
def test_a_table_is_what_corrupt_makes(name: str, ladder: str) -> None:
    images = np.stack([painted(24, 30, 3, which) for which in range(3)])
    keys = ["a", "b", "c"]
    table = change_table(name, ladder=ladder, images=images, keys=keys, seed=2)
    assert [row.level for row in table] == list(range(31))
    gradual = get_corruption(name).gradual
    assert gradual is not None
    for row in (table[0], table[1], table[7], table[30]):
        made = images if not row.level else corruptset.corrupt(images, name, level=row.level, ladder=ladder, key=keys, seed=2)
        assert row.changed == pytest.approx(100 * (images != made).any(axis=3).mean())
        assert row.mean == pytest.approx(made.mean())
        assert row.colours == pytest.approx(np.mean([len({tuple(p) for p in image.reshape(-1, 3).tolist()}) for image in made]))
    assert (table[0].changed, table[0].change) == (0, "unchanged")
    assert len({row.change for row in table}) == 31


@pytest.mark.parametrize("name", PAPER)
def test_the_photographs_change_as_much_as_the_papers(name: str) -> None:
    table = change_table(name)
    for level, per_cent in PAPER[name].items():
        assert table[level].changed == pytest.approx(per_cent, abs=1)
    assert table[0].mean == pytest.approx(98.854, abs=0.001)
    assert all(a.changed < b.changed for a, b in pairwise(table))


def test_the_photographs_are_those_of_a_build(tmp_path) -> None:
    """The default images and keys: what a manifest says of the eight photographs."""
    built = build("image-degrade-30", "sample", tmp_path, sets=["pixel_swap/02", "jpeg/30"], format="hdf5", jobs=1)
    for name, level in (("pixel_swap", 2), ("jpeg", 30)):
        (one,) = [s for s in built.manifest.sets if s.id == f"{name}/{level:02d}"]
        assert one.metrics is not None
        assert change_table(name)[level].changed == pytest.approx(100 * one.metrics.changed, abs=0.0051)


def test_images_of_any_size_each_under_its_own_key() -> None:
    images = [painted(20, 30), painted(40, 24), painted(16, 16)]
    together = change_table("random_noise", images=images, keys=["x", "y", "z"])
    each = [change_table("random_noise", images=[image], keys=[key]) for image, key in zip(images, "xyz", strict=True)]
    for level in (0, 5, 30):
        assert together[level].changed == pytest.approx(np.mean([table[level].changed for table in each]))
        assert together[level].change == each[0][level].change
    grey = [painted(20, 30, 1)[:, :, 0]]
    assert change_table("posterize", images=grey)[30].colours == 2
    assert change_table("fade_grey", images=grey)[30].changed == 0


def test_a_row_as_json_is_rounded() -> None:
    row = Change(3, "3 lines", 100 / 3, 98.76543, 7.0).as_json()
    assert json.loads(json.dumps(row)) == {"level": 3, "change": "3 lines", "changed": 33.3333, "mean": 98.7654, "colours": 7.0}


def test_mistakes() -> None:
    with pytest.raises(ParameterError, match="fog has severities in place of levels"):
        change_table("fog")
    with pytest.raises(UnknownCorruption, match="black_lines"):
        change_table("blak_lines")
    with pytest.raises(ParameterError, match="no ladder 'txt'"):
        change_table("fade_black", ladder="txt")
    for images, keys in (([], None), (np.zeros((0, 8, 8, 3), np.uint8), None), ([painted(8, 8)], ["a", "b"])):
        with pytest.raises(ParameterError, match="one key for each"):
            change_table("fade_black", images=images, keys=keys)
    with pytest.raises(ImageError, match="float64"):
        change_table("fade_black", images=[np.zeros((8, 8, 3))])
