"""Whether a source fits what is asked for; errors name what fits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...corruptions.add_ons import readable
from ...corruptions.registry import get_corruption
from ...errors import BuildError, SourceError, first_few, listed
from ...quantities import size
from ..recipes.expectations import Named, refusal
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

_FOR_ANNOTATED = "detection-c"
"""Takes any image, and is made for those with boxes or masks: it is nothing to offer for classified ones."""

SAMPLE = (
    "The images are the sample photographs that come with scikit-image, which are used unless --source names others, "
    "such as --source folder:PATH."
)


def refuse_other_source(recipe: Recipe, found: Checked, *, source: Source, all_seen: bool) -> None:
    """Raise if the recipe is made for other images.

    Parameters
    ----------
    recipe : Recipe
    found : Checked
        Images as they are in the source.
    source : Source
    all_seen : bool
        Whether these are all images.

    Raises
    ------
    SourceError
        The recipe expects others.
    """
    unnamed = f" {SAMPLE}" if source.scheme == "sample" else ""
    images: list[Named] = [(s.path or s.id, (w, h, c)) for s, _, w, h, c in found.good]
    expects = recipe.expects
    if expects is not None and (problems := expects.problems(images, all_seen=all_seen)):
        text = refusal(f"The recipe {recipe.name}", expects, problems, _alternative(recipe, images))
        raise SourceError(f"{text} Nothing was written.{unnamed}")


def _alternative(recipe: Recipe, images: Sequence[Named]) -> str:
    """Return which recipes fit: a calibration's own, or those that share most corruptions."""
    if recipe.name == PAIRS:
        tables = [table for table, base in BASES.items() if _fits(load_recipe(base), images)]
        return f"Pairs that fit: --calibration {' or '.join(tables)}." if tables else "No calibration's recipe fits."
    others = readable(load_recipe, (name for name in recipe_names() if name not in (recipe.name, _FOR_ANNOTATED)))
    shared = {other.name: _shared_part(recipe, other) for other in others if _fits(other, images)}
    names = [name for name, part in shared.items() if part == max(shared.values())]
    # of photographs imagenet-c, which has fewer corruptions than cifar10-c, before imagenet-c-all
    if not set(names) & set(BASES.values()):
        names = [name for name in BASES.values() if shared.get(name, 0) > 0.5][:1] or names
    if not names:
        return "No recipe that comes with corruptset fits."
    return f"{'Recipe that fits' if len(names) == 1 else 'Recipes that fit'}: {', '.join(names)}."


def _fits(recipe: Recipe, images: Sequence[Named]) -> bool:
    return recipe.expects is not None and not recipe.expects.problems(images)


def _shared_part(recipe: Recipe, other: Recipe) -> float:
    """Return the share of the corruptions of two recipes that both have.

    Regions count as one, which may stand alone.
    """
    first, second = (
        {stage.corruption for spec in r.resolve().sets for stage in spec.stages}
        | ({"regions"} if r.regions is not None else set())
        for r in (recipe, other)
    )
    return len(first & second) / len(first | second) if first or second else 1.0


def refuse_labels(source: Source, options: BuildOptions, recipe: Recipe, sets: Sequence[SetSpec]) -> None:
    """Raise `BuildError` for all that needs labels, or other names than images' own."""
    problems = []
    if options.storage in ("hdf5", "both"):
        problems.append(f"--storage {options.storage} stores images in HDF5 shards, which have no names: leave it out")
    for flag, given in (("--per-class", options.per_class), ("--per-super-category", options.per_super_category)):
        if given is not None:
            problems.append(f"{flag} chooses images by their labels: use --samples, --first or --ids")
    if followers := [s.id for s in sets if s.needs_surrogate]:
        problems.append(f"{', '.join(followers[:3])}: the gradient of a model needs labels; choose other --sets")
    if recipe.regions is not None:
        problems.append("the recipe has [regions], whose images have names of their own")
    if problems:
        raise BuildError(
            f"The images of the source {source.scheme} keep their names and have no labels. What does not "
            f"fit:\n{listed(problems)}"
        )


def moving(sets: Iterable[SetSpec]) -> list[str]:
    """Return the corruptions of sets that move content by more than a blur does, sorted."""
    return sorted({t.corruption for s in sets for t in s.stages if not get_corruption(t.corruption).preserves_geometry})


def notes_on_annotations(
    source: Source, selected: Sequence[Sample], sets: Sequence[SetSpec], *, recipe: Recipe, kind: str
) -> list[str]:
    """Return what a user of boxes and masks should know of a build, whose preprocessing is of some kind."""
    notes = []
    if source.scheme == "tree":
        suffixes = {path: path.lower().rpartition(".")[2] for path in source.other_files}
        names = [sample.path or sample.id for sample in source.samples]
        notes.append(f"Files of the source that count as images: {len(names):,}, in {folder_counts(names)}.")
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
    if moved := moving(sets):
        notes.append(f"{', '.join(moved)}: content moves, and boxes and masks are not moved with it.")
    if source.other_files:
        notes.append(
            f"{len(source.other_files):,} other files of the source, {size(source.other_bytes())}, are copied as they "
            "are."
        )
        if len(selected) < len(source.samples):
            named = f"They may name {len(source.samples)} images, of which {len(selected)} are built"
            notes.append(f"{named}: give tools the ids of those that are there.")
        if kind != "none":
            notes.append(
                f"The recipe {recipe.name} makes images of another size ({kind}); boxes and masks in "
                "those files are in pixels of the images as they were. detection-c keeps sizes."
            )
    if source.uncopied_files:
        notes.append(
            f"{first_few(source.uncopied_files)}: not copied, because the data set has files of its own there."
        )
    return notes
