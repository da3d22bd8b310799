"""The JSON Schema (2020-12) of a scores file.

``python -m corruptset.scores.schema FOLDER`` generates it from the record classes. A test fails if the two differ.
"""

from __future__ import annotations

from typing import Any

from ...manifests.records.schema import schema_of

NAME = "scores"


def make_scores_schema() -> dict[str, Any]:
    """Generate the schema of a scores file from the record classes."""
    from .. import records

    return schema_of(records, "Scores", f"{records.SCORES_VERSION}:{NAME}")
