"""Differences between models, and when they have intervals."""

from __future__ import annotations

import made_scores
import numpy as np
import pytest

from corruptset.scores.comparison.differences import differences, point_scores, why_not_paired
from corruptset.scores.comparison.entries import gather
from corruptset.scores.records import Scores

DRAWS = np.random.default_rng(0).normal(0, 0.05, 1000)


def scores(model="a", maude=0.5, draws=None, *, seed=0, units=200, **changes):
    values = {} if draws is None else {"maude": maude + draws}
    return Scores.model_validate(
        made_scores.bare(model, maude=maude, resamples=made_scores.resamples(seed, units, **values), **changes)
    )


def of_maude(*compared, **options):
    found, notes = differences(gather(compared, **options))
    return {(d.first, d.second): d for d in found if d.score == "maude"}, notes


def test_paired_resamples_find_a_difference_that_intervals_alone_would_hide():
    rng = np.random.default_rng(1)
    found, notes = of_maude(scores("a", 0.50, DRAWS), scores("b", 0.47, DRAWS + rng.normal(0, 0.005, 1000)))
    one = found["a", "b"]
    assert one.difference == pytest.approx(0.03)
    assert one.exceeds is True
    assert 0.015 < one.low < 0.03 < one.high < 0.045
    assert notes == []


def test_the_interval_is_of_the_difference_resample_by_resample():
    other = np.random.default_rng(2).normal(0, 0.05, 1000)
    one = of_maude(scores("a", 0.50, DRAWS), scores("b", 0.47, other))[0]["a", "b"]
    assert (one.low, one.high) == pytest.approx(tuple(np.quantile(0.03 + DRAWS - other, [0.025, 0.975])))
    assert one.exceeds is False


def test_every_two_models():
    found, _ = of_maude(*(scores(name, 0.1 * i, DRAWS) for i, name in enumerate("abc", 1)))
    assert list(found) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert found["a", "c"].difference == pytest.approx(-0.2)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seed": 1}, "other seeds"),
        ({"units": 100}, "other numbers of images"),
        ({"condition": "correct@clean"}, "different images count"),
        ({"digest": made_scores.OTHER}, "different data sets"),
    ],
)
def test_unpaired_models_have_differences_without_intervals(change, said):
    found, notes = of_maude(scores("a", 0.5, DRAWS), scores("b", 0.4, DRAWS, **change), any_data=True)
    (one,) = found.values()
    assert (one.difference, one.low, one.high, one.exceeds) == (pytest.approx(0.1), None, None, None)
    assert len(notes) == 1
    assert said in notes[0]


def test_the_images_that_each_model_has_right_are_not_the_same():
    own = [scores(name, condition="correct@clean") for name in "ab"]
    others = [scores(name, condition="correct@clean=net") for name in "ab"]
    assert "counts other images for each model" in why_not_paired(*own)
    assert why_not_paired(*others) is None
    assert "without resamples" in why_not_paired(scores(), Scores.model_validate(made_scores.bare("b")))


def test_what_has_a_difference():
    names = point_scores(Scores.model_validate(made_scores.full()))
    assert {"clean_accuracy", "maude", "relative_maude", "mce", "relative_mce", "rb_index", "style_gap"} <= names.keys()
    assert {
        "two_factor.mean_accuracy",
        "two_factor.cv_percent",
        "fragile.s12.loose_shift",
        "fragile.s28.strict_shrink",
    } <= names.keys()
    assert list(point_scores(Scores.model_validate(made_scores.bare()))) == ["clean_accuracy"]


def test_a_variation_in_per_cent_is_a_fraction_in_its_difference():
    made = [made_scores.full(i) for i in range(2)]
    for i, one in enumerate(made):
        one["two_factor"]["cv_percent"] = 3.0 + i
        one["resamples"]["values"] = {"two_factor.cv_percent": list(3.0 + i + DRAWS)}
    found, _ = differences(gather([Scores.model_validate(one) for one in made]))
    (one,) = [d for d in found if d.score == "two_factor.cv_percent"]
    assert (one.difference, one.low, one.high, one.exceeds) == (
        pytest.approx(-0.01),
        pytest.approx(-0.01),
        pytest.approx(-0.01),
        True,
    )
