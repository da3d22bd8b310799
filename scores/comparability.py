"""Explain why scores cannot be computed, or are not comparable with published scores."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from ..errors import first_few
from ..manifests.reader import Dataset
from ..manifests.records.models import Manifest
from ..published_frost import PUBLISHED_FROST
from ..quantities import folders_and_files
from .error_curves import ErrorCurves, has_value
from .evaluation import Evaluation
from .outcomes import FIRST
from .published import (
    ALEXNET,
    FIFTEEN,
    IMAGENET_C,
    IMAGENET_IMAGES,
    Benchmark,
    benchmark,
    definition,
    encoding_of,
    recipe_sets,
    sort_by_literature,
)  # fmt: skip
from .score_values import Measures

VALIDATION_IMAGE = re.compile(r"(.*/)?ILSVRC2012_val_\d{8}")
"""The form of the ids of ImageNet's validation images."""


def why_not_alexnet(data: Dataset, condition: str | None) -> list[str]:
    """Return the reasons why AlexNet's published errors cannot be used as the baseline for a dataset, if any."""
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
        reasons.append("only some of the images are scored")
    return reasons


def comparability_notes(
    data: Dataset, scored: Collection[str], condition: str | None, baseline: str | None
) -> list[str]:
    """Return the reasons why scores are not comparable with published ones.

    Parameters
    ----------
    data : Dataset
    scored : collection of str
        The ids of the scored sets.
    condition : str, optional
        The condition that restricts the scored images.
    baseline : str, optional
        The baseline model of the corruption errors, if there are any.
    """
    notes = list(_notes(data, scored))
    if condition is not None:
        notes.append(
            f"Only images that meet the condition {condition} are scored. Published scores are over all images, unless "
            "they state the same condition."
        )
    if baseline not in (None, ALEXNET):
        notes.append(
            f"CE and mCE are relative to the errors of {baseline}, but published values are relative to those of "
            "AlexNet."
        )
    return notes


def _notes(data: Dataset, scored: Collection[str]) -> Iterator[str]:
    """Yield the reasons that concern the recipe, the images and the sets."""
    manifest = data.manifest
    published = benchmark(manifest.name)
    if published is None:
        yield (
            f"{manifest.name} {manifest.version} is not a published benchmark. Its scores are comparable only with "
            "those of other models on the dataset with the same digest."
        )
    else:
        yield from _of_recipe(manifest, published)
    chosen, total = manifest.selection.get("chosen"), manifest.selection.get("total")
    in_source = len({s.id if s.region is None else s.region.source for s in data.samples})
    if published is not None and published.images not in (None, in_source):
        images = _number(in_source, "image")
        yield f"The dataset has {images}, but published scores were computed on {published.images:,}."
    elif isinstance(chosen, int) and isinstance(total, int) and chosen < total and "hold_out" not in manifest.selection:
        yield f"The dataset has {chosen:,} of the {total:,} images of its source."
    if manifest.excluded:
        yield (
            f"{folders_and_files((one.path for one in manifest.excluded), 'bad image')} of the source "
            f"{'was' if len(manifest.excluded) == 1 else 'were'} excluded."
        )
    for problem in manifest.recipe.get("unexpected", []):
        yield f"The images are not those that the recipe expects: {problem}."
    if manifest.textures and {texture.sha256 for texture in manifest.textures} != set(PUBLISHED_FROST):
        yield (
            "The frost images are not those of the published sets (docs/frost.md), so scores on frost and means that "
            "include them differ from those on the published sets."
        )
    wanted = [spec["id"] for spec in recipe_sets(manifest)]
    if missing := [name for name in wanted if name not in scored]:
        why = "the rest of the dataset was not unpacked" if data.absent else "the rest was not built or not selected"
        yield (
            f"{len(wanted) - len(missing)} of the {len(wanted)} sets of the recipe are scored ({why}). Means are over "
            f"these sets only. Missing: {_by_corruption(missing)}."
        )
    if own := [record.id for record in manifest.sets if not record.reproducible and record.id in scored]:
        models = ", ".join(sorted(str(surrogate.get("name")) for surrogate in manifest.surrogates))
        yield (
            f"The sets {first_few(own)} were made with the gradients of a model ({models}). Other machines make "
            "slightly different pixels, so scores on these sets are only valid for this build."
        )


