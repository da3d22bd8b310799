"""Check that a source fits the recipe and the options. Error messages suggest recipes that fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...corruptions.add_ons import load_each
from ...corruptions.registry import get_corruption
from ...errors import BuildError, SourceError, first_few, format_list
from ...quantities import size
from ..recipes.expectations import NamedShape, expectation_error
from ..recipes.recipe import Recipe, load_recipe
from ..recipes.recipe_files import recipe_names
from ..recipes.set_spec import SetSpec
from ..recipes.two_factor import BASES
from ..recipes.two_factor import NAME as PAIRS
from ..sources.check import Checked
from ..sources.decoding import UNREAD_SUFFIXES
from ..sources.image_listing import IMAGE_SUFFIXES
from ..sources.mask_images import folder_counts
from ..sources.source import Sample, Source
from .options import BuildOptions

_ANNOTATED_RECIPE = "detection-c"
"""This recipe accepts any image, but it is for images with boxes or masks, so it is never suggested."""

SAMPLE_NOTE = (
    "The images are the sample photographs that come with scikit-image. To use your own images, pass a source such as "
    "--source folder:PATH."
)


def refuse_source(recipe: Recipe, found: Checked, *, source: Source, complete: bool) -> None:
    """Raise `SourceError` if the images differ from what the recipe expects.

    Parameters
    ----------
    recipe : Recipe
        The recipe, which may state expectations.
    found : Checked
        The checked images, with their sizes in the source.
    source : Source
        The source of the images.
    complete : bool
        True if all images of the source were checked.

    Raises
    ------
    SourceError
        The images differ from the recipe's expectations.
    """
    unnamed = f" {SAMPLE_NOTE}" if source.scheme == "sample" else ""
    images: list[NamedShape] = [(s.path or s.id, (w, h, c)) for s, _, w, h, c in found.good]
    expects = recipe.expects
    if expects is not None and (problems := expects.problems(images, complete=complete)):
        text = expectation_error(f"The recipe {recipe.name}", expects, problems, _alternative(recipe, images))
        raise SourceError(f"{text} Nothing was written.{unnamed}")


def _alternative(recipe: Recipe, images: Sequence[NamedShape]) -> str:
    """Return a sentence that names the recipes that fit the images and share the most corruptions with `recipe`.

    For a recipe of pairs, the sentence names calibrations instead.
    """
    if recipe.name == PAIRS:
        tables = [table for table, base in BASES.items() if _fits(load_recipe(base), images)]
        return (
            f"Pairs that fit: --calibration {' or '.join(tables)}."
            if tables
            else "No --calibration is made for such images."
        )
    others = load_each(load_recipe, (name for name in recipe_names() if name not in (recipe.name, _ANNOTATED_RECIPE)))
    shared = {other.name: _overlap(recipe, other) for other in others if _fits(other, images)}
    names = [name for name, part in shared.items() if part == max(shared.values())]
    # A base recipe is preferred. For example, imagenet-c-all has more corruptions in common with cifar10-c than
    # imagenet-c has, but imagenet-c is the better suggestion for photographs.
    if not set(names) & set(BASES.values()):
        names = [name for name in BASES.values() if shared.get(name, 0) > 0.5][:1] or names
    if not names:
        return "No recipe that comes with corruptset fits."
    return f"{'Recipe that fits' if len(names) == 1 else 'Recipes that fit'}: {', '.join(names)}."


def _fits(recipe: Recipe, images: Sequence[NamedShape]) -> bool:
    return recipe.expects is not None and not recipe.expects.problems(images)


def _overlap(recipe: Recipe, other: Recipe) -> float:
    """Return the number of corruptions that both recipes have, divided by the number that either recipe has.

    Regions count as one corruption, because a recipe may have only regions.
    """
    first, second = (
        {stage.corruption for spec in r.resolve().sets for stage in spec.stages}
        | ({"regions"} if r.regions is not None else set())
        for r in (recipe, other)
    )
    return len(first & second) / len(first | second) if first or second else 1.0


def refuse_labels(source: Source, options: BuildOptions, recipe: Recipe, sets: Sequence[SetSpec]) -> None:
    """Raise `BuildError` if the recipe or the options require labels, or would not preserve the names of images."""
    problems = []
    if options.storage in ("hdf5", "both"):
        problems.append(f"--storage {options.storage} uses HDF5 shards, which do not keep names: leave it out")
    for flag, given in (("--per-class", options.per_class), ("--per-super-category", options.per_super_category)):
        if given is not None:
            problems.append(f"{flag} selects images by their labels: use --samples, --first or --ids")
    if followers := [s.id for s in sets if s.needs_surrogate]:
        problems.append(f"{', '.join(followers[:3])}: the gradients of a model need labels; choose other --sets")
    if recipe.regions is not None:
        problems.append("the recipe has [regions], whose images get new names: use another recipe")
    if problems:
        raise BuildError(
            f"The images of the source {source.scheme} keep their names and have no labels. These settings cannot be "
            f"used with such a source:\n{format_list(problems)}"
        )


def moving_corruptions(sets: Iterable[SetSpec]) -> list[str]:
    """Return the corruptions that move image content further than a blur does, sorted by name."""
    return sorted({t.corruption for s in sets for t in s.stages if not get_corruption(t.corruption).preserves_geometry})


def notes_on_annotations(
    source: Source, selected: Sequence[Sample], sets: Sequence[SetSpec], *, recipe: Recipe, kind: str
) -> list[str]:
    """Return notes for users who have boxes or masks. `kind` is the kind of the preprocessing."""
    notes = []
    if source.scheme == "tree":
        suffixes = {path: path.lower().rpartition(".")[2] for path in source.other_files}
        names = [sample.path or sample.id for sample in source.samples]
        notes.append(f"Files of the source that are treated as images: {len(names):,}, in {folder_counts(names)}.")
        copied = [path for path, suffix in suffixes.items() if suffix in IMAGE_SUFFIXES]
        if copied:
            notes.append(
                f"Files with the suffix of an image that --images {source.pattern!r} does not match: {len(copied):,}, "
                f"in {folder_counts(copied)}. They are copied unchanged."
            )
        unread = [path for path, suffix in suffixes.items() if suffix in UNREAD_SUFFIXES]
        if unread:
            formats = ", ".join(sorted({UNREAD_SUFFIXES[suffixes[path]] for path in unread}))
            notes.append(
                f"Images in formats that are not read ({formats}): {len(unread):,}, in {folder_counts(unread)}. They "
                "are copied unchanged; to corrupt them, convert them to PNG or JPEG first."
            )
    if moved := moving_corruptions(sets):
        notes.append(f"{', '.join(moved)}: image content moves, but boxes and masks are not changed accordingly.")
    if source.other_files:
        notes.append(
            f"{len(source.other_files):,} other files of the source, {size(source.other_bytes())}, are copied "
            "unchanged."
        )
        if len(selected) < len(source.samples):
            notes.append(
                f"These files may refer to all {len(source.samples)} images of the source, but only {len(selected)} "
                "are built. Restrict your tools to the images of the dataset."
            )
        if kind != "none":
            notes.append(
                f"The recipe {recipe.name} changes the size of images ({kind}), but boxes and masks in those files are "
                "in pixels of the original images. The recipe detection-c keeps sizes."
            )
    if source.uncopied_files:
        notes.append(f"{first_few(source.uncopied_files)}: not copied, because the dataset has files with these names.")
    return notes
