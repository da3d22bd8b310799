"""The scores files that are compared: read, checked, and found to be comparable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...errors import ScoreError, listed
from ..records import Scores
from ..scores_file import load_scores

SHORT = 8
"""Letters of a digest that tell data sets apart."""


@dataclass(frozen=True)
class Entry:
    """A model on a data set."""

    label: str
    """What it is called in tables and plots."""
    scores: Scores
    file: str
    """Where its scores come from, for messages."""

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
    if not any_data:
        problems += _others(entries)
    if problems:
        raise ScoreError(f"The scores cannot be compared:\n{listed(problems)}")
    return entries


def read_entries(given: Iterable[str | Path | Scores], *, any_data: bool = False) -> tuple[list[Entry], list[str]]:
    """Return the models that could be read, of whatever data sets, and what is wrong.

    That is: files that are not valid, and models that are there twice.
    """
    problems, found = list[str](), list[tuple[str, Scores]]()
    for number, one in enumerate(given, 1):
        if isinstance(one, Scores):
            found.append((f"scores {number}", one))
            continue
        try:
            found.append((str(one), load_scores(one)))
        except ScoreError as e:
            problems.append(str(e).replace("\n", "\n  "))
    labels = _labels([scores for _, scores in found], any_data)
    problems += _doubles(labels, [file for file, _ in found])
    if not found and not problems:
        problems.append("no scores were given: name the files that `corruptset score --json` wrote")
    return [Entry(label, scores, file) for label, (file, scores) in zip(labels, found, strict=True)], problems


def _labels(compared: Sequence[Scores], any_data: bool) -> list[str]:
    """Return what models are called: with the data set and the condition where these are not the same for all."""
    of_several = any_data and len({scores.digest for scores in compared}) > 1
    conditions = len({scores.condition for scores in compared}) > 1
    labels = []
    for scores in compared:
        more = [f"{scores.name}, {_short(scores)}"] * of_several + [scores.condition or "all images"] * conditions
        labels.append(f"{scores.model} ({'; '.join(more)})" if more else scores.model)
    return labels


def _doubles(labels: Sequence[str], files: Sequence[str]) -> list[str]:
    of_label: dict[str, list[str]] = {}
    for label, file in zip(labels, files, strict=True):
        of_label.setdefault(label, []).append(file)
    return [
        f"the model {label!r} is there {len(named)} times ({', '.join(named)}): name each in its predictions.json, and score it again"
        for label, named in of_label.items()
        if len(named) > 1
    ]


def _others(entries: Sequence[Entry]) -> list[str]:
    return [
        f"{e.file} has scores of another data set, {e.scores.name} ({_short(e.scores)}), than {first.file}, {first.scores.name} "
        f"({_short(first.scores)}): score both models on one data set, or put different ones side by side with --any-data"
        for first in entries[:1]
        for e in entries
        if e.scores.digest != first.scores.digest
    ]


def _short(scores: Scores) -> str:
    return scores.digest.removeprefix("sha256:")[:SHORT]
