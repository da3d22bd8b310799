"""Pairs: neighbours, one of each image, those that are fragile, halves of them to each group."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from corruptset_pairs.pictures import candidates
from corruptset_pairs.sheet import Sheet, pairs_sheet
from corruptset_pairs.study_records import StudyKey, Trial
from slow_regions import small_images, write_recipe, write_rows

import corruptset
from corruptset.errors import StudyError
from corruptset.generate.build import build
from corruptset.manifests.reader import DataSet


def pairs_of(key: StudyKey) -> list[tuple[Trial, Trial]]:
    """Return each pair, the anchor first."""
    found: dict[int, list[Trial]] = {}
    for trial in key.trials:
        found.setdefault(trial.unit, []).append(trial)
    assert all(len(pair) == 2 for pair in found.values())
    return [(a, b) if a.member == "anchor" else (b, a) for a, b in found.values()]


def place(sample: str) -> tuple[int, int, int]:
    """Return side, y and x of a region's id."""
    _, _, rest = sample.partition("@s")
    return int(rest[:4]), int(rest[6:10]), int(rest[11:15])


def test_both_members_of_a_pair_are_neighbours_of_one_image(pairs_of_model: Sheet, regions: DataSet) -> None:
    by_id = {sample.id: sample for sample in regions.samples}
    for anchor, partner in pairs_of(pairs_of_model.key):
        assert anchor.source == partner.source
        assert (anchor.member, partner.member) == ("anchor", "partner")
        first, second = by_id[anchor.sample].region, by_id[partner.sample].region
        assert first is not None
        assert second is not None
        assert first.anchor
        (side, y, x), (other, v, u) = place(anchor.sample), place(partner.sample)
        if anchor.change == "shift":
            assert side == other
            assert max(abs(y - v), abs(x - u)) == 1
        else:
            assert other == side - 2
            assert {v - y, u - x} <= {0, 1, 2}
        assert regions.classes[by_id[anchor.sample].label].name == anchor.category == partner.category


def test_candidates_are_all_neighbours_that_there_are(regions: DataSet, predictions: Path) -> None:
    source = regions.samples[0].region.source  # type: ignore[union-attr]
    rows = [s for s in regions.samples if s.region is not None and s.region.source == source]
    records = [s.region for s in rows if s.region is not None]
    right = np.load(predictions / "clean.npz")["top"][[s.index for s in rows], 0] == rows[0].label
    for model in (None, right):
        expected = set()
        for i, a in enumerate(records):
            for j, b in enumerate(records):
                inside = 0 <= b.y - a.y <= a.side - b.side and 0 <= b.x - a.x <= a.side - b.side
                change = "shift" if a.side == b.side and max(abs(a.y - b.y), abs(a.x - b.x)) == 1 else None
                change = "shrink" if a.side - b.side == 2 and inside else change
                if a.anchor and change is not None and (model is None or model[i] != model[j]):
                    expected.add((change, a.group, (i, j)))
        by_change = candidates(records, model, ("shift", "shrink"), None)
        found = [
            (change, size, place)
            for change, by_size in by_change.items()
            for size, places in by_size.items()
            for place in places
        ]
        assert set(found) == expected
        assert len(found) == len(expected)
        assert len(expected) == 2 * 17 if model is None else 0 < len(expected) < 2 * 17


def test_the_model_has_exactly_one_of_them_right(pairs_of_model: Sheet, regions: DataSet, predictions: Path) -> None:
    top = np.load(predictions / "clean.npz")["top"]
    right = {sample.id: bool(top[sample.index, 0] == sample.label) for sample in regions.samples}
    for pair in pairs_of(pairs_of_model.key):
        assert {trial.right for trial in pair} == {True, False}
        assert all(trial.right == right[trial.sample] for trial in pair)
    assert {trial.member for trial in pairs_of_model.key.trials if trial.right} == {"anchor", "partner"}


