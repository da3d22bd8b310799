"""Notes on scores that cannot be had, or not be laid beside published ones."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from ..errors import first_few
from ..manifests.reader import DataSet
from ..manifests.records.models import Manifest
from ..published_frost import PUBLISHED_FROST
from ..quantities import folders_and_files
from .error_curves import ErrorCurves
from .evaluation import Evaluation
from .published import ALEXNET, FIFTEEN, IMAGENET_C, IMAGENET_IMAGES, Benchmark, benchmark, definition, encoding_of
from .records import Scores

VALIDATION_IMAGE = re.compile(r"(.*/)?ILSVRC2012_val_\d{8}")
"""The id of one of ImageNet's validation images."""


def why_not_alexnet(data: DataSet, condition: str | None) -> list[str]:
    """Return why AlexNet's published errors are no baseline here; empty where they are."""
    reasons = []
    if definition(data.manifest) != IMAGENET_C:
        reasons.append(
            "its recipe is not that of ImageNet-C (the fifteen corruptions of 224x224 images, stored as JPEG of "
            "quality 85)"
        )
    ids = [sample.id for sample in data.samples]
    if len(set(ids)) != IMAGENET_IMAGES or not all(VALIDATION_IMAGE.fullmatch(id) for id in ids):
        reasons.append(
            f"its {_number(len(ids), 'image')} are not the {IMAGENET_IMAGES:,} validation images of ImageNet"
        )
    if condition is not None:
        reasons.append("only some of the images count")
    return reasons


def comparability_notes(
    data: DataSet, scored: Collection[str], condition: str | None, baseline: str | None
) -> list[str]:
    """Return a note for each reason why scores may not be laid beside published ones.

    Parameters
    ----------
    data : DataSet
    scored : collection of str
        The ids of the sets that were scored.
    condition : str, optional
        Which images count, where not all do.
    baseline : str, optional
        The model that corruption errors are relative to.
    """
    notes = list(_notes(data, scored))
    if condition is not None:
        notes.append(
            f"Only images count that are {condition}: published scores are of all images, unless they name the same "
            "condition."
        )
    if baseline not in (None, ALEXNET):
        notes.append(f"CE and mCE are relative to the errors of {baseline}: published ones are relative to AlexNet's.")
    return notes


def _notes(data: DataSet, scored: Collection[str]) -> Iterator[str]:
    """Yield what the recipe, the images and the sets have to do with it."""
    manifest = data.manifest
    published = benchmark(manifest.name)
    if published is None:
        yield (
            f"{manifest.name} {manifest.version} is no published benchmark: its scores can be laid beside those of "
            "other models on the data set of the same digest, and beside no others."
        )
    else:
        yield from _of_recipe(manifest, published)
    chosen, total = manifest.selection.get("chosen"), manifest.selection.get("total")
    in_source = len({s.id if s.region is None else s.region.source for s in data.samples})
    if published is not None and published.images not in (None, in_source):
        yield f"It has {_number(in_source, 'image')}; the published scores are of {published.images:,}."
    elif isinstance(chosen, int) and isinstance(total, int) and chosen < total and "hold_out" not in manifest.selection:
        yield f"It has {chosen:,} of the {total:,} images of its source."
    if manifest.excluded:
        yield (
            f"{folders_and_files((one.path for one in manifest.excluded), 'bad image')} of the source "
            f"{'was' if len(manifest.excluded) == 1 else 'were'} left out."
        )
    for problem in manifest.recipe.get("unexpected", []):
        yield f"The images are not those that the recipe expects: {problem}."
    if manifest.textures and {texture.sha256 for texture in manifest.textures} != set(PUBLISHED_FROST):
        yield (
            "Frost is made with other pictures than in the published sets (docs/frost.md): scores on frost, and means "
            "with it in them, are not those on the published sets."
        )
    wanted = [spec["id"] for spec in manifest.recipe.get("sets", [])]
    if missing := [name for name in wanted if name not in scored]:
        why = "the rest of the data set was not unpacked" if data.absent else "the rest was not built, or not asked for"
        yield (
            f"{len(wanted) - len(missing)} of the recipe's {len(wanted)} sets are scored ({why}), and means are over "
            f"these. Missing: {first_few(missing)}."
        )
    if own := [record.id for record in manifest.sets if not record.reproducible and record.id in scored]:
        models = ", ".join(sorted(str(surrogate.get("name")) for surrogate in manifest.surrogates))
        yield (
            f"Sets that follow the gradients of a model ({models}): {first_few(own)}. Another machine makes other "
            "pixels of them: scores on them are of this build alone."
        )


