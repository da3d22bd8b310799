"""`score`: compute published robustness scores from a model's predictions for a dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import get_args

from ..corruptions.gradual import describe_level
from ..errors import ParameterError, PredictionError, first_few
from ..manifests.disk.atomic import write_atomic
from ..manifests.reader import Dataset
from ..progress import progress_function, shows_progress
from .bootstrap import images_of
from .comparability import absence_notes, comparability_notes, why_not_alexnet
from .error_curves import MEANS, NO_CLEAN, alexnet_curves, error_curves, severity_curves
from .evaluation import Evaluation, condition_of
from .fragile import FragileScores, measure_fragile
from .outcomes import CLEAN, FIRST, Predictions
from .over_sets import group_scores, means_over_tests, order_effects, styles, two_factor
from .prediction_files.reading import read_predictions
from .profiles import ProfileOver, degradation_profiles
from .published import ALEXNET, FIFTEEN, SEVERITIES, recipe_sets
from .records import SCORES_VERSION, Profile, Scores
from .score_values import Measured, Measures, resamples_of, score_value
from .scores_file import write_scores
from .set_choice import choose_predicted_sets

Progress = Callable[[str, int, int], None]
"""A function that is called with (phase, done, total)."""


@shows_progress("score")
def score(
    directory: str | Path | Dataset,
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
    """Compute published robustness scores, such as mCE, from a model's predictions for a dataset.

    Parameters
    ----------
    directory : str, Path or Dataset
        A finished dataset.
    predictions : str, Path or Predictions
        The model's predictions: a folder of ``<set id>.npz``, an ``.npz`` file or a CSV file (docs/evaluate.md).
    baseline : str, Path or Predictions, optional
        The predictions of the baseline model. Corruption errors (CE, mCE) are divided by its errors. The default
        ``alexnet`` uses AlexNet's published errors if the dataset is ImageNet-C as published. For other datasets, the
        default gives no CE.
    condition : str, optional
        The condition that selects the scored images. ``correct@clean`` selects the images that the model classifies
        correctly in the clean set. ``correct@clean=PREDICTIONS`` selects the images that another model classifies
        correctly. By default all images are scored.
    sets : sequence of str, optional
        Ids, aliases or patterns of the sets to score. By default all sets are scored.
    profile_over : {"ours", "figures", "tables"}
        The gradual degradations to average. ``ours`` selects all test degradations in the dataset. The other values
        select fourteen degradations of Swingler 2022: those of the figures (without random_noise) or those of the
        tables (without fade_grey).
    seed : int
        The random seed of the bootstrap, from 0 to 2**53 - 1.
    out : str or Path, optional
        A folder for ``scores.json`` and ``sets.csv``.
    progress : callable or bool, optional
        A function that is called with (phase, done, total). By default a progress bar is shown in terminals and
        notebooks, and False disables it.

    Returns
    -------
    Scores
        The scores, as fractions from 0 to 1. A score without a value has a reason. `notes` contains the details, and
        the reasons why scores are not comparable with published ones.

    Raises
    ------
    PredictionError
        If the predictions belong to a different dataset or lack images, or if no image meets the condition.
    ParameterError
        If the condition, the seed or `profile_over` is invalid.
    UnknownCorruption, IncompleteBuild, VerificationError
        If no set matches `sets`, or if the dataset is unfinished or damaged.
    """
    if profile_over not in get_args(ProfileOver):
        raise ParameterError(f"profile_over is {profile_over!r}; expected one of {', '.join(get_args(ProfileOver))}.")
    tell = progress_function(progress)
    data = directory if isinstance(directory, Dataset) else Dataset(directory)
    read = partial(_predictions, data, progress=tell)
    predicted = read(predictions, sets=sets)
    counted, condition = condition_of(condition, predicted, partial(read, sets=[CLEAN]))
    samples = [s for s in data.samples if counted is None or counted[s.index]]
    images = images_of(samples, seed)

    def evaluated(of: Predictions) -> Evaluation:
        records = [record for record in data.manifest.sets if record.id in of.outcomes]
        outcomes = {n: outcome if counted is None else outcome.rows(counted) for n, outcome in of.outcomes.items()}
        if len(data.classes) <= FIRST:
            outcomes = {name: replace(outcome, top5=None) for name, outcome in outcomes.items()}
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
    measures = curves.scores(reference)
    recipe_stages = [spec["stages"] for spec in recipe_sets(data.manifest)]
    if not any(
        s["corruption"] in FIFTEEN and s.get("severity") in SEVERITIES for stages in recipe_stages for s in stages
    ):
        # The means over the fifteen test corruptions do not apply to a recipe without them.
        measures = {name: one for name, one in measures.items() if name not in (*MEANS.values(), "relative_maude")}
    clean = {"clean_accuracy": Measured(evaluation.clean, NO_CLEAN)}
    profiles, mean_profile, profile_notes = degradation_profiles(data, evaluation, describe_level, profile_over)
    fragile = _fragile(data, evaluation, condition, seed)
    means = means_over_tests(evaluation) if any(recipe_stages) else {}
    measures = clean | means | measures | two_factor(evaluation) | group_scores(evaluation) | styles(evaluation)
    measures |= fragile.measures
    groups, units = {name.partition(".")[0] for name in measures}, images.bootstrap.units
    set_scores = evaluation.set_scores()
    baseline_model = None if reference is None else reference.model
    scores = Scores(
        schema_version=SCORES_VERSION,
        digest=data.digest,
        name=data.name,
        model=predicted.model,
        samples=len(data.samples),
        condition=condition,
        baseline=baseline_model,
        scores=[score_value(name, one, units) for name, one in measures.items()],
        sets=set_scores,
        profiles=profiles,
        mean_profile=mean_profile,
        order_effects=order_effects(evaluation),
        resamples=resamples_of(measures, seed, units),
        notes=[
            *absence_notes(evaluation, curves, no_baseline, measures, classes=len(data.classes)),
            *_not_applicable(data, measures, profiles),
            *profile_notes,
            *fragile.notes,
            *comparability_notes(data, set_scores, condition, baseline_model if "ce" in groups else None),
        ],
    )
    if out is not None:
        write_scores(scores, Path(out))
        if fragile.images.rows:
            write_atomic(Path(out) / f"{fragile.images.name}.csv", fragile.images.csv().encode())
    return scores


def _predictions(
    data: Dataset, given: str | Path | Predictions, *, sets: Sequence[str] | None, progress: Progress
) -> Predictions:
    """Return the predictions for the chosen sets and ``clean``. Read predictions from files if a path is given."""
    if not isinstance(given, Predictions):
        return read_predictions(given, data, sets=sets, progress=progress)
    wanted = choose_predicted_sets(data, sets)
    outcomes = {name: outcome for name, outcome in given.outcomes.items() if name in wanted or name == CLEAN}
    missing = [name for name in wanted if name not in outcomes]
    lengths = {len(outcome) for outcome in outcomes.values()} - {len(data.samples)}
    wrong = [f"lack the sets {first_few(missing)}"] if missing else [f"have {rows} rows per set" for rows in lengths]
    wrong += [] if given.digest in (None, data.digest) else [f"belong to {given.digest}"]
    if wrong:
        raise PredictionError(
            f"The predictions of {given.model} do not match {data.path} ({data.digest}, {len(data.samples)} images). "
            f"They {wrong[0]}."
        )
    return replace(given, outcomes=outcomes)


def _fragile(data: Dataset, evaluation: Evaluation, condition: str | None, seed: int) -> FragileScores:
    """Return the rates of fragile recognition.

    The rates need all regions, so there are none if a condition restricts the samples.
    """
    if condition is not None and any(sample.region is not None for sample in data.samples):
        return FragileScores(notes=["There are no fragile rates with a condition, because they need all regions."])
    return measure_fragile(data, evaluation.outcomes, seed)


def _not_applicable(data: Dataset, measures: Measures, profiles: Mapping[str, Profile]) -> Iterator[str]:
    """Yield a note on the kinds of scores that the recipe is intended for, but that the scored sets do not allow."""
    specs = [spec["stages"] for spec in recipe_sets(data.manifest)]
    absent = {
        "degradation profiles (no scored set has a level)": not profiles
        and any(stage.get("level") is not None for stages in specs for stage in stages),
        "two-factor scores (no scored set has two stages)": "two_factor.cv_percent" not in measures
        and any(len(stages) > 1 for stages in specs),
        "accuracy by group (the clean set is not scored)": "style_gap" not in measures
        and any(sample.group for sample in data.samples),
    }
    if words := [words for words, is_absent in absent.items() if is_absent]:
        yield f"Not applicable to this dataset, although its recipe was made for it: {'; '.join(words)}."
