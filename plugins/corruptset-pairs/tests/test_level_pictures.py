"""Levels: each image once a person, at another level for the other group, levels as often as each other."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from corruptset_pairs.sheet import Sheet, pairs_sheet

from corruptset.errors import StudyError
from corruptset.manifests.reader import DataSet


def test_an_image_is_shown_to_a_person_at_one_level_and_to_the_other_group_at_another(levels_sheet: Sheet) -> None:
    trials = levels_sheet.key.trials
    seen = {(trial.group, trial.source): trial.level for trial in trials}
    assert len(seen) == len(trials) == 40
    sources = {trial.source for trial in trials}
    assert len(sources) == 20
    assert all(seen["A", source] != seen["B", source] for source in sources)
    assert all(trial.source == trial.sample and trial.member is trial.change is trial.right is None for trial in trials)


def test_levels_and_degradations_are_as_often_as_each_other(levels_sheet: Sheet) -> None:
    trials = levels_sheet.key.trials
    for group in ("A", "B"):
        assert set(Counter(t.level for t in trials if t.group == group).values()) == {5}
    assert {(t.level, t.set) for t in trials if t.level == 0} == {(0, "clean")}
    for level in (1, 2, 4):
        sets = Counter(t.set for t in trials if t.level == level)
        assert set(sets) == {f"black_lines/{level:02d}", f"posterize/{level:02d}"}
        assert max(sets.values()) - min(sets.values()) <= 2
    assert {(t.corruption, t.set.partition("/")[0]) for t in trials if t.level} == {
        (n, n) for n in ("black_lines", "posterize")
    }


def test_levels_and_sets_are_chosen(levels: DataSet, tmp_path: Path) -> None:
    key = pairs_sheet(levels, tmp_path / "p.html", n=10, sets=["posterize/*", "clean"], levels=[0, 4]).key
    assert {trial.set for trial in key.trials} == {"clean", "posterize/04"}
    with pytest.raises(StudyError, match="has no set at level 3, 9; there are levels 0-2,4"):
        pairs_sheet(levels, tmp_path / "q.html", n=10, levels=[1, 3, 4, 9])


def test_what_there_is_not_is_refused(levels: DataSet, regions: DataSet, predictions: Path, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"20 images with one of the answers, and 21 were asked for.* --n 20 will do"):
        pairs_sheet(levels, tmp_path / "p.html", n=21)
    with pytest.raises(StudyError, match="neither regions nor levels"):
        pairs_sheet(levels, tmp_path / "p.html", n=2, sets=["clean"])
    with pytest.raises(
        StudyError,
        match="data set of levels, with which --predictions and --change cannot be used; --scores has a model's "
        "profile",
    ):
        pairs_sheet(levels, tmp_path / "p.html", n=2, predictions=predictions, change="shift")
    with pytest.raises(
        StudyError, match="data set of regions, with which --scores and --levels cannot be used; --predictions"
    ):
        pairs_sheet(regions, tmp_path / "p.html", n=2, scores=tmp_path, levels=[1])
    assert not list(tmp_path.iterdir())
