"""Measure how strongly each level of a gradual degradation changes photographs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..corruptions.calibrations import DEFAULT_LADDER, check_ladder, with_fallback
from ..corruptions.registry import Images, get_corruption
from ..corruptions.stages import check_images
from .pixels.preprocessing import preprocess
from .plan.tree import SetMaker
from .recipes.choice import gradual_sets
from .recipes.recipe import load_recipe
from .sources.source import open_source

RECIPE = "imagenet-c"
"""The recipe whose preprocessing is applied to the photographs. It crops them to 224x224."""
UNCHANGED = "unchanged"


@dataclass(frozen=True)
class Change:
    """The effect of one level, as means over several images."""

    level: int
    change: str
    """A description of the accumulated change, such as ``"7 lines"``."""
    changed: float
    """The percentage of pixels that differ from the clean image in at least one channel."""
    mean: float
    """The mean value over pixels and channels, from 0 to 255."""
    colours: float
    """The mean number of distinct colours in an image."""

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON values, with means rounded to 4 decimals."""
        return {key: round(value, 4) if isinstance(value, float) else value for key, value in asdict(self).items()}


def change_table(name: str, ladder: str = DEFAULT_LADDER) -> list[Change]:
    """Return the effect of every level of a gradual degradation, from level 0 to the last level.

    The values are means over the eight photographs in the source ``sample``. The photographs are resized and cropped to
    224x224, as in ``imagenet-c``.

    Parameters
    ----------
    name : str
        The name of a gradual degradation that does not need a model.
    ladder : {"evaluated", "text"}
        The parameter set to use.
    """
    gradual = get_corruption(name).gradual
    assert gradual is not None
    table = replace(with_fallback("imagenet"), ladder=check_ladder(ladder))
    ids, clean = _photographs()
    specs = [spec for spec in gradual_sets(table) if spec.stages[0].corruption == name]
    levels = {spec.id: spec.stages[0].level or 0 for spec in specs}
    maker = SetMaker(table.side)
    measured = {0: [_measure(image, image) for image in clean]}
    for set_id, degraded in maker.images(maker.tree(specs), clean, ids):
        measured[levels[set_id]] = [_measure(*pair) for pair in zip(clean, degraded, strict=True)]
    values = specs[0].stages[0].parameters
    changes = {level: gradual.change(level, clean.shape[1:], values) if level else UNCHANGED for level in measured}
    return [Change(level, changes[level], *np.mean(rows, axis=0).tolist()) for level, rows in sorted(measured.items())]


@cache
def _photographs() -> tuple[tuple[str, ...], Images]:
    """Return the ids of the photographs in the source ``sample``, and the preprocessed photographs as one batch."""
    source = open_source("sample")
    spec = load_recipe(RECIPE).preprocessing
    images = [preprocess(source.load(sample).image, spec) for sample in source.samples]
    return tuple(sample.id for sample in source.samples), check_images(np.stack(images))


def _measure(clean: NDArray[np.uint8], image: NDArray[np.uint8]) -> tuple[float, float, float]:
    """Return the percentage of changed pixels, the mean value and the number of colours in an (H, W, C) image."""
    packed = _packed(image)
    changed = float((packed != _packed(clean)).mean())
    ordered = np.sort(packed, axis=None)
    colours = 1 + np.count_nonzero(ordered[1:] != ordered[:-1])  # np.unique takes several times as long
    return 100 * changed, float(image.mean()), float(colours)


def _packed(image: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Return one integer for each pixel, which contains the values of all its channels."""
    packed = image[:, :, 0].astype(np.uint32)
    for channel in range(1, image.shape[2]):
        packed |= image[:, :, channel].astype(np.uint32) << np.uint32(8 * channel)
    return packed
