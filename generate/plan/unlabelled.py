"""Builds from images without labels, whose annotations lie in files beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...corruptions.registry import get_corruption
from ...errors import BuildError, listed
from ..recipes.recipe import Recipe
from ..recipes.set_spec import SetSpec
from ..sources.source import Sample, Source
from .options import BuildOptions


def refuse_labels(source: Source, options: BuildOptions, recipe: Recipe, sets: Sequence[SetSpec]) -> None:
    """Raise `BuildError` for all that was asked for and needs labels, or another place for images than their own names."""
    problems = []
    if options.format is not None:
        stored = "HDF5 shards, which have no names" if options.format != "folder" else "class folders, and there are no classes"
        problems.append(f"--format {options.format} stores images in {stored}: leave it out")
    for flag, given in (("--per-class", options.per_class), ("--per-super-category", options.per_super_category)):
        if given is not None:
            problems.append(f"{flag} chooses images by their labels: use --samples, --first or --ids")
    if followers := [s.id for s in sets if s.needs_surrogate]:
        problems.append(f"{', '.join(followers[:3])}: the gradient of a model needs labels; choose other --sets")
    if recipe.regions is not None:
        problems.append("the recipe has [regions], whose images have names of their own")
    elif source.annotations and recipe.preprocessing.kind != "none":
        resizes = f"the recipe {recipe.name} makes images of another size ({recipe.preprocessing.kind})"
        problems.append(f"{resizes}, and boxes and masks are in pixels of the images as they are: use detection-c, or a recipe of yours")
    if problems:
        raise BuildError(
            f"The images of the source {source.scheme} keep their names and have no labels. What does not fit:\n{listed(problems)}"
        )


def moving(sets: Iterable[SetSpec]) -> list[str]:
    """Return the corruptions of sets that move content by more than a blur does, sorted."""
    return sorted({t.corruption for s in sets for t in s.stages if not get_corruption(t.corruption).preserves_geometry})


def notes_on_annotations(source: Source, selected: Sequence[Sample], sets: Sequence[SetSpec]) -> tuple[str, ...]:
    """Return what a user of boxes and masks should know of the sets that were asked for."""
    notes = []
    if moved := moving(sets):
        notes.append(f"{', '.join(moved)}: content moves, and boxes and masks are not moved with it.")
    if source.annotations and len(selected) < len(source.samples):
        notes.append(
            f"The annotation files are whole: they name {len(source.samples)} images, of which {len(selected)} are built. Give tools "
            "the ids of those that are there."
        )
    return tuple(notes)
