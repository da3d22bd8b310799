"""Two-factor scores against plain Python: over names and sets, and in both orders."""

from __future__ import annotations

import numpy as np
import plain_scores
import pytest
import unbuilt

import corruptset


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return unbuilt.data_set(tmp_path_factory.mktemp("data"), "two-factor-69")


@pytest.fixture(scope="module")
def predictions(data):
    return unbuilt.made_up(data, 3)


@pytest.fixture(scope="module")
def scored(data, predictions):
    return corruptset.score(data, predictions)


def test_over_69_names_and_53_sets(data, predictions, scored):
    right = {name: plain_scores.accuracy(outcome.correct) for name, outcome in predictions.outcomes.items()}
    names = [right[data.aliases[f"type {number}"]] for number in range(1, 70)]
    two = scored.two_factor
    assert (two.names, two.distinct) == (69, 53)
    assert two.mean_accuracy == pytest.approx(plain_scores.mean(names))
    assert two.cv_percent == pytest.approx(plain_scores.cv_percent(names))
    assert two.distinct_mean_accuracy == pytest.approx(plain_scores.mean(right.values()))
    assert two.distinct_cv_percent == pytest.approx(plain_scores.cv_percent(list(right.values())))
    # clean is in these means and not in that over test sets
    assert scored.mean_accuracy == pytest.approx(
        plain_scores.mean(value for name, value in right.items() if name != "clean")
    )
    for field, interval in (("mean_accuracy", two.mean_accuracy_interval), ("cv_percent", two.cv_percent_interval)):
        assert interval == scored.intervals[f"two_factor.{field}"]
        assert interval[0] < getattr(two, field) < interval[1]


def test_replicates_are_of_resampled_images(data, predictions, scored):
    right = {name: outcome.correct.tolist() for name, outcome in predictions.outcomes.items()}
    drawn = {name: plain_scores.accuracy(flags) for name, flags in plain_scores.resampled(right, 0, 11).items()}
    names = [drawn[data.aliases[f"type {number}"]] for number in range(1, 70)]
    values = scored.resamples.values
    assert values["two_factor.cv_percent"][11] == pytest.approx(plain_scores.cv_percent(names), rel=1e-6)
    assert values["two_factor.distinct_mean_accuracy"][11] == pytest.approx(plain_scores.mean(drawn.values()), rel=1e-6)


def test_every_pair_in_both_orders_once(data, predictions, scored):
    effects = {(e.first, e.second): e for e in scored.two_factor.order_effects}
    pairs = {tuple(sorted((name, "+".join(reversed(name.split("+")))))) for name in data if "+" in name}
    assert set(effects) == pairs
    assert len(pairs) == 21
    for (first, second), effect in effects.items():
        a, b = predictions.outcomes[first].correct, predictions.outcomes[second].correct
        assert effect.difference == pytest.approx(plain_scores.accuracy(a) - plain_scores.accuracy(b))
        # the images are the same on both sides: the difference is resampled, not each side by itself
        paired = [np.mean(a[rows]) - np.mean(b[rows]) for rows in (plain_scores.drawn(0, 40, r) for r in range(100))]
        assert min(paired) - 0.2 < effect.interval[0] <= effect.interval[1] < max(paired) + 0.2


def test_one_order_only_has_no_effect(tmp_path):
    data = unbuilt.data_set(
        tmp_path, "two-factor-69", only=lambda name: name in ("sp010+ga010", "sp010", "ga010+sp015")
    )
    two = corruptset.score(data, unbuilt.made_up(data)).two_factor
    assert two.order_effects == []
    # clean, sp010 as often as the paper names it, and the two chains
    assert (two.names, two.distinct) == (1 + 4 + 2, 4)


def test_an_effect_that_is_always_there_excludes_0(tmp_path):
    data = unbuilt.data_set(tmp_path, "two-factor-69", only=lambda name: name in ("sp010+ga010", "ga010+sp010"))
    predictions = unbuilt.made_up(data)
    better, worse = predictions.outcomes["ga010+sp010"], predictions.outcomes["sp010+ga010"]
    better.correct[:], worse.correct[:] = np.arange(40) < 30, np.arange(40) < 18
    (effect,) = corruptset.score(data, predictions).two_factor.order_effects
    assert (effect.first, effect.second, effect.difference) == ("ga010+sp010", "sp010+ga010", pytest.approx(0.3))
    assert 0.1 < effect.interval[0] < 0.3 < effect.interval[1] < 0.5


def test_what_has_one_factor_has_no_two_factor_scores(tmp_path):
    data = unbuilt.data_set(tmp_path, "cifar10-c")
    scores = corruptset.score(data, unbuilt.made_up(data))
    assert scores.two_factor is None
    assert "two_factor.cv_percent" not in scores.intervals
