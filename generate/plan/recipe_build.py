"""Create the plan of a build from a recipe, a source and options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ...corruptions.plugins import load_plugins, plugins_of
from ...errors import BuildError, SourceError, format_list
from ..pixels.encoding import Encoding, PngEncoding, encoding_of, named_encoding
from ..pixels.preprocessing import Preprocessing, SurrogateInput, Unchanged
from ..recipes.choice import CLEAN, choose_sets
from ..recipes.recipe import Recipe, load_recipe
from ..recipes.two_factor import validation_notes
from ..sources.check import Checked, SizeCheck, check
from ..sources.kept_names import equal_names, renamed_note, suffix_problems
from ..sources.selection import HoldOut, held_groups, select, selection_record
from ..sources.source import GROUPED_SOURCES, Sample, Source, named_source, open_source
from .build_plan import BuildPlan, PlannedPixels, PlannedSamples, PlannedSets, PlannedStorage
from .options import BuildOptions
from .region_storage import region_store
from .resources import load_resources, refuse_small_textures, texture_notes
from .source_fit import notes_on_annotations, refuse_labels, refuse_source
from .tree import SetMaker

PROBED_IMAGES = 8
"""Number of images that are checked to plan a build."""


def prepare(recipe: str | Path | Recipe, source: str | Source, options: BuildOptions) -> BuildPlan:
    """Return the plan of a build. A few images are checked, and nothing is written.

    Raises
    ------
    RecipeError, SourceError, ParameterError, BuildError, PluginError
        The recipe cannot be built from this source with these options.
    """
    options.check()
    load_plugins(options.plugins or ())
    sets = plan_sets(load_recipe(recipe), options)
    samples = plan_samples(source, sets, options)
    pixels = plan_pixels(sets, samples, options)
    storage = plan_storage(sets, samples, pixels, options)
    if not options.any_shape:
        refuse_source(sets.recipe, pixels.probed, source=samples.source, complete=False)
    refuse_small_textures(pixels.maker, sets.chosen, [(h, w) for w, h in dict.fromkeys(pixels.sizes)])
    notes = _notes(sets, samples, pixels, storage)
    return BuildPlan(sets, samples, pixels, storage, options, notes)


def plan_sets(recipe: Recipe, options: BuildOptions) -> PlannedSets:
    """Return the sets of a recipe, and the sets that the options select."""
    resolved = recipe.resolve(options.calibration).merged(options.seed, options.coupling)
    clean = CLEAN
    if options.train:
        clean = replace(CLEAN, role="train")
        resolved = replace(resolved, sets=tuple(replace(s, role="train") for s in resolved.sets))
    has_clean = any("clean" in s.names for s in resolved.sets)
    # The clean set can be built from any recipe, but only if the user names it.
    sets = resolved.sets if has_clean else (clean, *resolved.sets)
    return PlannedSets(resolved, sets, tuple(choose_sets(resolved.sets, options.sets, recipe=recipe)))


def plan_samples(source: str | Source, sets: PlannedSets, options: BuildOptions) -> PlannedSamples:
    """Open the source, and return it with the samples that the options select."""
    recipe = sets.recipe
    hold_out = _hold_out(recipe, options)
    source = _open(source, options, recipe)
    if not source.classes:
        refuse_labels(source, options, recipe, sets.chosen)
    notes: list[str] = []
    selected = tuple(
        select(source.samples, **options.selection, hold_out=hold_out, classes=source.classes, notes=notes)
    )
    if not selected:
        raise SourceError(f"The source {source.scheme} has no images to build from.")
    record = selection_record(
        source.samples,
        selected,
        **options.selection,
        hold_out=hold_out,
        grouping=source.grouping,
        pattern=source.pattern,
    )
    held_out = () if hold_out is None else hold_out.notes(source.samples)
    return PlannedSamples(source, selected, record, (*held_out, *notes))


def plan_pixels(sets: PlannedSets, samples: PlannedSamples, options: BuildOptions) -> PlannedPixels:
    """Return everything that determines the pixels: preprocessing, regions, textures, model and corruptions."""
    recipe, source, selected = sets.recipe, samples.source, samples.selected
    preprocessing, entry = recipe.preprocessing, recipe.surrogate
    resources = load_resources(
        sets.chosen,
        source.classes,
        frost_textures=options.frost_textures,
        surrogate=options.surrogate or (None if entry is None else entry.file),
        device=entry.device if options.device is None and entry is not None else options.device,
        surrogate_batch=options.surrogate_batch or (None if entry is None else entry.batch),
        model_sized=isinstance(preprocessing, SurrogateInput),
    )
    if isinstance(preprocessing, SurrogateInput):
        preprocessing = preprocessing.of(resources["surrogate"])
    probed = Checked()
    if preprocessing.output_size is None or recipe.regions is not None:
        probed = probe(source, selected, None if recipe.regions is None else recipe.regions.problem)
    regions = region_store(recipe, probed, len(selected), options, requested=sets.chosen, sets=sets.resolved.sets)
    if regions is not None and regions.store == "table":
        preprocessing = Unchanged(kind="none", channels="keep")
    plugins = plugins_of(dict.fromkeys(stage.corruption for spec in sets.resolved.sets for stage in spec.stages))
    side, scale = sets.resolved.table.side, options.scale or recipe.scale
    maker = SetMaker(side, options.seed, options.coupling, scale, resources, plugins)
    return PlannedPixels(preprocessing, regions, maker, probed, clean_sizes(preprocessing, probed))


def plan_storage(
    sets: PlannedSets, samples: PlannedSamples, pixels: PlannedPixels, options: BuildOptions
) -> PlannedStorage:
    """Return the encoding and the container of the images."""
    recipe, source = sets.recipe, samples.source
    encoding = _encoding(recipe, options, samples)
    if pixels.regions is not None and pixels.regions.store == "table":
        encoding = PngEncoding()
    container = options.storage or recipe.storage.container
    if not source.classes:
        _refuse_source_names(samples, encoding)
        container = "folder"
    return PlannedStorage(encoding, container)


def _notes(
    sets: PlannedSets, samples: PlannedSamples, pixels: PlannedPixels, storage: PlannedStorage
) -> tuple[str, ...]:
    """Return notes for users about a build."""
    table, maker, source = sets.resolved.table, pixels.maker, samples.source
    side = 0 if pixels.preprocessing.output_size is None else min(pixels.preprocessing.output_size)
    notes = [*texture_notes(maker.resources.get("textures"), sets.chosen), *source.remarks]
    if maker.scale == "none" and side not in (0, table.side) and any(spec.stages for spec in sets.chosen):
        notes.append(
            f"The parameters of {table.name} were chosen for images of {table.side} pixels. They are applied unchanged "
            f"to images of {side} pixels."
        )
    notes += validation_notes(sets.chosen)
    if not source.classes:
        notes += renamed_note([s.path for s in samples.selected if s.path], storage.encoding.format)
        notes += notes_on_annotations(
            source, samples.selected, sets.chosen, recipe=sets.recipe, kind=pixels.preprocessing.kind
        )
    if pixels.regions is not None:
        notes += pixels.regions.notes
    return (*notes, *samples.notes)


def _refuse_source_names(samples: PlannedSamples, encoding: Encoding) -> None:
    """Raise `BuildError` if images of a source without classes cannot keep their names."""
    problems = suffix_problems([s.path for s in samples.selected if s.path])
    problems += equal_names([(s.path, s.id) for s in samples.selected], encoding.format)
    if problems:
        raise BuildError(
            f"The images of the source {samples.source.scheme} keep their names, but some names cannot be kept:\n"
            f"{format_list(problems)}\nRename them in the source, or use a recipe that stores JPEG."
        )


def _hold_out(recipe: Recipe, options: BuildOptions) -> HoldOut | None:
    """Return the groups to hold out. Groups in the options take precedence over groups in the recipe."""
    if options.hold_out is not None:
        return HoldOut(held_groups(options.hold_out), options.train)
    if recipe.hold_out is not None:
        return HoldOut(recipe.hold_out.groups, options.train, lenient=True)
    if options.train:
        raise BuildError(
            f"--train selects the samples of the groups that are not held out, but the recipe {recipe.name} holds out "
            "no groups. Name groups with --hold-out group=NAME."
        )
    return None


def _open(source: str | Source, options: BuildOptions, recipe: Recipe) -> Source:
    """Open the source with the options of the build."""
    source = named_source(source)
    if not isinstance(source, str):
        return source
    groups = options.groups
    if groups is None and recipe.hold_out is not None and source.partition(":")[0] in GROUPED_SOURCES:
        groups = recipe.hold_out.grouping
    return open_source(source, labels=options.labels, split=options.split, images=options.images, groups=groups)


def _encoding(recipe: Recipe, options: BuildOptions, samples: PlannedSamples) -> Encoding:
    """Return the encoding of the images. It is PNG if all images keep names that end in .png."""
    encoding = recipe.encoding
    if options.encoding is not None:
        encoding = named_encoding(options.encoding, encoding)
    if options.optimize and encoding.lossless:
        raise BuildError("--optimize applies to JPEG, and the images are stored as PNG. Leave --optimize out.")
    if options.optimize:
        encoding = encoding.model_copy(update={"optimize": True})
    if not samples.source.classes and all(encoding_of(s.path or "", encoding).lossless for s in samples.selected):
        return PngEncoding()
    return encoding


def probe(source: Source, selected: Sequence[Sample], check_size: SizeCheck | None = None) -> Checked:
    """Check up to eight evenly spaced images, or all images if none of the eight can be used."""
    checked = check(source, select(selected, samples=PROBED_IMAGES), check_size=check_size)
    return checked if checked.good else check(source, selected, check_size=check_size)


def clean_sizes(preprocessing: Preprocessing, checked: Checked) -> tuple[tuple[int, int], ...]:
    """Return the (width, height) of clean images: their one common size, or the sizes of the checked images."""
    if preprocessing.output_size is not None:
        return (preprocessing.output_size,)
    return tuple(preprocessing.size(width, height) for _, _, width, height, _ in checked.good) or ((500, 375),)
