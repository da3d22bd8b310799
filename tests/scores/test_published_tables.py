"""Recompute the printed means and correlations of papers from the columns that they print."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from corruptset.scores.comparison.statistics import pearson, spearman
from corruptset.scores.error_curves import mean_of_fifteen
from corruptset.scores.published import FIFTEEN, load_published
from corruptset.scores.score_values import Measured

AUDES = """
AlexNet    76.1 81 82 85 81 78 75 79 81 73 81 68 79 60 75 69
SqueezeNet 79.5 89 89 92 80 81 76 79 82 74 77 66 76 65 80 87
VGG-11     70.8 77 78 88 75 77 68 72 72 64 66 53 62 57 80 72
VGG-19     66.6 70 73 80 73 77 65 70 68 60 57 47 54 56 79 68
VGG-19+BN  61.1 65 67 76 69 74 60 67 61 56 52 41 48 55 66 61
ResNet-18  63.9 68 70 75 69 72 64 69 68 60 63 47 55 53 62 63
ResNet-50  57.6 61 64 66 62 69 57 63 61 53 52 40 47 50 60 60
"""
"""mAUDE and the fifteen AUDE values of the ImageNet-D preprint's Table 1 (hendrycks/robustness, paper.pdf of commit
fac385c).
"""
CES = """
SqueezeNet 104.4 107 106 105 100 103 101 100 101 103 97 97 98 106 109 134
VGG-11      93.5  97  97 100  92  99  93  91  92  91 84 75 86  97 107 100
VGG-19      88.9  89  91  95  89  98  90  90  89  86 75 68 80  97 102  94
VGG-19+BN   81.6  82  83  88  82  94  84  86  80  78 69 61 74  94  85  83
ResNet-18   84.7  87  88  91  84  91  87  89  86  84 78 69 78  90  80  85
ResNet-50   76.7  80  82  83  75  89  78  80  78  75 66 57 71  85  77  77
"""
"""mCE and the fifteen CE values of Table 1 of the ImageNet-C paper's draft (the same repository, new_draft.pdf of
commit de7653a).
"""
RELATIVE_CES = """
SqueezeNet 117.9 118 116 114 104 110 106 105 106 110  98 101 100 126 129 229
VGG-11     123.3 122 121 125 116 129 121 115 114 113  99  86 102 151 161 174
VGG-19     122.9 114 117 122 118 136 123 122 114 111  88  82  98 165 161 172
VGG-19+BN  111.1 104 105 114 108 132 114 119 102 100  79  68  89 165 125 144
ResNet-18  103.9 104 106 111 100 116 108 112 103 101  89  67  87 133  97 126
ResNet-50  105.0 104 107 107  97 126 107 110 101  97  79  62  89 146 111 132
"""
"""Relative mCE and the fifteen relative CE values of Table 2 of the same draft."""
ROUNDING = 0.5
"""Of a printed value; the mean of fifteen is off by a tenth of it, as a rule."""


def rows(table):
    split = [line.split() for line in table.strip().splitlines()]
    return [(name, float(mean), [float(v) for v in values]) for name, mean, *values in split]


def mean_of(values):
    """Return the mean over the fifteen corruptions as `score` computes it."""
    scores = {name: Measured(np.array([item])) for name, item in zip(FIFTEEN, values, strict=True)}
    return float(mean_of_fifteen(scores).estimate[0])


def test_means_match_printed_tables():
    for name, printed, values in rows(AUDES):
        # AlexNet's printed mean of 76.1 does not follow from its columns, whose mean is 76.47.
        expected = pytest.approx(0.367, abs=0.001) if name == "AlexNet" else pytest.approx(0, abs=0.134)
        assert abs(mean_of(values) - printed) == expected, name
    for name, printed, values in rows(CES) + rows(RELATIVE_CES):
        assert mean_of(values) == pytest.approx(printed, abs=ROUNDING / 2), name


def test_alexnet_errors_match_published_appendix():
    """Check the table in the same draft, which is in percent with one digit."""
    per_cent = "88.6 89.4 92.3 82.0 82.6 78.6 79.8 86.7 82.7 81.9 56.5 85.3 64.6 71.8 60.7"
    printed = dict(zip(FIFTEEN, map(float, per_cent.split()), strict=True))
    for name, percent in printed.items():
        assert 100 * load_published()["alexnet"][name] == pytest.approx(percent, abs=0.051)


def networks(name):
    """Return the columns of a table of 27 networks."""
    rows = list(csv.DictReader((Path(__file__).parent / name).read_text("utf-8").splitlines()))
    assert len(rows) == 27
    return {key: [float(row[key]) for row in rows] for key in ("cv", "mean", "clean")}


PAPER = networks("two_factor_paper_table3.csv")
"""Table 3 of Dai & Berleant 2021, as the paper (IEEE Big Data) prints it."""
PREPRINT = networks("two_factor_preprint_2021.csv")
"""Table III of its preprint of November 2021 (caperock/robustai), whose networks have other figures."""


# These are Spearman's and Pearson's in table 2 of the paper, and as they follow from table 3 and the preprint's.
CORRELATIONS = [
    ("cv", "mean", (0.202, 0.096), (0.203, 0.326), (0.180, 0.295)),
    ("cv", "clean", (0.345, 0.365), (0.338, 0.366), (0.383, 0.440)),
    ("mean", "clean", (0.057, 0.052), (-0.057, 0.052), (0.821, 0.889)),
]


def test_correlations_follow_from_each_table():
    for one, other, _, paper, preprint in CORRELATIONS:
        for table, expected in ((PAPER, paper), (PREPRINT, preprint)):
            result = (spearman(table[one], table[other]), pearson(table[one], table[other]))
            assert result == pytest.approx(expected, abs=0.0006)
    # Five of the six printed values follow, to 0.007 and a sign. Pearson's of CV and mean accuracy does not.
    pairs = [(abs(f), p) for _, _, printed, paper, _ in CORRELATIONS for f, p in zip(paper, printed, strict=True)]
    assert sorted(round(abs(follows - printed), 3) <= 0.007 for follows, printed in pairs) == [False, *[True] * 5]


def test_printed_spearman_of_cv_and_clean_accuracy_ranks_ties_highest():
    """Equation 1 of the paper gives 0.345 if equal values receive the highest rank."""
    columns = (PAPER["cv"], PAPER["clean"])
    places = [np.array([sum(other <= value for other in column) for value in column]) for column in columns]
    n = len(places[0])
    assert 1 - 6 * float(((places[0] - places[1]) ** 2).sum()) / (n * (n * n - 1)) == pytest.approx(0.345, abs=0.0005)
