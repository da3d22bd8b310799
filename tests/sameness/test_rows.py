"""The rows of `compare`: a switch that does nothing is seen."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import compare


class Here:
    """In place of virtual environments: the Python that runs the tests."""

    def get(self, lock, version, emulated):
        return [sys.executable], {}


@pytest.mark.ci
def test_a_switch_that_does_nothing_is_not_called_equal():
    comparison = compare.Comparison(Here())
    for row in (
        compare.Row("misspelt", ("numba",), lambda plain: {"NUMBA_CPU_NAMES": "generic"}),
        compare.Row("this python", ("machine",), python="3.x"),
    ):
        with pytest.raises(compare.NoEffect, match=row.shows[0]):
            comparison.build(row)
