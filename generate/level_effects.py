"""How far every level of a gradual degradation goes: what it does, and what that changes in photographs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..corruptions.calibrations import DEFAULT_LADDER, check_ladder, fitting
from ..corruptions.keys import check_seed
from ..corruptions.models.surrogate import Surrogate
from ..corruptions.registry import Images, get_corruption
from ..corruptions.stages import check_images
from ..errors import ParameterError
from .pixels.preprocessing import preprocess
from .plan.set_maker import SetMaker
from .recipes.choice import ladders
from .recipes.recipe import load_recipe
from .sources.source import open_source

RECIPE = "imagenet-c"
"""Whose preprocessing the photographs have: the short side to 256, and the central 224x224."""
UNCHANGED = "unchanged"


@dataclass(frozen=True)
class Change:
    """What a level does, and means over images."""

    level: int
    change: str
    """What was done to an image so far: ``"7 lines"``. For images of several sizes, to the first."""
    changed: float
    """Pixels of which any channel differs from the clean image's, in per cent."""
    mean: float
    """Mean value over pixels and channels, 0 to 255."""
    colours: float
    """Different colours in an image (in a grey one, values)."""

    def as_json(self) -> dict[str, Any]:
        """Return the row with its means rounded to 4 decimals."""
        return {key: round(value, 4) if isinstance(value, float) else value for key, value in asdict(self).items()}


def change_table(
    name: str,
    *,
    ladder: str = DEFAULT_LADDER,
    images: Sequence[Images] | Images | None = None,
    keys: Sequence[str] | None = None,
    seed: int = 0,
    surrogate: Surrogate | None = None,
    labels: Sequence[int] | None = None,
) -> list[Change]:
    """Return what every level of a gradual degradation changes, from level 0 to level 30 or the last one that it has.

    Parameters
    ----------
    name : str
        A gradual degradation.
    ladder : {"evaluated", "text"}
        Whose parameters it has.
    images : (N, H, W, C) ndarray of uint8, or sequence of (H, W) or (H, W, C) ndarrays of uint8, optional
        The images that means are over, which may differ in size. Default: the eight photographs of the source ``sample``,
        resized and cropped to 224x224 as ``imagenet-c`` does; the images are then those that a build of ``sample`` makes.
    keys : sequence of str, optional
        What the images are called: random draws follow from it. Default ``"0"``, ``"1"``, ..., and the photographs' names.
    seed : int
        0..2**53 - 1.
    surrogate : Surrogate, optional
        The model whose gradient `model_gradient` follows (`corruptset.load_surrogate`); then `images` of its size are needed too.
    labels : sequence of int, optional
        The class of each image, for a model.

    Returns
    -------
    list of Change

    Raises
    ------
    UnknownCorruption, ParameterError, ImageError

    Examples
    --------
    >>> import numpy as np
    >>> for row in change_table("fade_black", images=[np.full((8, 8, 3), 200, np.uint8)])[:3]:
    ...     print(row.level, row.change, row.changed, row.mean, row.colours)
    0 unchanged 0.0 200.0 1.0
    1 x 0.9, 1 times 100.0 180.0 1.0
    2 x 0.9, 2 times 100.0 162.0 1.0
    """
    declared = get_corruption(name)
    if declared.gradual is None:
        raise ParameterError(f"{name} has severities in place of levels: it has no table of changes.")
    if declared.needs_model and (surrogate is None or images is None or labels is None or len(labels) != len(images)):
        raise ParameterError(
            f"{name} follows the gradient of a model: give images of the model's size, a label for each, and the surrogate."
        )
    table = replace(fitting("imagenet"), ladder=check_ladder(ladder))
    check_seed(seed)
    ids, batches = _photographs() if images is None else (tuple(map(str, range(len(images)))), _batches(images))
    if keys is not None:
        ids = tuple(keys)
    if not batches or len(ids) != sum(map(len, batches)):
        raise ParameterError(f"{len(ids)} keys for {sum(map(len, batches))} images: expected images, and one key for each.")
    rungs = [spec for spec in ladders(table) if spec.stages[0].corruption == name]
    stage = {spec.id: spec.stages[0] for spec in rungs}
    maker = SetMaker(table.side, seed, resources={} if surrogate is None else {"surrogate": surrogate})
    tree = maker.tree(rungs)
    measured: dict[int, list[tuple[float, float, float]]] = {0: []}
    start = 0
    for batch in batches:
        measured[0] += [_measure(clean, clean) for clean in batch]
        stop = start + len(batch)
        for set_id, degraded in maker.images(tree, batch, ids[start:stop], None if labels is None else labels[start:stop]):
            level = stage[set_id].level
            assert level is not None
            measured.setdefault(level, []).extend(_measure(*pair) for pair in zip(batch, degraded, strict=True))
        start = stop
    shape = batches[0].shape[1:]
    values = rungs[0].stages[0].parameters
    changes = {level: declared.gradual.change(level, shape, values) if level else UNCHANGED for level in measured}
    return [Change(level, changes[level], *np.mean(rows, axis=0).tolist()) for level, rows in sorted(measured.items())]


@cache
def _photographs() -> tuple[tuple[str, ...], list[Images]]:
    """Return the names of the source ``sample``'s photographs, and all of them as one batch."""
    source = open_source("sample")
    spec = load_recipe(RECIPE).preprocessing
    images = [preprocess(source.load(sample).image, spec) for sample in source.samples]
    return tuple(sample.id for sample in source.samples), [check_images(np.stack(images))]


def _batches(images: Sequence[Images] | Images) -> list[Images]:
    """Return images as batches: those of an array as one, others each as its own."""
    if isinstance(images, np.ndarray) and images.ndim == 4:
        return [check_images(images)] if len(images) else []
    return [check_images(np.asarray(image)[None] if np.ndim(image) != 2 else np.asarray(image)[None, :, :, None]) for image in images]


def _measure(clean: NDArray[np.uint8], image: NDArray[np.uint8]) -> tuple[float, float, float]:
    """Return per cent changed, mean and number of colours of an (H, W, C) image."""
    packed = _packed(image)
    changed = float((packed != _packed(clean)).mean())
    ordered = np.sort(packed, axis=None)
    colours = 1 + np.count_nonzero(ordered[1:] != ordered[:-1])  # np.unique takes several times as long
    return 100 * changed, float(image.mean()), float(colours)


def _packed(image: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Return each pixel's channels as one number."""
    packed = image[:, :, 0].astype(np.uint32)
    for channel in range(1, image.shape[2]):
        packed |= image[:, :, channel].astype(np.uint32) << np.uint32(8 * channel)
    return packed
