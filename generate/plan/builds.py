"""Builds whose source is checked (`CheckedBuild`), and the interface of builds before the check (`UncheckedBuild`)."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...corruptions.models.surrogate import Surrogate
from ...corruptions.plugins import plugins_of
from ...corruptions.stages import MIN_SIDE
from ...corruptions.weather.textures import TextureSet, default_textures
from ...errors import BuildError
from ...manifests.disk.jsonl import json_line
from ...manifests.records.digests import source_digest
from ...manifests.records.models import Header, PluginRecord, TextureRecord
from ..pixels.encoding import Encoding, encoding_of
from ..pixels.metrics import MULTISCALE_IMAGES, measured_indices
from ..pixels.preprocessing import Preprocessing
from ..recipes.region_table import RegionTable
from ..recipes.set_spec import SetSpec
from ..regions.block_draws import region_rows
from ..sinks.containers import Sink, make_sinks
from ..sinks.sink import Chunk
from ..sources.check import Checked, SizeCheck
from ..sources.source import Sample, Source
from .job import CheckedSample, Job, Origin, load_clean
from .parts import chunks, groups
from .region_storage import RegionStore
from .tree import SetMaker, walk_order


class UncheckedBuild(Protocol):
    """A build before the images of its source are checked, either from a recipe (`BuildPlan`) or from a manifest."""

    @property
    def folder(self) -> str:
        """The name of the dataset's folder, ``<name>-<version>``."""

    @property
    def source(self) -> Source:
        """The source of the images."""

    @property
    def selected(self) -> Sequence[Sample]:
        """The selected samples of the source, which are checked before the build."""

    @property
    def requested(self) -> tuple[str, ...]:
        """The ids of the requested sets."""

    @property
    def workers(self) -> int:
        """The number of worker processes."""

    @property
    def size_problem(self) -> SizeCheck:
        """The function that returns the reason to reject an image size."""

    @property
    def stored_bytes(self) -> int:
        """The estimated number of bytes that one image takes in all containers together."""

    @property
    def header(self) -> Header:
        """The header of the build, as if the source had no samples."""

    def checked(self, found: Checked) -> CheckedBuild:
        """Return the build of the checked images. Raise an error if nothing can be built from these images."""


