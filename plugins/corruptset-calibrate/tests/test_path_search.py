"""The search on a path: against every grain of it, on falling, rising and bending curves."""

from __future__ import annotations

from fractions import Fraction

import pytest
from corruptset_calibrate.calibration import FARTHEST, GRAIN, Search

FALLING = lambda place: 1 / (1 + float(place) / 3)  # noqa: E731
BENDING = lambda place: 1 - abs(float(place) - 2) / 4 if place > 1 else 1 - float(place) / 4  # noqa: E731


@pytest.mark.parametrize("target", [0.99, 0.8, 0.55, 0.31, 0.25])
def test_the_nearest_grain_of_a_falling_path(target):
    search = Search(FALLING)
    place, reached = search.find(target, 3)
    grains = [Fraction(k, GRAIN) for k in range(1, FARTHEST * GRAIN + 1)]
    assert reached
    assert place == min(grains, key=lambda grain: abs(FALLING(grain) - target))
    assert len(search) < 20, "each place is measured once, and few are"


def test_a_path_that_does_not_reach_it_gives_its_nearest():
    assert Search(FALLING).find(0.1, 5) == (Fraction(FARTHEST), False)
    assert Search(lambda place: 0.9).find(0.95, 2)[1] is True, "between the clean image and the first severity"


def test_of_several_places_the_one_near_to_the_severity():
    for start, want in ((1, Fraction(5, 4)), (2, Fraction(11, 4)), (3, Fraction(11, 4))):
        place, reached = Search(BENDING).find(0.8125, start)
        assert reached
        assert (place, BENDING(place)) == (want, 0.8125)


def test_a_place_is_measured_once():
    asked = []
    search = Search(lambda place: asked.append(place) or FALLING(place))
    for severity, target in enumerate((0.9, 0.8, 0.7, 0.6, 0.5), 1):
        search.find(target, severity)
    assert len(asked) == len(set(asked))
