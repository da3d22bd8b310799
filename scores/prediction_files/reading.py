"""From files on a disk to what a model made of every image."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from ...errors import PredictionError, listed
from ...files import file_problem, reason
from ...manifests.layout import MANIFEST
from ...manifests.reader import DataSet
from ...progress import told
from ..outcomes import Predictions
from .csv_file import CsvFile
from .findings import Findings
from .head import HEAD, head_problems, read_head
from .npz_file import HEAD_FIELDS, NpzFile
from .row_reader import Gathering, RowReader
from .set_names import SetNames, files_of_sets
from .table import BadTable, Layout, Table, layout

READERS: dict[str, Callable[[Path], Table]] = {".npz": NpzFile, ".csv": CsvFile}
"""By the suffix of a file."""


def read_predictions(
    path: str | Path, data: DataSet, *, sets: Sequence[str] | None = None, progress: Callable[[str, int, int], None] | None = None
) -> Predictions:
    """Read what a model said of the images of a data set; docs/evaluate.md describes the files.

    Parameters
    ----------
    path : str or Path
        A folder of ``<set id>.npz`` (or ``<alias>.npz``), or one .npz or .csv file with a column ``set_id``.
    data : DataSet
        Where the labels come from. No image is read.
    sets : sequence of str, optional
        Ids, aliases or patterns of the sets that must be there; by default all of `data`. Of the others only ``clean`` is read, where it
        is there: a build without a clean set has predictions of the clean images too.
    progress : callable, optional
        Told (``"reading predictions"``, rows done, rows in all or 0).

    Returns
    -------
    Predictions
        Of each set that was read. The probabilities that follow from logits are within a hundred-thousandth of theirs.

    Raises
    ------
    PredictionError
        All that is wrong, with counts, the first few, and the next step.
    UnknownCorruption
        One of `sets` fits no set.

    Notes
    -----
    Files are read a block of rows at a time: memory holds the outcomes (15 bytes an image of a set) and one block. Pickled arrays are
    never loaded.
    """
    path, names, findings = Path(path), SetNames(data, sets), Findings()
    _refuse_what_is_none(path)
    files: Mapping[str | None, Path] = files_of_sets(path, names, findings) if path.is_dir() else {None: path}
    said = _said(path)
    foreign = said.get("digest") not in (None, data.digest)
    for problem in head_problems(said, data):
        findings.add(problem)
    gathering = Gathering(names.read, len(data.samples))
    if not foreign:
        total = 0 if None in files else len(files) * len(data.samples)
        tell = told(progress)
        reader = RowReader(data, names, gathering, lambda done: tell("reading predictions", done, total))
        _read_all(path, files, reader, findings)
    if findings:
        lines = findings.lines()
        raise PredictionError(
            f"{path} cannot be scored on {data.path}, for {len(lines)} reason{'s' * (len(lines) > 1)}:\n{listed(lines)}\n"
            "docs/evaluate.md shows how such files are written."
        )
    model = said.get("model") or (path.resolve().name if path.is_dir() else path.stem)
    return Predictions(str(model), said.get("digest"), gathering.outcomes())


def _refuse_what_is_none(path: Path) -> None:
    """Refuse paths that are no predictions at all."""
    if path.is_dir():
        if (path / MANIFEST).exists():
            raise PredictionError(
                f"{path} is a data set, not predictions. `corruptset predict {path} --model FILE --out FOLDER` writes predictions of it; "
                "so does any framework: docs/evaluate.md."
            )
        return
    if (problem := file_problem(path)) is not None:
        raise PredictionError(f"{path} {problem}. Give a folder of <set id>.npz, or one .npz or .csv file.")
    if path.suffix.lower() not in READERS:
        raise PredictionError(
            f"{path} is neither a folder of <set id>.npz nor one .npz or .csv file with a column set_id; docs/evaluate.md shows how they "
            "are written."
        )


def _said(path: Path) -> dict[str, Any]:
    """Return what predictions.json says, or, of a single file, the .json of its name, or the archive itself."""
    beside = path / HEAD if path.is_dir() else path.with_suffix(".json")
    if beside.exists():
        return read_head(beside)
    said = {}
    if path.suffix.lower() == ".npz" and path.is_file():
        try:
            with closing(NpzFile(path)) as archive:
                said = {name: archive.text(name) for name in HEAD_FIELDS}
        except (BadTable, OSError) as e:
            raise PredictionError(f"{path} {e if isinstance(e, BadTable) else f'cannot be read: {reason(e)}'}.") from None
    return {name: text for name, text in said.items() if text is not None}


def _read_all(path: Path, files: Mapping[str | None, Path], reader: RowReader, findings: Findings) -> None:
    """Read the files, and note what is wrong with each and which rows are missing."""
    for set_id, file in files.items():
        place = None if set_id is None else file.relative_to(path).as_posix()
        try:
            with closing(READERS[file.suffix.lower()](file)) as table:
                found, problems = layout(table, reader.classes)
                problems += _unfit(table, found, set_id, reader)
                if found is not None and not problems:
                    problems = reader.take(table, found, set_id)
                    problems += reader.missing(set_id)
        except BadTable as e:
            problems = [str(e)]
        except OSError as e:
            problems = [f"cannot be read: {reason(e)}"]
        for problem in problems:
            findings.add(problem, place)


def _unfit(table: Table, found: Layout | None, set_id: str | None, reader: RowReader) -> list[str]:
    """Return why a table cannot be of one set, or of many, whatever its rows hold."""
    named = "set_id" in table.columns
    if named and set_id is not None:
        return ["has a column set_id: a file of many sets is given itself, in place of a folder"]
    if not named and set_id is None:
        return ["has no column set_id: give the folder of such files, or write the id of each row's set"]
    most = reader.images * (1 if set_id is not None else len(reader.names.all()))
    if found is None or found.rows is None or (found.rows <= most and (named or found.key or found.rows == most)):
        return []
    more = "" if found.key else "; where there is no index or id, every image has a row, in the data set's order"
    return [f"has {found.rows:,} rows; the data set has {reader.images:,} images{' a set' if named else ''}{more}"]
