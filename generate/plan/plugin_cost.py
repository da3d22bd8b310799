"""What corruptions of plugins cost: they are not compiled by us, so it is measured, on one image of the build's size."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from ...corruptions.keys import sample_keys
from ...corruptions.registry import PLUGIN, get_corruption
from ...corruptions.stages import Stage, apply_stage, check_images
from ..recipes.set_spec import SetSpec
from .set_maker import SetMaker


def stage_counts(sets: Iterable[SetSpec]) -> Counter[str]:
    """Return corruption -> in how many stages of sets it stands, of the corruptions that plugins bring."""
    return Counter(stage.corruption for one in sets for stage in one.stages if get_corruption(stage.corruption).family == PLUGIN)


def plugin_seconds(sets: Iterable[SetSpec], maker: SetMaker, size: tuple[int, int]) -> Mapping[str, float]:
    """Return corruption -> seconds that its strongest stage takes for an image of (width, height), measured; of plugins' corruptions.

    Raises
    ------
    PluginError
        It fails on the image, which is of random levels.
    """
    strongest: dict[str, Stage] = {}
    for stage in (stage for one in sets for stage in one.stages if get_corruption(stage.corruption).family == PLUGIN):
        before = strongest.get(stage.corruption, stage)
        strongest[stage.corruption] = max(before, stage, key=lambda s: (s.severity or 0, s.level or 0))
    image = check_images(np.random.Generator(np.random.PCG64(0)).integers(0, 256, (1, size[1], size[0], 3), np.uint8))
    resources = {**maker.resources, "labels": np.zeros(1, np.int64)}
    seconds = {}
    for name, stage in strongest.items():
        for _ in range(2):  # the first call may compile
            started = time.perf_counter()
            apply_stage(image, stage, np.uint64(0), sample_keys(["0"]), side=maker.side, scale=maker.scale, resources=resources)
            seconds[name] = time.perf_counter() - started
    return seconds


def cost_notes(sets: Iterable[SetSpec], seconds: Mapping[str, float], size: tuple[int, int]) -> tuple[str, ...]:
    """Return a sentence for each corruption of a plugin: what it takes, here."""
    counts = stage_counts(sets)
    return tuple(
        f"{name} (plugin {get_corruption(name).module}) takes {each:.2g} s an image of {size[0]}x{size[1]}, measured here on one: "
        f"{each * counts[name]:.2g} s a sample for the {counts[name]} sets that it is in."
        for name, each in seconds.items()
    )
