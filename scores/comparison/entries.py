"""Models to compare: their scores files and printed tables, read and found to go together."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from ...arguments import as_list
from ...errors import ScoreError, first_few, listed, suggest
from ...files import read_text, reason
from ..records import SCORES_VERSION, Scores
from ..score_values import Measured, score_value, without_resamples
from ..scores_file import load_scores

PRINTED = "sha256:" + "0" * 64
"""In place of a data set's digest, of scores that were printed."""
CV, MEAN_ACCURACY = "two_factor.cv_percent", "two_factor.mean_accuracy"
PRINTED_COLUMNS = ("model", "cv", "mean", "clean")


@dataclass(frozen=True)
class Entry:
    """A model on a data set."""

    label: str
    """What it is called in tables and plots."""
    scores: Scores
    file: str
    """Where its scores come from, for messages."""

    @property
    def data_set(self) -> str:
        """The data set's name, and the letters of its digest that tell data sets apart."""
        return f"{self.scores.name}, {self.scores.digest.removeprefix('sha256:')[:8]}"


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
    problems += [
        f"{e.file} has scores of another data set ({e.data_set}) than {own[0].file} ({own[0].data_set}): score both "
        "models on one data set, or put different ones side by side with --any-data"
        for e in own
        if e.scores.digest != own[0].scores.digest and not any_data
    ]
    if problems:
        raise ScoreError(f"The scores cannot be compared:\n{listed(problems)}")
    return entries


def read_entries(given: Iterable[str | Path | Scores], *, any_data: bool = False) -> tuple[list[Entry], list[str]]:
    """Return the models that could be read, of whatever data sets, and what is wrong.

    That is: files that are not valid, and models that are there twice.
    """
    problems, entries = list[str](), list[Entry]()
    for number, one in enumerate(as_list(given, Scores), 1):
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
        more = [own.data_set] * of_several + [own.scores.condition or "all images"] * conditions
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
    """Return the two-factor scores of a printed table, a CSV in per cent.

    Raises
    ------
    ScoreError
        It cannot be read, or has mistakes: all of them listed.
    """
    try:
        head, *lines = [*filter(None, csv.reader(read_text(path).splitlines()))] or [[]]
    except OSError as e:
        raise ScoreError(f"{path} cannot be read: {reason(e)}.") from None
    missing = [f"column {name}" for name in PRINTED_COLUMNS if name not in head]
    if missing or not lines:
        raise ScoreError(
            f"{path} has no {' and no '.join(missing) or 'model'}; expected a line model,cv,mean,clean, and one for "
            "each model, its values in per cent."
        )
    found, problems = list[Scores](), list[str]()
    for line, cells in enumerate(lines, 2):
        row = dict(zip(head, cells, strict=False))
        try:
            values = [float(row[name]) for name in PRINTED_COLUMNS[1:]]
        except (KeyError, ValueError):
            values = []
        if len(cells) != len(head) or not row["model"].strip() or not values:
            problems.append(f"line {line} is {','.join(cells)!r}; expected a name, three numbers and no more")
        elif problem := _mistake(*values):
            problems.append(f"line {line}: {problem}")
        else:
            found.append(_printed(row["model"], *values))
    if problems:
        raise ScoreError(f"{path}:\n{listed(problems)}")
    return found


def _mistake(cv_percent: float, *accuracies: float) -> str | None:
    """Return what is wrong with a CV and accuracies in per cent; None where nothing is."""
    if 0 <= cv_percent < math.inf and all(0 <= one <= 100 for one in accuracies) and max(accuracies) > 1:
        return None
    given = ", ".join(f"{one:g}" for one in (cv_percent, *accuracies))
    return f"{given}: expected a CV of 0 or more, and accuracies from 1 to 100, in per cent, not fractions"


def _printed(model: str, cv_percent: float, mean: float, clean: float) -> Scores:
    """Return scores with the values of a printed table, which are in percent."""
    values = {"clean_accuracy": clean / 100, CV: cv_percent, MEAN_ACCURACY: mean / 100}
    return Scores(
        schema_version=SCORES_VERSION,
        digest=PRINTED,
        name="a printed table",
        model=model,
        samples=0,
        condition=None,
        baseline=None,
        scores=[score_value(name, Measured(without_resamples(one)), 0) for name, one in values.items()],
        sets={},
        profiles={},
        mean_profile=None,
        order_effects=[],
        resamples=None,
        notes=[],
    )


class ReferencePoint(NamedTuple):
    """The point that splits the plot of accuracy against its variation in four."""

    cv_percent: float
    accuracy: float
    """A fraction."""
    words: str
    """What it is."""


def point_of(scores: Scores) -> tuple[float, float] | None:
    """Return the CV in percent and the mean accuracy over two-factor sets, or None without both."""
    cv, mean = scores.get(CV), scores.get(MEAN_ACCURACY)
    return None if cv is None or mean is None else (cv, mean)


def reference_point(
    entries: Sequence[Entry], given: str | Sequence[str] | tuple[float, float] | None = None
) -> ReferencePoint | None:
    """Return the reference point; None where no model has a variation over sets.

    It is the mean of given models, or by default of all; or a given CV and mean accuracy, in per cent.

    Raises
    ------
    ScoreError
        No model is called so, or it has no two-factor scores; or a CV and an accuracy that are none.
    """
    points = {e.label: point for e in entries if (point := point_of(e.scores)) is not None}
    names = [name.strip() for name in given.split(",")] if isinstance(given, str) else list(map(str, given or points))
    try:
        cv, mean = map(float, names if given is not None else ())
    except ValueError:
        pass
    else:
        if problem := _mistake(cv, mean):
            raise ScoreError(f"--reference: {problem}.")
        return ReferencePoint(cv, mean / 100, f"CV {cv:g} %, mean accuracy {mean:g} %") if points else None
    if unknown := [name for name in names if name not in points]:
        hints = "".join(suggest(name, points) for name in unknown)
        raise ScoreError(
            f"--reference: no model with two-factor scores is called {first_few(list(map(repr, unknown)))}.{hints} "
            f"There are: {first_few(list(points), 20) or 'none'}. Give models, or a CV and a mean accuracy in per "
            "cent: --reference 2.94,88.31"
        )
    if not points:
        return None
    cv, accuracy = map(fmean, zip(*(points[name] for name in names), strict=True))
    return ReferencePoint(cv, accuracy, "mean of the models" if given is None else f"mean of {first_few(names)}")
