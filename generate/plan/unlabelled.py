"""Builds from images without labels, whose annotations lie in files beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...corruptions.registry import get_corruption
from ...errors import BuildError, first_few, listed
from ...quantities import size
from ..recipes.recipe import Recipe
from ..recipes.set_spec import SetSpec
from ..sources.source import Source
from .build_spec import BuildSpec
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
    if problems:
        raise BuildError(
            f"The images of the source {source.scheme} keep their names and have no labels. What does not fit:\n{listed(problems)}"
        )


def moving(sets: Iterable[SetSpec]) -> list[str]:
    """Return the corruptions of sets that move content by more than a blur does, sorted."""
    return sorted({t.corruption for s in sets for t in s.stages if not get_corruption(t.corruption).preserves_geometry})


def notes_on_annotations(spec: BuildSpec) -> tuple[str, ...]:
    """Return what a user of boxes and masks should know of the sets that were asked for, and of the files that hold them."""
    notes, source = [], spec.source
    if moved := moving(spec.chosen(spec.asked)):
        notes.append(f"{', '.join(moved)}: content moves, and boxes and masks are not moved with it.")
    if source.other_files:
        notes.append(f"{len(source.other_files):,} other files of the source, {size(source.other_bytes())}, are copied as they are.")
        if len(spec.selected) < len(source.samples):
            named = f"They may name {len(source.samples)} images, of which {len(spec.selected)} are built"
            notes.append(f"{named}: give tools the ids of those that are there.")
        if spec.preprocessing.kind != "none":
            notes.append(
                f"The recipe {spec.name} makes images of another size ({spec.preprocessing.kind}); boxes and masks in those files are in "
                "pixels of the images as they were. detection-c keeps sizes."
            )
    if source.left_out:
        notes.append(f"{first_few(source.left_out)}: not copied, because the data set has files of its own there.")
    return tuple(notes)
