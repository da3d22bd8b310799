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
from corruptset.corruptions.registry import Draw, Images, Parameter, Shape, corruption, given_array, given_scalar
from corruptset.references import MINTUN_2021

Given = Mapping[str, Any]
"""The parameters, scaled."""
Drawing = Callable[[Keys, Shape, Given], NDArray[Any]]
"""(keys, (H, W, C), parameters) -> what is drawn, a row for each key."""
SizeOf = Callable[[Shape, Given], tuple[int, ...]]


def cbar(
    released: str, parameters: Mapping[str, tuple[float, float, str]], *draws: tuple[Draw, Drawing], **more: Any
) -> Callable[..., Any]:
    """Register a kernel ``f(images, draws..., parameters..., out)``, which gets a row of every draw for each image.

    `released` is the class of the released generator; a parameter has its bounds and what it is.
    """

    def register(kernel: Callable[..., None]) -> Callable[..., Images]:
        @functools.wraps(kernel)
        def corrupt(images: Images, keys: Keys, **given: Any) -> Images:
            out, shape = np.empty_like(images), images.shape[1:]
            values = [np.stack([given[d.name]] * len(images)) if d.name in given else make(keys, shape, given) for d, make in draws]
            kernel(images, *values, *(given[name] for name in parameters), out)
            return out

        return corruption(
            revision=1,
            reference=f"{MINTUN_2021}; released imagenet_c_bar/corrupt.py, {released}",
            parameters=tuple(Parameter(name, float, *bounds) for name, bounds in parameters.items()),
            draws=tuple(draw for draw, _ in draws),
            deterministic=not draws,
            **more,
        )(corrupt)

    return register


def number(name: str, about: str, low: float, high: float, drawing: Drawing) -> tuple[Draw, Drawing]:
    """Declare one number an image, and the bounds of a given one."""
    return Draw(name, about, given_scalar(low, high)), drawing


def array(name: str, about: str, size: SizeOf, low: float, high: float, drawing: Drawing) -> tuple[Draw, Drawing]:
    """Declare an array an image, of whole numbers where the bounds are."""
    return Draw(name, about, given_array(size, type(low), low, high)), drawing


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
        drawn = [uniforms(keys.stage, keys.samples, stream + i, low * s, high * s) for i, s in lengths]
        return np.stack(drawn, axis=1) if sizes[1:] else np.asarray(drawn[0])

    return draw


def chances(stream: int, size: SizeOf, low: float = 0.0, high: float = 1.0) -> Drawing:
    """Draw an array of numbers, all from one stream."""

    def draw(keys: Keys, shape: Shape, parameters: Given) -> NDArray[np.float64]:
        sizes = size(shape, parameters)
        drawn = uniform_rows(keys.stage, keys.samples, stream, low, high, math.prod(sizes))
        return np.asarray(drawn).reshape(len(keys.samples), *sizes)

    return draw
