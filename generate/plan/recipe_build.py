"""From a recipe, a source and options to what is to be built."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ...corruptions.plugins import load_plugins, plugins_of
from ...errors import BuildError, SourceError
from ...manifests.records.models import SCHEMA_VERSION
from ..pixels.encoding import PngEncoding, encoding_of
from ..pixels.preprocessing import Preprocessing, SurrogateInput
from ..recipes.choice import CLEAN, choose_sets
from ..recipes.recipe import Recipe, ResolvedRecipe, load_recipe
from ..recipes.region_table import RegionTable
from ..recipes.set_spec import SetSpec
from ..regions.region_source import RegionSource
from ..sinks.containers import containers_of, default_format
from ..sinks.sink import stored_bytes
from ..sources.check import Checked, Judge, check
from ..sources.groups import HoldOut, held_groups
from ..sources.selection import select, selection_record
from ..sources.source import GROUPED_SOURCES, Sample, Source, open_source
from ..views.fits import placed
from ..views.layouts import get_layout
from ..views.view import refuse_regions
from .builds import Build
from .job import CheckedSample
from .options import BuildOptions
from .region_samples import RegionSamples, images_of
from .region_store import RegionStore, Store, region_store, table_bytes
from .resources import load_resources, refuse_small_textures
from .source_fit import moving, notes_on_annotations, refuse_labels, refuse_other_source
from .tree import SetMaker

_PROBED = 8


@dataclass(frozen=True, kw_only=True)
class RecipeBuild(Build):
    """What is to be built of a recipe."""

    resolved: ResolvedRecipe
    """With the sets of the recipe: no clean set that only the user named."""
    options: BuildOptions
    hold_out: HoldOut | None = None
    regions: RegionStore | None = None
    """Of a recipe whose samples are regions of images."""

    def size_problem(self, width: int, height: int) -> str | None:
        """Return why an image of this size cannot be used, or None."""
        if self.regions is not None and (problem := self.regions.table.problem(width, height)) is not None:
            return problem
        return None if self.in_regions else super().size_problem(width, height)

    @property
    def _table(self) -> RegionTable | None:
        """The regions that samples are, each stored as an image."""
        return self.regions.table if self.regions is not None and self.regions.store == "images" else None

    @property
    def in_regions(self) -> bool:
        """Whether samples are regions, each stored as an image."""
        return self._table is not None

    @property
    def stored_table(self) -> RegionTable | None:
        """The regions that regions.jsonl lists."""
        return self.regions.table if self.regions is not None and self.regions.store == "table" else None

    def samples_of(self, images: Sequence[CheckedSample]) -> Sequence[CheckedSample]:
        """Return the samples of the build: the images, or their regions."""
        return images if self._table is None else RegionSamples(images, self._table, self.maker.seed)

    @property
    def loader(self) -> Source:
        """What the samples are loaded from."""
        return self.source if self._table is None else RegionSource(self.source, self._table)

    def sample_count(self, images: int) -> int:
        """Return how many samples so many images make (estimate)."""
        return images if self.regions is None else self.regions.samples(images)

    def store_bytes(self, probed: Checked) -> dict[Store, int]:
        """Return about what either way to store regions takes; empty where samples are whole images."""
        if self.regions is None:
            return {}
        stored = self.stored_bytes if self.in_regions else stored_bytes(self.resolved.recipe.encoding, (self.regions.table.size,) * 2)
        as_images, as_table = self.regions.per_image * len(self.asked) * stored, table_bytes(self.regions.grids_per_image, probed)
        return {"images": round(as_images * len(self.selected)), "table": round(as_table * len(self.selected))}

    def notes(self) -> tuple[str, ...]:
        """Return what a user should know: also of regions, and of groups that a recipe holds out and the source has not."""
        regions = () if self.regions is None else self.regions.notes
        annotated = notes_on_annotations(self) if any(s.own_names for s in self.asked_sinks) else ()
        return (*super().notes(), *annotated, *regions, *(() if self.hold_out is None else self.hold_out.notes(self.source.samples)))

    def accept(self, found: Checked) -> list[tuple[str, str]]:
        """Refuse bad images, unless they are to be left out, and images that the recipe or the view is not made for."""
        if not self.options.skip_bad or not found.good:
            found.raise_for_bad(self.source.notes)
        self.refuse_other(found, all_seen=True)
        return sorted([*self.source.notes, *found.bad])

    def refuse_other(self, found: Checked, *, all_seen: bool) -> None:
        """Raise for images that the recipe or the view is not made for, unless the user insists on them."""
        if not self.options.any_shape:
            named = [(sample.path or sample.id, (width, height, channels)) for sample, _, width, height, channels in found.good]
            refuse_other_source(self.resolved.recipe, self.view, named, all_seen=all_seen)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What the build is, but for its sets and textures."""
        sinks = self.asked_sinks
        # annotations, which images keep their names for, may say where content is
        moves = {"moves_content": moving(self.sets)} if any(sink.own_names for sink in sinks) else {}
        views = [record | moves for sink in sinks if (record := sink.view_record()) is not None]
        return {
            "schema_version": SCHEMA_VERSION,
            "name": self.name,
            "version": self.version,
            "seed": self.maker.seed,
            "coupling": self.maker.coupling,
            "scale": self.maker.scale,
            "recipe": self._recipe_record(),
            "source": {"name": self.source.scheme, "digest": self.source_digest, "license": self.source.license},
            "preprocessing": self.preprocessing.as_json(),
            "encoding": self.encoding.as_json(containers_of(sinks)),
            "classes": [c.as_json() for c in self.classes],
            "excluded": [{"path": path, "reason": reason} for path, reason in self.excluded],
            "selection": selection_record(
                self.source.samples,
                self.selected,
                **self.options.selection,
                hold_out=self.hold_out,
                grouping=self.source.grouping,
                pattern=self.source.pattern,
            ),
            "views": views,
            "metrics": self.metrics_images(len(self.samples)),
        }

    def _recipe_record(self) -> dict[str, Any]:
        """Return what the manifest says of the recipe, and what it did not expect of the source and the user insisted on."""
        record = self.resolved.record | {"preprocessing": self.preprocessing.as_json()}
        if self.regions is not None:
            record["regions"] = self.regions.record
        if (expects := self.resolved.recipe.expects) is not None:
            images = images_of(self.samples)
            if problems := expects.problems([(c.sample.id, (c.width, c.height, c.channels)) for c in images]):
                record["unexpected"] = problems
        return record


