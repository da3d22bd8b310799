"""A row of a table: the parameters that a severity, or a ladder, means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """The parameters of a corruption, and where they were published."""

    parameters: Mapping[str, Any]
    source: str
