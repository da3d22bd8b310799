"""Test that the functions named in docs/architecture.md exist."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/architecture.md"


def test_walk_functions_exist():
    walk = PAGE.read_text("utf-8").partition("## How a command runs")[2].partition("\n## ")[0]
    references = re.findall(r"`([a-z/_]+)\.py: (\w+)`", walk)
    assert len(references) > 10
    for path, name in references:
        assert callable(getattr(importlib.import_module(f"corruptset.{path.replace('/', '.')}"), name))
