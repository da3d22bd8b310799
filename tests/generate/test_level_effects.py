"""Test the measured effects of the levels of gradual degradations against the table of the paper."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import corruptset
from corruptset.generate import level_effects
from corruptset.generate.build import build
from corruptset.generate.level_effects import change_table

# name -> level -> per cent of pixels changed, in the paper's tables
PAPER = {"black_lines": {6: 6.4, 10: 10.6}, "random_boxes": {2: 3.4, 5: 8.5}, "adjacent_pixel_swap": {2: 56.6, 4: 76.8}}


@pytest.mark.ci
def test_photographs_change_as_much_as_paper_images(tmp_path):
    tables = {name: change_table(name) for name in PAPER}
    for name, levels in PAPER.items():
        table = tables[name]
        assert [table[level].changed for level in levels] == pytest.approx(list(levels.values()), abs=1), name
        assert table[0].mean == pytest.approx(98.854, abs=0.001)
        assert all(a.changed < b.changed for a, b in pairwise(table)), name
    # they are those of a build: what a manifest says of the eight photographs
    options = {"sets": ["black_lines/06", "random_boxes/30"], "storage": "hdf5", "page": False, "jobs": 1}
    for spec in build("image-degrade-30", "sample", tmp_path, **options).manifest.sets:
        table, level = tables[spec.stages[0].corruption], spec.stages[0].level
        assert table[level].changed == pytest.approx(100 * spec.metrics.changed, abs=0.0051)


@pytest.mark.parametrize("name", ["local_blur", "posterize", pytest.param("jpeg", marks=pytest.mark.ci)])
def test_table_matches_output_of_corrupt(name, monkeypatch):
    keys, images = (some[:1] for some in level_effects._photographs())
    monkeypatch.setattr(level_effects, "_photographs", lambda: (keys, images))
    table = change_table(name)
    assert [row.level for row in table] == list(range(31))
    for row in (table[0], table[1], table[7], table[30]):
        result = images if not row.level else corruptset.corrupt(images, name, level=row.level, key=keys)
        assert row.changed == pytest.approx(100 * (images != result).any(axis=3).mean())
        assert row.mean == pytest.approx(result.mean())
        assert row.colours == len(np.unique(result.reshape(-1, 3), axis=0))
    assert (table[0].changed, table[0].change, len({row.change for row in table})) == (0, "unchanged", 31)
