"""From files of predictions on a disk to what a model made of every image."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import PredictionError, listed, suggest
from ...files import file_problem, open_regular, read_text, reason
from ...manifests.layout import MANIFEST
from ...manifests.reader import DataSet
from ...progress import progress_function
from ..outcomes import CLEAN, Outcome, Predictions
from ..set_choice import choose
from .prediction_tables import READERS, BadTable, Layout, NpzTable, Table, layout
from .reduction import COLUMNS, reduced

HEAD = "predictions.json"
"""Whose predictions these are, and of what data set."""
FEW = 3
"""Rows, files or sets that are named of many."""
BLOCK_BYTES = 1 << 20
"""Of the widest column of a block."""


def read_predictions(
    path: str | Path,
    data: DataSet,
    *,
    sets: Sequence[str] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Predictions:
    """Read what a model said of the images of a data set; docs/evaluate.md describes the files.

    Parameters
    ----------
    path : str or Path
        A folder of ``<set id>.npz`` (or ``<alias>.npz``), or one .npz or .csv file with a column ``set_id``.
    data : DataSet
        What the predictions are of; its images are not read.
    sets : sequence of str, optional
        Ids, aliases or patterns of them: predictions of these sets must be there; by default of all. Predictions of the
        clean images are read wherever they are there, also of a build without a clean set.
    progress : callable, optional
        Told (phase, rows read, rows in all, which is 0 where nobody knows).

    Returns
    -------
    Predictions

    Raises
    ------
    PredictionError
        Lists everything that is wrong: sets and rows that are missing, double or unknown, values that cannot be
        predictions, the digest of another data set, damaged files.
    UnknownCorruption
        No set fits a pattern of `sets`.

    Notes
    -----
    Memory holds what comes out (14 bytes an image of a set), ids and names of sets of one file, and a block of its
    values. Pickled arrays are never loaded.
    """
    path = Path(path)
    _refuse_other_paths(path)
    without = sets is not None and CLEAN not in data and CLEAN in sets
    chosen = [glob for glob in sets if glob != CLEAN] if sets is not None and without else sets
    required = [*([CLEAN] if without else []), *([] if chosen == [] else choose(data, chosen))]
    reader = _Reader(data, required, progress_function(progress))
    said = _said(path)
    files, problems = _files(path, reader) if path.is_dir() else ({None: path}, [])
    # problem -> the files that have it
    places: dict[str, list[str]] = {problem: [] for problem in (*problems, *_head_problems(said, data))}
    outcomes: dict[str, Outcome] = {}
    if said.get("digest") in (None, data.digest):
        reader.total = 0 if None in files else len(files) * len(data.samples)
        for set_id, file in files.items():
            found, problems = reader.read(file, set_id)
            outcomes |= found
            for problem in problems:
                places.setdefault(problem, []).extend([] if set_id is None else [file.relative_to(path).as_posix()])
    if places:
        lines = [f"{few(where)}: {problem}" if where else problem for problem, where in places.items()]
        raise PredictionError(
            f"{path} cannot be scored on {data.path}, for {len(lines)} reason{'s' * (len(lines) > 1)}:\n"
            f"{listed(lines)}\ndocs/evaluate.md shows how such files are written."
        )
    model = said.get("model") or (path.resolve().name if path.is_dir() else path.stem)
    return Predictions(str(model), said.get("digest"), dict(sorted(outcomes.items())))


def few(names: Iterable[object], count: int | None = None) -> str:
    """Return the first few of some names.

    Examples
    --------
    >>> few(["a", "b", "c", "d", "e"])
    'a, b, c and 2 more'
    >>> few([4, 5, 6], count=1000)
    '4, 5, 6 and 997 more'
    """
    shown = [str(name) for name in names]
    rest = (len(shown) if count is None else count) - len(shown[:FEW])
    return ", ".join(shown[:FEW]) + (f" and {rest:,} more" if rest > 0 else "")


def read_head(path: Path) -> dict[str, Any]:
    """Return what a predictions.json says; PredictionError: it cannot be read as JSON."""
    try:
        head = json.loads(read_text(path))
    except OSError as e:
        raise PredictionError(f"{path} cannot be read: {reason(e)}.") from None
    except (ValueError, RecursionError) as e:
        raise PredictionError(
            f"{path} is not JSON: {e}. Delete it if this folder's predictions are to be made anew."
        ) from None
    return head if isinstance(head, dict) else {}


def _head_problems(said: Mapping[str, Any], data: DataSet) -> list[str]:
    """Return what is wrong with a head, for predictions of a data set."""
    expected = {"model": "the model's name", "digest": "the data set's digest, as corruptset.open(...).digest has it"}
    problems = [
        f"{name} is {json.dumps(said[name])[:60]}; expected {words}"
        for name, words in expected.items()
        if name in said and not (isinstance(said[name], str) and said[name])
    ]
    if not problems and said.get("digest") not in (None, data.digest):
        problems.append(
            f"they are of another data set: {said['digest']}; {data.path} is {data.digest}. Give the data set that the "
            "model was shown, or let the model predict this one"
        )
    return problems


def _refuse_other_paths(path: Path) -> None:
    """Refuse paths that are no predictions at all."""
    if path.is_dir():
        if (path / MANIFEST).exists():
            raise PredictionError(
                f"{path} is a data set, not predictions. `corruptset predict {path} --model FILE --out FOLDER` writes "
                "predictions of it; so does any framework: docs/evaluate.md."
            )
        return
    if (problem := file_problem(path)) is not None:
        raise PredictionError(f"{path} {problem}. Give a folder of <set id>.npz, or one .npz or .csv file.")
    if path.suffix.lower() not in READERS:
        raise PredictionError(
            f"{path} is neither a folder of <set id>.npz nor one .npz or .csv file with a column set_id; "
            "docs/evaluate.md shows how they are written."
        )


def _said(path: Path) -> Mapping[str, Any]:
    """Return what predictions.json says, or the .json beside a single file, or its archive."""
    beside = path / HEAD if path.is_dir() else path.with_suffix(".json")
    if beside.exists():
        return read_head(beside)
    if path.suffix.lower() != ".npz" or path.is_dir():
        return {}
    try:
        with open_regular(path) as file:
            return NpzTable(file).texts
    except (BadTable, OSError) as e:
        raise PredictionError(f"{path} {e if isinstance(e, BadTable) else f'cannot be read: {reason(e)}'}.") from None


def _files(folder: Path, reader: _Reader) -> tuple[dict[str | None, Path], list[str]]:
    """Return the file of each set that is read, and what is wrong with names."""
    found: dict[str, list[Path]] = {}
    unknown, problems = [], []
    for file in sorted(folder.rglob("*.npz")):
        if not file.name.startswith("."):  # what macOS puts beside a file on other disks
            name = file.relative_to(folder).as_posix().removesuffix(".npz")
            if (set_id := reader.ids.get(name)) is None:
                unknown.append(name)
            else:
                found.setdefault(set_id, []).append(file)
    if not found and not unknown:
        other = sorted({file.suffix for file in folder.rglob("*") if file.is_file() and file.name != HEAD})
        there = f" (but {few(other)})" if any(other) else ""
        return {}, [f"the folder holds no .npz file{there}: write <set id>.npz for each set"]
    if unknown:
        problems.append(
            f"{f'{len(unknown):,} files are' if len(unknown) > 1 else '1 file is'} of no set of the data set: "
            f"{few(f'{name}.npz' for name in unknown)}.{suggest(unknown[0], reader.ids)} Rename or delete what is "
            "none; a file of many sets is given itself, in place of its folder"
        )
    for set_id, files in found.items():
        if len(files) > 1:
            twice = few(file.relative_to(folder).as_posix() for file in files)
            problems.append(f"the set {set_id} is there {len(files)} times: {twice}. Keep one")
    if missing := [name for name in reader.required if name not in found]:
        problems.append(
            f"{len(missing):,} of {len(reader.required):,} sets {'have' if len(missing) > 1 else 'has'} no file: "
            f"{few(missing)}. Predict them, or choose the sets that are there (sets=, --sets)"
        )
    return {name: files[0] for name, files in found.items() if name in reader.wanted and len(files) == 1}, problems


class _Reader:
    """Reads files of predictions of one data set."""

    def __init__(self, data: DataSet, required: list[str], tell: Callable[..., None]) -> None:
        self.required, self.total, self._done, self._tell = required, 0, 0, tell
        self.ids = {name: s.id for s in data.manifest.sets for name in (*s.aliases, s.id)} | {CLEAN: CLEAN}
        """Name of a set -> its id."""
        self.wanted = sorted({*required, CLEAN})
        """Sets that are read: also ``clean``, which a build without a clean set has predictions of too."""
        self._samples = [sample.id for sample in data.samples]
        self._row_of = {name: row for row, name in enumerate(self._samples)}
        self._labels = np.array([sample.class_index for sample in data.samples], np.int64)
        self._classes = len(data.classes)

    def read(self, file: Path, set_id: str | None) -> tuple[dict[str, Outcome], list[str]]:
        """Return the outcomes in a file, by set, and what is wrong with it.

        It is of `set_id`, or of the sets that its column of that name names.
        """
        sets, count = self.wanted if set_id is None else [set_id], len(self._samples)
        try:
            with open_regular(file) as stream:
                table = READERS[file.suffix.lower()](stream)
                found = layout(table.columns, self._classes, count, set_id, len(self.ids))
                places, problems = self._places(table, found, sets, alone=set_id is not None)
                fields, faults = self._fields(table, found, places, len(sets))
        except BadTable as e:
            return {}, list(e.args)
        except OSError as e:
            return {}, [f"cannot be read: {reason(e)}"]
        there = set((places // count).tolist())
        outcomes = {
            name: Outcome(**{field: values[number * count :][:count] for field, values in fields.items()})
            for number, name in enumerate(sets)
            if number in there
        }
        return outcomes, [*problems, *faults]

    def _places(
        self, table: Table, found: Layout, sets: list[str], *, alone: bool
    ) -> tuple[NDArray[np.intp], list[str]]:
        """Return the place of each row, and what is wrong with the rows.

        A place is the set's number times the images plus the image's; -1 where the row is not read.
        """
        count, problems = len(self._samples), []
        numbers = np.zeros(table.columns[COLUMNS[found.kind][0]].shape[0], np.intp)
        if not alone:
            names = _whole(table, "set_id").tolist()
            known = dict.fromkeys(self.ids, -1) | {name: sets.index(id) for name, id in self.ids.items() if id in sets}
            numbers = np.array([known.get(name, -1) for name in names], np.intp)
            if strange := Counter(name for name in names if name not in known):
                problems.append(f"has {strange.total():,} rows of sets that the data set does not have: {few(strange)}")
        read = numbers >= 0
        if found.key == "index":
            given, problem = _whole(table, "index"), f"with an index outside 0 to {count - 1:,}"
            images = given.astype(np.int64)  # an unsigned number beyond its range becomes a negative one
        elif found.key == "id":
            given, problem = _whole(table, "id"), "whose id is of no sample"
            images = np.array([self._row_of.get(name, -1) for name in given.tolist()], np.int64)
        else:
            images = np.zeros(len(numbers), np.int64)
            for number in range(len(sets)):
                own = np.flatnonzero(numbers == number)
                images[own] = np.arange(len(own))
            given, problem = images, f"too many: a set has {count:,}"
        outside = np.flatnonzero(read & ((images < 0) | (images >= count)))
        read[outside] = False
        places = np.where(read, numbers * count + images, -1)
        times = np.bincount(places[read], minlength=len(sets) * count).reshape(len(sets), count)
        twice = [f"{sets[n]} {row} ({self._samples[row]})" for n, row in np.argwhere(times > 1).tolist()]
        problems += _of_rows(problem, [repr(one) for one in given[outside].tolist()])
        problems += _of_rows("twice", twice)
        required = [number for number, name in enumerate(sets) if alone or name in self.required]
        if absent := [sets[number] for number in required if not times[number].any()]:
            problems.append(f"lacks {len(absent):,} of {len(required):,} sets: {few(absent)}")
        for name, missing in ((sets[number], np.flatnonzero(times[number] == 0)) for number in range(len(sets))):
            if 0 < len(missing) < count:
                named = few((f"{row} ({self._samples[row]})" for row in missing[:FEW].tolist()), len(missing))
                of = "" if alone else f" of {name}"
                problems.append(f"lacks {len(missing):,} of {count:,} rows{of}: {named}")
        return places, problems

    def _fields(
        self, table: Table, found: Layout, places: NDArray[np.intp], sets: int
    ) -> tuple[dict[str, NDArray[Any]], list[str]]:
        """Return the fields of the outcomes, set after set, and what is wrong with values."""
        names = COLUMNS[found.kind]
        widest = max(math.prod(table.columns[name].shape[1:]) * table.columns[name].dtype.itemsize for name in names)
        most = max(1, BLOCK_BYTES // widest)
        labels = self._labels[np.where(places < 0, 0, places) % len(self._labels)]
        fields: dict[str, NDArray[Any]] = {}
        faulty: dict[str, list[str]] = {}
        blocks = zip(*(table.blocks(name, most) for name in names), strict=True)
        for first, block in zip(range(0, len(places), most), blocks, strict=True):
            part = slice(first, first + most)
            values_of = dict(zip(names, block, strict=True))
            outcome, faults = reduced(found.kind, values_of, labels[part], self._classes)
            for problem, which in faults.items():
                rows = first + np.flatnonzero(which & (places[part] >= 0)) + table.first_row
                faulty.setdefault(problem, []).extend(f"{table.row_word} {row:,}" for row in rows.tolist())
            for name, values in vars(outcome).items():
                if values is not None:
                    # the last place is that of rows that are not read; memory that nobody writes costs nothing
                    whole = fields.setdefault(name, np.empty(sets * len(self._labels) + 1, values.dtype))
                    whole[places[part]] = values
            self._done += len(places[part])
            self._tell("reading predictions", self._done, self.total)
        return fields, [line for problem, rows in faulty.items() for line in _of_rows(problem, rows)]


def _whole(table: Table, name: str) -> NDArray[Any]:
    return np.concatenate([*table.blocks(name, 1 << 20)] or [np.empty(0)])


def _of_rows(problem: str, rows: Sequence[str]) -> list[str]:
    """Return a problem that some rows have, with the first few of them; nothing where none has it."""
    return [f"has {len(rows):,} row{'s' * (len(rows) > 1)} {problem}: {few(rows)}"] if rows else []
