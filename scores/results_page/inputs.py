"""Read the scores and predictions for a results page, and check that they belong together."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from ...arguments import as_list
from ...errors import CorruptsetError, ParameterError, PredictionError, ScoreError, format_list, quote
from ...manifests.reader import Dataset
from ..comparison.entries import Entry, read_entries
from ..outcomes import Predictions
from ..prediction_files.reading import HEAD, read_predictions
from ..records import Scores

Given = str | Path | Predictions
GivenPredictions = Sequence[Given] | Mapping[str, Given]
TOLERANCE = 1e-6
"""The maximum difference between the accuracy of predictions and the accuracy in the scores file."""


def checked_inputs(
    data: Dataset, scores: Sequence[str | Path | Scores], predictions: GivenPredictions, tell: Callable[..., None]
) -> tuple[list[Entry], dict[str, Predictions]]:
    """Return the models with their scores, and a mapping from model labels to predictions.

    If no predictions are given for a model, they are searched for in the folder of its scores file.

    Raises
    ------
    ScoreError
        If there are problems. The message lists all of them.
    """
    entries, problems = read_entries(scores)
    expected = f"{data.name} ({data.digest})"
    problems += [
        f"{e.file} has scores of the dataset {e.scores.name} ({e.scores.digest}), but {data.path} is {expected}. Score "
        "the model on this dataset."
        for e in entries
        if e.scores.digest != data.digest
    ]
    predicted = dict[str, Predictions]()
    pairs = (
        predictions.items()
        if isinstance(predictions, Mapping)
        else [_split_name(one, entries) for one in as_list(predictions, Predictions)]
    )
    for name, given in pairs:
        try:
            entry, read = _predictions_of(data, entries, name, given, tell)
        except CorruptsetError as e:
            problems.append(str(e).replace("\n", "\n  "))
            continue
        if entry.label in predicted:
            problems.append(
                f"The predictions of {entry.label!r} are given twice. Give the predictions of each model once."
            )
        problems += _not_scored(entry, read)
        predicted[entry.label] = read
    if problems:
        raise ScoreError(f"The report cannot be written:\n{format_list(problems)}")
    for entry in entries:
        folder = Path(entry.file) if os.path.isdir(entry.file) else Path(entry.file).parent
        if entry.label not in predicted and os.path.exists(entry.file) and (folder / HEAD).is_file():
            # These predictions were not requested, so they are ignored if they do not fit.
            with suppress(CorruptsetError):
                read = _predictions_of(data, [entry], None, folder, tell)[1]
                if not _not_scored(entry, read):
                    predicted[entry.label] = read
    return entries, {entry.label: predicted[entry.label] for entry in entries if entry.label in predicted}


def _split_name(given: Given, entries: Sequence[Entry]) -> tuple[str | None, Given]:
    """Split ``NAME=PATH`` into the name and the path. The name may contain an equals sign."""
    if not isinstance(given, str | os.PathLike | Predictions):
        raise ParameterError(f"predictions is {quote(given)}; expected paths, or a mapping of models to paths.")
    if not isinstance(given, str) or os.path.exists(given) or "=" not in given:
        return None, given
    names = [name for e in entries for name in (e.label, e.scores.model) if given.startswith(f"{name}=")]
    name = names[0] if names else given.partition("=")[0]
    return name, given[len(name) + 1 :]


def _predictions_of(
    data: Dataset, entries: Sequence[Entry], name: str | None, given: Given, tell: Callable[..., None]
) -> tuple[Entry, Predictions]:
    """Read predictions, and return them with the model that they belong to."""
    by_name = {e.scores.model: e for e in reversed(entries)} | {e.label: e for e in entries}
    models = ", ".join(e.label for e in entries) or "none"
    if name is not None and name not in by_name:
        raise PredictionError(f"Predictions were given for {name!r}, which is not one of the models: {models}.")
    read = given
    if not isinstance(read, Predictions):
        # Only sets that were scored are read. The name of the model may be known only after reading.
        scored = entries if name is None else [by_name[name]]
        sets = sorted({id for e in scored for id in e.scores.sets if id in data})
        read = read_predictions(read, data, sets=sets or None, progress=tell)
    if name is None and read.model not in by_name:
        where = "The predictions" if isinstance(given, Predictions) else given
        raise PredictionError(
            f"{where} belong to the model {read.model!r}, but the models are {models}. Name the model with NAME=PATH."
        )
    return by_name[read.model if name is None else name], read


def _not_scored(entry: Entry, read: Predictions) -> list[str]:
    """Return a problem if the accuracy of predictions differs from that in the scores file.

    Scores with a condition are not compared, because they are computed from only some of the images.
    """
    scored = entry.scores.sets
    accuracy = {id: float(np.mean(read.outcomes[id].correct)) for id in scored if id in read.outcomes}
    differing = [id for id, own in accuracy.items() if abs(scored[id].accuracy - own) > TOLERANCE]
    if entry.scores.condition is not None or not differing:
        return []
    id = differing[0]
    return [
        f"The predictions of {entry.label!r} do not belong to the scores, because the accuracy differs in "
        f"{len(differing)} of {len(accuracy)} sets. On {id} it is {accuracy[id]:.4f}, and {scored[id].accuracy:.4f} in "
        "the scores file. Score the predictions again."
    ]
