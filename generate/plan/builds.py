"""What a build is: its sets, its samples, its settings, and where its images go."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...corruptions.models.surrogate import Surrogate
from ...corruptions.plugins import plugins_of
from ...corruptions.stages import LEAST_SIDE
from ...corruptions.weather.textures import TextureSet, default_textures
from ...errors import BuildError
from ...manifests.disk.jsonl import json_line
from ...manifests.records.digests import source_digest
from ...manifests.records.fields import Storage
from ...manifests.records.models import ClassRecord
from ..pixels.encoding import Encoding, encoding_of
from ..pixels.metrics import DEFAULT_IMAGES, MULTISCALE_IMAGES, measured_indices
from ..pixels.preprocessing import Preprocessing
from ..recipes.region_table import RegionTable
from ..recipes.set_spec import SetSpec
from ..regions.block_draws import region_rows
from ..regions.region_source import RegionSource
from ..sinks.containers import Sink, make_sinks
from ..sinks.sink import Run
from ..sources.check import Checked, Judge
from ..sources.source import Sample, Source
from .job import CheckedSample, Job, load_clean
from .parts import groups, runs
from .regions import RegionSamples, RegionStore
from .resources import texture_notes
from .tree import SetMaker, walk_order

Resources = Mapping[str, list[dict[str, Any]]]
"""Field of the manifest (`RESOURCE_FIELDS`) -> records of what goes into pixels beside source and parameters."""

Accept = Callable[[Checked, bool], tuple[list[tuple[str, str]], list[str]]]
"""(what a check found, whether it saw only a few images) -> (path, reason) of what is left out, and what the recipe did
not expect.

