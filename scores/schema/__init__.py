"""The JSON Schema (2020-12) of a scores file.

``python -m corruptset.scores.schema FOLDER`` writes it from the models; a test fails when the two differ.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from ...manifests.records.schema import schema_of

NAME = "scores"


def load_scores_schema() -> dict[str, Any]:
    """Return the shipped schema of a scores file."""
    schema: dict[str, Any] = json.loads(files(__package__).joinpath(f"{NAME}.json").read_text("utf-8"))
    return schema


def make_scores_schema() -> dict[str, Any]:
    """Return the schema of the models."""
    from .. import records

    return schema_of(records, "Scores", f"{records.SCORES_VERSION}:{NAME}")