def _of_recipe(manifest: Manifest, published: Benchmark) -> Iterator[str]:
    """Yield in what a recipe differs from the published one."""
    if published.remark is not None:
        yield published.remark
    calibration, encoding, known = manifest.recipe.get("calibration"), encoding_of(manifest), list[str]()
    if manifest.version not in published.versions:
        known.append(
            f"The recipe {manifest.name} is of version {manifest.version}; the published sets are those of "
            f"{' and '.join(published.versions)}."
        )
    if calibration != published.calibration:
        known.append(
            f"Severities are those of the calibration {calibration}; the published sets have those of "
            f"{published.calibration}."
        )
    if manifest.scale != "none":
        known.append("Lengths grow with the image's side (scale side); in the published sets they do not.")
    if encoding != published.encoding:
        known.append(
            f"The images are stored as {_encoding(encoding)}, the published ones as {_encoding(published.encoding)}: "
            "a model sees other pixels."
        )
    yield from known
    if manifest.name in ("imagenet-c", "imagenet-c-all") and not known and definition(manifest) != IMAGENET_C:
        yield "Corruptions, their parameters or the size of the images are not those of ImageNet-C at 224x224."
    if manifest.coupling != "independent":
        yield "Severities share their random draws (coupling severity), which those of the published sets do not."


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _encoding(encoding: Sequence[str | int]) -> str:
    return "PNG" if encoding[0] == "png" else f"JPEG of quality {encoding[1]} ({encoding[2]})"


def absence_notes(
    evaluation: Evaluation, curves: ErrorCurves, no_baseline: list[str], scores: Scores, *, is_fragile: bool
) -> Iterator[str]:
    """Yield why scores are null or empty.

    Parameters
    ----------
    evaluation : Evaluation
    curves : ErrorCurves
        The model's.
    no_baseline : list of str
        Why there are no errors that corruption errors are relative to; empty where there are.
    scores : Scores
        What could be had.
    is_fragile : bool
        Whether fragile rates are there, or a note says why they are not.
    """
    if curves.errors and curves.clean is None:
        yield "AUDE, relative CE and the RB-index need predictions of the clean images: add clean.npz."
    if curves.errors and no_baseline:
        yield (
            f"No CE, no mCE: AlexNet's published errors are no baseline for this data set: {'; '.join(no_baseline)}. "
            "Give another model's predictions of it as --baseline."
        )
    missing = [name for name in FIFTEEN if name not in curves.tested]
    if 0 < len(missing) < len(FIFTEEN):
        yield (
            "mAUDE and mCE are means over the fifteen corruptions of ImageNet-C, at five severities, to test on; "
            f"{len(missing)} of them are missing: {first_few(missing)}."
        )
    for role in ("validation", "train"):
        if others := [record.id for record in evaluation.records if record.role == role]:
            yield (
                f"Sets of role {role} are in no mean over test sets; here these are {len(others)}: {first_few(others)}."
            )
    parts = ("top5", "rank", "probability")
    if silent := [name for name in parts if any(getattr(one, name) is None for one in scores.sets.values())]:
        yield f"The predictions do not say the {', '.join(silent)} of every set."
    made_for = {
        "AUDE and CE (no corruption has five severities)": curves.errors,
        "the RB-index and the mean accuracy (no set but clean is to test on)": evaluation.tests,
        "degradation profiles (no set has a level)": scores.profiles,
        "two-factor scores (no set has two stages to test on)": scores.two_factor,
        "accuracy by group (no sample has a group, or no set is clean)": scores.style,
        "fragile recognition (no sample is a region)": is_fragile,
    }
    if nothing := [words for words, found in made_for.items() if not found]:
        yield f"Not scored, because the data set is not made for it: {'; '.join(nothing)}."
