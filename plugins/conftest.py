"""Make the helpers, golden digests and fixtures of the tests of corruptset available to the tests of the add-ons."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "golden"), *map(str, Path(__file__).parent.glob("*/tests"))]


def _module(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_tests, _command_line = (
    _module("tests_fixtures", TESTS / "conftest.py"),
    _module("command_fixtures", TESTS / "cli" / "conftest.py"),
)
shared_data, crops, recipe, no_power_cuts = _tests.shared_data, _tests.crops, _tests.recipe, _tests.no_power_cuts
photographs_decoded_once, dataset_dir, run = (
    _tests.photographs_decoded_once,
    _command_line.dataset_dir,
    _command_line.run,
)
