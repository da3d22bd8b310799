"""Read the scores files and printed tables of the models to compare, and check that they are comparable."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from ...arguments import as_list
from ...errors import ScoreError, first_few, format_list, suggest
from ...files import read_text, reason
from ..records import SCORES_VERSION, Scores
from ..score_values import Measured, score_value, without_resamples
from ..scores_file import load_scores

PRINTED = "sha256:" + "0" * 64
"""A placeholder digest for scores that come from a printed table."""
CV, MEAN_ACCURACY = "two_factor.cv_percent", "two_factor.mean_accuracy"
PRINTED_COLUMNS = ("model", "cv", "mean", "clean")


@dataclass(frozen=True)
class Entry:
    """The scores of one model for a comparison."""

    label: str
    """The name of the model in tables and plots."""
    scores: Scores
    file: str
    """The origin of the scores, for messages."""

    @property
    def data_set(self) -> str:
        """The name of the dataset and the first digits of its digest."""
        return f"{self.scores.name}, {self.scores.digest.removeprefix('sha256:')[:8]}"


def gather(given: Iterable[str | Path | Scores], *, any_data: bool = False) -> list[Entry]:
    """Return the scores of the models to compare, in the given order.

    Parameters
    ----------
    given : iterable of path or Scores
    any_data : bool
        Accept scores of different datasets. The labels then contain the names of the datasets.

    Raises
    ------
    ScoreError
        If a file is invalid, if a model occurs twice, or if scores belong to a different dataset than the first ones.
    """
    entries, problems = read_entries(given, any_data=any_data)
    own = [e for e in entries if e.scores.digest != PRINTED]
    problems += [
        f"{e.file} has scores on {e.data_set}, but {own[0].file} has scores on {own[0].data_set}. Score both models on "
        "one dataset, or compare scores on different datasets with --any-data"
        for e in own
        if e.scores.digest != own[0].scores.digest and not any_data
    ]
    if problems:
        raise ScoreError(f"The scores cannot be compared:\n{format_list(problems)}")
    return entries


def read_entries(given: Iterable[str | Path | Scores], *, any_data: bool = False) -> tuple[list[Entry], list[str]]:
    """Return the models whose scores could be read, and the problems with unreadable files and repeated models."""
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
    # Labels contain the dataset and the condition if these differ between models.
    of_several = any_data and len({own.scores.digest for own in entries} - {PRINTED}) > 1
    conditions = len({own.scores.condition for own in entries}) > 1
    files: dict[str, list[str]] = {}
    for place, own in enumerate(entries):
        more = [own.data_set] * of_several + [own.scores.condition or "all images"] * conditions
        entries[place] = replace(own, label=f"{own.label} ({'; '.join(more)})") if more else own
        files.setdefault(entries[place].label, []).append(own.file)
    problems += [
        f"the model {label!r} occurs {len(named)} times ({', '.join(named)}). Give each a different "
        "name in its predictions.json, and score it again"
        for label, named in files.items()
        if len(named) > 1
    ]
    if not entries and not problems:
        problems.append("no scores were given. Pass the folders that `corruptset score --out` wrote")
    return entries, problems


def read_printed(path: Path) -> list[Scores]:
    """Return the two-factor scores in a CSV file that contains a printed table, with values in percent.

    Raises
    ------
    ScoreError
        If the file cannot be read or contains errors. The message lists all of them.
    """
    try:
        head, *lines = [*filter(None, csv.reader(read_text(path).splitlines()))] or [[]]
    except OSError as e:
        raise ScoreError(f"{path} cannot be read: {reason(e)}.") from None
    missing = [f"column {name}" for name in PRINTED_COLUMNS if name not in head]
    if missing or not lines:
        raise ScoreError(
            f"{path} has no {' and no '.join(missing) or 'model'}; expected a line model,cv,mean,clean, and a line "
            "per model with its values in percent."
        )
    found, problems = list[Scores](), list[str]()
    for line, cells in enumerate(lines, 2):
        row = dict(zip(head, cells, strict=False))
        try:
            values = [float(row[name]) for name in PRINTED_COLUMNS[1:]]
        except (KeyError, ValueError):
            values = []
        if len(cells) != len(head) or not row["model"].strip() or not values:
            problems.append(f"line {line} is {','.join(cells)!r}; expected a name and three numbers")
        elif problem := _mistake(*values):
            problems.append(f"line {line}: {problem}")
        else:
            found.append(_apply_printed_values(row["model"], *values))
    if problems:
        raise ScoreError(f"{path}:\n{format_list(problems)}")
    return found


def _mistake(cv_percent: float, *accuracies: float) -> str | None:
    """Return why a coefficient of variation or an accuracy, in percent, is invalid, or None if all are valid."""
    if 0 <= cv_percent < math.inf and all(0 <= one <= 100 for one in accuracies) and max(accuracies) > 1:
        return None
    given = ", ".join(f"{one:g}" for one in (cv_percent, *accuracies))
    return f"{given}: expected a CV of at least 0 and accuracies from 1 to 100, in percent"


def _apply_printed_values(model: str, cv_percent: float, mean: float, clean: float) -> Scores:
    """Return scores with values from a printed table, given in percent."""
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
    """The point that divides the plot of mean accuracy against the coefficient of variation (CV) into quadrants."""

    cv_percent: float
    accuracy: float
    """The mean accuracy as a fraction."""
    words: str
    """The description of the point in tables and plots."""


def point_of(scores: Scores) -> tuple[float, float] | None:
    """Return the coefficient of variation in percent and the mean accuracy of a model over two-factor sets.

    The result is None if either value is missing.
    """
    cv, mean = scores.get(CV), scores.get(MEAN_ACCURACY)
    return None if cv is None or mean is None else (cv, mean)


def reference_point(
    entries: Sequence[Entry], given: str | Sequence[str] | tuple[float, float] | None = None
) -> ReferencePoint | None:
    """Return the reference point, or None if no model has two-factor scores.

    `given` contains names of models, whose mean is the point, or a CV and a mean accuracy in percent. By default, the
    point is the mean of all models.

    Raises
    ------
    ScoreError
        If a model is unknown or has no two-factor scores, or if the CV or the accuracy is out of range.
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
            f"Known models: {first_few(list(points), 20) or 'none'}. Name models, or give a CV and a mean accuracy "
            "in percent, for example --reference 2.94,88.31"
        )
    if not points:
        return None
    cv, accuracy = map(fmean, zip(*(points[name] for name in names), strict=True))
    return ReferencePoint(cv, accuracy, "mean of the models" if given is None else f"mean of {first_few(names)}")
