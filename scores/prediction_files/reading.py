"""Read the predictions of a model for a dataset from .npz or CSV files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import PredictionError, first_few, format_list, suggest
from ...files import file_problem, read_text, reason
from ...manifests.paths import MANIFEST
from ...manifests.reader import Dataset
from ...progress import progress_function
from ...quantities import plural
from ..outcomes import CLEAN, Outcome, Predictions
from ..set_choice import choose_predicted_sets
from .loading import TYPES, Arrays, BadFile, array_problems, load_csv, load_npz
from .reduction import COLUMNS, KINDS, PROBABILITIES, reduce_predictions

HEAD = "predictions.json"
"""The name of the file that states the model and the dataset."""
FEW = 3
"""The maximum number of examples in a message."""
ROWS_AT_ONCE = 4096
"""The number of rows that are converted to float32 at the same time, which limits memory."""


def read_predictions(
    path: str | Path,
    data: Dataset,
    *,
    sets: Sequence[str] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Predictions:
    """Read the predictions of a model for a dataset. docs/evaluate.md describes the file formats.

    Parameters
    ----------
    path : str or Path
        A folder of ``<set id>.npz`` or ``<alias>.npz`` files, or one .npz or .csv file with the column ``set_id``.
    data : Dataset
        The dataset, whose images are not read.
    sets : sequence of str, optional
        Ids, aliases or patterns of the sets that need predictions. By default, all sets need predictions. Predictions
        of the clean images are read if they exist, even if the dataset has no clean set.
    progress : callable, optional
        A function that is called with (phase, rows read, total number of rows).

    Returns
    -------
    Predictions

    Raises
    ------
    PredictionError
        If files are damaged, or if sets, rows or values are missing, repeated, unknown or invalid. The message lists
        all problems.
    UnknownCorruption
        If a pattern of `sets` matches no set.
    """
    path, tell = Path(path), progress_function(progress)
    required = choose_predicted_sets(data, sets)
    head, whole = _open(path)
    problems: dict[str, list[str]] = {problem: [] for problem in _head_problems(head, data)}
    outcomes: dict[str, Outcome] = {}
    if head.get("digest") in (None, data.digest):
        ids = {name: s.id for s in data.manifest.sets for name in (*s.aliases, s.id)} | {CLEAN: CLEAN}
        wanted = {*required, CLEAN}
        given = dict[str, Path | Arrays]()
        if whole is None:
            files, found = _files(path, ids, required, wanted)
            given |= files
        else:
            parts, found = _split(whole, data, ids, required, wanted)
            given |= parts
        problems |= {problem: [] for problem in found}
        rows, count = _Rows(data), len(data.samples)
        for number, (name, one) in enumerate(sorted(given.items()), 1):
            where = [one.relative_to(path).as_posix()] if isinstance(one, Path) else []
            try:
                arrays = load_npz(one) if isinstance(one, Path) else one
                outcomes[name], found = rows.outcome(arrays, "" if where else f" of {name}")
            except BadFile as e:
                found = [*map(str, e.args)]
            for problem in found:
                problems.setdefault(problem, []).extend(where)
            tell("reading predictions", number * count, len(given) * count)
    if problems:
        lines = [f"{first_few(places, FEW)}: {problem}" if places else problem for problem, places in problems.items()]
        raise PredictionError(
            f"{path} cannot be scored on {data.path}, for {len(lines)} reason{'s' * (len(lines) > 1)}:\n"
            f"{format_list(lines)}\nThe file formats are described in docs/evaluate.md."
        )
    model = head.get("model") or (path.resolve().name if path.is_dir() else path.stem)
    return Predictions(str(model), head.get("digest"), outcomes)


def read_head(path: Path) -> dict[str, Any]:
    """Return the content of predictions.json, or raise PredictionError if it cannot be read as JSON."""
    try:
        head = json.loads(read_text(path))
    except OSError as e:
        raise PredictionError(f"{path} cannot be read: {reason(e)}.") from None
    except (ValueError, RecursionError) as e:
        raise PredictionError(
            f"{path} is not JSON: {e}. Write it again, or delete it together with its predictions."
        ) from None
    return head if isinstance(head, dict) else {}


def _open(path: Path) -> tuple[dict[str, Any], Arrays | None]:
    """Return the model and digest that the files at a path state, and the arrays if the path is a single file."""
    if (path / MANIFEST).exists():
        raise PredictionError(
            f"{path} is a dataset, not predictions. `corruptset predict {path} --model FILE --out FOLDER` writes "
            "predictions for it, and docs/evaluate.md shows how to write them with other frameworks."
        )
    if path.is_dir():
        return (read_head(path / HEAD) if (path / HEAD).exists() else {}), None
    if (problem := file_problem(path)) is not None:
        raise PredictionError(f"{path} {problem}. Expected a folder of <set id>.npz files, or one .npz or .csv file.")
    loaders = {".npz": load_npz, ".csv": load_csv}
    if (suffix := path.suffix.lower()) not in loaders:
        raise PredictionError(
            f"{path} is neither a folder of <set id>.npz files nor an .npz or .csv file. docs/evaluate.md describes "
            "the file formats."
        )
    try:
        arrays = loaders[suffix](path)
    except BadFile as e:
        raise PredictionError(f"{path} {e}.") from None
    head_file = path.with_suffix(".json")
    if head_file.exists():
        return read_head(head_file), arrays
    return {k: str(arrays[k]) for k in ("model", "digest") if k in arrays}, arrays


def _head_problems(head: Mapping[str, Any], data: Dataset) -> list[str]:
    """Return the problems with the model's name and the digest."""
    problems = [
        f"{name} is {json.dumps(head[name])[:60]}; expected text"
        for name in ("model", "digest")
        if name in head and not (isinstance(head[name], str) and head[name])
    ]
    if not problems and head.get("digest") not in (None, data.digest):
        problems = [
            f"they belong to another dataset, {head['digest']}; {data.path} is {data.digest}. Pass the dataset that "
            "the model has predicted"
        ]
    return problems