@dataclass(frozen=True, kw_only=True)
class CheckedBuild:
    """A build whose source is checked: its header, its samples, and the means to make and store its images."""

    header: Header
    """The header without textures, surrogates and plugins. `header_of` adds these fields for given sets."""
    source: Source
    """The source that the samples are loaded from."""
    samples: Sequence[CheckedSample]
    sets: tuple[SetSpec, ...]
    """All sets that can be built, in the order of the recipe."""
    requested: tuple[str, ...]
    """The ids of the requested sets."""
    preprocessing: Preprocessing
    encoding: Encoding
    maker: SetMaker
    plugins: Sequence[PluginRecord]
    """The plugins of all sets of the recipe, so that sets can be added later."""
    image_size: tuple[int, int]
    """The (width, height) of a clean image, or the mean over a few images if their sizes differ."""
    workers: int
    stored_table: RegionTable | None = None
    """The regions that regions.jsonl lists, if they are not stored as images."""
    notes: tuple[str, ...] = ()
    """Notes for users about the build."""
    page: bool = True
    """True if index.html is written."""

    @cached_property
    def by_id(self) -> Mapping[str, SetSpec]:
        """All sets, by id."""
        return {s.id: s for s in self.sets}

    def chosen(self, ids: Iterable[str]) -> list[SetSpec]:
        """Return the sets with the given ids, in the order of the recipe."""
        wanted = set(ids)
        return [s for s in self.sets if s.id in wanted]

    def encoding_of(self, sample: Sample) -> Encoding:
        """Return the encoding of the images of a sample."""
        return self.encoding if self.header.classes else encoding_of(sample.path or "", self.encoding)

    @cached_property
    def source_rows(self) -> list[tuple[str, int | None, str]]:
        """(id, label, sha256) of every sample."""
        return sample_rows(self.samples)

    @cached_property
    def shapes(self) -> list[tuple[int, int]]:
        """The (height, width) of clean images, without duplicates."""
        return sorted({self.preprocessing.size(c.width, c.height)[::-1] for c in self.samples})

    @cached_property
    def chunks(self) -> list[Chunk]:
        """The chunks of consecutive samples that parts and shards consist of."""
        return chunks(len(self.samples), max(h * w for h, w in self.shapes) * 3)

    @cached_property
    def region_rows(self) -> bytes | None:
        """The contents of regions.jsonl, or None if the dataset has no such file."""
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
        header = self.header
        return make_sinks(header.storage.container, encoding=self.encoding, classes=header.classes, title=header.title)

    @property
    def stored_bytes(self) -> int:
        """The estimated number of bytes that one image takes in all containers together."""
        return sum(sink.stored_bytes(self.image_size) for sink in self.sinks)

    @property
    def held_bytes(self) -> int:
        """The estimated memory, in bytes, that one image takes until its part is written."""
        return max(sink.held_bytes(self.image_size) for sink in self.sinks)

    def groups(self, sets: Sequence[str], all_chunks: Sequence[Chunk]) -> list[tuple[str, ...]]:
        """Divide sets into groups, so that the images of one part fit into memory."""
        return groups_of(self.maker, self.chosen(sets), all_chunks, self.held_bytes)

    @property
    def textures(self) -> TextureSet | None:
        """The user's frost textures, or None."""
        return self.maker.resources.get("textures")

    @property
    def surrogate(self) -> Surrogate | None:
        """The model whose gradients are used to make some sets, or None."""
        return self.maker.resources.get("surrogate")

    def header_of(self, sets: Iterable[str]) -> Header:
        """Return the header for given sets, with the textures, surrogates and plugins that determine their pixels.

        Raises
        ------
        BuildError
            Existing sets were made with the gradients of a model, but no model was given.
        """
        fields = {field for i in sets for field in self.by_id[i].resource_fields}
        textures: list[TextureRecord] = []
        if "textures" in fields:
            texture_sets = (
                [default_textures(h, w) for h, w in self.shapes] if self.textures is None else [self.textures]
            )
            records = dict.fromkeys(record for texture_set in texture_sets for record in texture_set.records())
            textures = [TextureRecord(name=name, sha256=sha256) for name, sha256 in records]
        surrogates: list[dict[str, Any]] = []
        if "surrogates" in fields:
            if self.surrogate is None:
                raise BuildError(
                    f"{self.header.folder} already has sets that were made with the gradients of a model. The model is "
                    "needed to show these sets on the contact sheet. To add more sets, pass the model file with "
                    "--surrogate."
                )
            surrogates = [self.surrogate.record()]
        plugins = list(self.plugins) if "plugins" in fields else []
        return self.header.model_copy(update={"textures": textures, "surrogates": surrogates, "plugins": plugins})

    def job(self, directory: Path, sets: Sequence[str]) -> Job:
        """Return the job for the workers that make the given sets."""
        ids, images = [c.sample.id for c in self.samples], self.header.metrics_images
        header = self.header_of(sets)
        return Job(
            header=header,
            origin=Origin.of(header),
            directory=directory,
            source=self.source,
            samples=self.samples,
            preprocessing=self.preprocessing,
            encoding=self.encoding,
            maker=self.maker,
            sets={s.id: s for s in self.chosen(sets)},
            sinks=self.sinks,
            measured=measured_indices(ids, images),
            multiscale=measured_indices(ids, min(images, MULTISCALE_IMAGES)),
            token=secrets.token_hex(8),
        )

    def clean(self, index: int) -> NDArray[np.uint8]:
        """Return the clean image of a sample, (H, W, C)."""
        return load_clean(self.source, self.samples[index], self.preprocessing)

    def with_samples(self, samples: Sequence[CheckedSample]) -> CheckedBuild:
        """Return a copy of the build with different samples."""
        digest = source_digest(sample_rows(samples))
        source = self.header.source.model_copy(update={"digest": digest})
        return replace(self, samples=samples, header=self.header.model_copy(update={"source": source}))


def sample_rows(samples: Iterable[CheckedSample]) -> list[tuple[str, int | None, str]]:
    """Return (id, label, sha256) of every sample. The digest of the source is computed from these rows."""
    return [(c.sample.id, c.sample.label, c.sha256) for c in samples]


def groups_of(
    maker: SetMaker, sets: Iterable[SetSpec], all_chunks: Sequence[Chunk], held_bytes: int
) -> list[tuple[str, ...]]:
    """Divide sets into groups, so that the images of one part fit into memory.

    While its part is being made, each image takes `held_bytes` bytes of memory.
    """
    order: list[str] = []
    branches: set[int] = set()
    for branch in maker.tree(sets).branches():
        branches.add(len(order))
        order += list(walk_order(branch))
    length = max(r.count for r in all_chunks)
    return groups(order, chunk_count=len(all_chunks), chunk_length=length, stored_bytes=held_bytes, branches=branches)


def size_check(preprocessing: Preprocessing, regions: RegionStore | None) -> SizeCheck:
    """Return a function that returns the reason to reject an image size, or None."""
    return partial(size_problem, preprocessing, regions)


def size_problem(preprocessing: Preprocessing, regions: RegionStore | None, width: int, height: int) -> str | None:
    """Return the reason to reject an image size, or None."""
    if regions is not None and (
        (problem := regions.table.problem(width, height)) is not None or regions.store == "images"
    ):
        return problem
    problem = preprocessing.problem(width, height)
    if problem is None and min(preprocessing.size(width, height)) < MIN_SIDE:
        return (
            f"is {width}x{height}; corruptions need at least {MIN_SIDE}x{MIN_SIDE}: leave it out, or use a "
            "recipe that resizes"
        )
    return problem


def plugin_records(sets: Iterable[SetSpec]) -> list[PluginRecord]:
    """Return the records of the plugins whose corruptions are used in sets."""
    used = {stage.corruption for spec in sets for stage in spec.stages}
    return [
        PluginRecord(
            module=p.module, version=p.version, sha256=p.sha256, corruptions=sorted(used.intersection(p.corruptions))
        )
        for p in plugins_of(sorted(used))
    ]
