"""A recipe applied to a source, before the images of the source are checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...manifests.records.digests import source_digest
from ...manifests.records.fields import Storage
from ...manifests.records.models import SCHEMA_VERSION, ExcludedRecord, Header, SourceRecord, StorageRecord
from ..pixels.encoding import Encoding, encoding_record
from ..pixels.metrics import DEFAULT_IMAGES
from ..pixels.preprocessing import Preprocessing
from ..recipes.recipe import Recipe, ResolvedRecipe
from ..recipes.set_spec import SetSpec
from ..regions.region_source import RegionSource
from ..sinks.containers import Sink, make_sinks
from ..sources.check import Checked, SizeCheck
from ..sources.source import Note, Sample, Source
from .builds import CheckedBuild, plugin_records, sample_rows, size_check
from .job import CheckedSample
from .options import BuildOptions
from .region_storage import RegionSamples, RegionStore
from .sample_checks import refuse_overlap, refuse_unusable
from .source_fit import moving_corruptions, refuse_source
from .tree import SetMaker


@dataclass(frozen=True)
class PlannedSets:
    """The sets of a build."""

    resolved: ResolvedRecipe
    """The recipe with the parameters of every set."""
    sets: tuple[SetSpec, ...]
    """All sets that can be built, in the order of the recipe."""
    chosen: tuple[SetSpec, ...]
    """The requested sets."""

    @property
    def recipe(self) -> Recipe:
        """The recipe as written in its file."""
        return self.resolved.recipe


@dataclass(frozen=True)
class PlannedSamples:
    """The samples of a build, before they are checked."""

    source: Source
    selected: tuple[Sample, ...]
    record: dict[str, Any]
    """The record of the selection in a manifest."""
    notes: tuple[str, ...]


@dataclass(frozen=True)
class PlannedPixels:
    """Everything that determines the pixels of a build, except the sets and the samples."""

    preprocessing: Preprocessing
    regions: RegionStore | None
    """The regions of images, or None if the recipe has no regions."""
    maker: SetMaker
    probed: Checked
    """The result of checking a few images. It is empty if preprocessing gives all images the same size and there are
    no regions.
    """
    sizes: tuple[tuple[int, int], ...]
    """The (width, height) of the clean image for each checked image, or the one size that all clean images have."""

    @property
    def image_size(self) -> tuple[int, int]:
        """The mean (width, height) of clean images."""
        return mean_size(self.sizes)

    @property
    def cut_regions(self) -> RegionStore | None:
        """The regions if they are stored as images, so that each region is a sample. Otherwise None."""
        return self.regions if self.regions is not None and self.regions.store == "images" else None


@dataclass(frozen=True)
class PlannedStorage:
    """How the images of a build are stored."""

    encoding: Encoding
    container: Storage


@dataclass(frozen=True)
class BuildPlan:
    """A recipe applied to a source: everything that is known about a build before its source is checked."""

    sets: PlannedSets
    samples: PlannedSamples
    pixels: PlannedPixels
    storage: PlannedStorage
    options: BuildOptions
    notes: tuple[str, ...]
    """Notes for users about the build."""

    @property
    def source(self) -> Source:
        """The source of the images."""
        return self.samples.source

    @property
    def selected(self) -> tuple[Sample, ...]:
        """The selected samples of the source, which are checked before the build."""
        return self.samples.selected

    @cached_property
    def requested(self) -> tuple[str, ...]:
        """The ids of the requested sets."""
        return tuple(s.id for s in self.sets.chosen)

    @property
    def folder(self) -> str:
        """The name of the dataset's folder, ``<name>-<version>``."""
        return f"{self.sets.recipe.name}-{self.sets.recipe.version}"

    @property
    def workers(self) -> int:
        """The number of worker processes."""
        return self.options.workers

    @property
    def size_problem(self) -> SizeCheck:
        """The function that returns the reason to reject an image size. Workers receive it instead of the plan."""
        return size_check(self.pixels.preprocessing, self.pixels.regions)

    @property
    def header(self) -> Header:
        """The header of the build, as if the source had no samples."""
        return self._header((), (), ())

    @property
    def sinks(self) -> tuple[Sink, ...]:
        """The containers of the images."""
        recipe, storage = self.sets.recipe, self.storage
        title = f"{recipe.name} {recipe.version}"
        return make_sinks(storage.container, encoding=storage.encoding, classes=self.source.classes, title=title)

    @property
    def stored_bytes(self) -> int:
        """The estimated number of bytes that one image takes in all containers together."""
        return sum(sink.stored_bytes(self.pixels.image_size) for sink in self.sinks)

    @property
    def held_bytes(self) -> int:
        """The estimated memory, in bytes, that one image takes until its part is written."""
        return max(sink.held_bytes(self.pixels.image_size) for sink in self.sinks)

    def metrics_images(self, count: int) -> int:
        """Return the number of images on which metrics are measured, for a build with `count` samples."""
        wanted = DEFAULT_IMAGES if self.options.metrics is None else self.options.metrics
        return count if wanted == "all" else min(wanted, count)

    def checked(self, found: Checked) -> CheckedBuild:
        """Return the build of the checked images.

        Raises
        ------
        SourceError, BuildError, PluginError, ModelError
            The recipe cannot be built from these images. Nothing was written.
        """
        excluded, unexpected = self.accept(found)
        images = tuple(CheckedSample(*entry) for entry in found.good)
        refuse_overlap(images, self.options.disjoint_from)
        notes = found.orientation_notes(self.source)
        build = self.build_of(images, excluded=excluded, unexpected=unexpected, notes=notes)
        refuse_unusable(build)
        return build

    def accept(self, found: Checked, *, is_sample: bool = False) -> tuple[list[Note], list[str]]:
        """Return the excluded files, with reasons, and the differences from what the recipe expects.

        Parameters
        ----------
        found : Checked
            The result of checking the source.
        is_sample : bool
            True if only a few images were checked. Unusable images are then an error only if no image is usable.

        Raises
        ------
        SourceError
            Images cannot be used, or the recipe expects different images.
        """
        recipe, source = self.sets.recipe, self.source
        if not found.good or not (is_sample or self.options.skip_bad):
            found.raise_for_bad(source.notes)
        if not self.options.any_shape:
            refuse_source(recipe, found, source=source, complete=True)
        named = [(s.id, (w, h, c)) for s, _, w, h, c in found.good]
        unexpected = [] if recipe.expects is None else recipe.expects.problems(named)
        return sorted([*source.notes, *found.bad]), unexpected

    def build_of(
        self,
        images: Sequence[CheckedSample],
        *,
        excluded: Sequence[Note] = (),
        unexpected: Sequence[str] = (),
        notes: Sequence[str] = (),
    ) -> CheckedBuild:
        """Return the build of the given images, or of their regions, without further checks."""
        pixels = self.pixels
        source, samples, cut = self.source, images, pixels.cut_regions
        if cut is not None:
            source = RegionSource(self.source, cut.table)
            samples = RegionSamples(images, cut.table, pixels.maker.seed)
        stored = pixels.regions.table if pixels.regions is not None and cut is None else None
        return CheckedBuild(
            header=self._header(samples, excluded, unexpected),
            source=source,
            samples=samples,
            sets=self.sets.sets,
            requested=self.requested,
            preprocessing=pixels.preprocessing,
            encoding=self.storage.encoding,
            maker=pixels.maker,
            plugins=plugin_records(self.sets.resolved.sets),
            image_size=pixels.image_size,
            workers=self.workers,
            stored_table=stored,
            notes=(*self.notes, *notes),
            page=self.options.page,
        )

    def _header(self, samples: Sequence[CheckedSample], excluded: Sequence[Note], unexpected: Sequence[str]) -> Header:
        recipe, pixels, options = self.sets.recipe, self.pixels, self.options
        preprocessing = pixels.preprocessing.as_json()
        resolved = {**self.sets.resolved.record, "preprocessing": preprocessing}
        if not self.source.classes:  # images of such a source may have annotations with positions
            resolved["moves_content"] = moving_corruptions(self.sets.sets)
        if pixels.regions is not None:
            resolved["regions"] = pixels.regions.record
        if unexpected:
            resolved["unexpected"] = list(unexpected)
        return Header(
            schema_version=SCHEMA_VERSION,
            name=recipe.name,
            version=recipe.version,
            seed=options.seed,
            coupling=options.coupling,
            scale=pixels.maker.scale,
            recipe=resolved,
            source=SourceRecord(
                name=self.source.scheme, digest=source_digest(sample_rows(samples)), license=self.source.license
            ),
            preprocessing=preprocessing,
            encoding=encoding_record(self.storage.encoding),
            storage=StorageRecord(container=self.storage.container),
            textures=[],
            classes=list(self.source.classes),
            excluded=[ExcludedRecord(path=path, reason=reason) for path, reason in excluded],
            selection=self.samples.record,
            metrics_images=self.metrics_images(len(samples)),
        )


def mean_size(sizes: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """Return the mean (width, height)."""
    widths, heights = zip(*sizes, strict=True)
    return round(sum(widths) / len(widths)), round(sum(heights) / len(heights))
