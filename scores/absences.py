"""Why a score of a data set cannot be had, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sized

from ..errors import first_few
from .error_curves import ErrorCurves
from .evaluation import Evaluation
from .published import FIFTEEN

KINDS = {
    "profiles": "degradation profiles (no set has a level)",
    "two_factor": "two-factor scores (no set has two stages to test on)",
    "style": "accuracy by group (no sample has a group, or no set is clean)",
    "fragile": "fragile recognition (no sample is a region)",
}
"""Scores that only some data sets are made for, and what others lack."""


def absence_notes(evaluation: Evaluation, curves: ErrorCurves, no_baseline: list[str], kinds: Mapping[str, Sized]) -> Iterator[str]:
    """Yield why scores are null or empty.

    Parameters
    ----------
    evaluation : Evaluation
    curves : ErrorCurves
        The model's.
    no_baseline : list of str
        Why there are no errors that corruption errors are relative to; empty where there are.
    kinds : mapping of str to what was scored
        Of each of `KINDS`.
    """
    if curves.errors and curves.clean is None:
        yield "AUDE, relative CE and the RB-index need predictions of the clean images: add clean.npz."
    if curves.errors and no_baseline:
        yield (
            f"No CE, no mCE: AlexNet's published errors are no baseline for this data set: {'; '.join(no_baseline)}. Give another model's "
            "predictions of it as --baseline."
        )
    if 0 < len(curves.missing) < len(FIFTEEN):
        yield (
            "mAUDE and mCE are means over the fifteen corruptions of ImageNet-C, at five severities, to test on; "
            f"{len(curves.missing)} of them are missing: {first_few(curves.missing)}."
        )
    for role in ("validation", "train"):
        others = [record.id for record in evaluation.records if record.role == role]
        if others:
            yield f"Sets of role {role} are in no mean over test sets; here these are {len(others)}: {first_few(others)}."
    silent = [name for name in ("top5", "rank", "probability") if any(getattr(o, name) is None for o in evaluation.outcomes.values())]
    if silent:
        yield f"The predictions do not say the {', '.join(silent)} of every set."
    nothing = [] if curves.errors else ["AUDE and CE (no corruption has five severities)"]
    nothing += [] if evaluation.tests else ["the RB-index and the mean accuracy (no set but clean is to test on)"]
    nothing += [text for kind, text in KINDS.items() if not kinds.get(kind)]
    if nothing:
        yield f"Not scored, because the data set is not made for it: {'; '.join(nothing)}."