Raises where that cannot be built.
"""


@dataclass(frozen=True, kw_only=True)
class Build:
    """What is to be built, of a recipe (`prepare`) or of a manifest (`recorded_build`)."""

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
    storage: Storage
    maker: SetMaker
    plugins: list[dict[str, Any]]
    """Records of the plugins that all sets come from, whichever were asked for: so sets can be added later."""
    metrics: int | Literal["all"] | None
    image_size: tuple[int, int]
    """(width, height) of a clean image: the mean of a few, where they differ."""
    workers: int
    accept: Accept
    identity: Mapping[str, Any]
    """The manifest's fields that say what the build is (`commit.identity.IDENTITY`), but for its sets; whole once the
    source is checked.
    """
    regions: RegionStore | None = None
    """Of a recipe whose samples are regions of images, and whose source has the images."""
    remarks: tuple[str, ...] = ()
    """Notes for the user, except those on textures."""
    disjoint_from: str | Path | Sequence[str | Path] = ()
    page: bool = True
    """Whether there is to be an index.html."""
    samples: Sequence[CheckedSample] = ()
    """Those that it is made of; of a recipe, none before the source is checked (`with_samples`)."""

    def __getstate__(self) -> dict[str, Any]:
        """Return what a worker needs: all but what was selected, and what may be built."""
        return {field.name: getattr(self, field.name) for field in fields(self)} | {"selected": (), "accept": None}

    @property
    def region_table(self) -> RegionTable | None:
        """The regions that samples become, each stored as an image."""
        return self.regions.table if self.regions is not None and self.regions.store == "images" else None

    @property
    def stored_table(self) -> RegionTable | None:
        """The regions that regions.jsonl lists, where they are not stored as images."""
        return self.regions.table if self.regions is not None and self.regions.store == "table" else None

    @cached_property
    def loader(self) -> Source:
        """What the samples are loaded from."""
        return self.source if self.region_table is None else RegionSource(self.source, self.region_table)

    def samples_of(self, images: Sequence[CheckedSample]) -> Sequence[CheckedSample]:
        """Return the samples of the build, of images that were checked: they, or their regions."""
        return images if self.region_table is None else RegionSamples(images, self.region_table, self.maker.seed)

    def encoding_of(self, sample: Sample) -> Encoding:
        """Return how the images of a sample are stored."""
        return self.encoding if self.classes else encoding_of(sample.path or "", self.encoding)

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

    @property
    def size_problem(self) -> Judge:
        """What says why an image of a size cannot be used; workers get only this."""
        return partial(size_problem, self.preprocessing, self.regions)

    @cached_property
    def made_of(self) -> list[tuple[str, int | None, str]]:
        """(id, label, sha256) of every sample."""
        return [(c.sample.id, c.sample.label, c.sha256) for c in self.samples]

    @cached_property
    def source_digest(self) -> str:
        """The digest of the selection."""
        return source_digest(self.made_of)

    @cached_property
    def shapes(self) -> list[tuple[int, int]]:
        """The (height, width) that clean images have."""
        return sorted({self.preprocessing.size(c.width, c.height)[::-1] for c in self.samples})

    @cached_property
    def runs(self) -> list[Run]:
        """The runs of samples that parts and shards are made of."""
        return runs(len(self.samples), max(h * w for h, w in self.shapes) * 3)

    @cached_property
    def region_rows(self) -> bytes | None:
        """regions.jsonl; None of a build that has none."""
        if self.stored_table is None:
            return None
        rows = (
            row
            for c in self.samples
            for row in region_rows(self.stored_table, self.maker.seed, c.sample.id, c.width, c.height)
        )
        return b"".join(map(json_line, rows))

    @cached_property
    def sinks(self) -> tuple[Sink, ...]:
        """The containers of the images."""
        return make_sinks(self.storage, encoding=self.encoding, classes=self.classes, title=self.title)

    @property
    def stored_bytes(self) -> int:
        """The estimated bytes of one image in all sinks together."""
        return sum(sink.stored_bytes(self.image_size) for sink in self.sinks)

    @property
    def held_bytes(self) -> int:
        """The estimated bytes of one image in memory until its part is written."""
        return max(sink.held_bytes(self.image_size) for sink in self.sinks)

    def groups(self, sets: Sequence[str], all_runs: Sequence[Run]) -> list[tuple[str, ...]]:
        """Return sets in groups whose images of one run fit into memory together."""
        order: list[str] = []
        branches: set[int] = set()
        for branch in self.maker.tree(self.chosen(sets)).branches():
            branches.add(len(order))
            order += list(walk_order(branch))
        length = max(r.count for r in all_runs)
        return groups(
            order, run_count=len(all_runs), run_length=length, stored_bytes=self.held_bytes, branches=branches
        )

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

    def resources(self, sets: Sequence[str]) -> Resources:
        """Return the records of what goes into the pixels of sets.

        Raises
        ------
        BuildError
            Sets that were built before follow a model, which is not given now.
        """
        fields = {field for i in sets for field in self.by_id[i].resource_fields}
        textures: list[dict[str, Any]] = []
        if "textures" in fields:
            texture_sets = (
                [default_textures(h, w) for h, w in self.shapes] if self.own_textures is None else [self.own_textures]
            )
            records = dict.fromkeys(record for one in texture_sets for record in one.records())
            textures = [{"name": name, "sha256": sha256} for name, sha256 in records]
        surrogates = []
        if "surrogates" in fields:
            if self.surrogate is None:
                raise BuildError(
                    f"Sets of {self.folder} that are there follow the gradients of a model, and the contact sheet "
                    "shows them again: name its file with --surrogate to add to them."
                )
            surrogates = [self.surrogate.record()]
        return {"textures": textures, "surrogates": surrogates, "plugins": self.plugins if "plugins" in fields else []}

    def notes(self) -> tuple[str, ...]:
        """Return what a user should know of what was asked for."""
        return (*texture_notes(self.own_textures, self.chosen(self.asked)), *self.remarks)

    def job(self, directory: Path, sets: Sequence[str]) -> Job:
        """Return what workers need to know to make sets."""
        ids = [c.sample.id for c in self.samples]
        images = self.metrics_images(len(ids))
        return Job(
            self,
            directory,
            sets={s.id: s for s in self.chosen(sets)},
            sinks=self.sinks,
            measured=measured_indices(ids, images),
            multiscale=measured_indices(ids, min(images, MULTISCALE_IMAGES)),
            token=secrets.token_hex(8),
        )

    def clean(self, index: int) -> NDArray[np.uint8]:
        """Return the clean image of a sample, (H, W, C)."""
        return load_clean(self.loader, self.samples[index], self.preprocessing)


def size_problem(preprocessing: Preprocessing, regions: RegionStore | None, width: int, height: int) -> str | None:
    """Return why an image of this size cannot be used, or None."""
    if regions is not None and (
        (problem := regions.table.problem(width, height)) is not None or regions.store == "images"
    ):
        return problem
    problem = preprocessing.problem(width, height)
    if problem is None and min(preprocessing.size(width, height)) < LEAST_SIDE:
        return (
            f"is {width}x{height}; corruptions need at least {LEAST_SIDE}x{LEAST_SIDE}: leave it out, or use a "
            "recipe that resizes"
        )
    return problem


def plugin_records(sets: Iterable[SetSpec]) -> list[dict[str, Any]]:
    """Return the records of the plugins that sets come from."""
    used = {stage.corruption for one in sets for stage in one.stages}
    return [
        {
            "module": p.module,
            "version": p.version,
            "sha256": p.sha256,
            "corruptions": sorted(used.intersection(p.corruptions)),
        }
        for p in plugins_of(sorted(used))
    ]
