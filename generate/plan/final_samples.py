"""Checks of the samples of a build, once its source is checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from ...arguments import as_list
from ...corruptions.models.surrogate import Surrogate
from ...corruptions.registry import PLUGIN, get_corruption
from ...errors import BuildError, first_few, listed
from ...manifests.disk.jsonl import read_jsonl
from ...manifests.manifest_file import load_manifest
from ...manifests.records.models import SampleRecord
from ..sources.selection import spread
from .builds import CheckedBuild
from .job import CheckedSample
from .resources import refuse_small_textures

SHOWN_TO_SURROGATE = 64
"""Clean images, spread evenly, that a surrogate's accuracy is measured on before anything is written."""


def refuse_unusable(build: CheckedBuild) -> None:
    """Raise if textures, shapes, the model or a plugin do not fit the samples of a build. Nothing was written."""
    refuse_small_textures(build.maker, build.chosen(build.asked), build.shapes)
    refuse_several_shapes(build, build.samples)
    if build.surrogate is not None:
        _refuse_poor_surrogate(build, build.surrogate)
    if build.maker.plugins:
        _try_plugins(build)


def refuse_several_shapes(build: CheckedBuild, samples: Iterable[CheckedSample]) -> None:
    """Raise `BuildError` if clean images have several shapes and are stored in arrays, which need a single one."""
    if all(sink.encodes for sink in build.sinks):
        return
    made = build.preprocessing
    shapes = {(*made.size(c.width, c.height)[::-1], c.channels if made.channels == "keep" else 3) for c in samples}
    if len(shapes) < 2:
        return
    shown = first_few([f"{h}x{w}x{channels}" for h, w, channels in sorted(shapes)])
    raise BuildError(
        f"The images have several shapes (height x width x channels: {shown}), and HDF5 arrays need images of one "
        "shape. Use --storage folder, or a recipe whose preprocessing gives all images one size. Nothing was written."
    )


def refuse_overlap(images: Sequence[CheckedSample], disjoint_from: str | Path | Sequence[str | Path]) -> None:
    """Raise `BuildError` if the bytes of a sample are also in a dataset that must not overlap with this one."""
    mine = {c.sha256: c.sample.id for c in images} if disjoint_from else {}
    for other in map(Path, as_list(disjoint_from)):
        name = load_manifest(other).name
        common: dict[str, tuple[str, str]] = {}
        for s in read_jsonl(other / "samples.jsonl", SampleRecord):
            if s.sha256 in mine:  # once of an image that it has several regions of
                common.setdefault(s.sha256, (mine[s.sha256], s.id if s.region is None else s.region.source))
        if common:
            lines = [f"{a} is its sample {b}" if a != b else a for a, b in common.values()]
            raise BuildError(
                f"{len(common)} of the {len(mine)} samples are also samples of {name} in {other}, which this "
                "build must not "
                f"overlap:\n{listed(lines, 10)}\nNothing was written. Choose another --split, or pick samples "
                "with --ids."
            )


def _try_plugins(build: CheckedBuild) -> None:
    """Make one sample in the sets of plugins, before anything is written.

    A mended plugin is another build.
    """
    first = build.samples[0]
    sets = [
        one
        for one in build.chosen(build.asked)
        if any(get_corruption(stage.corruption).family == PLUGIN for stage in one.stages)
    ]
    for _ in build.maker.images(build.maker.tree(sets), build.clean(0)[None], [first.sample.id], [first.sample.label]):
        pass


def _refuse_poor_surrogate(build: CheckedBuild, surrogate: Surrogate) -> None:
    """Raise for images of another size than the surrogate's, and for too many wrong answers.

    What its file says of its input or its classes is then not what its weights were trained with.
    """
    if other := [shape for shape in build.shapes if shape != surrogate.size]:
        sizes = ", ".join(f"{height}x{width}" for height, width in other[:4])
        raise BuildError(
            f"The model {surrogate.name} takes images of {surrogate.size[0]}x{surrogate.size[1]} (height x "
            "width), and there are "
            f"images of {sizes}{' ...' * (len(other) > 4)}. Use "
            'a recipe whose preprocessing makes that size, such as kind = "surrogate". Nothing was written.'
        )
    shown = spread(range(len(build.samples)), SHOWN_TO_SURROGATE)
    surrogate.check_accuracy(
        np.stack(list(map(build.clean, shown))), np.array([build.samples[i].sample.label for i in shown])
    )
