"""Declare corruptions with their parameters and random draws. Callers can specify the random draws."""

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
"""A function that takes keys, a shape (H, W, C) and parameters, and returns one row of random values per key."""
SizeOf = Callable[[Shape, Given], tuple[int, ...]]


def cbar(
    released: str, parameters: Mapping[str, tuple[float, float, str]], *draws: Draw, **more: Any
) -> Callable[..., Any]:
    """Register a kernel ``f(images, draws..., parameters..., out)``. Each draw has one row per image.

    Parameters
    ----------
    released : str
        The name of the class in the released generator.
    parameters : mapping
        The lower bound, the upper bound and the description of each parameter.
    *draws : Draw
        The random draws.
    **more : Any
        Further arguments for `corruption`.
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
    """Declare one random number per image, with bounds for the values that a caller may specify."""
    return Draw(name, about, drawing, low=low, high=high)


def array(name: str, about: str, size: SizeOf, low: float, high: float, drawing: Drawing) -> Draw:
    """Declare one random array per image. It contains integers if the bounds are integers."""
    return Draw(name, about, drawing, size, type(low), low, high)


def fixed(*size: int) -> SizeOf:
    """Return a function that gives the arrays of all images the same size."""
    return lambda shape, parameters: size


def side(shape: Shape) -> int:
    """Return the shorter side of an image. Relative lengths are fractions of this side."""
    return min(shape[:2])


def whole(shape: Shape) -> float:
    """Return 1, the factor for values that do not scale with the image."""
    return 1.0


TALL, WIDE = itemgetter(0), itemgetter(1)


def uniform(stream: int, low: float, high: float, *sizes: Callable[[Shape], float]) -> Drawing:
    """Return a function that draws uniform numbers from `low` to `high`, multiplied by sizes of the image.

    There is one number for each function in `sizes`, with its own stream of random numbers. Without `sizes`, a single
    number is drawn.
    """

    def draw(keys: Keys, shape: Shape, parameters: Given) -> NDArray[np.float64]:
        lengths = enumerate(size(shape) for size in sizes or [whole])
        drawn = [keys.uniforms(stream=stream + i, low=low * s, high=high * s) for i, s in lengths]
        return np.stack(drawn, axis=1) if sizes[1:] else drawn[0]

    return draw


def chances(stream: int, size: SizeOf, low: float = 0.0, high: float = 1.0) -> Drawing:
    """Return a function that draws an array of uniform numbers from a single stream of random numbers."""

    def draw(keys: Keys, shape: Shape, parameters: Given) -> NDArray[np.float64]:
        return keys.uniforms(*size(shape, parameters), stream=stream, low=low, high=high)

    return draw
