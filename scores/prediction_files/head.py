"""predictions.json: whose predictions these are, and of what data set."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import PredictionError
from ...files import read_text, reason
from ...manifests.reader import DataSet

HEAD = "predictions.json"


def read_head(path: Path) -> dict[str, Any]:
    """Return what a predictions.json says.

    Raises
    ------
    PredictionError
        It cannot be read, or is not JSON.
    """
    try:
        head = json.loads(read_text(path))
    except OSError as e:
        raise PredictionError(f"{path} cannot be read: {reason(e)}.") from None
    except (ValueError, RecursionError) as e:
        raise PredictionError(f"{path} is not JSON: {e}. Delete it if this folder's predictions are to be made anew.") from None
    return head if isinstance(head, dict) else {}


def head_problems(said: Mapping[str, Any], data: DataSet) -> list[str]:
    """Return what is wrong with a head, for predictions of a data set."""
    problems = [
        f"{name} is {json.dumps(said[name])[:60]}; expected {expected}"
        for name, expected in (("model", "the model's name"), ("digest", "the data set's digest, as corruptset.open(...).digest has it"))
        if name in said and not (isinstance(said[name], str) and said[name])
    ]
    digest = said.get("digest")
    if isinstance(digest, str) and digest and digest != data.digest:
        problems.append(
            f"they are of another data set: {digest}; {data.path} is {data.digest}. Give the data set that the model was shown, or let the "
            "model predict this one"
        )
    return problems
