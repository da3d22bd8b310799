"""`score`: from a model's predictions of a data set to the papers' numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np

from ..corruptions.gradual import describe_level
from ..errors import ParameterError, PredictionError, first_few
from ..manifests.disk.atomic import write_atomic
from ..manifests.reader import DataSet
from ..progress import progress_function, shows_progress
from .comparability import absence_notes, comparability_notes, why_not_alexnet
from .error_curves import ErrorCurves, alexnet_curves, error_curves, severity_curves
from .estimates import ONE_IMAGE, images_of, interval_of, replicates, value
from .evaluation import Evaluation, condition_of
from .formulas import Estimate, rb_index
from .fragile import FragileScores, measure_fragile
from .outcomes import CLEAN, Predictions
from .over_sets import families, styles, two_factor, worst_cases
from .prediction_files.reading import read_predictions
from .profiles import ProfileOver, degradation_profiles
from .published import ALEXNET
from .records import SCORES_VERSION, SPREADS, Resamples, Scores
from .scores_file import write_scores
from .set_choice import choose_predicted

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
) -> Scores:
    """Score a model's predictions of a data set by the measures of the papers.

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
    data = directory if isinstance(directory, DataSet) else DataSet(directory)
    read = partial(_predictions, data, progress=tell)
    predicted = read(predictions, sets=sets)
    counted, condition = condition_of(condition, predicted, partial(read, sets=[CLEAN]))
    samples = [s for s in data.samples if counted is None or counted[s.index]]
    images = images_of(samples, seed)

    def evaluated(of: Predictions) -> Evaluation:
        records = [record for record in data.manifest.sets if record.id in of.outcomes]
        outcomes = {n: outcome if counted is None else outcome.rows(counted) for n, outcome in of.outcomes.items()}
        return Evaluation(of.model, records, samples, outcomes, images)

    evaluation = evaluated(predicted)
    reference, no_baseline = None, list[str]()
    if baseline not in (None, ALEXNET):
        needed = {name for ids in severity_curves(evaluation.records).values() for name in ids}
        needed |= {CLEAN} & predicted.outcomes.keys()
        reference = error_curves(evaluated(read(baseline, sets=sorted(needed) or None)))
    elif not (no_baseline := why_not_alexnet(data, condition)):
        reference = alexnet_curves()
    tell("resampling", 0, 0)

    curves = error_curves(evaluation)
    rows: dict[str, Mapping[str, Estimate]] = dict(curves.scores(reference))
    rows["style"], style_gap = styles(evaluation)
    two_factors, of_two = two_factor(evaluation)
    profiles, mean_profile, profile_notes = degradation_profiles(data, evaluation, describe_level, profile_over)
    fragile = _fragile(data, evaluation, condition, seed)
    numbers = _numbers(evaluation, curves, rows) | {"style_gap": style_gap}
    estimates = {name: estimate for name, estimate in numbers.items() if estimate is not None}
    estimates |= {f"two_factor.{name}": estimate for name, estimate in of_two.items()} | fragile.estimates
    replicated = {name: kept for name, estimate in estimates.items() if (kept := replicates(estimate)) is not None}
    fields: dict[str, Any] = {
        name: None if one is None else value(one) for name, one in numbers.items() if name in Scores.model_fields
    }
    fields |= {
        table: {name: one for name, estimate in of.items() if (one := value(estimate)) is not None}
        for table, of in rows.items()
    }
    scores = Scores(
        schema_version=SCORES_VERSION,
        digest=data.digest,
        name=data.name,
        model=predicted.model,
        samples=len(data.samples),
        condition=condition,
        sets=evaluation.set_scores(),
        families=families(evaluation),
        worst_case=worst_cases(evaluation),
        baseline=None if reference is None else reference.model,
        profiles=profiles,
        mean_profile=mean_profile,
        two_factor=two_factors,
        fragile=fragile.groups,
        intervals={name: interval_of(one, is_spread=name in SPREADS) for name, one in estimates.items()},
        resamples=Resamples(seed=seed, units=images.bootstrap.units, values=replicated),
        notes=[],
        **fields,
    )
    notes = [
        *absence_notes(evaluation, curves, no_baseline, scores, is_fragile=bool(fragile.groups or fragile.notes)),
        *_undefined(rows | {"": estimates}),
        *profile_notes,
        *fragile.notes,
        *[ONE_IMAGE] * (images.bootstrap.units == 1),
        *comparability_notes(data, scores.sets, condition, scores.baseline),
    ]
    scores = scores.model_copy(update={"notes": list(dict.fromkeys(notes))})
    if out is not None:
        write_scores(scores, Path(out))
        if fragile.images.rows:
            write_atomic(Path(out) / f"{fragile.images.name}.csv", fragile.images.csv().encode())
    return scores


def _predictions(
    data: DataSet, given: str | Path | Predictions, *, sets: Sequence[str] | None, progress: Progress
) -> Predictions:
    """Return predictions of sets and of clean, read where they are not in memory."""
    if not isinstance(given, Predictions):
        return read_predictions(given, data, sets=sets, progress=progress)
    wanted = choose_predicted(data, sets)
    outcomes = {name: outcome for name, outcome in given.outcomes.items() if name in wanted or name == CLEAN}
    missing = [name for name in wanted if name not in outcomes]
    lengths = {len(outcome) for outcome in outcomes.values()} - {len(data.samples)}
    wrong = [f"lack the sets {first_few(missing)}"] if missing else [f"have {rows} rows a set" for rows in lengths]
    wrong += [] if given.digest in (None, data.digest) else [f"are of {given.digest}"]
    if wrong:
        raise PredictionError(
            f"The predictions of {given.model} are not of {data.path} ({data.digest}, {len(data.samples)} images): "
            f"they {wrong[0]}."
        )
    return replace(given, outcomes=outcomes)


def _fragile(data: DataSet, evaluation: Evaluation, condition: str | None, seed: int) -> FragileScores:
    """Return the fragile rates, which are of all regions: a condition would take neighbours away."""
    if condition is not None and any(sample.region is not None for sample in data.samples):
        return FragileScores({}, ["Fragile rates are of all regions; with a condition there are none."])
    return measure_fragile(data, evaluation.outcomes, seed)


def _numbers(
    evaluation: Evaluation, curves: ErrorCurves, rows: Mapping[str, Mapping[str, Estimate]]
) -> dict[str, Estimate | None]:
    """Return the scores that are one number, over the fifteen and over all test sets."""
    clean, tests = evaluation.clean, [evaluation.accuracies[record.id] for record in evaluation.tests]
    maude = curves.mean(rows["aude"])
    return {
        "maude": maude,
        "relative_maude": None if maude is None or curves.clean is None else maude - curves.clean,
        "mce": curves.mean(rows["ce"]),
        "relative_mce": curves.mean(rows["relative_ce"]),
        "clean_accuracy": clean,
        "mean_accuracy": np.asarray(np.mean(tests, axis=0)) if tests else None,
        "rb_index": rb_index(clean, tests) if tests and clean is not None else None,
    }


def _undefined(tables: Mapping[str, Mapping[str, Estimate]]) -> list[str]:
    """Return a note on the scores whose formula divides by 0."""
    names = [
        f"{table} of {name}" if table else name
        for table, rows in tables.items()
        for name, row in rows.items()
        if value(row) is None
    ]
    why = "a baseline without errors, or that loses nothing under a corruption, or an accuracy of 0"
    return [f"These have no value, because they would be divided by 0 ({why}): {first_few(names)}."] if names else []
