"""How a corruption is declared: its parameters, and what it draws at random or is given instead."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corruptset.corruptions.keys import Keys
from corruptset.corruptions.registry import Draw, Given, Images, Parameter, Shape, corruption
from corruptset.references import MINTUN_2021

Drawing = Callable[[Keys, Shape, Given], NDArray[Any]]
"""(keys, (H, W, C), parameters) -> what is drawn, a row for each key."""
SizeOf = Callable[[Shape, Given], tuple[int, ...]]


def cbar(
    released: str, parameters: Mapping[str, tuple[float, float, str]], *draws: Draw, **more: Any
) -> Callable[..., Any]:
    """Register a kernel ``f(images, draws..., parameters..., out)``, which gets a row of every draw for each image.

    `released` is the class of the released generator; a parameter has its bounds and what it is.
    """

    def register(kernel: Callable[..., None]) -> Callable[..., Images]:
        @functools.wraps(kernel)
        def corrupt(images: Images, keys: Keys, **given: Any) -> Images:
            out = np.empty_like(images)
            kernel(images, *(given[draw.name] for draw in draws), *(given[name] for name in parameters), out)
            return out

        return corruption(
            reference=f"{MINTUN_2021}; released imagenet_c_bar/corrupt.py, {released}",
            parameters=tuple(Parameter(name, float, *bounds) for name, bounds in parameters.items()),
            draws=draws,
            deterministic=not draws,
            **more,
        )(corrupt)

    return register


def number(name: str, about: str, low: float, high: float, drawing: Drawing) -> Draw:
    """Declare one number an image, and the bounds of a given one."""
    return Draw(name, about, drawing, low=low, high=high)


def array(name: str, about: str, size: SizeOf, low: float, high: float, drawing: Drawing) -> Draw:
    """Declare an array an image, of whole numbers where the bounds are."""
    return Draw(name, about, drawing, size, type(low), low, high)


def fixed(*size: int) -> SizeOf:
    """Return the size of an array that is the same for all images."""
    return lambda shape, parameters: size


def side(shape: Shape) -> int:
    """Return the side that lengths are shares of."""
    return min(shape[:2])


def whole(shape: Shape) -> float:
    """Return the size of what is no share of anything."""
    return 1.0


TALL, WIDE = itemgetter(0), itemgetter(1)


def uniform(stream: int, low: float, high: float, *sizes: Callable[[Shape], float]) -> Drawing:
    """Draw a number from `low` to `high`, times a size; or one for each size, from this stream and the next ones."""

    def draw(keys: Keys, shape: Shape, parameters: Given) -> NDArray[np.float64]:
        lengths = enumerate(size(shape) for size in sizes or [whole])
        drawn = [keys.uniforms(stream=stream + i, low=low * s, high=high * s) for i, s in lengths]
        return np.stack(drawn, axis=1) if sizes[1:] else drawn[0]

    return draw


def chances(stream: int, size: SizeOf, low: float = 0.0, high: float = 1.0) -> Drawing:
    """Draw an array of numbers, all from one stream."""

    def draw(keys: Keys, shape: Shape, parameters: Given) -> NDArray[np.float64]:
        return keys.uniforms(*size(shape, parameters), stream=stream, low=low, high=high)

    return draw
