"""From files on a disk to what a model made of every image."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import PredictionError, listed, suggest
from ...files import file_problem, open_regular, read_text, reason
from ...manifests.layout import MANIFEST
from ...manifests.reader import DataSet
from ...progress import told
from ..outcomes import CLEAN, Outcome, Predictions
from ..set_choice import choose
from .prediction_tables import READERS, BadTable, Block, Layout, NpzTable, Table, layout
from .reduction import COLUMNS, reduced

HEAD = "predictions.json"
"""Whose predictions these are, and of what data set."""
FEW = 3
"""Rows, files or sets that are named of many."""
FIELDS: dict[str, type[np.generic]] = {
    "correct": np.bool_,
    "top5": np.bool_,
    "rank": np.int32,
    "probability": np.float32,
    "predicted": np.int32,
}
"""Of an outcome: 14 bytes an image, and one more says that it is there."""


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
        Where the labels come from. No image is read.
    sets : sequence of str, optional
        Ids, aliases or patterns of the sets that must be there; by default all of `data`. Of the others only ``clean``
        is read, where it is there: a build without a clean set has predictions of the clean images too.
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
    Files are read a block of rows at a time: memory holds the outcomes (15 bytes an image of a set) and one block.
    Pickled arrays are never loaded.
    """
    path = Path(path)
    _refuse_what_is_none(path)
    without = sets is not None and CLEAN not in data and CLEAN in sets
    chosen = [glob for glob in sets if glob != CLEAN] if sets is not None and without else sets
    required = [*([CLEAN] if without else []), *([] if chosen == [] else choose(data, chosen))]
    outcomes = _Outcomes(data, required, told(progress))
    said = _said(path)
    files, problems = _files(path, outcomes) if path.is_dir() else ({None: path}, [])
    places: dict[str, list[str]] = {
        problem: [] for problem in (*problems, *_head_problems(said, data))
    }  # problem -> the files that have it
    if said.get("digest") in (None, data.digest):
        outcomes.total = 0 if None in files else len(files) * len(data.samples)
        for set_id, file in files.items():
            for problem in outcomes.read(file, set_id):
                places.setdefault(problem, []).extend([] if set_id is None else [file.relative_to(path).as_posix()])
    if places:
        lines = [f"{few(where)}: {problem}" if where else problem for problem, where in places.items()]
        raise PredictionError(
            f"{path} cannot be scored on {data.path}, for {len(lines)} "
            f"reason{'s' * (len(lines) > 1)}:\n{listed(lines)}\n"
            "docs/evaluate.md shows how such files are written."
        )
    model = said.get("model") or (path.resolve().name if path.is_dir() else path.stem)
    return Predictions(str(model), said.get("digest"), outcomes.by_set())


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
    """Return what a predictions.json says, or raise PredictionError where it cannot be read or is not JSON."""
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
            f"they are of another data set: {said['digest']}; {data.path} is {data.digest}. Give the data set that "
            "the model was shown, "
            "or let the model predict this one"
        )
    return problems


def _refuse_what_is_none(path: Path) -> None:
    """Refuse paths that are no predictions at all."""
    if path.is_dir():
        if (path / MANIFEST).exists():
            raise PredictionError(
                f"{path} is a data set, not predictions. `corruptset predict {path} --model FILE --out FOLDER` writes "
                "predictions of it; "
                "so does any framework: docs/evaluate.md."
            )
        return
    if (problem := file_problem(path)) is not None:
        raise PredictionError(f"{path} {problem}. Give a folder of <set id>.npz, or one .npz or .csv file.")
    if path.suffix.lower() not in READERS:
        raise PredictionError(
            f"{path} is neither a folder of <set id>.npz nor one .npz or .csv file with a column set_id; "
            "docs/evaluate.md shows how they "
            "are written."
        )


def _said(path: Path) -> Mapping[str, Any]:
    """Return what predictions.json says, or, of a single file, the .json of its name, or the archive itself."""
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


