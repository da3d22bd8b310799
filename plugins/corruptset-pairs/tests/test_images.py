"""Test which images a study shows: fragile pairs of regions, and images at levels of gradual degradations."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from corruptset_pairs.images import candidates
from corruptset_pairs.sheet import Sheet, pairs_sheet
from corruptset_pairs.study_records import StudyKey, Trial
from reference_regions import small_images, write_recipe, write_rows

import corruptset
from corruptset.errors import StudyError
from corruptset.generate.build import build
from corruptset.manifests.reader import Dataset


def study_pairs(key: StudyKey) -> list[tuple[Trial, Trial]]:
    """Return the pairs of a study, each with its anchor first."""
    results: dict[int, list[Trial]] = {}
    for trial in key.trials:
        results.setdefault(trial.unit, []).append(trial)
    pairs = [sorted(pair, key=lambda trial: str(trial.member)) for pair in results.values()]
    assert all([trial.member for trial in pair] == ["anchor", "partner"] for pair in pairs)
    return [(anchor, partner) for anchor, partner in pairs]


def region_position(sample: str) -> tuple[int, int, int]:
    """Return the side and the position (y, x) in the id of a region."""
    rest = sample.partition("@s")[2]
    return int(rest[:4]), int(rest[6:10]), int(rest[11:15])


def test_pairs_are_neighbours_with_one_correct_prediction(
    pairs_of_model: Sheet, regions: Dataset, predictions: Path
) -> None:
    key = pairs_of_model.key
    top = np.load(predictions / "clean.npz")["top"]
    by_id = {sample.id: sample for sample in regions.samples}
    for anchor, partner in study_pairs(key):
        first = by_id[anchor.sample]
        assert first.region is not None
        assert first.region.anchor
        assert anchor.source == partner.source
        assert {anchor.group, partner.group} == {"A", "B"}
        (side, y, x), (other, v, u) = region_position(anchor.sample), region_position(partner.sample)
        if anchor.change == "shift":
            assert (side, max(abs(y - v), abs(x - u))) == (other, 1)
        else:
            assert other == side - 2
            assert {v - y, u - x} <= {0, 1, 2}
        assert regions.classes[first.class_index].name == anchor.category == partner.category
        assert {anchor.right, partner.right} == {True, False}
        for trial in (anchor, partner):
            sample = by_id[trial.sample]
            assert trial.right == (top[sample.index, 0] == sample.label)
    # Each group sees half of the correct members, and all images and categories are used equally often.
    assert Counter((trial.group, trial.right) for trial in key.trials) == dict.fromkeys(product("AB", (True, False)), 5)
    assert len({trial.source for trial in key.trials}) == 10
    assert set(Counter(trial.category for trial in key.trials).values()) == {2}
    assert {trial.member for trial in key.trials if trial.right} == {"anchor", "partner"}
    assert {trial.change for trial in key.trials} == {"shift", "shrink"}
    assert {region_position(anchor.sample)[0] for anchor, _ in study_pairs(key)} == {12, 16}


def test_all_neighbours_are_candidates(regions: Dataset, predictions: Path) -> None:
    rows = [s for s in regions.samples if s.region is not None and s.region.source == regions.samples[0].region.source]  # type: ignore[union-attr]
    records = [s.region for s in rows if s.region is not None]
    correct = np.load(predictions / "clean.npz")["top"][[s.index for s in rows], 0] == rows[0].label
    for model in (None, correct):
        expected = set()
        for (i, a), (j, b) in product(enumerate(records), repeat=2):
            inside = 0 <= b.y - a.y <= a.side - b.side and 0 <= b.x - a.x <= a.side - b.side
            change = "shift" if a.side == b.side and max(abs(a.y - b.y), abs(a.x - b.x)) == 1 else None
            change = "shrink" if a.side - b.side == 2 and inside else change
            if a.anchor and change is not None and (model is None or model[i] != model[j]):
                expected.add((change, a.group, (i, j)))
        by_change = candidates(records, model, ("shift", "shrink"), None)
        result = [
            (change, size, pair)
            for change, sizes in by_change.items()
            for size, pairs in sizes.items()
            for pair in pairs
        ]
        assert set(result) == expected
        assert len(result) == len(expected)
        assert len(expected) == 2 * 17 if model is None else 0 < len(expected) < 2 * 17


def test_pairs_without_model_follow_chosen_changes_and_sizes(regions: Dataset, tmp_path: Path) -> None:
    key = pairs_sheet(regions, tmp_path / "any.html", n=7).key
    assert ({trial.right for trial in key.trials}, key.model) == ({None}, None)
    assert Counter((trial.group, trial.member) for trial in key.trials)["A", "anchor"] == 4
    only = pairs_sheet(regions, tmp_path / "only.html", n=6, change="shrink", sizes=["s16"]).key
    assert {(region_position(a.sample)[0], region_position(b.sample)[0]) for a, b in study_pairs(only)} == {(16, 14)}


def test_unavailable_pairs_are_rejected(regions: Dataset, predictions: Path, tmp_path: Path) -> None:
    cases = {
        r"no regions of the group 's61'.*Its groups are s12, s16": {"n": 6, "sizes": ["s61"]},
        # The true class is always among the top five, so no pair is fragile.
        "only 0 of the 20 source images have a fragile pair": {
            "n": 4,
            "predictions": predictions,
            "top5": True,
        },
        "top5 has no effect without the predictions": {"n": 4, "top5": True},
        "from a different source image, .* Use --n 20": {"n": 21, "predictions": predictions},
        "--scores and --levels cannot be used with .*a dataset of regions": {"n": 2, "scores": tmp_path, "levels": [1]},
    }
    for message, options in cases.items():
        with pytest.raises(StudyError, match=message):
            pairs_sheet(regions, tmp_path / "p.html", **options)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_region_table_gives_same_pairs(tmp_path: Path) -> None:
    recipe = write_recipe(tmp_path / "recipe", "sides = [12, 16]\nblocks = 1\nout = 16")
    source = write_rows(tmp_path / "rows", small_images(3))
    keys = []
    for store in ("images", "table"):
        data = corruptset.open(build(recipe, source, tmp_path / store, jobs=1, metrics=0, store=store).directory)  # type: ignore[arg-type]
        key = pairs_sheet(data, tmp_path / f"{store}.html", n=3).key
        keys.append([(t.unit, t.group, t.sample, t.category, t.change) for t in key.trials])
    assert keys[0] == keys[1]
    (tmp_path / "net").mkdir()
    np.savez(tmp_path / "net/clean.npz", top=np.zeros((3, 1), np.int64))
    with pytest.raises(
        StudyError, match=r"table of regions .* Build it with --store images, or leave out --predictions"
    ):
        pairs_sheet(data, tmp_path / "more.html", n=3, predictions=tmp_path / "net")


def test_group_sees_each_image_once_and_all_levels_equally_often(levels_sheet: Sheet) -> None:
    trials = levels_sheet.key.trials
    levels_by_group = {(trial.group, trial.source): trial.level for trial in trials}
    sources = {trial.source for trial in trials}
    assert (len(levels_by_group), len(trials), len(sources)) == (40, 40, 20)
    assert all(levels_by_group["A", source] != levels_by_group["B", source] for source in sources)
    assert all(t.source == t.sample and t.member is t.change is t.right is None for t in trials)
    for group in "AB":
        assert set(Counter(t.level for t in trials if t.group == group).values()) == {5}
    for level in (1, 2, 4):
        sets = Counter(t.set for t in trials if t.level == level)
        assert set(sets) == {f"black_lines/{level:02d}", f"posterize/{level:02d}"}
        assert max(sets.values()) - min(sets.values()) <= 2
    assert all(t.set == ("clean" if t.level == 0 else f"{t.corruption}/{t.level:02d}") for t in trials)


def test_levels_and_sets_can_be_chosen(levels: Dataset, predictions: Path, tmp_path: Path) -> None:
    key = pairs_sheet(levels, tmp_path / "p.html", n=10, sets=["posterize/*", "clean"], levels=[0, 4]).key
    assert {trial.set for trial in key.trials} == {"clean", "posterize/04"}
    cases = {
        "has no set at level 3, 9. Choose from levels 0-2,4": {"n": 10, "levels": [1, 3, 4, 9]},
        "only 20 images whose class has an answer, but 21 were requested": {"n": 21},
        "neither regions nor levels": {"n": 2, "sets": ["clean"]},
        "--predictions and --change cannot be used with .*a dataset of gradual degradations": {
            "n": 2, "predictions": predictions, "change": "shift"
        },
    }  # fmt: skip
    for message, options in cases.items():
        with pytest.raises(StudyError, match=message):
            pairs_sheet(levels, tmp_path / "q.html", **options)  # type: ignore[arg-type]
