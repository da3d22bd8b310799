"""Chains, levels and sets with names of their own in the views of any set, and in builds straight into a view."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import layouts
import numpy as np
import pytest
from layouts import CHOSEN, TAKE_ALL, export

import corruptset
from corruptset.errors import BuildError
from corruptset.generate.views.layouts import LAYOUTS
from corruptset.generate.views.view_check import check_view

COUNT = 6


@pytest.mark.parametrize("view", TAKE_ALL)
def test_views_of_any_set_keep_every_id_and_its_pixels(chains: Path, tmp_path: Path, view: str) -> None:
    done = export(view, chains, tmp_path / "view", sets=CHOSEN)
    # contrast/2 is another name of the set dull
    wanted = {
        "clean", "sp010", "sp010+ro-30", "ro-30", "ro-30+sp010", "contrast-3+brightness-5", "brightness-5+contrast-3",
        *(f"black_lines/{level:02d}" for level in range(1, 8)), "contrast/1", "dull", "contrast/3", "contrast/4",
        "contrast/5",
    }  # fmt: skip
    record = json.loads((tmp_path / "view/VIEW.json").read_text("utf-8"))
    assert {s["id"]: s["count"] for s in record["sets"]} == dict.fromkeys(wanted, COUNT)
    for one in record["sets"]:
        assert one["path"].endswith((one["id"], f"{one['id']}.tar", f"{one['id']}/000000.tar")), one
    # each image is the build's of that set, in that set's place
    report = check_view(chains, tmp_path / "view")
    assert report.ok, report.problems
    assert report.checked["images"] == done.images == len(record["sets"]) * COUNT
    # two orders of one pair are two places: exchanged, every image of both is found out
    first, second = (
        tmp_path / "view" / next(s["path"] for s in record["sets"] if s["id"] == i)
        for i in ("sp010+ro-30", "ro-30+sp010")
    )
    between = tmp_path / "between"
    shutil.move(first, between)
    shutil.move(second, first)
    shutil.move(between, second)
    wrong = {p.path for p in check_view(chains, tmp_path / "view").problems if p.kind in ("pixels", "decode")}
    assert len(wrong) == 2 * COUNT


@pytest.mark.parametrize("view", [v for v, entry in LAYOUTS.items() if entry.buildable])
def test_what_is_built_straight_into_a_view_keeps_every_id_or_is_refused(
    chains_recipe: Path, chains: Path, few_crops: Path, tmp_path: Path, view: str
) -> None:
    if view not in TAKE_ALL:
        with pytest.raises(
            BuildError, match=r"sp010\+ro-30: 2 corruptions in a row(.|\n)*build without --view: `corruptset export`"
        ) as e:
            layouts.make(chains_recipe, few_crops, tmp_path / "out", view=view, sets=CHOSEN)
        assert "--severities" not in str(e.value)
        assert not any((tmp_path / "out").rglob("*.npy"))
        return
    built = layouts.make(chains_recipe, few_crops, tmp_path / "out", view=view, sets=CHOSEN)
    data, reference = corruptset.open(built), corruptset.open(chains)
    for set_id in data.set_ids:
        np.testing.assert_array_equal(data[set_id].array(), reference[set_id].array())
        assert data.manifest.views[0]["sets"][set_id][0].endswith(set_id)
