"""A build whose source was checked: its samples, shapes, runs, identity, and the job that workers get."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ...errors import BuildError
from ...manifests.disk.jsonl import json_line
from ...manifests.records.digests import source_digest
from ..pixels.metrics import MULTISCALE_IMAGES, measured_indices
from ..regions.block_draws import region_rows
from ..sinks.containers import Sink
from ..sinks.sink import Run
from .build_spec import BuildSpec, Resources
from .job import CheckedSample, Job
from .parts import runs


@dataclass(frozen=True)
class CheckedBuild:
    """A build whose source was checked: the samples are final."""

    spec: BuildSpec
    samples: Sequence[CheckedSample]
    excluded: Sequence[tuple[str, str]]
    """(path, reason) of bad images that are left out."""

    @cached_property
    def made_of(self) -> list[tuple[str, int | None, str]]:
        """(id, label, sha256) of every sample."""
        return [(c.sample.id, c.sample.label, c.sha256) for c in self.samples]

    @cached_property
    def source_digest(self) -> str:
        """Of the selection."""
        return source_digest(self.made_of)

    @cached_property
    def shapes(self) -> list[tuple[int, int]]:
        """The (height, width) that clean images have."""
        return sorted({self.spec.preprocessing.size(c.width, c.height)[::-1] for c in self.samples})

    @cached_property
    def runs(self) -> list[Run]:
        """The runs of samples that parts and shards are made of."""
        return runs(len(self.samples), max(h * w for h, w in self.shapes) * 3)

    @cached_property
    def region_rows(self) -> bytes | None:
        """regions.jsonl; None of a build that has none."""
        table, seed = self.spec.stored_table, self.spec.maker.seed
        if table is None:
            return None
        rows = (row for c in self.samples for row in region_rows(table, seed, c.sample.id, c.width, c.height))
        return b"".join(map(json_line, rows))

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What the build is, but for its sets and textures."""
        return self.spec.identity(self.samples, self.source_digest, self.excluded, self.asked_sinks)

    @cached_property
    def asked_sinks(self) -> tuple[Sink, ...]:
        """Where the images of the sets that were asked for go."""
        return self.sinks(self.spec.asked)

    def sinks(self, sets: Sequence[str]) -> tuple[Sink, ...]:
        """Return where the images of sets go."""
        # where there is no view, none looks at the samples, which may be hundreds of thousands of regions
        return self.spec.sinks(sets, () if self.spec.view is None else [c.sample for c in self.samples])

    def resources(self, sets: Sequence[str]) -> Resources:
        """Return the records of the textures and the surrogate that go into the pixels of sets."""
        return self.spec.resources(sets, self.shapes)

    def refuse_several_shapes(self) -> None:
        """Raise `BuildError` where images of several shapes were to go where only one fits."""
        limited = next((sink.equal_shapes for sink in self.asked_sinks if sink.equal_shapes is not None), None)
        if limited is not None and len(self.shapes) > 1:
            shapes = ", ".join(f"{h}x{w}" for h, w in self.shapes[:4])
            instead = "--format folder" if self.spec.view is None else "a view of image files"
            raise BuildError(
                f"The images come out in {len(self.shapes)} shapes (height x width: {shapes} ...), which do not fit into {limited} of "
                f"pixels. Use {instead}, or a recipe whose preprocessing makes all images equal. Nothing was written."
            )

    def job(self, directory: Path, sets: Sequence[str]) -> Job:
        """Return what workers need to know to make sets."""
        spec = self.spec
        ids = [c.sample.id for c in self.samples]
        images = spec.metrics_images(len(ids))
        return Job(
            directory=directory,
            title=spec.title,
            source=spec.loader,
            samples=self.samples,
            classes=spec.classes,
            sets={s.id: s for s in spec.chosen(sets)},
            preprocessing=spec.preprocessing,
            encoding=spec.encoding,
            sinks=self.asked_sinks if set(sets) == set(spec.asked) else self.sinks(sets),
            maker=spec.maker,
            measured=measured_indices(ids, images),
            multiscale=measured_indices(ids, min(images, MULTISCALE_IMAGES)),
            token=secrets.token_hex(8),
        )
