"""The corruption `pgd`, which is projected gradient descent.

The steps increase the loss of a model within a ball around the clean image.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ...references import MADRY_2018
from ..models.protocol import Model, loss_gradient
from ..random.philox import fill_uniforms
from ..registry import Draw, Floats, Given, Images, Int64Array, Keys, Parameter, Shape, choice, corruption

Pixels = NDArray[np.float32]
"""Images (N, H, W, C) of float32 in 0..255."""

# The random start has two streams: one for its offsets or its direction, and one for the distance in this direction.
_PLACES, _DISTANCE = 0, 1
_MIN_NORM = 1e-30


def _norms(images: Pixels) -> Floats:
    """Return the L2 norm of each image, (N, 1, 1, 1)."""
    norms: Floats = np.sqrt(np.square(images, dtype=np.float64).sum(axis=(1, 2, 3), keepdims=True))
    return norms


class Ball:
    """The set of images with values in 0..255 that are at most `eps` grey values away from the clean images."""

    def __init__(self, clean: Images, eps: float, norm: str) -> None:
        self._clean = clean.astype(np.float32)
        self._eps, self._norm = np.float32(eps), norm
        self._floor_eps = np.float32(np.floor(eps))
        self._low, self._high = self._bounds(self._eps)

    def projected(self, images: Pixels) -> Pixels:
        """Return the nearest images in the ball, and overwrite `images`."""
        if self._norm == "l2":
            images -= self._clean
            images *= np.minimum(self._eps / np.maximum(_norms(images), _MIN_NORM), 1.0).astype(np.float32)
            images += self._clean
        np.maximum(images, self._low, out=images)  # The overhead of np.clip is several times higher.
        return np.minimum(images, self._high, out=images)

    def rounded(self, images: Pixels) -> Images:
        """Round images to uint8 values that differ by at most `eps` from the clean images."""
        return np.clip(np.rint(images), *self._bounds(self._floor_eps)).astype(np.uint8)

    def _bounds(self, reach: np.float32) -> tuple[Pixels, Pixels]:
        return np.maximum(self._clean - reach, np.float32(0)), np.minimum(self._clean + reach, np.float32(255))


def _draw_start(keys: Keys, shape: Shape, parameters: Given) -> Pixels:
    """Draw the offsets of the start from the clean image, or return zeros if `random_start` is false.

    The offsets are uniform in a cube for the norm ``linf``. For the L2 norm, the direction is uniform, and the distance
    is uniform on [0, eps).
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
    """Return the unit step along a gradient, and overwrite the array `gradient`.

    For the norm ``linf``, the step is the sign of the gradient. For the L2 norm, it is the gradient divided by its
    norm. If the gradient is 0, the step is 0 too.
    """
    if norm == "linf":
        return np.sign(gradient, out=gradient)
    gradient /= np.maximum(_norms(gradient), _MIN_NORM).astype(np.float32)
    return gradient


def iterates(
    ball: Ball,
    images: Pixels,
    labels: Int64Array,
    surrogate: Model,
    *,
    step: float,
    steps: int,
    norm: str,
    targeted: bool,
) -> Iterator[Pixels]:
    """Yield the images after each step. `images` is overwritten.

    Each step is one forward and one backward pass.
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
            "maximum distance from the clean image in grey values: of each value, or of the whole image for l2",
        ),
        Parameter("step", float, 0.0, 65536.0, "length of a step in grey values, in the same norm"),
        Parameter("steps", int, 1, 10000, "number of steps"),
        choice(
            "norm",
            ("linf", "l2"),
            "norm of eps and step: the largest change of a value, or the root of the sum of squares",
        ),
        Parameter(
            "random_start",
            bool,
            default=False,
            option=True,
            about="whether the steps begin at a random point in the ball",
        ),
        Parameter(
            "targeted",
            bool,
            default=False,
            option=True,
            about="whether the steps go towards the labels instead of away from them",
        ),
    ),
    draws=(
        Draw(
            "start",
            "offsets (H, W, C) of the start from the clean image in grey values; 0 without random_start",
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
    labels: Int64Array,
) -> Images:
    """Increase a model's cross-entropy loss by projected gradient descent, within a distance of `eps` from the image.

    After each step, images are projected onto the ball of radius `eps` around the clean image and clipped to [0, 255].
    At the end, values are rounded so that no value differs by more than `eps` from the clean image. The resource
    `surrogate` (a `models.protocol.Model`) is the model. Images are moved away from the classes `labels` ((N,) int64),
    or towards these classes if `targeted` is true.

    Raises
    ------
    ModelError
        If the images do not have the size and channels that the model expects, if the model has no output for a label,
        or if a gradient is not finite.

    Notes
    -----
    If the offsets `start` are given, the steps begin at these offsets from the clean image. Otherwise, they begin at a
    random image in the ball if `random_start` is true, or at the clean image if it is false. The random start is drawn
    from the key of the image. The random generator of the model's library is not used, because its numbers depend on
    the batch. Pixels whose gradient is exactly 0 do not change.

    For ``norm="l2"``, eps is a length over all values of an image. A radius of 0.5 for images in [0, 1], which is
    common for 32x32 colour images, corresponds to an eps of 127.5. The severity tables are for ``linf``. Rounding can
    move an image slightly out of the L2 ball, but no value differs by more than eps from the clean image.

    The output depends on the machine. docs/models.md describes by how much.
    """
    ball = Ball(images, eps, norm)
    moved = ball.projected(images + start)
    for _ in iterates(ball, moved, labels, surrogate, step=step, steps=steps, norm=norm, targeted=targeted):
        pass
    return ball.rounded(moved)
