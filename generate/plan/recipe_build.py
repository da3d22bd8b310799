"""From a recipe, a source and options to what is to be built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ...corruptions.plugins import load_plugins, plugins_of
from ...errors import BuildError, SourceError, listed
from ...manifests.records.models import SCHEMA_VERSION
from ..pixels.encoding import Encoding, PngEncoding, encoding_of, named_encoding
from ..pixels.preprocessing import Preprocessing, SurrogateInput
from ..recipes.choice import CLEAN, choose_sets
from ..recipes.recipe import Recipe, load_recipe
from ..recipes.two_factor import validation_notes
from ..sinks.containers import containers_of
from ..sources.check import Checked, Judge, check
from ..sources.kept_names import equal_names, renamed_note, suffix_problems
from ..sources.selection import HoldOut, held_groups, select, selection_record
from ..sources.source import GROUPED_SOURCES, Sample, Source, named_source, open_source
from .builds import Accept, Build, plugin_records
from .options import BuildOptions
from .regions import region_store
from .resources import load_resources, refuse_small_textures
from .source_fit import moving, notes_on_annotations, refuse_labels, refuse_other_source
from .tree import SetMaker

_PROBED = 8


def prepare(recipe: str | Path | Recipe, source: str | Source, options: BuildOptions) -> Build:
    """Bring a recipe, a source and options together; few images are looked at.

    Nothing is written.

    Raises
    ------
    RecipeError, SourceError, ParameterError, BuildError, PluginError
        What was asked for cannot be built.
    """
    # the recipe: its sets, and which of them are asked for
    options.check()
    load_plugins(options.plugins or ())
    recipe = load_recipe(recipe)
    resolved = recipe.resolve(options.calibration).merged(options.seed, options.coupling)
    clean = CLEAN
    if options.train:
        clean = replace(CLEAN, role="train")
        resolved = replace(resolved, sets=tuple(replace(s, role="train") for s in resolved.sets))
    has_clean = any("clean" in s.names for s in resolved.sets)
    # clean can be built from any recipe, but only where the user names it
    sets = resolved.sets if has_clean else (clean, *resolved.sets)
    chosen = choose_sets(resolved.sets, options.sets, recipe=recipe)
    # the source: its samples, and which of them are selected
    hold_out = _hold_out(recipe, options)
    source = _open(source, options, recipe)
    if not source.classes:
        refuse_labels(source, options, recipe, chosen)
    of_selection: list[str] = []
    chosen_samples = select(
        source.samples, **options.selection, hold_out=hold_out, classes=source.classes, notes=of_selection
    )
    selected = tuple(chosen_samples)
    if not selected:
        raise SourceError(f"The source {source.scheme} has no images to build from.")
    # what goes into pixels: models, textures, preprocessing; and how they are stored
    preprocessing, entry = recipe.preprocessing, recipe.surrogate
    resources = load_resources(
        chosen,
        source.classes,
        frost_textures=options.frost_textures,
        surrogate=options.surrogate or (None if entry is None else entry.file),
        device=entry.device if options.device is None and entry is not None else options.device,
        surrogate_batch=options.surrogate_batch or (None if entry is None else entry.batch),
        sized=isinstance(preprocessing, SurrogateInput),
    )
    if isinstance(preprocessing, SurrogateInput):
        preprocessing = preprocessing.of(resources["surrogate"])
    encoding = _encoding(recipe, options, source, selected)
    looked_at = own_sizes(preprocessing) or recipe.regions is not None
    judge = None if recipe.regions is None else recipe.regions.problem
    probed = probe(source, selected, judge) if looked_at else Checked()
    regions = region_store(recipe, probed, len(selected), options, asked=chosen, sets=resolved.sets)
    if regions is not None:
        preprocessing, encoding = regions.settings(recipe, encoding)
    sizes = clean_sizes(preprocessing, probed)
    size = mean_size(sizes)
    scale = options.scale or recipe.scale
    plugins = plugins_of(dict.fromkeys(stage.corruption for spec in resolved.sets for stage in spec.stages))
    build = Build(
        name=recipe.name,
        version=recipe.version,
        source=source,
        classes=source.classes,
        selected=selected,
        sets=sets,
        asked=tuple(s.id for s in chosen),
        preprocessing=preprocessing,
        encoding=encoding,
        storage=options.storage or recipe.storage.container if source.classes else "folder",
        maker=SetMaker(resolved.table.side, options.seed, options.coupling, scale, resources, plugins),
        plugins=plugin_records(resolved.sets),
        metrics=options.metrics,
        image_size=size,
        workers=options.workers,
        accept=_acceptance(recipe, source, options),
        identity={},
        regions=regions,
        page=options.page,
        disjoint_from=options.disjoint_from,
    )
    if not source.classes:
        _refuse_source_names(source, selected, encoding)
    if not options.any_shape:
        refuse_other_source(recipe, probed, source=source, all_seen=False)
    refuse_small_textures(build.maker, chosen, [(h, w) for w, h in dict.fromkeys(sizes)])
    # images keep their names for annotations, which may locate content
    moves = {} if source.classes else {"moves_content": moving(sets)}
    identity = {
        "schema_version": SCHEMA_VERSION,
        "name": recipe.name,
        "version": recipe.version,
        "seed": options.seed,
        "coupling": options.coupling,
        "scale": scale,
        "recipe": {
            **resolved.record,
            "preprocessing": preprocessing.as_json(),
            **moves,
            **({} if regions is None else {"regions": regions.record}),
        },
        "source": {"name": source.scheme, "digest": "", "license": source.license},
        "preprocessing": preprocessing.as_json(),
        "encoding": encoding.as_json(containers_of(build.sinks)),
        "classes": [c.as_json() for c in source.classes],
        "excluded": [],
        "selection": selection_record(
            source.samples,
            selected,
            **options.selection,
            hold_out=hold_out,
            grouping=source.grouping,
            pattern=source.pattern,
        ),
        "metrics": 0,
    }
    table, side = resolved.table, 0 if own_sizes(preprocessing) else min(sizes[0])
    remarks = (
        *source.remarks,
        *[f"Images of {side} pixels get the parameters of {table.name}, which are for {table.side}, as they are."]
        * (scale == "none" and side not in (0, table.side) and any(one.stages for one in chosen)),
        *validation_notes(chosen),
        *(() if source.classes else renamed_note([s.path for s in selected if s.path], encoding.format)),
        *(() if source.classes else notes_on_annotations(build)),
        *(() if regions is None else regions.notes),
        *(() if hold_out is None else hold_out.notes(source.samples)),
        *of_selection,
    )
    return replace(build, identity=identity, remarks=remarks)


def _refuse_source_names(source: Source, selected: Sequence[Sample], encoding: Encoding) -> None:
    """Raise `BuildError` for names that images of a source without classes cannot keep."""
    problems = suffix_problems([s.path for s in selected if s.path])
    problems += equal_names([(s.path, s.id) for s in selected], encoding.format)
    if problems:
        raise BuildError(
            f"The images of the source {source.scheme} keep their names, and some names do not fit:\n{listed(problems)}"
            "\nRename them in the source, or use a recipe that stores JPEG."
        )


def _acceptance(recipe: Recipe, source: Source, options: BuildOptions) -> Accept:
    """Return the function that refuses unusable images, unless they are skipped, and images that do not fit."""

    def accept(found: Checked, few: bool = False) -> tuple[list[tuple[str, str]], list[str]]:
        if not found.good or not (few or options.skip_bad):
            found.raise_for_bad(source.notes)
        if not options.any_shape:
            refuse_other_source(recipe, found, source=source, all_seen=True)
        named = [(s.id, (w, h, c)) for s, _, w, h, c in found.good]
        unexpected = [] if recipe.expects is None else recipe.expects.problems(named)
        return sorted([*source.notes, *found.bad]), unexpected

    return accept


def _hold_out(recipe: Recipe, options: BuildOptions) -> HoldOut | None:
    """Return which groups are held out: those of the options, else the recipe's."""
    if options.hold_out is not None:
        return HoldOut(held_groups(options.hold_out), options.train)
    if recipe.hold_out is not None:
        return HoldOut(recipe.hold_out.groups, options.train, lenient=True)
    if options.train:
        raise BuildError(
            f"--train takes the samples of the groups that are not held out, and the recipe {recipe.name} holds out "
            "none. Name them with --hold-out group=NAME."
        )
    return None


