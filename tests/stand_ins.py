"""Functions of the rooms that are replaced, for the tests of the command line."""

from __future__ import annotations

import importlib
from typing import Any

import pytest


def stand_in(monkeypatch: pytest.MonkeyPatch, module: str, function: Any) -> None:
    """Put a function in the place of the one with the same name as the command."""
    monkeypatch.setattr(importlib.import_module(f"corruptset.generate.{module}"), module.rpartition(".")[2], function)
