"""From files of predictions on a disk to what a model made of every image."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import PredictionError, first_few, listed, suggest
from ...files import file_problem, open_regular, read_text, reason
from ...manifests.paths import MANIFEST
from ...manifests.reader import DataSet
from ...progress import progress_function
from ..outcomes import CLEAN, Outcome, Predictions
from ..set_choice import choose_predicted
from .reduction import COLUMNS, PROBABILITIES, Kind, reduced
from .tables_on_disk import READERS, BadTable, NpzTable, Table, layout

HEAD = "predictions.json"
"""Whose predictions these are, and of what data set."""
FEW = 3
"""Rows, files or sets that are named of many."""
BLOCK_BYTES = 1 << 20
"""Bytes of the widest column of a block."""


def read_predictions(
    path: str | Path,
    data: DataSet,
    *,
    sets: Sequence[str] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Predictions:
    """Read a model's predictions of a data set; docs/evaluate.md describes the files.

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
        Lists all sets, rows and values that are missing, double, unknown or no predictions, and damaged files.
    UnknownCorruption
        No set fits a pattern of `sets`.

    Notes
    -----
    Memory holds what comes out (14 bytes an image of a set), one file's ids and names of sets, and a block of values.
    """
    path = Path(path)
    said, reader = _said(path), _Reader(data, choose_predicted(data, sets), progress_function(progress))
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
        lines = [f"{first_few(where, FEW)}: {problem}" if where else problem for problem, where in places.items()]
        raise PredictionError(
            f"{path} cannot be scored on {data.path}, for {len(lines)} reason{'s' * (len(lines) > 1)}:\n"
            f"{listed(lines)}\ndocs/evaluate.md shows how such files are written."
        )
    model = said.get("model") or (path.resolve().name if path.is_dir() else path.stem)
    return Predictions(str(model), said.get("digest"), dict(sorted(outcomes.items())))


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
    if problems or said.get("digest") in (None, data.digest):
        return problems
    return [
        f"they are of another data set: {said['digest']}; {data.path} is {data.digest}. Give the data set that the "
        "model was shown, or let the model predict this one"
    ]


def _said(path: Path) -> Mapping[str, Any]:
    """Return what predictions.json, a .json beside, or an archive says; refuse other paths."""
    if (path / MANIFEST).exists():
        raise PredictionError(
            f"{path} is a data set, not predictions. `corruptset predict {path} --model FILE --out FOLDER` writes "
            "predictions of it; so does any framework: docs/evaluate.md."
        )
    beside, suffix = path / HEAD, ".json"
    if not path.is_dir():
        beside, suffix = path.with_suffix(".json"), path.suffix.lower()
        if (problem := file_problem(path)) is not None:
            raise PredictionError(f"{path} {problem}. Give a folder of <set id>.npz, or one .npz or .csv file.")
        if suffix not in READERS:
            raise PredictionError(
                f"{path} is neither a folder of <set id>.npz nor one .npz or .csv file with a column set_id; "
                "docs/evaluate.md shows how they are written."
            )
    if beside.exists():
        return read_head(beside)
    try:
        if suffix == ".npz":
            with open_regular(path) as file:
                return NpzTable(file).texts
    except (BadTable, OSError) as e:
        raise PredictionError(f"{path} {e if isinstance(e, BadTable) else f'cannot be read: {reason(e)}'}.") from None
    return {}


def _files(folder: Path, reader: _Reader) -> tuple[dict[str | None, Path], list[str]]:
    """Return the file of each set that is read, and what is wrong with names."""
    # macOS puts hidden files beside others on foreign disks
    names = {
        file.relative_to(folder).as_posix(): file
        for file in sorted(folder.rglob("*.npz"))
        if not file.name.startswith(".")
    }
    if not names:
        other = sorted({file.suffix for file in folder.rglob("*") if file.is_file() and file.name != HEAD})
        there = f" (but {first_few(other, FEW)})" if any(other) else ""
        return {}, [f"the folder holds no .npz file{there}: write <set id>.npz for each set"]
    found: dict[str | None, list[str]] = {}
    for name in names:
        found.setdefault(reader.ids.get(name.removesuffix(".npz")), []).append(name)
    problems = []
    if unknown := found.pop(None, []):
        are = f"{len(unknown):,} files are" if len(unknown) > 1 else "1 file is"
        problems.append(
            f"{are} of no set of the data set: {first_few(unknown, FEW)}."
            f"{suggest(unknown[0].removesuffix('.npz'), reader.ids)} Rename or delete what is none; a file of many "
            "sets is given itself, in place of its folder"
        )
    problems += [
        f"the set {set_id} is there {len(own)} times: {first_few(own, FEW)}. Keep one"
        for set_id, own in found.items()
        if len(own) > 1
    ]
    if missing := [name for name in reader.required if name not in found]:
        problems.append(
            f"{len(missing):,} of {len(reader.required):,} sets {'have' if len(missing) > 1 else 'has'} no file: "
            f"{first_few(missing, FEW)}. Predict them, or choose the sets that are there (sets=, --sets)"
        )
    return {name: names[own[0]] for name, own in found.items() if name in reader.wanted and len(own) == 1}, problems


class _Reader:
    """Reads files of predictions of one data set."""

    def __init__(self, data: DataSet, required: list[str], tell: Callable[..., None]) -> None:
        self.required, self.total, self._done, self._tell = required, 0, 0, tell
        # a build without a clean set has predictions of it too
        self.ids = {name: s.id for s in data.manifest.sets for name in (*s.aliases, s.id)} | {CLEAN: CLEAN}
        self.wanted = sorted({*required, CLEAN})
        self._samples = [sample.id for sample in data.samples]
        self._labels = np.array([sample.class_index for sample in data.samples], np.int64)
        self._classes = len(data.classes)

    def read(self, file: Path, set_id: str | None) -> tuple[dict[str, Outcome], list[str]]:
        """Return the outcomes in a file, by set, and what is wrong with it."""
        sets, count = self.wanted if set_id is None else [set_id], len(self._samples)
        problems: list[str] = []
        try:
            with open_regular(file) as stream:
                table = READERS[file.suffix.lower()](stream)
                kind, key = layout(table, self._classes, count, set_id, len(self.ids))
                numbers = self._numbers(table, kind, set_id, problems)
                places = self._places(table, key, numbers, problems)
                problems += self._missing(places, sets, set_id, set(numbers.tolist()))
                fields = self._fields(table, kind, places, len(sets), problems)
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
        return outcomes, problems

    def _numbers(self, table: Table, kind: Kind, set_id: str | None, problems: list[str]) -> NDArray[np.intp]:
        """Return the number of each row's set; -1 where it is not read."""
        if set_id is not None:
            return np.zeros(table.columns[COLUMNS[kind][0]].shape[0], np.intp)
        names, number_of = _whole(table, "set_id").tolist(), {name: n for n, name in enumerate(self.wanted)}
        if strange := Counter(name for name in names if name not in self.ids):
            problems.append(
                f"has {strange.total():,} rows of sets that the data set does not have: {first_few(list(strange), FEW)}"
            )
        return np.array([number_of.get(self.ids.get(name, ""), -1) for name in names], np.intp)

    def _places(
        self, table: Table, key: str | None, numbers: NDArray[np.intp], problems: list[str]
    ) -> NDArray[np.intp]:
        """Return the place of each row, set after set; -1 where it is not read."""
        count = len(self._samples)
        if key == "index":
            given, problem = _whole(table, "index"), f"with an index outside 0 to {count - 1:,}"
            images = given.astype(np.int64)  # an unsigned number beyond its range becomes a negative one
        elif key == "id":
            given, problem = _whole(table, "id"), f"whose id is of no sample; ids here are such as {self._samples[0]!r}"
            row_of = {name: row for row, name in enumerate(self._samples)}
            images = np.array([row_of.get(name, -1) for name in given.tolist()], np.int64)
        else:
            given = images = np.zeros(len(numbers), np.int64)
            for number in set(numbers.tolist()):
                own = np.flatnonzero(numbers == number)
                images[own] = np.arange(len(own))
            problem = f"too many: a set has {count:,}"
        outside = (numbers >= 0) & ((images < 0) | (images >= count))
        problems += _of_rows(problem, [repr(one) for one in given[outside].tolist()])
        return np.where((numbers < 0) | outside, -1, numbers * count + images)

    def _missing(self, places: NDArray[np.intp], sets: list[str], set_id: str | None, given: set[int]) -> Iterator[str]:
        """Yield which images are there twice, and which sets, of those without rows, and images are missing."""
        count = len(self._samples)
        times = np.bincount(places[places >= 0], minlength=len(sets) * count).reshape(len(sets), count)
        named = [f"{row} ({name})" for row, name in enumerate(self._samples)] if (times != 1).any() else []
        yield from _of_rows("twice", [f"{sets[n]} {named[row]}" for n, row in np.argwhere(times > 1).tolist()])
        required = sets if set_id is not None else self.required
        if absent := [name for number, name in enumerate(sets) if name in required and number not in given]:
            yield f"lacks {len(absent):,} of {len(required):,} sets: {first_few(absent, FEW)}"
        for name, of_set in zip(sets, times, strict=True):
            missing = [named[row] for row in np.flatnonzero(of_set == 0).tolist()]
            if 0 < len(missing) < count:
                of = f" of {name}" if set_id is None else ""
                yield f"lacks {len(missing):,} of {count:,} rows{of}: {first_few(missing, FEW)}"

    def _fields(
        self, table: Table, kind: Kind, places: NDArray[np.intp], sets: int, problems: list[str]
    ) -> dict[str, NDArray[Any]]:
        """Return the fields of the outcomes, set after set."""
        names = COLUMNS[kind]
        widest = max(math.prod(table.columns[name].shape[1:]) * table.columns[name].dtype.itemsize for name in names)
        most = max(1, BLOCK_BYTES // widest)
        labels = self._labels[np.where(places < 0, 0, places) % len(self._labels)]
        fields: dict[str, NDArray[Any]] = {}
        faulty: dict[str, list[str]] = {}
        blocks = zip(*(table.blocks(name, most) for name in names), strict=True)
        for first, block in zip(range(0, len(places), most), blocks, strict=True):
            part = slice(first, first + most)
            outcome, faults = reduced(kind, dict(zip(names, block, strict=True)), labels[part], self._classes)
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
        if len(faulty.pop(PROBABILITIES, [])) == np.count_nonzero(places >= 0) > 0:
            problems.append(PROBABILITIES)
        problems += [line for problem, rows in faulty.items() for line in _of_rows(problem, rows)]
        return fields


def _whole(table: Table, name: str) -> NDArray[Any]:
    return np.concatenate([*table.blocks(name, 1 << 20)] or [np.empty(0)])


def _of_rows(problem: str, rows: Sequence[str]) -> list[str]:
    """Return a problem with the first few rows that have it; nothing where none has."""
    return [f"has {len(rows):,} row{'s' * (len(rows) > 1)} {problem}: {first_few(rows, FEW)}"] if rows else []