def _open(source: str | Source, options: BuildOptions, recipe: Recipe) -> Source:
    """Return the source, listed."""
    source = named_source(source)
    if not isinstance(source, str):
        return source
    groups = options.groups
    if groups is None and recipe.hold_out is not None and source.partition(":")[0] in GROUPED_SOURCES:
        groups = recipe.hold_out.grouping
    return open_source(source, labels=options.labels, split=options.split, images=options.images, groups=groups)


def _encoding(recipe: Recipe, options: BuildOptions, source: Source, selected: Sequence[Sample]) -> Encoding:
    """Return how images are stored: PNG where they all keep names of files that are."""
    encoding = recipe.encoding
    if options.encoding is not None:
        encoding = named_encoding(options.encoding, encoding)
    if options.optimize and encoding.lossless:
        raise BuildError("--optimize applies to JPEG, and the images are stored as PNG. Leave --optimize out.")
    if options.optimize:
        encoding = encoding.model_copy(update={"optimize": True})
    if not source.classes and all(encoding_of(s.path or "", encoding).lossless for s in selected):
        return PngEncoding()
    return encoding


def probe(source: Source, selected: Sequence[Sample], judge: Judge | None = None) -> Checked:
    """Check up to eight images, spread evenly; where none is good, all."""
    checked = check(source, select(selected, samples=_PROBED), judge=judge)
    return checked if checked.good else check(source, selected, judge=judge)


def own_sizes(preprocessing: Preprocessing) -> bool:
    """Whether clean images have the size that they have in the source."""
    return preprocessing.size(640, 480) != preprocessing.size(300, 500)


def clean_sizes(preprocessing: Preprocessing, checked: Checked) -> list[tuple[int, int]]:
    """Return the (width, height) of clean images, of checked ones or of the preprocessing."""
    if not own_sizes(preprocessing):
        return [preprocessing.size(0, 0)]
    return [preprocessing.size(width, height) for _, _, width, height, _ in checked.good] or [(500, 375)]


def mean_size(sizes: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the mean (width, height)."""
    return round(sum(w for w, _ in sizes) / len(sizes)), round(sum(h for _, h in sizes) / len(sizes))