def _by_corruption(ids: Sequence[str]) -> str:
    """Return the names of sets, with one entry per corruption."""
    counts = Counter(name.partition("/")[0] for name in ids)
    names = sort_by_literature(counts)
    return first_few([f"{name} ({counts[name]} sets)" if counts[name] > 1 else name for name in names], 30)


def _of_recipe(manifest: Manifest, published: Benchmark) -> Iterator[str]:
    """Yield the differences between a recipe and the published one."""
    if published.remark is not None:
        yield published.remark
    calibration, encoding, known = manifest.recipe.get("calibration"), encoding_of(manifest), list[str]()
    if manifest.version not in published.versions:
        known.append(
            f"The recipe {manifest.name} has version {manifest.version}, but the published sets have "
            f"{' and '.join(published.versions)}."
        )
    if calibration != published.calibration:
        known.append(
            f"The severities are those of the calibration {calibration}, but the published sets use "
            f"{published.calibration}."
        )
    if manifest.scale != "none":
        known.append("Lengths are proportional to the side of the image (scale side), unlike in the published sets.")
    if encoding != published.encoding:
        known.append(
            f"The images are stored as {_encoding(encoding)}, but the published ones as "
            f"{_encoding(published.encoding)}, so a model receives different pixels."
        )
    yield from known
    if manifest.name in ("imagenet-c", "imagenet-c-all") and not known and definition(manifest) != IMAGENET_C:
        yield "The corruptions, their parameters or the size of the images are not those of ImageNet-C at 224x224."
    if manifest.coupling != "independent":
        yield "All severities of a sample use the same random draws (coupling severity), unlike in the published sets."


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _encoding(encoding: Sequence[str | int]) -> str:
    return "PNG" if encoding[0] == "png" else f"JPEG of quality {encoding[1]} ({encoding[2]})"


def absence_notes(
    evaluation: Evaluation, curves: ErrorCurves, no_baseline: list[str], measures: Measures, *, classes: int
) -> Iterator[str]:
    """Yield details on scores without a value, in addition to the short reason that each of these scores has.

    Parameters
    ----------
    evaluation : Evaluation
    curves : ErrorCurves
        The error curves of the model.
    no_baseline : list of str
        The reasons why AlexNet's errors cannot be used as the baseline. The list is empty if they can be used.
    measures : mapping of str to Measured
    classes : int
        The number of classes of the dataset.
    """
    if curves.errors and curves.clean is None:
        yield "AUDE, relative CE and the RB-index need predictions of the clean images. Add clean.npz."
    if "mce" in measures and no_baseline:
        yield (
            "There is no CE and no mCE, because AlexNet's published errors are not a baseline for this dataset: "
            f"{'; '.join(no_baseline)}. Pass predictions of another model for this dataset as --baseline."
        )
    missing = [name for name in FIFTEEN if name not in curves.tested]
    if "maude" in measures and missing:
        yield (
            "mAUDE and mCE are means over the fifteen test corruptions of ImageNet-C at five severities. "
            f"{len(missing)} of them {'are' if len(missing) > 1 else 'is'} missing: {', '.join(missing)}."
        )
    for group, what in (("ce", "CE"), ("relative_ce", "relative CE")):
        own = {name.partition(".")[2]: one for name, one in measures.items() if name.startswith(f"{group}.")}
        if undefined := [name for name, one in own.items() if not has_value(one)]:
            yield f"There is no {what} for {', '.join(undefined)}, because {own[undefined[0]].reason} there."
    for role in ("validation", "train"):
        if others := [record.id for record in evaluation.records if record.role == role]:
            yield (
                f"The {_number(len(others), 'set')} with the role {role} "
                f"{'are' if len(others) > 1 else 'is'} excluded from means over test sets: {_by_corruption(others)}."
            )
    parts = ("top5", "rank", "probability") if classes > FIRST else ("rank", "probability")
    if silent := [name for name in parts if any(getattr(o, name) is None for o in evaluation.outcomes.values())]:
        yield f"The predictions do not contain the {', '.join(silent)} of every set."
