"""Projected gradient descent.

Steps that raise a model's loss, kept in a ball around the clean image.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ...references import MADRY_2018
from ..models.protocol import Model, loss_gradient
from ..random.philox import fill_uniforms
from ..registry import Draw, Floats, Given, Images, Keys, Parameter, Shape, Wholes, choice, corruption

Pixels = NDArray[np.float32]
"""(N, H, W, C) in 0..255."""

# Streams of the random start: the place of each value, and how far it is where places are a direction
_PLACES, _DISTANCE = 0, 1
_LEAST_NORM = 1e-30


def _norms(images: Pixels) -> Floats:
    """Return the L2 norm of each image, (N, 1, 1, 1)."""
    norms: Floats = np.sqrt(np.square(images, dtype=np.float64).sum(axis=(1, 2, 3), keepdims=True))
    return norms


class Ball:
    """The images within `eps` grey levels of clean ones, and in 0..255."""

    def __init__(self, clean: Images, eps: float, norm: str) -> None:
        self._clean = clean.astype(np.float32)
        self._eps, self._norm = np.float32(eps), norm
        self._whole = np.float32(np.floor(eps))
        self._low, self._high = self._bounds(self._eps)

    def projected(self, images: Pixels) -> Pixels:
        """Return the nearest images of the ball; `images` are overwritten."""
        if self._norm == "l2":
            images -= self._clean
            images *= np.minimum(self._eps / np.maximum(_norms(images), _LEAST_NORM), 1.0).astype(np.float32)
            images += self._clean
        np.maximum(images, self._low, out=images)  # np.clip takes several times as long to begin
        return np.minimum(images, self._high, out=images)

    def rounded(self, images: Pixels) -> Images:
        """Return images as uint8, no value further than eps from the clean one."""
        return np.clip(np.rint(images), *self._bounds(self._whole)).astype(np.uint8)

    def _bounds(self, reach: np.float32) -> tuple[Pixels, Pixels]:
        return np.maximum(self._clean - reach, np.float32(0)), np.minimum(self._clean + reach, np.float32(255))


def _draw_start(keys: Keys, shape: Shape, parameters: Given) -> Pixels:
    """Draw offsets; of 0 without `random_start`.

    Uniform in the cube; for L2 in a uniform direction, as far as is uniform in 0..eps.
    """
    offsets = np.zeros((len(keys.samples), *shape), np.float32)
    if not parameters.get("random_start"):
        return offsets
    eps = float(np.float32(parameters["eps"]))
    if parameters.get("norm") == "l2":
        offsets = keys.normals(*shape, stream=_PLACES)
        distances = keys.uniforms(1, 1, 1, stream=_DISTANCE, high=eps)
        return offsets * (distances / _norms(offsets)).astype(np.float32)
    for values, sample in zip(offsets, keys.samples, strict=True):
        fill_uniforms(values.reshape(-1), keys.stage, sample, np.uint32(_PLACES), -eps, eps)
    return offsets


def direction(gradient: Pixels, norm: str) -> Pixels:
    """Return the step of length 1 along a gradient, which is overwritten.

    It is the sign, or the gradient over its norm; 0 where the gradient is 0.
    """
    if norm == "linf":
        return np.sign(gradient, out=gradient)
    gradient /= np.maximum(_norms(gradient), _LEAST_NORM).astype(np.float32)
    return gradient


def iterates(
    ball: Ball,
    images: Pixels,
    labels: Wholes,
    surrogate: Model,
    *,
    step: float,
    steps: int,
    norm: str,
    targeted: bool,
) -> Iterator[Pixels]:
    """Yield the images after each step, which take the place of `images`.

    A step is one pass forward and one back.
    """
    length = np.float32(-step if targeted else step)
    for _ in range(steps):
        move = direction(loss_gradient(surrogate, images, labels), norm)
        move *= length
        images += move
        yield ball.projected(images)


@corruption(
    reference=f"{MADRY_2018}, section 2.1",
    parameters=(
        Parameter(
            "eps",
            float,
            0.0,
            65536.0,
            "how far images go at most, in grey levels: each value, or for l2 the whole image",
        ),
        Parameter("step", float, 0.0, 65536.0, "length of a step, in grey levels, in the same norm"),
        Parameter("steps", int, 1, 10000, "how many steps"),
        choice(
            "norm",
            ("linf", "l2"),
            "what eps and step are lengths in: the largest change of a value, or the root of the squares' sum",
        ),
        Parameter(
            "random_start",
            bool,
            default=False,
            option=True,
            about="whether the steps begin at a random place of the ball",
        ),
        Parameter(
            "targeted",
            bool,
            default=False,
            option=True,
            about="whether the steps go towards the labels, not away from them",
        ),
    ),
    draws=(
        Draw(
            "start",
            "(H, W, C) offsets in grey levels from the clean image to where the steps begin; 0 without random_start",
            _draw_start,
            lambda shape, _: shape,
            np.float32,
            -65536,
            65536,
        ),
    ),
    resources={"surrogate": None, "labels": None},
)
def pgd(
    images: Images,
    keys: Keys,
    *,
    eps: float,
    step: float,
    steps: int,
    norm: str = "linf",
    random_start: bool = False,
    targeted: bool = False,
    start: Pixels,
    surrogate: Model,
    labels: Wholes,
) -> Images:
    """Follow the gradient of a model's cross-entropy in steps, within eps of the image.

    After each step images are projected: onto the ball of radius `eps` around the clean image, and onto 0..255. In the
    end values are rounded, and none is further than `eps` from the clean image's. `surrogate` (a
    `models.protocol.Model`) is the model, `labels` ((N,) int64) are the classes that images are moved away from.

    Raises
    ------
    ModelError
        Images are not of the model's size and channels, labels are beyond its outputs, or a gradient is not finite.

    Notes
    -----
    The start is the clean image, unless `random_start` draws one or `start` gives one. A pixel whose gradient is
    exactly 0 stays. A random start is drawn from the image's own key, not from the model's library, whose numbers
    depend on the batch.

    For ``norm="l2"`` eps is a length over all values of an image: a radius of 0.5 in images of 0..1, usual for 32x32 in
    colour, is 127.5. The rows of the tables are for ``linf``. Rounding may carry an image a little out of the L2 ball,
    never a value further than eps.

    Bytes depend on the machine: docs/models.md says how far.
    """
    ball = Ball(images, eps, norm)
    moved = ball.projected(images + start)
    for _ in iterates(ball, moved, labels, surrogate, step=step, steps=steps, norm=norm, targeted=targeted):
        pass
    return ball.rounded(moved)
