"""How often the interval of a gap holds the true one, in simulated studies."""

from __future__ import annotations

import numpy as np
import pytest
from corruptset_pairs.people_score import People
from corruptset_pairs.sheet import pairs_sheet
from corruptset_pairs.study_records import AnswerSheet, StudyKey
from studies import sheet_of

STUDIES = 300
PEOPLE, PAIRS, OF_PAIR, EASE, EFFECT = 0.5, 1.0, 0.8, 1.2, 0.5
"""In logits: standard deviations over people, over pairs, and of a pair's own effect; the mean ease, and the mean
effect.
"""


def share(logit: np.ndarray | float) -> np.ndarray | float:
    return 1 / (1 + np.exp(-logit))


def simulated(key: StudyKey, groups: str, draw: np.random.Generator) -> People:
    """Return the answers of new people to new pairs."""
    ease, effect = draw.normal(EASE, PAIRS, 20), draw.normal(EFFECT, OF_PAIR, 20)
    sheets = []
    for number, group in enumerate(groups):
        skill = draw.normal(0, PEOPLE)

        def says(trial, skill=skill):  # type: ignore[no-untyped-def]
            own = effect[trial.unit] / 2 * (1 if trial.right else -1)
            return trial.category if draw.random() < share(ease[trial.unit] + skill + own) else None

        sheets.append(AnswerSheet.model_validate(sheet_of(key, f"p{number}", group, says)))
    return People(key, sheets, int(draw.integers(1000)))


@pytest.mark.long
@pytest.mark.parametrize("groups", ["AB" * 3, "AB" * 6, "AB" * 15])
def test_intervals_hold_the_true_gap(groups, regions, predictions, tmp_path, record_property):
    key = pairs_sheet(regions, tmp_path / "p.html", n=20, predictions=predictions).key
    draw = np.random.default_rng(0)
    skill, ease, effect = (
        draw.normal(0, PEOPLE, 10**6),
        draw.normal(EASE, PAIRS, 10**6),
        draw.normal(EFFECT, OF_PAIR, 10**6),
    )
    true = float(np.mean(share(ease + skill + effect / 2) - share(ease + skill - effect / 2)))
    gaps = []
    for _ in range(STUDIES):
        people = simulated(key, groups, draw)
        right, wrong = (people.shares([row for row in people.rows if row[1].right is right]) for right in (True, False))
        gap = people.gap(right - wrong)
        gaps.append((gap.difference, *gap.interval))
    means, lows, highs = np.array(gaps).T
    held, wide = np.mean((lows <= true) & (true <= highs)), np.mean(highs - lows) / (2 * 1.96 * means.std())
    print(
        f"{len(groups)} people: the interval holds the true gap in {held:.1%}, and is {wide:.2f} times as wide as it "
        "had to be"
    )
    assert held >= 0.95
    assert 1 <= wide < 2
    assert abs(means.mean() - true) < 4 * means.std() / np.sqrt(STUDIES)
