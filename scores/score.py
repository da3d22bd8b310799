"""`score`: from a model's predictions of a data set to the papers' numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np

from ..errors import ParameterError, PredictionError, first_few
from ..manifests.disk.atomic import write_atomic
from ..manifests.reader import DataSet
from ..manifests.reader import open as open_data_set
from ..progress import progress_function, shows_progress
from .comparability import absence_notes, comparability_notes, why_not_alexnet
from .error_curves import ByCorruption, ErrorCurves, alexnet_curves, error_curves, severity_curves
from .estimates import images_of, interval_of, replicates, value
from .evaluation import Evaluation, condition_of
from .formulas import Estimate, rb_index
from .fragile import FragileScores, measure_fragile
from .outcomes import CLEAN, Predictions
from .over_sets import families, styles, two_factor, worst_cases
from .prediction_files.reading import read_predictions
from .profiles import DescribeLevel, ProfileOver, degradation_profiles
from .published import ALEXNET
from .records import SCORES_VERSION, Resamples, Scores
from .scores_file import write_scores
from .set_choice import choose

Progress = Callable[[str, int, int], None]
"""(phase, done, total)."""


@shows_progress("score")
def score(
    directory: str | Path | DataSet,
    predictions: str | Path | Predictions,
    *,
    baseline: str | Path | Predictions | None = None,
    condition: str | None = None,
    sets: Sequence[str] | None = None,
    profile_over: ProfileOver = "ours",
    seed: int = 0,
    out: str | Path | None = None,
    progress: Progress | bool | None = None,
    describe_level: DescribeLevel | None = None,
) -> Scores:
    """Score what a model predicts of a data set, by the measures of the papers that its sets come from.

    Parameters
    ----------
    directory : str, Path or DataSet
        A finished data set.
    predictions : str, Path or Predictions
        The model's: a folder of ``<set id>.npz``, one ``.npz`` or a CSV (docs/evaluate.md).
    baseline : str, Path or Predictions, optional
        The predictions that corruption errors (CE, mCE) are relative to. ``alexnet``, and by default: AlexNet's
        published errors, where the data set is ImageNet-C as published; elsewhere there is no CE, and a note says why.
    condition : str, optional
        Which images count: ``correct@clean``, those of the clean set that the model has right, or
        ``correct@clean=PREDICTIONS``, those that another model has right. By default all.
    sets : sequence of str, optional
        Ids, aliases or patterns of the sets to score; by default all.
    profile_over : {"ours", "figures", "tables"}
        Which gradual degradations the mean profile is over: all that the data set has, or the fourteen of the figures
        of Swingler 2022 (all fifteen but random_noise), or of its tables (all but fade_grey).
    seed : int
        Of the resamples of the images, which intervals come from: 0..2**53 - 1.
    out : str or Path, optional
        A folder that gets ``scores.json`` and ``sets.csv``.
    progress : callable or bool, optional
        Told (phase, done, total). By default a bar is shown in a terminal and in a notebook; False shows none.
    describe_level : callable, optional
        Says in words what a level of a gradual degradation does; `corruptset.score` supplies it.

    Returns
    -------
    Scores
        Fractions are 0..1. A score that cannot be had is None, and `notes` says why; they also say why a score may not
        be laid beside a published one.

    Raises
    ------
    PredictionError
        The predictions are not of this data set, or lack images; no image fits the condition.
    ParameterError
        The condition is not written as above; the seed is not one; no mean profile is called so.
    UnknownCorruption, IncompleteBuild, VerificationError
        No set fits `sets`; the data set is not finished, or damaged.
    """
    if profile_over not in get_args(ProfileOver):
        raise ParameterError(f"profile_over is {profile_over!r}; expected one of {', '.join(get_args(ProfileOver))}.")
    tell = progress_function(progress)
    data = directory if isinstance(directory, DataSet) else open_data_set(directory)
    read = partial(_predictions, data, progress=tell)
    predicted = read(predictions, sets=sets)
    chosen, condition = condition_of(condition, predicted, partial(read, sets=[CLEAN]), len(data.samples))
    images = images_of(data.samples, chosen, seed)
    evaluation = Evaluation(data, predicted, images)
    reference, no_baseline = None, list[str]()
    if baseline not in (None, ALEXNET):
        needed = {name for ids in severity_curves(evaluation.records).values() for name in ids} | (
            {CLEAN} & predicted.outcomes.keys()
        )
        reference = error_curves(Evaluation(data, read(baseline, sets=sorted(needed)), images))
    elif not (no_baseline := why_not_alexnet(data, condition)):
        reference = alexnet_curves()
    tell("resampling", 0, 0)

    curves = error_curves(evaluation)
    by_corruption = curves.scores(reference)
    by_style, style_gap = styles(evaluation)
    two_factors, of_two = two_factor(evaluation)
    profiles, mean_profile, profile_notes = degradation_profiles(evaluation, describe_level, profile_over)
    fragile = _fragile(evaluation, condition)
    numbers = _numbers(evaluation, curves, by_corruption) | {"style_gap": style_gap}
    estimates = {name: estimate for name, estimate in numbers.items() if estimate is not None}
    estimates |= {f"two_factor.{name}": estimate for name, estimate in of_two.items()} | fragile.estimates
    kinds: dict[str, Sized] = {
        "profiles": profiles,
        "two_factor": of_two,
        "style": by_style,
        "fragile": fragile.groups or fragile.notes,
    }
    compared = None if reference is None else reference.model
    fields: dict[str, Any] = {
        name: None if one is None else value(one) for name, one in numbers.items() if name in Scores.model_fields
    }
    fields |= {name: _values(rows) for name, rows in (by_corruption | {"style": by_style}).items()}
    replicated = {name: rows for name, estimate in estimates.items() if (rows := replicates(estimate)) is not None}
    scores = Scores(
        schema_version=SCORES_VERSION,
        digest=data.digest,
        name=f"{data.manifest.name} {data.manifest.version}",
        model=predicted.model,
        samples=len(data.samples),
        condition=condition,
        sets=evaluation.set_scores(),
        families=families(evaluation),
        worst_case=worst_cases(evaluation),
        baseline=compared,
        profiles=profiles,
        mean_profile=mean_profile,
        two_factor=two_factors,
        fragile=fragile.groups,
        intervals={name: interval_of(estimate) for name, estimate in estimates.items()},
        resamples=Resamples(seed=seed, units=images.bootstrap.units, values=replicated),
        notes=[
            *absence_notes(evaluation, curves, no_baseline, kinds),
            *_undefined(by_corruption | {"": estimates}),
            *profile_notes,
            *fragile.notes,
            *comparability_notes(data, evaluation.outcomes.keys(), condition, compared),
        ],
        **fields,
    )
    if out is not None:
        write_scores(scores, Path(out))
        if fragile.images.rows:
            write_atomic(Path(out) / f"{fragile.images.name}.csv", fragile.images.csv().encode())
    return scores


def _predictions(
    data: DataSet, given: str | Path | Predictions, *, sets: Sequence[str] | None, progress: Progress
) -> Predictions:
    """Return predictions, read where they are not in memory; of those in memory, the sets that are asked for, and
    clean.
    """
    if not isinstance(given, Predictions):
        return read_predictions(given, data, sets=sets, progress=progress)
    wanted = {
        *(data.set_ids if sets is None else choose(data, [name for name in sets if name != CLEAN or name in data]))
    }
    outcomes = {name: outcome for name, outcome in given.outcomes.items() if name in wanted or name == CLEAN}
    lengths = {len(outcome) for outcome in outcomes.values()} - {len(data.samples)}
    missing = sorted(wanted - outcomes.keys())
    wrong = [f"lack the sets {first_few(missing)}"] * bool(missing) + [
        f"have {length} rows a set" for length in lengths
    ]
    wrong += [f"are of {given.digest}"] * (given.digest not in (None, data.digest))
    if wrong:
        raise PredictionError(
            f"The predictions of {given.model} are not of {data.path} ({data.digest}, {len(data.samples)} images): "
            f"they {wrong[0]}."
        )
    return replace(given, outcomes=outcomes)


def _fragile(evaluation: Evaluation, condition: str | None) -> FragileScores:
    """Return the fragile rates, which are of all regions: a condition would take neighbours away."""
    if condition is not None and any(sample.region is not None for sample in evaluation.data.samples):
        return FragileScores({}, ["Fragile rates are of all regions; with a condition there are none."])
    return measure_fragile(evaluation.data, evaluation.outcomes, evaluation.images.bootstrap.seed)


def _numbers(
    evaluation: Evaluation, curves: ErrorCurves, by_corruption: Mapping[str, ByCorruption]
) -> dict[str, Estimate | None]:
    """Return the means over the fifteen corruptions of ImageNet-C, and the scores over all sets to test on, and of the
    clean images.
    """
    clean, tests = evaluation.clean, [evaluation.accuracies[record.id] for record in evaluation.tests]
    maude = curves.mean(by_corruption["aude"])
    return {
        "maude": maude,
        "relative_maude": None if maude is None or curves.clean is None else maude - curves.clean,
        "mce": curves.mean(by_corruption["ce"]),
        "relative_mce": curves.mean(by_corruption["relative_ce"]),
        "clean_accuracy": clean,
        "mean_accuracy": np.asarray(np.mean(tests, axis=0)) if tests else None,
        "rb_index": rb_index(clean, tests) if tests and clean is not None else None,
    }


def _values(estimates: Mapping[str, Estimate]) -> dict[str, float]:
    """Return what has a finite value."""
    return {name: one for name, estimate in estimates.items() if (one := value(estimate)) is not None}


def _undefined(tables: Mapping[str, Mapping[str, Estimate]]) -> list[str]:
    """Return a note on the scores whose formula divides by 0."""
    names = [
        f"{table} of {name}" if table else name
        for table, rows in tables.items()
        for name, row in rows.items()
        if value(row) is None
    ]
    if not names:
        return []
    why = "a baseline without errors, or that loses nothing under a corruption, or an accuracy of 0"
    return [f"These have no value, because they would be divided by 0 ({why}): {first_few(names)}."]