def prepare(recipe: str | Path | Recipe, source: str | Source, options: BuildOptions) -> RecipeBuild:
    """Bring a recipe, a source and options together; nothing is written and no image but a few is looked at.

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
            raise BuildError(f"--optimize is for JPEG; the recipe {recipe.name} stores {encoding.format}. Leave it out.")
        encoding = encoding.model_copy(update={"optimize": True})
    if view is not None and get_layout(view).own_names and all(encoding_of(s.path or "", encoding).lossless for s in selected):
        encoding = PngEncoding()
    looked_at = own_sizes(preprocessing) or recipe.regions is not None
    probed = probe(source, selected, None if recipe.regions is None else recipe.regions.problem) if looked_at else Checked()
    regions = region_store(recipe, probed, len(selected), options, asked=chosen, sets=resolved.sets)
    if regions is not None:
        preprocessing, encoding = regions.settings(recipe, encoding)
    sizes = clean_sizes(preprocessing, probed)
    size = mean_size(sizes)
    plugins = plugins_of(dict.fromkeys(stage.corruption for spec in resolved.sets for stage in spec.stages))
    count = len(selected) if regions is None else regions.samples(len(selected))
    form = options.format or default_format(encoding, sizes, size, len(resolved.sets) * count)
    spec = RecipeBuild(
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
        maker=SetMaker(resolved.table.side, options.seed, options.coupling, options.scale or recipe.scale, resources, plugins),
        metrics=options.metrics,
        image_size=size,
        workers=options.workers,
        page=options.page,
        disjoint_from=options.disjoint_from,
        resolved=resolved,
        options=options,
        hold_out=hold_out,
        regions=regions,
    )
    if spec.in_regions and view is not None:
        refuse_regions(get_layout(view))
    _ = spec.asked_sinks  # refuses what does not fit into a view before any image is looked at
    spec.refuse_other(probed, all_seen=False)
    refuse_small_textures(spec.maker, chosen, [(h, w) for w, h in dict.fromkeys(sizes)])
    return spec


def _hold_out(recipe: Recipe, options: BuildOptions) -> HoldOut | None:
    """Return which groups are held out: those of the options, else the recipe's."""
    if options.hold_out is not None:
        return HoldOut(held_groups(options.hold_out), options.train)
    if recipe.hold_out is not None:
        return HoldOut(recipe.hold_out.groups, options.train, lenient=True)
    if options.train:
        raise BuildError(
            f"--train takes the samples of the groups that are not held out, and the recipe {recipe.name} holds out none. Name them "
            "with --hold-out group=NAME."
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
    """Check up to eight of a source's images, spread evenly; where none of them is good, all."""
    checked = check(source, select(selected, samples=_PROBED), judge=judge)
    return checked if checked.good else check(source, selected, judge=judge)


def own_sizes(preprocessing: Preprocessing) -> bool:
    """Whether clean images have the size that they have in the source."""
    return preprocessing.size(640, 480) != preprocessing.size(300, 500)


def clean_sizes(preprocessing: Preprocessing, checked: Checked) -> list[tuple[int, int]]:
    """Return the (width, height) of clean images: the one of the preprocessing, or those of images that were checked."""
    if not own_sizes(preprocessing):
        return [preprocessing.size(0, 0)]
    return [preprocessing.size(width, height) for _, _, width, height, _ in checked.good] or [(500, 375)]


def mean_size(sizes: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the mean (width, height)."""
    return round(sum(w for w, _ in sizes) / len(sizes)), round(sum(h for _, h in sizes) / len(sizes))