def _files(folder: Path, outcomes: _Outcomes) -> tuple[dict[str | None, Path], list[str]]:
    """Return the file of each set that is read, by its id, and what is wrong with the names of files."""
    found: dict[str, list[Path]] = {}
    unknown, problems = [], []
    for file in sorted(folder.rglob("*.npz")):
        if not file.name.startswith("."):  # what macOS puts beside a file on other disks
            name = file.relative_to(folder).as_posix().removesuffix(".npz")
            if (set_id := outcomes.ids.get(name)) is None:
                unknown.append(name)
            else:
                found.setdefault(set_id, []).append(file)
    if not found and not unknown:
        other = sorted(
            {file.suffix for file in folder.rglob("*") if file.is_file() and file.name != HEAD and file.suffix}
        )
        return {}, [
            f"the folder holds no .npz file{f' (but {few(other)})' if other else ''}: write <set id>.npz for each set"
        ]
    if unknown:
        problems.append(
            f"{f'{len(unknown):,} files are' if len(unknown) > 1 else '1 file is'} of no set of the data set: "
            f"{few(f'{name}.npz' for name in unknown)}.{suggest(unknown[0], outcomes.ids)} Rename or delete what is "
            "none; a file of "
            "many sets is given itself, in place of its folder"
        )
    for set_id, files in found.items():
        if len(files) > 1:
            twice = few(file.relative_to(folder).as_posix() for file in files)
            problems.append(f"the set {set_id} is there {len(files)} times: {twice}. Keep one")
    if missing := [name for name in outcomes.required if name not in found]:
        problems.append(
            f"{len(missing):,} of {len(outcomes.required):,} sets {'have' if len(missing) > 1 else 'has'} no file: "
            f"{few(missing)}. Predict them, or choose the sets that are there (sets=, --sets)"
        )
    return {name: files[0] for name, files in found.items() if name in outcomes.numbers and len(files) == 1}, problems


class _Findings(dict[str, tuple[int, list[str]]]):
    """Problems of a file's rows, in words that follow the number of rows: how many rows have each, and the
    first few.
    """

    def note(self, problem: str, rows: NDArray[Any], name: Callable[[Any], str]) -> None:
        """Note rows that have a problem, and what each is called."""
        if len(rows):
            count, named = self.get(problem, (0, []))
            self[problem] = count + len(rows), [*named, *map(name, rows[:FEW].tolist())][:FEW]

    def lines(self) -> list[str]:
        """Return a line a problem."""
        return [
            f"has {count:,} row{'s' * (count > 1)} {problem}: {few(named, count)}"
            for problem, (count, named) in self.items()
        ]


