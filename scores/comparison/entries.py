"""The scores files and printed tables that are compared: read, checked, and found to be comparable."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple, get_origin

from pydantic import ValidationError

from ...error_lines import mistake_lines
from ...errors import ScoreError, first_few, listed, suggest
from ...files import read_text, reason
from ..records import SCORES_VERSION, Scores, SetScore, TwoFactor
from ..scores_file import load_scores

SHORT = 8
"""Letters of a digest that tell data sets apart."""
PRINTED = "sha256:" + "0" * 64
"""In place of a data set's digest, of scores that were printed."""
PRINTED_COLUMNS = ("model", "cv", "mean", "clean")


class Reference(NamedTuple):
    """The point that splits the plot of accuracy against its variation in four."""

    cv_percent: float
    accuracy: float
    """A fraction."""
    words: str
    """What it is."""


@dataclass(frozen=True)
class Entry:
    """A model on a data set."""

    label: str
    """What it is called in tables and plots."""
    scores: Scores
    file: str
    """Where its scores come from, for messages."""
    reference: Reference | None = None
    """The one that was given, the same for all models; None is their mean."""

    @property
    def clean(self) -> float | None:
        """Accuracy on the clean images."""
        return self.scores.clean


def gather(given: Iterable[str | Path | Scores], *, any_data: bool = False) -> list[Entry]:
    """Return the models to compare, in the order given.

    Parameters
    ----------
    given : iterable of path or Scores
    any_data : bool
        Take scores of different data sets too; then a model's label says of which it is.

    Raises
    ------
    ScoreError
        Lists every file that is not valid, models that are there twice, and scores of other data sets than the first's.
    """
    entries, problems = read_entries(given, any_data=any_data)
    own = [e for e in entries if e.scores.digest != PRINTED]
    for e in [] if any_data else own:
        if e.scores.digest != own[0].scores.digest:
            problems.append(
                f"{e.file} has scores of another data set, {_data_set(e)}, than {own[0].file}, {_data_set(own[0])}: "
                "score both models on one data set, or put different ones side by side with --any-data"
            )
    if problems:
        raise ScoreError(f"The scores cannot be compared:\n{listed(problems)}")
    return entries


def _data_set(entry: Entry) -> str:
    return f"{entry.scores.name} ({_short(entry)})"


def _short(entry: Entry) -> str:
    return entry.scores.digest.removeprefix("sha256:")[:SHORT]


def read_entries(given: Iterable[str | Path | Scores], *, any_data: bool = False) -> tuple[list[Entry], list[str]]:
    """Return the models that could be read, of whatever data sets, and what is wrong.

    That is: files that are not valid, and models that are there twice.
    """
    problems, entries = list[str](), list[Entry]()
    for number, one in enumerate(given, 1):
        try:
            if isinstance(one, Scores):
                entries.append(Entry(one.model, one, f"scores {number}"))
            else:
                read = read_printed(Path(one)) if str(one).endswith(".csv") else [load_scores(one)]
                entries += [Entry(scores.model, scores, str(one)) for scores in read]
        except ScoreError as e:
            problems.append(str(e).replace("\n", "\n  "))
    # a model is called with its data set and condition where these are not the same for all
    of_several = any_data and len({own.scores.digest for own in entries} - {PRINTED}) > 1
    conditions = len({own.scores.condition for own in entries}) > 1
    files: dict[str, list[str]] = {}
    for place, own in enumerate(entries):
        more = [f"{own.scores.name}, {_short(own)}"] * of_several + [own.scores.condition or "all images"] * conditions
        entries[place] = replace(own, label=f"{own.label} ({'; '.join(more)})") if more else own
        files.setdefault(entries[place].label, []).append(own.file)
    problems += [
        f"the model {label!r} is there {len(named)} times ({', '.join(named)}): name each in its predictions.json, "
        "and score it again"
        for label, named in files.items()
        if len(named) > 1
    ]
    if not entries and not problems:
        problems.append("no scores were given: name the files that `corruptset score --json` wrote")
    return entries, problems


