"""Check the samples of a build after its source has been checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from ...arguments import as_list
from ...corruptions.models.surrogate import Surrogate
from ...corruptions.registry import PLUGIN, get_corruption
from ...errors import BuildError, first_few, format_list
from ...manifests.disk.jsonl import read_jsonl
from ...manifests.manifest_file import load_manifest
from ...manifests.records.models import SampleRecord
from ..sources.selection import spread
from .builds import CheckedBuild
from .job import CheckedSample
from .resources import refuse_small_textures

SURROGATE_IMAGES = 64
"""Number of clean images, spread evenly, on which the accuracy of a surrogate is measured before the build."""


def refuse_unusable(build: CheckedBuild) -> None:
    """Raise an error if the textures, shapes, model or plugins of a build do not fit its samples."""
    refuse_small_textures(build.maker, build.chosen(build.requested), build.shapes)
    refuse_several_shapes(build, build.samples)
    if build.surrogate is not None:
        _refuse_poor_surrogate(build, build.surrogate)
    if build.maker.plugins:
        _try_plugins(build)


def refuse_several_shapes(build: CheckedBuild, samples: Iterable[CheckedSample]) -> None:
    """Raise `BuildError` if clean images have several shapes but are to be stored in arrays, which need one shape."""
    if all(sink.encodes for sink in build.sinks):
        return
    preprocessing = build.preprocessing
    shapes = {
        (*preprocessing.size(c.width, c.height)[::-1], c.channels if preprocessing.channels == "keep" else 3)
        for c in samples
    }
    if len(shapes) < 2:
        return
    shown = first_few([f"{h}x{w}x{channels}" for h, w, channels in sorted(shapes)])
    raise BuildError(
        f"The images have several shapes (height x width x channels: {shown}), and HDF5 arrays need images of one "
        "shape. Use --storage folder, or a recipe whose preprocessing gives all images one size. Nothing was written."
    )


def refuse_overlap(images: Sequence[CheckedSample], disjoint_from: str | Path | Sequence[str | Path]) -> None:
    """Raise `BuildError` if a sample has the same bytes as a sample of a dataset in `disjoint_from`."""
    mine = {c.sha256: c.sample.id for c in images} if disjoint_from else {}
    for other in map(Path, as_list(disjoint_from)):
        name = load_manifest(other).name
        common: dict[str, tuple[str, str]] = {}
        for s in read_jsonl(other / "samples.jsonl", SampleRecord):
            if s.sha256 in mine:  # several regions of one image are counted once
                common.setdefault(s.sha256, (mine[s.sha256], s.id if s.region is None else s.region.source))
        if common:
            lines = [f"{a} is its sample {b}" if a != b else a for a, b in common.values()]
            raise BuildError(
                f"{len(common)} of the {len(mine)} samples are also samples of {name} in {other}, with which this "
                f"build must not overlap:\n{format_list(lines, 10)}\nNothing was written. Choose another --split, or "
                "select other samples with --ids."
            )


def _try_plugins(build: CheckedBuild) -> None:
    """Compute one sample of the sets that use plugins, so that a faulty plugin is found before anything is written.

    Fixing a plugin changes its hash, so a fault that is found later would require a new build.
    """
    first = build.samples[0]
    sets = [
        spec
        for spec in build.chosen(build.requested)
        if any(get_corruption(stage.corruption).family == PLUGIN for stage in spec.stages)
    ]
    for _ in build.maker.images(build.maker.tree(sets), build.clean(0)[None], [first.sample.id], [first.sample.label]):
        pass


def _refuse_poor_surrogate(build: CheckedBuild, surrogate: Surrogate) -> None:
    """Raise an error if clean images do not have the surrogate's size, or if it misclassifies too many of them.

    A low accuracy means that the surrogate's model file describes its input or its classes incorrectly.
    """
    if other := [shape for shape in build.shapes if shape != surrogate.size]:
        sizes = ", ".join(f"{height}x{width}" for height, width in other[:4])
        raise BuildError(
            f"The model {surrogate.name} needs images of {surrogate.size[0]}x{surrogate.size[1]} (height x width), but "
            f"this build has images of {sizes}{' ...' * (len(other) > 4)}. Use a recipe whose preprocessing resizes "
            'images, for example kind = "surrogate". Nothing was written.'
        )
    shown = spread(range(len(build.samples)), SURROGATE_IMAGES)
    surrogate.check_accuracy(
        np.stack(list(map(build.clean, shown))), np.array([build.samples[i].sample.label for i in shown])
    )