def test_groups_are_disjoint_by_pair_and_balanced(pairs_of_model: Sheet) -> None:
    key = pairs_of_model.key
    for pair in pairs_of(key):
        assert {trial.group for trial in pair} == {"A", "B"}
    assert Counter((trial.group, trial.right) for trial in key.trials) == dict.fromkeys(
        [("A", True), ("A", False), ("B", True), ("B", False)], 5
    )
    assert len({trial.source for trial in key.trials}) == len(key.trials) / 2
    assert set(Counter(trial.category for trial in key.trials).values()) == {2}


def test_both_changes_and_all_sizes_are_drawn(pairs_of_model: Sheet, regions: DataSet, tmp_path: Path) -> None:
    assert {trial.change for trial in pairs_of_model.key.trials} == {"shift", "shrink"}
    drawn = {place(anchor.sample)[0] for anchor, _ in pairs_of(pairs_of_model.key)}
    assert drawn == {12, 16}
    only = pairs_sheet(regions, tmp_path / "only.html", n=6, change="shrink", sizes=["s16"]).key
    assert {(place(a.sample)[0], place(b.sample)[0]) for a, b in pairs_of(only)} == {(16, 14)}
    with pytest.raises(StudyError, match=r"no regions of the group 's61'.*Known here: s12, s16"):
        pairs_sheet(regions, tmp_path / "none.html", n=6, sizes=["s61"])


def test_without_a_model_pairs_are_any_and_the_anchor_stands_for_the_right_one(
    regions: DataSet, tmp_path: Path
) -> None:
    key = pairs_sheet(regions, tmp_path / "any.html", n=7).key
    assert {trial.right for trial in key.trials} == {None}
    assert key.model is None
    assert Counter((trial.group, trial.member) for trial in key.trials)["A", "anchor"] == 4


def test_top5_takes_another_measure_of_right(regions: DataSet, predictions: Path, tmp_path: Path) -> None:
    # the true class is always among the first five: nothing is fragile
    with pytest.raises(
        StudyError,
        match="20 source images, and 0 of them have a pair that is fragile for this model; 4 pairs were asked",
    ):
        pairs_sheet(regions, tmp_path / "top5.html", n=4, predictions=predictions, top5=True)
    with pytest.raises(StudyError, match="there are no --predictions"):
        pairs_sheet(regions, tmp_path / "top5.html", n=4, top5=True)


def test_more_pairs_than_images_are_refused_with_the_number_that_there_is(
    regions: DataSet, predictions: Path, tmp_path: Path
) -> None:
    with pytest.raises(StudyError, match=r"each of another image. --n 20 will do"):
        pairs_sheet(regions, tmp_path / "p.html", n=21, predictions=predictions)
    assert not list(tmp_path.iterdir())


def test_a_table_of_regions_gives_the_same_pairs_and_pictures(tmp_path: Path) -> None:
    recipe = write_recipe(tmp_path / "recipe", "sides = [12, 16]\nblocks = 1\nout = 16")
    source = write_rows(tmp_path / "rows", small_images(3))
    stores = [
        build(recipe, source, tmp_path / store, jobs=1, metrics=0, store=store).directory
        for store in ("images", "table")
    ]  # type: ignore[arg-type]
    keys = []
    for directory in stores:
        data = corruptset.open(directory)
        key = pairs_sheet(data, tmp_path / f"{directory.parent.name}.html", n=3).key
        keys.append([(t.unit, t.group, t.sample, t.category, t.change) for t in key.trials])
    assert keys[0] == keys[1]
    np.savez(tmp_path / "clean.npz", top=np.zeros((3, 1), np.int64))
    (tmp_path / "net").mkdir()
    (tmp_path / "clean.npz").rename(tmp_path / "net/clean.npz")
    with pytest.raises(StudyError, match=r"table of regions .* Build it with --store images, or draw pairs at random"):
        pairs_sheet(stores[1], tmp_path / "more.html", n=3, predictions=tmp_path / "net")
