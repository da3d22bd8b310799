"""What can be built from the images that a check found."""

from __future__ import annotations

import numpy as np

from ...corruptions.models.surrogate import Surrogate
from ...corruptions.registry import PLUGIN, get_corruption
from ...errors import BuildError
from ..plan.build_spec import BuildSpec
from ..plan.checked_build import CheckedBuild
from ..plan.job import CheckedSample
from ..plan.overlap import refuse_overlap
from ..sources.check import Checked
from ..sources.selection import spread
from .worker import load_clean

SHOWN_TO_SURROGATE = 64
"""Clean images, spread evenly, that a surrogate's accuracy is measured on before anything is written."""


def accepted_build(spec: BuildSpec, checked: Checked) -> CheckedBuild:
    """Return a build of images that were checked; raise `CorruptsetError` where it cannot be made of them."""
    excluded = spec.accept(checked)
    images = tuple(CheckedSample(*entry) for entry in checked.good)
    refuse_overlap(images, spec.disjoint_from)
    build = CheckedBuild(spec, spec.samples_of(images), excluded)
    spec.refuse_small_textures(build.shapes)
    build.refuse_several_shapes()
    if spec.surrogate is not None:
        _refuse_poor_surrogate(build, spec.surrogate)
    if spec.maker.plugins:
        _try_plugins(build)
    return build


def _try_plugins(build: CheckedBuild) -> None:
    """Make one sample in the sets of plugins: `PluginError` before anything is written, for a mended plugin is another build."""
    spec, first = build.spec, build.samples[0]
    sets = [one for one in spec.chosen(spec.asked) if any(get_corruption(stage.corruption).family == PLUGIN for stage in one.stages)]
    clean = load_clean(spec.loader, first, spec.preprocessing)
    for _ in spec.maker.images(spec.maker.tree(sets), clean[None], [first.sample.id], [first.sample.label]):
        pass


def _refuse_poor_surrogate(build: CheckedBuild, surrogate: Surrogate) -> None:
    """Raise for images that are not of the surrogate's size, and for a surrogate that gets too many of them wrong.

    What its file says of its input or its classes is then not what its weights were trained with.
    """
    if other := [shape for shape in build.shapes if shape != surrogate.size]:
        sizes = ", ".join(f"{height}x{width}" for height, width in other[:4])
        raise BuildError(
            f"The model {surrogate.name} takes images of {surrogate.size[0]}x{surrogate.size[1]} (height x width), and there are images of "
            f'{sizes}{" ..." * (len(other) > 4)}. Use a recipe whose preprocessing makes that size, such as kind = "surrogate". '
            "Nothing was written."
        )
    samples = spread(build.samples, SHOWN_TO_SURROGATE)
    images = [load_clean(build.spec.loader, chosen, build.spec.preprocessing) for chosen in samples]
    surrogate.check_accuracy(np.stack(images), np.array([chosen.sample.label for chosen in samples]))