def _files(
    folder: Path, ids: Mapping[str, str], required: Sequence[str], wanted: set[str]
) -> tuple[dict[str, Path], list[str]]:
    """Return the file of each wanted set, and the problems with file names.

    `ids` maps set names to set ids, and the `required` sets must have files.
    """
    # macOS adds hidden files on foreign file systems.
    files = [file for file in sorted(folder.rglob("*.npz")) if not file.name.startswith(".")]
    if not files:
        return {}, ["the folder has no .npz files; expected <set id>.npz for each set"]
    found, unknown = dict[str, list[Path]](), list[str]()
    for file in files:
        name = file.relative_to(folder).as_posix().removesuffix(".npz")
        if name in ids:
            found.setdefault(ids[name], []).append(file)
        else:
            unknown.append(name)
    problems = []
    if unknown:
        problems.append(
            f"no set of the dataset has the name of {plural(len(unknown), 'file')}: {first_few(unknown, FEW)}."
            f"{suggest(unknown[0], ids)} Rename or delete them"
        )
    problems += [
        f"the set {set_id} has {len(own)} files: {first_few([file.name for file in own], FEW)}. Keep one of them"
        for set_id, own in found.items()
        if len(own) > 1
    ]
    problems += _absent_sets(required, found)
    return {name: own[0] for name, own in found.items() if name in wanted}, problems


def _split(
    arrays: Arrays, data: Dataset, ids: Mapping[str, str], required: Sequence[str], wanted: set[str]
) -> tuple[dict[str, Arrays], list[str]]:
    """Split the arrays of a single file into the rows of each wanted set. Also return the problems with set names."""
    if "set_id" not in arrays:
        return {}, ["has no column set_id. Add it, or pass a folder of <set id>.npz files"]
    if problems := array_problems(arrays, len(data.classes)):
        return {}, problems
    names, inverse = np.unique(arrays["set_id"], return_inverse=True)
    set_ids = [ids.get(name) for name in names.tolist()]
    unknown = [name for name, set_id in zip(names.tolist(), set_ids, strict=True) if set_id is None]
    problems = [f"has rows of {plural(len(unknown), 'set')} that the dataset does not have: {first_few(unknown, FEW)}"]
    parts = dict[str, Arrays]()
    for set_id in sorted(wanted & {one for one in set_ids if one is not None}):
        rows = np.flatnonzero(np.isin(inverse, [n for n, one in enumerate(set_ids) if one == set_id]))
        kept = (name for name in TYPES if name in arrays and name != "set_id")
        parts[set_id] = {name: arrays[name][rows] for name in kept}
    return parts, [*problems * bool(unknown), *_absent_sets(required, parts)]


