"""What a build is, worked out before its source is checked: sets, samples, settings, where images go."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ...corruptions.models.surrogate import Surrogate
from ...corruptions.plugins import plugins_of
from ...corruptions.stages import LEAST_SIDE
from ...corruptions.weather.textures import TextureSet, default_textures
from ...errors import BuildError
from ...manifests.records.models import ClassRecord
from ..pixels.encoding import Encoding, encoding_of
from ..pixels.metrics import DEFAULT_IMAGES
from ..pixels.preprocessing import Preprocessing
from ..recipes.region_table import RegionTable
from ..recipes.set_spec import SetSpec
from ..sinks.containers import Format, Sink, make_sinks
from ..sinks.sink import Run
from ..sources.check import Checked
from ..sources.source import Sample, Source
from ..views.layouts import get_layout
from ..views.view import View, view_of_build
from .job import CheckedSample
from .parts import groups
from .set_maker import SetMaker
from .textures import refuse_small_textures, texture_notes
from .tree import walk_order

if TYPE_CHECKING:
    from distributed import Client

Resources = Mapping[str, list[dict[str, Any]]]
"""Field of the manifest (`RESOURCE_FIELDS`) -> records of what goes into pixels beside source and parameters."""


@dataclass(frozen=True, kw_only=True)
class BuildSpec(ABC):
    """What is to be built, of a recipe (`RecipeBuild`) or as a manifest has it (`RecordedBuild`)."""

    name: str
    version: str
    source: Source
    classes: tuple[ClassRecord, ...]
    selected: tuple[Sample, ...]
    sets: tuple[SetSpec, ...]
    """All that can be built, in the recipe's order."""
    asked: tuple[str, ...]
    """The ids of those that were asked for."""
    preprocessing: Preprocessing
    encoding: Encoding
    format: Format | None
    """None for a view."""
    view: str | None
    maker: SetMaker
    metrics: int | Literal["all"] | None
    image_size: tuple[int, int]
    """(width, height) of a clean image: the mean of a few, where they differ."""
    workers: int
    disjoint_from: Sequence[str | Path] = ()
    page: bool = True
    """Whether there is to be an index.html."""
    scheduler: Client | None = None
    """The Dask client whose workers make the parts; None for processes of this machine."""

    @abstractmethod
    def accept(self, checked: Checked) -> list[tuple[str, str]]:
        """Return what is left out, as (path, reason); raise where the images that were checked cannot be built from."""

    @abstractmethod
    def identity(
        self, samples: Sequence[CheckedSample], source_digest: str, excluded: Sequence[tuple[str, str]], sinks: Sequence[Sink]
    ) -> dict[str, Any]:
        """Return what the build is, but for its sets and textures (`commit.identity.IDENTITY`)."""

    def samples_of(self, images: tuple[CheckedSample, ...]) -> Sequence[CheckedSample]:
        """Return the samples of the build, of images that were checked."""
        return images

    @property
    def loader(self) -> Source:
        """What the samples are loaded from."""
        return self.source

    @property
    def stored_table(self) -> RegionTable | None:
        """The regions that regions.jsonl lists, where they are not stored as images; else None."""
        return None

    def encoding_of(self, sample: Sample) -> Encoding:
        """Return how the images of a sample are stored."""
        own = self.view is not None and get_layout(self.view).own_names
        return encoding_of(sample.path or "", self.encoding) if own else self.encoding

    @property
    def title(self) -> str:
        """``<name> <version>``."""
        return f"{self.name} {self.version}"

    @property
    def folder(self) -> str:
        """What the build's directory is called."""
        return f"{self.name}-{self.version}"

    @cached_property
    def by_id(self) -> Mapping[str, SetSpec]:
        """Every set by its id."""
        return {s.id: s for s in self.sets}

    def chosen(self, ids: Iterable[str]) -> list[SetSpec]:
        """Return sets in the recipe's order."""
        wanted = set(ids)
        return [s for s in self.sets if s.id in wanted]

    def size_problem(self, width: int, height: int) -> str | None:
        """Return why an image of this size cannot be used, or None."""
        problem = self.preprocessing.problem(width, height)
        if problem is None and min(self.preprocessing.size(width, height)) < LEAST_SIDE:
            return f"is {width}x{height}; corruptions need at least {LEAST_SIDE}x{LEAST_SIDE}: leave it out, or use a recipe that resizes"
        return problem

    def sinks(self, sets: Sequence[str], samples: Sequence[Sample] | None = None) -> tuple[Sink, ...]:
        """Return where the images of sets go.

        Raises
        ------
        BuildError
            They do not fit into the view.
        """
        view = self._view(sets, self.selected if samples is None else samples)
        return make_sinks(self.format, view, encoding=self.encoding, classes=self.classes, title=self.title)

    def _view(self, sets: Sequence[str], samples: Sequence[Sample]) -> View | None:
        if self.view is None:
            return None
        return view_of_build(
            self.view,
            name=self.name,
            version=self.version,
            sets=[self.by_id[s] for s in sets],
            samples=samples,
            classes=self.classes,
            encoding=self.encoding,
        )

    @cached_property
    def asked_sinks(self) -> tuple[Sink, ...]:
        """Where the images of the sets that were asked for go, if no sample is left out."""
        return self.sinks(self.asked)

    @property
    def stored_bytes(self) -> int:
        """The estimated bytes of one image in all sinks together."""
        return sum(sink.stored_bytes(self.image_size) for sink in self.asked_sinks)

    @property
    def held_bytes(self) -> int:
        """The estimated bytes of one image in memory until its part is written."""
        return max(sink.held_bytes(self.image_size) for sink in self.asked_sinks)

    def groups(self, sets: Sequence[str], all_runs: Sequence[Run]) -> list[tuple[str, ...]]:
        """Return sets in groups whose images of one run fit into memory together."""
        order: list[str] = []
        branches: set[int] = set()
        for branch in self.maker.tree(self.chosen(sets)).branches():
            branches.add(len(order))
            order += list(walk_order(branch))
        length = max(r.count for r in all_runs)
        return groups(order, run_count=len(all_runs), run_length=length, stored_bytes=self.held_bytes, branches=branches)

    def metrics_images(self, count: int) -> int:
        """Return over how many of `count` samples metrics are."""
        wanted = DEFAULT_IMAGES if self.metrics is None else self.metrics
        return count if wanted == "all" else min(wanted, count)

    @property
    def own_textures(self) -> TextureSet | None:
        """The user's frost textures."""
        return self.maker.resources.get("textures")

    @property
    def surrogate(self) -> Surrogate | None:
        """The model whose gradients sets follow."""
        return self.maker.resources.get("surrogate")

    def resources(self, sets: Sequence[str], shapes: Iterable[tuple[int, int]]) -> Resources:
        """Return the records of what goes into the pixels of sets; `shapes` are the images' (height, width).

        Raises
        ------
        BuildError
            Sets that were built before follow a model, which is not given now.
        """
        fields = {field for i in sets for field in self.by_id[i].resource_fields}
        textures: list[dict[str, Any]] = []
        if "textures" in fields:
            texture_sets = [default_textures(h, w) for h, w in sorted(set(shapes))] if self.own_textures is None else [self.own_textures]
            records = dict.fromkeys(record for one in texture_sets for record in one.records())
            textures = [{"name": name, "sha256": sha256} for name, sha256 in records]
        surrogates = []
        if "surrogates" in fields:
            if self.surrogate is None:
                raise BuildError(
                    f"Sets of {self.folder} that are there follow the gradients of a model, and the contact sheet shows them again: name "
                    "its file with --surrogate to add to them."
                )
            surrogates = [self.surrogate.record()]
        return {"textures": textures, "surrogates": surrogates, "plugins": self.plugin_records if "plugins" in fields else []}

    @property
    def plugin_records(self) -> list[dict[str, Any]]:
        """The records of the plugins that all sets come from, whichever were asked for: so sets can be added later."""
        used = {stage.corruption for one in self.sets for stage in one.stages}
        return [
            {"module": p.module, "version": p.version, "sha256": p.sha256, "corruptions": sorted(used.intersection(p.corruptions))}
            for p in plugins_of(sorted(used))
        ]

    def refuse_small_textures(self, shapes: Iterable[tuple[int, int]]) -> None:
        """Raise `BuildError` where the user's frost textures do not cover images of these (height, width)."""
        refuse_small_textures(self.own_textures, self.chosen(self.asked), shapes, scale=self.maker.scale, side=self.maker.side)

    def notes(self, sinks: Sequence[Sink]) -> tuple[str, ...]:
        """Return what a user should know of the view and the frost textures that were asked for."""
        return (*(note for sink in sinks for note in sink.notes), *texture_notes(self.own_textures, self.chosen(self.asked)))