class _Outcomes:
    """What a model made of each image of each set, filled by reading tables; a row is a set's number times the images,
    plus the image's.
    """

    def __init__(self, data: DataSet, required: list[str], tell: Callable[..., None]) -> None:
        self.required, self.total, self._done, self._tell = required, 0, 0, tell
        self.ids = {name: record.id for record in data.manifest.sets for name in (*record.aliases, record.id)} | {
            CLEAN: CLEAN
        }
        """Name of a set -> its id."""
        self.numbers = {name: number for number, name in enumerate(sorted({*required, CLEAN}))}
        """Of the sets that are read: also ``clean``, which a build without a clean set has predictions of too."""
        self._samples = [sample.id for sample in data.samples]
        self._row_of = {name: row for row, name in enumerate(self._samples)}
        self._labels = np.array([sample.class_index for sample in data.samples], np.int64)
        self._classes = len(data.classes)
        shape = len(self.numbers) * len(self._samples)
        # an operating system gives pages of memory when they are written: sets and fields that stay empty cost none
        self._fields = {name: np.empty(shape, dtype) for name, dtype in FIELDS.items()}
        self._there = np.zeros(shape, np.bool_)
        self._known: dict[int, list[str]] = {}

    def by_set(self) -> dict[str, Outcome]:
        """Return the outcomes by the ids of the sets that have any."""
        return {
            name: Outcome(**{field: self._fields[field][self._rows_of(number)] for field in self._known[number]})
            for name, number in self.numbers.items()
            if number in self._known
        }

    def _rows_of(self, number: int) -> slice:
        return slice(number * len(self._samples), (number + 1) * len(self._samples))

    def read(self, file: Path, set_id: str | None) -> Sequence[str]:
        """Read a file, of one set or of those that its column `set_id` names; return what is wrong with it."""
        try:
            with open_regular(file) as stream:
                table = READERS[file.suffix.lower()](stream)
                found = layout(table.columns, self._classes, len(self._samples), set_id, len(self.ids))
                return [*self._take(table, found, set_id), *self._missing(set_id)]
        except BadTable as e:
            return e.args
        except OSError as e:
            return [f"cannot be read: {reason(e)}"]

    def _take(self, table: Table, found: Layout, set_id: str | None) -> list[str]:
        """Put all rows of a table where they belong; return what is wrong with them."""
        findings, strangers, sets = _Findings(), dict[str, int](), list(self.numbers)
        counts, first, images = np.zeros(len(sets), np.intp), table.first_row, len(self._samples)
        for block in table.blocks(found.columns):
            size = len(block[COLUMNS[found.kind][0]])
            numbers = (
                np.full(size, self.numbers[set_id]) if set_id is not None else self._numbers(block["set_id"], strangers)
            )
            rows = self._places(found.key, block, numbers, counts, findings)
            kept = np.flatnonzero((numbers >= 0) & (rows >= 0))
            at = numbers[kept] * images + rows[kept]
            values = {name: block[name][kept] if len(kept) < size else block[name] for name in COLUMNS[found.kind]}
            outcome, faults = reduced(found.kind, values, self._labels[rows[kept]], self._classes)
            for problem, faulty in faults.items():
                findings.note(problem, first + kept[np.flatnonzero(faulty)], lambda row: f"{table.row_word} {row:,}")
            repeated = np.ones(len(kept), np.bool_)
            repeated[np.unique(at, return_index=True)[1]] = False
            again = at[repeated | self._there[at]]
            findings.note(
                "twice", again, lambda row: f"{sets[row // images]} {row % images} ({self._samples[row % images]})"
            )
            self._there[at] = True
            given = [name for name in FIELDS if getattr(outcome, name) is not None]
            for name in given:
                self._fields[name][at] = getattr(outcome, name)
            self._known |= dict.fromkeys(np.unique(numbers[kept]).tolist(), given)
            first += size
            self._done += size
            self._tell("reading predictions", self._done, self.total)
        unknown = f"has {sum(strangers.values()):,} rows of sets that the data set does not have: {few(strangers)}"
        return [*findings.lines(), *([unknown] if strangers else [])]

    def _missing(self, set_id: str | None) -> list[str]:
        """Return which rows of a set are missing; of all that must be there where it is None."""
        required = self.required if set_id is None else [set_id]
        absent = [name for name in required if self.numbers[name] not in self._known]
        lines = [f"lacks {len(absent):,} of {len(required):,} sets: {few(absent)}"] if absent else []
        for name in sorted({*required} - {*absent}):
            rows = np.flatnonzero(~self._there[self._rows_of(self.numbers[name])])
            if len(rows):
                named = few((f"{row} ({self._samples[row]})" for row in rows[:FEW].tolist()), len(rows))
                lines.append(
                    f"lacks {len(rows):,} of {len(self._samples):,} rows{'' if set_id else f' of {name}'}: {named}"
                )
        return lines

    def _numbers(self, given: NDArray[Any], strangers: dict[str, int]) -> NDArray[np.intp]:
        """Return the number of each row's set, negative where it is not read."""
        names, places, counts = np.unique(given, return_inverse=True, return_counts=True)
        for name, count in zip(names.tolist(), counts.tolist(), strict=True):
            if name not in self.ids:
                strangers[name] = strangers.get(name, 0) + count
        return np.array([self.numbers.get(self.ids.get(name, ""), -1) for name in names.tolist()], np.intp)[places]

    def _places(
        self, key: str | None, block: Block, numbers: NDArray[np.intp], counts: NDArray[np.intp], findings: _Findings
    ) -> NDArray[np.intp]:
        """Return the row of samples.jsonl that each row of a block is of; -1 where there is none."""
        images = len(self._samples)
        if key == "index":
            given, problem = block["index"], f"with an index outside 0 to {images - 1:,}"
            rows = given.astype(np.int64)  # an unsigned number beyond its range becomes a negative one
        elif key == "id":
            given, problem = block["id"], "whose id is of no sample"
            rows = np.array([self._row_of.get(name, -1) for name in given.tolist()], np.intp)
        else:
            rows = np.zeros(len(numbers), np.intp)
            for number in np.unique(numbers[numbers >= 0]).tolist():
                own = np.flatnonzero(numbers == number)
                rows[own] = np.arange(counts[number], counts[number] + len(own))
                counts[number] += len(own)
            given, problem = rows, f"too many: a set has {images:,}"
        outside = (numbers >= 0) & ((rows < 0) | (rows >= images))
        findings.note(problem, given[np.flatnonzero(outside)], repr)
        return np.where(outside, -1, rows)