def _absent_sets(required: Sequence[str], found: Mapping[str, Any]) -> list[str]:
    if not (missing := [name for name in required if name not in found]):
        return []
    return [
        f"{len(missing):,} of {len(required):,} sets have no predictions: {first_few(missing, FEW)}. Predict them, or "
        "select the others with --sets (in Python: sets=)"
    ]


class _Rows:
    """The rows that predictions of a set must have: one for each sample of a dataset."""

    def __init__(self, data: Dataset) -> None:
        self._ids = [sample.id for sample in data.samples]
        self._numbers = {name: number for number, name in enumerate(self._ids)}
        self._labels = np.array([sample.class_index for sample in data.samples], np.int64)
        self._classes = len(data.classes)

    def outcome(self, arrays: Arrays, of_set: str) -> tuple[Outcome, list[str]]:
        """Return the outcome on a set, in the order of the dataset, and the problems with rows and values.

        `of_set` names the set in messages. BadFile is raised for arrays of unexpected types or shapes.
        """
        kind = next(kind for kind in KINDS if COLUMNS[kind][0] in arrays or COLUMNS[kind][-1] in arrays)
        if problems := array_problems(arrays, self._classes):
            raise BadFile(*problems)
        if "set_id" in arrays:
            raise BadFile("has a column set_id. Pass the file itself instead of its folder")
        rows = len(arrays[COLUMNS[kind][0]])
        places, problems = self._places(arrays, rows, of_set)
        valid = np.flatnonzero((places >= 0) & (places < len(self._ids)))
        parts, faulty = list[Outcome](), dict[str, list[int]]()
        for first in range(0, max(len(valid), 1), ROWS_AT_ONCE):
            some = valid[first : first + ROWS_AT_ONCE]
            block = {name: np.asarray(arrays[name][some]) for name in COLUMNS[kind]}
            part, faults = reduce_predictions(kind, block, self._labels[places[some]], self._classes)
            parts.append(part)
            for problem, which in faults.items():
                faulty.setdefault(problem, []).extend(some[which].tolist())
        if len(faulty.pop(PROBABILITIES, [])) == len(valid) > 0:
            problems.append(PROBABILITIES)
        problems += [
            _of_rows(problem, [f"row {n:,}" for n in numbers]) for problem, numbers in faulty.items() if numbers
        ]
        return _join(parts).rows(np.argsort(places[valid], kind="stable")), problems

    def _places(self, arrays: Arrays, rows: int, of_set: str) -> tuple[NDArray[np.int64], list[str]]:
        """Return the index of the image that each row belongs to, and the problems with rows."""
        count = len(self._ids)
        if "index" in arrays:
            given, problem = arrays["index"], f"with an index outside 0 to {count - 1:,}"
            places = given.astype(np.int64)  # An unsigned number that is too large becomes negative.
        elif "id" in arrays:
            given, problem = arrays["id"], f"whose id matches no sample; ids are for example {self._ids[0]!r}"
            places = np.array([self._numbers.get(name, -1) for name in given.tolist()], np.int64)
        else:
            places = np.arange(rows)
            if rows == count:
                return places, []
            return places, [
                f"has {plural(rows, 'row')}{of_set}, but the dataset has {count:,} images. Without index or id, each "
                "image needs one row, in the order of the dataset"
            ]
        is_known = (places >= 0) & (places < count)
        problems = []
        if not is_known.all():
            problems.append(_of_rows(problem, [repr(one) for one in given[~is_known].tolist()]))
        times = np.bincount(places[is_known], minlength=count)
        names = [f"{number} ({self._ids[number]})" for number in range(count)] if (times != 1).any() else []
        if repeated := [names[n] for n in np.flatnonzero(times > 1).tolist()]:
            problems.append(f"repeats {plural(len(repeated), 'image')}{of_set}: {first_few(repeated, FEW)}")
        if missing := [names[n] for n in np.flatnonzero(times == 0).tolist()]:
            problems.append(f"lacks {len(missing):,} of {count:,} images{of_set}: {first_few(missing, FEW)}")
        return places, problems


def _join(parts: Sequence[Outcome]) -> Outcome:
    fields: dict[str, Any] = {
        name: None if values is None else np.concatenate([getattr(part, name) for part in parts])
        for name, values in vars(parts[0]).items()
    }
    return Outcome(**fields)


def _of_rows(problem: str, rows: Sequence[str]) -> str:
    """Return the text of a problem, with the number of affected rows and the first of these rows."""
    return f"has {plural(len(rows), 'row')} {problem}: {first_few(rows, FEW)}"
