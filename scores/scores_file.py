"""A scores file: written, and read back as strictly as a manifest."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

from ..errors import ScoreError, listed
from ..files import read_regular, reason
from ..manifests.disk.atomic import write_atomic
from ..manifests.manifest_file import result_path
from ..manifests.records.parsing import record_or_mistakes
from .records import Scores

SCORES = "scores.json"
SETS = "sets.csv"
MOST_BYTES = 512 << 20
"""Of a scores file: one of 5,250 two-factor sets and 1,000 resamples has under 3 MB."""


def load_scores(path: str | Path) -> Scores:
    """Read a scores file.

    Parameters
    ----------
    path : str or Path
        ``scores.json``, whatever it is called, or the folder that `score` wrote it into.

    Raises
    ------
    ScoreError
        It cannot be read, or is no scores file; with every field that is wrong.
    """
    file = Path(path) / SCORES if os.path.isdir(path) else Path(path)
    try:
        data = read_regular(file, MOST_BYTES)
    except OSError as e:
        raise ScoreError(
            f"The scores {file} cannot be read: {reason(e)}. Expected what `corruptset score --out FOLDER` writes."
        ) from None
    scores, mistakes = record_or_mistakes(Scores, data)
    if scores is None:
        raise ScoreError(f"{file} is no scores file that this release reads:\n{listed(mistakes)}")
    return scores


def write_scores(scores: Scores, folder: Path) -> None:
    """Write ``scores.json`` and ``sets.csv`` into a folder, which is made where it is not there."""
    result_path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(folder / SCORES, scores_bytes(scores))
    table = io.StringIO()
    rows = scores.rows()
    writer = csv.DictWriter(table, list(rows[0]) if rows else ["set"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomic(folder / SETS, table.getvalue().encode())


def scores_bytes(scores: Scores) -> bytes:
    """Return scores.json: fields in the model's order, a score's resamples on one line."""
    value = scores.as_json()
    resamples = value.pop("resamples")
    text = json.dumps(value | {"resamples": None}, ensure_ascii=False, indent=1, allow_nan=False)
    if resamples is not None:
        # a line a number would be half of the file
        lines = ",\n".join(f"   {json.dumps(name)}: {json.dumps(rows)}" for name, rows in resamples["values"].items())
        head = json.dumps({key: one for key, one in resamples.items() if key != "values"})[1:-1]
        before, _, after = text.rpartition('"resamples": null')
        text = f'{before}"resamples": {{{head}, "values": {{\n{lines}\n }}}}{after}'
    return text.encode() + b"\n"
