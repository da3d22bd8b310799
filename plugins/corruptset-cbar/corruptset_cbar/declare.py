"""How a corruption is declared: its parameters, and what it draws at random or is given instead."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corruptset.corruptions.keys import Keys
from corruptset.corruptions.random.philox import uniform_rows, uniforms
from corruptset.corruptions.registry import Draw, Images, Parameter, Shape, corruption
from corruptset.references import MINTUN_2021

Drawing = Callable[[Keys, Shape, Mapping[str, Any]], NDArray[Any]]
"""(keys, (H, W, C), parameters) -> what is drawn, a row for each key."""


def cbar(released: str, parameters: tuple[Parameter, ...], draws: Mapping[Draw, Drawing], **more: Any) -> Callable[..., Any]:
    """Register a kernel ``f(images, draws..., parameters..., out)``, which gets a row of every draw for each image.

    `released` is the class of the released generator.
    """

    def register(kernel: Callable[..., None]) -> Callable[..., Images]:
        @functools.wraps(kernel)
        def corrupt(images: Images, keys: Keys, **given: Any) -> Images:
            values = [
                np.stack([given[draw.name]] * len(images)) if draw.name in given else drawn(keys, images.shape[1:], given)
                for draw, drawn in draws.items()
            ]
            out = np.empty_like(images)
            kernel(images, *values, *(given[p.name] for p in parameters), out)
            return out

        reference = f"{MINTUN_2021}; released imagenet_c_bar/corrupt.py, {released}"
        return corruption(revision=1, reference=reference, parameters=parameters, draws=tuple(draws), deterministic=not draws, **more)(
            corrupt
        )

    return register


def side(shape: Shape) -> int:
    """Return the side that lengths are shares of."""
    return min(shape[:2])


def whole(shape: Shape) -> float:
    """Return the size of what is no share of anything."""
    return 1.0


TALL, WIDE = itemgetter(0), itemgetter(1)


def uniform(stream: int, low: float, high: float, *sizes: Callable[[Shape], float]) -> Drawing:
    """Draw a number from `low` to `high`, times a size; or one for each of several sizes, from this stream and the next ones."""

    def draw(keys: Keys, shape: Shape, parameters: Mapping[str, Any]) -> NDArray[np.float64]:
        lengths = [size(shape) for size in sizes or [whole]]
        drawn = [uniforms(keys.stage, keys.samples, stream + i, low * s, high * s) for i, s in enumerate(lengths)]
        return np.stack(drawn, axis=1) if sizes[1:] else np.asarray(drawn[0])

    return draw


def chances(stream: int, shape_of: Callable[[Shape, Mapping[str, Any]], tuple[int, ...]]) -> Drawing:
    """Draw an array of numbers from 0 to 1."""

    def draw(keys: Keys, shape: Shape, parameters: Mapping[str, Any]) -> NDArray[np.float64]:
        size = shape_of(shape, parameters)
        return np.asarray(uniform_rows(keys.stage, keys.samples, stream, 0.0, 1.0, math.prod(size))).reshape(len(keys.samples), *size)

    return draw
