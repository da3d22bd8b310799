"""Tests of `compare`: rows without an effect are detected."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import compare


class Here:
    """The Python that runs the tests, instead of virtual environments."""

    def get(self, lock, version, emulated):
        return [sys.executable], {}


def test_environment_has_build_extra(tmp_path, monkeypatch):
    """Whether the extra `build` is installed, without which datasets cannot be built."""
    ran = []
    monkeypatch.setattr(compare, "run", lambda command, *_: ran.append(command))
    monkeypatch.setattr(compare.checkout, "copy_checkout", lambda folder: None)
    compare.Environments(tmp_path).get("oldest", None)
    extras = tomllib.loads((compare.ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert any("-c" in command and command[-1].endswith("[build]") for command in ran), ran
    assert any(line.startswith("numba") for line in extras["build"])


@pytest.mark.ci
def test_switch_without_effect_is_not_reported_as_equal():
    comparison = compare.Comparison(Here())
    for row in (
        compare.Row("misspelt", ("numba",), lambda plain: {"NUMBA_CPU_NAMES": "generic"}),
        compare.Row("this python", ("machine",), python="3.x"),
    ):
        with pytest.raises(compare.NoEffect, match=row.shows[0]):
            comparison.build(row)
