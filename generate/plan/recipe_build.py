"""From a recipe, a source and options to what is to be built."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...corruptions.plugins import load_plugins, plugins_of
from ...errors import BuildError, SourceError
from ...manifests.records.models import SCHEMA_VERSION
from ..pixels.encoding import PngEncoding, encoding_of
from ..pixels.preprocessing import Preprocessing, SurrogateInput
from ..recipes.choice import CLEAN, choose_sets
from ..recipes.recipe import Recipe, load_recipe
from ..recipes.set_spec import SetSpec
from ..sinks.containers import containers_of, default_format
from ..sources.check import Checked, Judge, check
from ..sources.groups import HoldOut, held_groups
from ..sources.selection import select, selection_record
from ..sources.source import GROUPED_SOURCES, Sample, Source, open_source
from ..views.fits import placed
from ..views.layouts import get_layout
from ..views.view import refuse_regions
from .builds import Build, plugin_records
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
    options.check()
    load_plugins(options.plugins or ())
    recipe = load_recipe(recipe)
    resolved = recipe.resolve(options.calibration).merged(options.seed, options.coupling)
    chosen = choose_sets(resolved.sets, options.sets)
    # Clean can be built from any recipe, but only where the user names it.
    has_clean = any("clean" in s.names for s in resolved.sets)
    hold_out = _hold_out(recipe, options)
    source = _open(source, options, recipe)
    if not source.classes:
        refuse_labels(source, options, recipe, chosen)
    view = options.view if options.view is not None else None if source.classes else "source-tree"
    if view is not None:
        chosen = placed(get_layout(view), chosen, options.sets or ())
    selected = tuple(select(source.samples, **options.selection, hold_out=hold_out, classes=source.classes))
    if not selected:
        raise SourceError(f"The source {source.scheme} has no images to build from.")
    if options.train:
        resolved = replace(resolved, sets=to_train_with(resolved.sets))
    preprocessing = recipe.preprocessing
    sized = isinstance(preprocessing, SurrogateInput)
    entry = recipe.surrogate
    resources = load_resources(
        chosen,
        source.classes,
        frost_textures=options.frost_textures,
        surrogate=options.surrogate or (None if entry is None else entry.file),
        device=entry.device if options.device is None and entry is not None else options.device,
        surrogate_batch=options.surrogate_batch or (None if entry is None else entry.batch),
        sized=sized,
    )
    if isinstance(preprocessing, SurrogateInput):
        preprocessing = preprocessing.of(resources["surrogate"])
    encoding = recipe.encoding
    if options.optimize:
        if encoding.lossless:
            raise BuildError(
                f"--optimize is for JPEG; the recipe {recipe.name} stores {encoding.format}. Leave it out."
            )
        encoding = encoding.model_copy(update={"optimize": True})
    if (
        view is not None
        and get_layout(view).own_names
        and all(encoding_of(s.path or "", encoding).lossless for s in selected)
    ):
        encoding = PngEncoding()
    looked_at = own_sizes(preprocessing) or recipe.regions is not None
    probed = (
        probe(source, selected, None if recipe.regions is None else recipe.regions.problem) if looked_at else Checked()
    )
    regions = region_store(recipe, probed, len(selected), options, asked=chosen, sets=resolved.sets)
    if regions is not None:
        preprocessing, encoding = regions.settings(recipe, encoding)
    sizes = clean_sizes(preprocessing, probed)
    size = mean_size(sizes)
    plugins = plugins_of(dict.fromkeys(stage.corruption for spec in resolved.sets for stage in spec.stages))
    count = len(selected) if regions is None else regions.samples(len(selected))
    form = options.format or default_format(encoding, sizes, size, len(resolved.sets) * count)
    seen = _Seen(recipe, view, source.notes, skip_bad=options.skip_bad, any_shape=options.any_shape)
    build = Build(
        name=recipe.name,
        version=recipe.version,
        source=source,
        classes=source.classes,
        selected=selected,
        sets=resolved.sets if has_clean else (*(to_train_with([CLEAN]) if options.train else (CLEAN,)), *resolved.sets),
        asked=tuple(s.id for s in chosen),
        preprocessing=preprocessing,
        encoding=encoding,
        format=None if view is not None else form,
        view=view,
        maker=SetMaker(
            resolved.table.side, options.seed, options.coupling, options.scale or recipe.scale, resources, plugins
        ),
        plugins=plugin_records(resolved.sets),
        metrics=options.metrics,
        image_size=size,
        workers=options.workers,
        accept=seen.accept,
        identity={},
        regions=regions,
        page=options.page,
        disjoint_from=options.disjoint_from,
    )
    if view is not None and build.region_table is not None:
        refuse_regions(get_layout(view))
    sinks = build.asked_sinks  # refuses what does not fit into a view before any image is looked at
    seen.refuse_other(probed, all_seen=False)
    refuse_small_textures(build.maker, chosen, [(h, w) for w, h in dict.fromkeys(sizes)])
    own_names = any(sink.own_names for sink in sinks)
    # annotations, which images keep their names for, may say where content is
    moves = {"moves_content": moving(build.sets)} if own_names else {}
    identity = {
        "schema_version": SCHEMA_VERSION,
        "name": recipe.name,
        "version": recipe.version,
        "seed": options.seed,
        "coupling": options.coupling,
        "scale": build.maker.scale,
        "recipe": {
            **resolved.record,
            "preprocessing": preprocessing.as_json(),
            **({} if regions is None else {"regions": regions.record}),
        },
        "source": {"name": source.scheme, "digest": "", "license": source.license},
        "preprocessing": preprocessing.as_json(),
        "encoding": encoding.as_json(containers_of(sinks)),
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
        "views": [record | moves for sink in sinks if (record := sink.view_record()) is not None],
        "metrics": 0,
    }
    remarks = (
        *(notes_on_annotations(build) if own_names else ()),
        *(() if regions is None else regions.notes),
        *(() if hold_out is None else hold_out.notes(source.samples)),
    )
    return replace(build, identity=identity, remarks=remarks)


@dataclass(frozen=True)
class _Seen:
    """What may be built of images that were looked at."""

    recipe: Recipe
    view: str | None
    notes: Sequence[tuple[str, str]]
    skip_bad: bool
    any_shape: bool

    def accept(self, found: Checked, few: bool = False) -> tuple[list[tuple[str, str]], list[str]]:
        """Refuse bad images, unless left out, and those not fitting recipe or view."""
        if not found.good or not (few or self.skip_bad):
            found.raise_for_bad(self.notes)
        self.refuse_other(found, all_seen=True)
        expects = self.recipe.expects
        unexpected = [] if expects is None else expects.problems([(s.id, (w, h, c)) for s, _, w, h, c in found.good])
        return sorted([*self.notes, *found.bad]), unexpected

    def refuse_other(self, found: Checked, *, all_seen: bool) -> None:
        """Raise for images not fitting recipe or view, unless the user insists on them."""
        if not self.any_shape:
            named = [
                (sample.path or sample.id, (width, height, channels))
                for sample, _, width, height, channels in found.good
            ]
            refuse_other_source(self.recipe, self.view, named, all_seen=all_seen)


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


def to_train_with(sets: Iterable[SetSpec]) -> tuple[SetSpec, ...]:
    """Return sets with the role ``train``: those of samples that are held in."""
    return tuple(replace(s, role="train") for s in sets)


def _open(source: str | Source, options: BuildOptions, recipe: Recipe) -> Source:
    """Return the source, listed."""
    if isinstance(source, str):
        groups = options.groups
        if groups is None and recipe.hold_out is not None and source.partition(":")[0] in GROUPED_SOURCES:
            groups = recipe.hold_out.grouping
        source = open_source(source, labels=options.labels, split=options.split, images=options.images, groups=groups)
    return source


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
