"""What the levels of gradual degradations change: the paper's table, measured."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest

import corruptset
from corruptset.corruptions.registry import corruption_names, get_corruption
from corruptset.generate import level_effects
from corruptset.generate.build import build
from corruptset.generate.level_effects import Change, change_table

GRADUAL = [
    name
    for name in corruption_names()
    if get_corruption(name).gradual is not None and not get_corruption(name).needs_model
]
# name -> level -> per cent of pixels changed, in the paper's tables
PAPER = {"black_lines": {6: 6.4, 10: 10.6}, "random_boxes": {2: 3.4, 5: 8.5}, "adjacent_pixel_swap": {2: 56.6, 4: 76.8}}


@pytest.mark.parametrize("name", [*GRADUAL[:2], *(pytest.param(name, marks=pytest.mark.ci) for name in GRADUAL[2:])])
def test_a_table_is_what_corrupt_makes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    keys, images = (some[:2] for some in level_effects._photographs())
    monkeypatch.setattr(level_effects, "_photographs", lambda: (keys, images))
    table = change_table(name)
    assert [row.level for row in table] == list(range(31))
    gradual = get_corruption(name).gradual
    assert gradual is not None
    for row in (table[0], table[1], table[7], table[30]):
        made = images if not row.level else corruptset.corrupt(images, name, level=row.level, key=keys)
        assert row.changed == pytest.approx(100 * (images != made).any(axis=3).mean())
        assert row.mean == pytest.approx(made.mean())
        assert row.colours == pytest.approx(np.mean([len(np.unique(image.reshape(-1, 3), axis=0)) for image in made]))
    assert (table[0].changed, table[0].change) == (0, "unchanged")
    assert len({row.change for row in table}) == 31


def test_the_photographs_change_as_much_as_the_papers() -> None:
    for name, levels in PAPER.items():
        table = change_table(name)
        for level, per_cent in levels.items():
            assert table[level].changed == pytest.approx(per_cent, abs=1), name
        assert table[0].mean == pytest.approx(98.854, abs=0.001)
        assert all(a.changed < b.changed for a, b in pairwise(table)), name


def test_the_photographs_are_those_of_a_build(tmp_path) -> None:
    """The default images and keys: what a manifest says of the eight photographs."""
    built = build("image-degrade-30", "sample", tmp_path, sets=["pixel_swap/02", "jpeg/30"], format="hdf5", jobs=1)
    for name, level in (("pixel_swap", 2), ("jpeg", 30)):
        (one,) = [s for s in built.manifest.sets if s.id == f"{name}/{level:02d}"]
        assert one.metrics is not None
        assert change_table(name)[level].changed == pytest.approx(100 * one.metrics.changed, abs=0.0051)


def test_a_row_as_json_is_rounded() -> None:
    row = Change(3, "3 lines", 100 / 3, 98.76543, 7.0).as_json()
    assert json.loads(json.dumps(row)) == {
        "level": 3,
        "change": "3 lines",
        "changed": 33.3333,
        "mean": 98.7654,
        "colours": 7.0,
    }
