"""Write and read scores files."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

from ..errors import ScoreError, format_list
from ..files import read_regular, reason
from ..manifests.disk.atomic import write_atomic
from ..manifests.manifest_file import result_path
from ..manifests.records.parsing import parse_record
from .records import Scores

SCORES = "scores.json"
SETS = "sets.csv"
MAX_BYTES = 512 << 20


def load_scores(path: str | Path) -> Scores:
    """Read a scores file.

    Parameters
    ----------
    path : str or Path
        A scores file, or a folder that contains ``scores.json``.

    Raises
    ------
    ScoreError
        If the file cannot be read or is not a valid scores file. The message lists all invalid fields.
    """
    file = Path(path) / SCORES if os.path.isdir(path) else Path(path)
    try:
        data = read_regular(file, MAX_BYTES)
    except OSError as e:
        raise ScoreError(
            f"The scores {file} cannot be read: {reason(e)}. Expected a file from `corruptset score --out FOLDER`."
        ) from None
    scores, mistakes = parse_record(Scores, data)
    if scores is None:
        raise ScoreError(f"{file} is not a scores file of this release:\n{format_list(mistakes)}")
    return scores


def write_scores(scores: Scores, folder: Path) -> None:
    """Write ``scores.json`` and ``sets.csv`` to a folder, which is created if necessary."""
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
    """Return the content of scores.json. The resamples of each score are on one line."""
    value = scores.as_json()
    resamples = value.pop("resamples")
    text = json.dumps(value | {"resamples": None}, ensure_ascii=False, indent=1, allow_nan=False)
    if resamples is not None:
        # One line per number would double the number of lines.
        lines = ",\n".join(f"   {json.dumps(name)}: {json.dumps(rows)}" for name, rows in resamples["values"].items())
        head = json.dumps({key: one for key, one in resamples.items() if key != "values"})[1:-1]
        before, _, after = text.rpartition('"resamples": null')
        text = f'{before}"resamples": {{{head}, "values": {{\n{lines}\n }}}}{after}'
    return text.encode() + b"\n"
