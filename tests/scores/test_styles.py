"""Accuracy by group, against plain Python."""

from __future__ import annotations

import numpy as np
import plain_scores
import pytest
import unbuilt

import corruptset

GROUPS = [*["microsoft", "apple", "apple", "google"] * 9, "apple", "apple", "apple", "rare"]
"""A third of the resamples have no image of the last one."""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    rows = [{"group": group} for group in GROUPS]
    return unbuilt.data_set(tmp_path_factory.mktemp("data"), "icons50-microsoft", samples=rows)


def test_each_group_and_the_gap(data):
    predictions = unbuilt.made_up(data, best=0.6)
    scores = corruptset.score(data, predictions)
    correct = predictions.outcomes["clean"].correct.tolist()
    wanted = {
        g: plain_scores.accuracy([c for c, of in zip(correct, GROUPS, strict=True) if of == g])
        for g in sorted(set(GROUPS))
    }
    assert scores.style == pytest.approx(wanted)
    assert scores.style_gap == pytest.approx(max(wanted.values()) - min(wanted.values()))
    for resample in range(20):
        shares: dict[str, list[bool]] = {}
        for row in plain_scores.drawn(0, 40, resample):
            shares.setdefault(GROUPS[row], []).append(correct[row])
        means = [plain_scores.accuracy(flags) for flags in shares.values()]
        assert scores.resamples.values["style_gap"][resample] == pytest.approx(max(means) - min(means), abs=1e-6)


def test_of_images_that_count_only(data):
    predictions = unbuilt.made_up(data)
    predictions.outcomes["clean"].correct[:] = np.array([group != "google" for group in GROUPS])
    scores = corruptset.score(data, predictions, condition="correct@clean")
    assert scores.style == {"apple": 1.0, "microsoft": 1.0, "rare": 1.0}


def test_one_group_has_no_gap(tmp_path):
    data = unbuilt.data_set(tmp_path, "icons50-microsoft", samples=[{"group": "microsoft"}] * 40)
    scores = corruptset.score(data, unbuilt.made_up(data))
    assert list(scores.style) == ["microsoft"]
    assert scores.style_gap is None
    assert "style_gap" not in scores.intervals


def test_no_groups_no_styles(tmp_path):
    data = unbuilt.data_set(tmp_path, "icons50-microsoft")
    scores = corruptset.score(data, unbuilt.made_up(data))
    assert (scores.style, scores.style_gap) == ({}, None)
    assert any("no sample has a group" in note for note in scores.notes)
