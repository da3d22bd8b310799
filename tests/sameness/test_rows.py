"""The rows of `compare`: a switch that does nothing is seen, and the Python that works is found behind one that does
not.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import compare
import environments


@dataclass
class Here:
    """In place of virtual environments: the Python that runs the tests."""

    folder: Path

    def get(self, lock, version, *, emulated=False):
        return [sys.executable], {}


def shim(folder: Path, text: str) -> str:
    folder.mkdir()
    file = folder / "python9.8"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return str(file)


def test_a_python_that_fails_does_not_hide_one_that_works(tmp_path, monkeypatch):
    shim(tmp_path / "first", "exit 127")
    shim(tmp_path / "older", "echo 9.7")
    works = shim(tmp_path / "last", "echo 9.8")
    monkeypatch.setenv("PATH", f"{tmp_path}/first:{tmp_path}/older")
    with pytest.raises(environments.CannotRun, match="--python PATH"):
        environments.interpreter("9.8")
    assert environments.interpreter("9.8", (works,)) == works
    monkeypatch.setenv("PATH", f"{tmp_path}/first:{tmp_path}/older:{tmp_path}/last")
    assert environments.interpreter("9.8") == works


def test_the_python_that_pyenv_keeps_off_the_path_is_found(tmp_path, monkeypatch):
    kept = shim(tmp_path / "bin", "echo 9.8")
    pyenv = Path(shim(tmp_path / "pyenvs", f'case "$1" in whence) echo 9.8.1;; prefix) echo "{tmp_path}";; esac'))
    pyenv.rename(pyenv.with_name("pyenv"))
    monkeypatch.setenv("PATH", f"{tmp_path}/pyenvs")
    assert environments.interpreter("9.8") == kept


@pytest.mark.ci
def test_a_switch_that_does_nothing_is_not_called_equal(tmp_path):
    comparison = compare.Comparison(Here(tmp_path))
    for row in (
        compare.Row("misspelt", ("numba",), lambda plain: {"NUMBA_CPU_NAMES": "generic"}),
        compare.Row("this python", ("machine",), python="3.x"),
    ):
        with pytest.raises(compare.NoEffect, match=row.shows[0]):
            comparison.build(row)
