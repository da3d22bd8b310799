"""Test degradation profiles, and the levels at which they first fall below thresholds, against plain Python."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import record_datasets

import corruptset
from corruptset.errors import ParameterError
from corruptset.scores.outcomes import Outcome

COUNT = 40


def changed_fraction(level):
    return 0.0 if level is None else round(level / 31, 4)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return record_datasets.records_dataset(
        tmp_path_factory.mktemp("data"), "image-degrade-30", COUNT, changed=changed_fraction
    )


def falling_predictions(data, steps):
    """Return predictions in which the number of correct images decreases by `steps` at each level."""
    outcomes = {}
    for record in data.manifest.sets:
        incorrect = sum(steps.get(stage.corruption, 0) * stage.level for stage in record.stages)
        correct = np.arange(COUNT) >= incorrect
        rank = np.where(correct, 0, 1 + np.arange(COUNT) % 3).astype(np.int32)
        outcomes[record.id] = Outcome(correct, rank < 5, rank, np.where(correct, 0.75, 0.125).astype(np.float32))
    return replace(record_datasets.random_predictions(data), outcomes=outcomes)


def test_profile_has_levels_below_thresholds_and_overall_mean(data):
    ranked = falling_predictions(data, {"black_lines": 2, "posterize": 1})
    scores = corruptset.score(data, ranked)
    assert len(scores.profiles) == 14
    lines, posterize, mean = scores.profiles["black_lines"], scores.profiles["posterize"], scores.mean_profile
    assert lines.levels == mean.levels == list(range(31))
    assert lines.accuracy == pytest.approx([max(0, 1 - 2 * level / COUNT) for level in range(31)])
    # There are 40 images, and two fewer are correct at each level. At level 2, 36 are 90 %, which is not below 90 %.
    below = {threshold: (b.level, b.changed) for threshold, b in lines.first_below.items()}
    assert below == {
        "0.9": (3, changed_fraction(3)),
        "0.5": (11, changed_fraction(11)),
        "0.1": (19, changed_fraction(19)),
    }
    # Without an image, the size of the images is unknown, on which descriptions may depend.
    assert lines.first_below["0.9"].change == "level 3"
    assert lines.rank[3] == pytest.approx(sum(1 + i % 3 for i in range(6)) / COUNT)
    assert lines.probability[3] == pytest.approx((6 * 0.125 + 34 * 0.75) / COUNT)
    assert (posterize.first_below["0.9"].level, posterize.first_below["0.1"]) == (5, None)
    assert scores.profiles["jpeg"].first_below == {"0.9": None, "0.5": None, "0.1": None}
    for field in ("accuracy", "rank"):
        rows = [getattr(profile, field) for profile in scores.profiles.values()]
        assert getattr(mean, field) == pytest.approx(np.mean(rows, axis=0))
    below = mean.first_below["0.9"]
    first = next(level for level, value in enumerate(mean.accuracy) if value < 0.9)
    expected = (first, "the mean of 14 degradations", pytest.approx(changed_fraction(first)))
    assert (below.level, below.change, below.changed) == expected
    subset = {name: Outcome(o.correct) if name.startswith("jpeg/") else o for name, o in ranked.outcomes.items()}
    partly = corruptset.score(data, replace(ranked, outcomes=subset))
    assert (partly.profiles["jpeg"].rank, partly.mean_profile.rank) == (None, None)
    nothing = {name: Outcome(np.zeros(COUNT, bool)) for name in data.set_ids}
    never = (
        corruptset.score(data, replace(record_datasets.random_predictions(data), outcomes=nothing))
        .profiles["jpeg"]
        .first_below["0.1"]
    )
    assert (never.level, never.change, never.changed) == (0, "unchanged", 0)


def test_levels_of_only_some_corruptions_are_handled(tmp_path):
    def profiles(*sets, **options):
        data = record_datasets.records_dataset(
            tmp_path / sets[0], "image-degrade-30", COUNT, only=sets.__contains__, **options
        )
        return corruptset.score(data, falling_predictions(data, {"black_lines": 4}))

    scores = profiles("black_lines/01", "black_lines/05", "posterize/05", "posterize/09")
    assert (scores.profiles["black_lines"].levels, scores.mean_profile.levels) == ([0, 1, 5], [0, 5])
    assert scores.profiles["black_lines"].first_below["0.9"].changed is None
    jpeg = [f"jpeg/{level:02d}" for level in range(1, 31)]
    assert profiles(*jpeg, clean=False).profiles["jpeg"].levels == list(range(1, 31))


def test_means_cover_fourteen_paper_corruptions_or_available_ones(tmp_path):
    fourteen, fifteen = (
        record_datasets.records_dataset(
            tmp_path / name, name, COUNT, only=lambda set_id: set_id.endswith("/10") or set_id == "clean"
        )
        for name in ("image-degrade-30", "image-degrade-30-model")
    )
    for over, left_out in (("figures", "random_noise"), ("tables", "fade_grey")):
        steps = {left_out: 1, "model_gradient": 2}
        scores = corruptset.score(fifteen, falling_predictions(fifteen, steps), profile_over=over)
        assert len(scores.profiles) == 15
        # model_gradient is one of the fourteen operators, and the excluded operator would also fall.
        assert scores.mean_profile.accuracy[1] == pytest.approx((13 + 1 - 20 / COUNT) / 14)
        assert any(f"the paper's {over}: all fifteen except {left_out}." in note for note in scores.notes)
        lacking = corruptset.score(fourteen, falling_predictions(fourteen, steps), profile_over=over)
        assert lacking.mean_profile is None
        assert any(f"{over}, because the dataset has no levels of model_gradient." in note for note in lacking.notes)
    steps = {"random_noise": 1, "model_gradient": 2}
    for dataset, expected in ((fourteen, (13 + 0.75) / 14), (fifteen, (13 + 0.75 + 0.5) / 15)):
        assert corruptset.score(dataset, falling_predictions(dataset, steps)).mean_profile.accuracy[1] == pytest.approx(
            expected
        )
    with pytest.raises(ParameterError, match="profile_over is 'mine'; expected one of ours, figures, tables"):
        corruptset.score(fifteen, falling_predictions(fifteen, steps), profile_over="mine")