def read_printed(path: Path) -> list[Scores]:
    """Return the two-factor scores of a printed table: a CSV with the columns model, cv, mean and clean, in per cent.

    Raises
    ------
    ScoreError
        It cannot be read, or has mistakes: all of them listed.
    """
    try:
        rows = list(csv.DictReader(read_text(path).splitlines()))
    except OSError as e:
        raise ScoreError(f"{path} cannot be read: {reason(e)}.") from None
    names = {name: {name, f"{name}_percent", f"{name}_accuracy"} for name in PRINTED_COLUMNS}
    columns = {
        name: next((given for given in rows[0] if given in names[name]), None) if rows else None
        for name in PRINTED_COLUMNS
    }
    if missing := [name for name, column in columns.items() if column is None]:
        raise ScoreError(
            f"{path} has no column {' and '.join(missing)}; expected a line model,cv,mean,clean, and values in per "
            "cent."
        )
    found, problems = list[Scores](), list[str]()
    for line, row in enumerate(rows, 2):
        cells = {name: row[str(column)] for name, column in columns.items()}
        try:
            cv, mean, clean = (float(cells[name]) for name in PRINTED_COLUMNS[1:])
            found.append(Scores.model_validate(_printed(cells["model"], cv, mean / 100, clean / 100)))
        except (TypeError, ValidationError, ValueError) as e:
            why = (
                "; ".join(mistake_lines(e, Scores))
                if isinstance(e, ValidationError)
                else f"cv, mean and clean are numbers ({e})"
            )
            problems.append(f"line {line}: {why}")
    if problems:
        raise ScoreError(f"{path}:\n{listed(problems)}")
    return found


def _printed(model: str, cv_percent: float, mean: float, clean: float) -> dict[str, Any]:
    """Return the JSON of scores that have nothing but what was printed."""
    of_names = {"mean_accuracy": mean, "cv_percent": cv_percent, "distinct_mean_accuracy": mean, "order_effects": []}
    nothing: dict[str, Any] = {
        name: {} if get_origin(field.annotation) is dict else None for name, field in Scores.model_fields.items()
    }
    known = {
        "schema_version": SCORES_VERSION,
        "digest": PRINTED,
        "name": "a printed table",
        "model": model,
        "notes": [],
    }
    return (
        nothing
        | known
        | {
            "samples": 0,
            "sets": {"clean": dict.fromkeys(SetScore.model_fields) | {"n": 0, "accuracy": clean}},
            "two_factor": dict.fromkeys(TwoFactor.model_fields) | {"names": 0, "distinct": 0} | of_names,
        }
    )


def with_reference(entries: Sequence[Entry], given: str | Sequence[str] | tuple[float, float]) -> list[Entry]:
    """Return entries with the reference point of given models, the mean of theirs; or at a given CV and mean accuracy,
    in per cent.

    Raises
    ------
    ScoreError
        No model is called so, or it has no two-factor scores.
    """
    names = [name.strip() for name in given.split(",")] if isinstance(given, str) else list(given)
    try:
        cv, mean = (float(str(value)) for value in names)
        point = Reference(cv, mean / 100, f"CV {cv:g} %, mean accuracy {mean:g} %")
    except (TypeError, ValueError):
        of = {e.label: t for e in entries if (t := e.scores.two_factor) is not None and t.cv_percent is not None}
        if unknown := [str(name) for name in names if name not in of]:
            hints = "".join(suggest(name, of) for name in unknown)
            raise ScoreError(
                "--reference: no model with two-factor scores is called "
                f"{first_few(list(map(repr, unknown)))}.{hints} There are: {first_few(list(of), 20) or 'none'}. Give "
                "models, or a CV and a mean accuracy in per cent: --reference 2.94,88.31"
            ) from None
        chosen = [of[str(name)] for name in names]
        cv, mean = map(fmean, zip(*((t.cv_percent or 0.0, t.mean_accuracy) for t in chosen), strict=True))
        point = Reference(cv, mean, f"mean of {first_few(list(map(str, names)))}")
    return [replace(entry, reference=point) for entry in entries]


def reference_of(entries: Sequence[Entry]) -> Reference | None:
    """Return the point that was given, or the mean of the models with a variation over sets; None where there
    are none.
    """
    shown = [
        (t.cv_percent, t.mean_accuracy)
        for e in entries
        if (t := e.scores.two_factor) is not None and t.cv_percent is not None
    ]
    if not shown:
        return None
    cv, accuracy = map(fmean, zip(*shown, strict=True))
    return entries[0].reference or Reference(cv, accuracy, "mean of the models")
