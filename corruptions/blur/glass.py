"""The corruption `glass_blur`, which copies nearby pixels between two gaussian blurs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...references import HENDRYCKS_2019
from ..gaussian_filter import AXES, gaussian_filter
from ..kernels import inner, kernel
from ..levels import ROUNDING, rounding_offset
from ..random.philox import fill_words
from ..registry import Draw, Given, Images, Keys, Parameter, Shape, choice, corruption

DELTAS = np.int64(0)
"""The stream of displacements, where word e belongs to displacement e in scan order."""
SWAPS = np.int64(1)
"""The stream that decides which pixels are exchanged, where word e belongs to displacement e."""
MAX_DELTA = 127
"""The maximum displacement in pixels, because displacements are stored as int8."""
_WORDS = 16384
"""The approximate number of words that are drawn together."""


@inner
def _pack(image, packed):  # type: ignore[no-untyped-def]
    """Join the channels of each pixel into one word, so that copying a pixel is one load and one store."""
    height, width, channels = image.shape
    if channels == 3:
        for y in range(height):
            for x in range(width):
                packed[y * width + x] = (
                    np.uint32(image[y, x, 0])
                    | (np.uint32(image[y, x, 1]) << np.uint32(8))
                    | (np.uint32(image[y, x, 2]) << np.uint32(16))
                )
    else:
        for y in range(height):
            for x in range(width):
                packed[y * width + x] = image[y, x, 0]


@inner
def _unpack(packed, image):  # type: ignore[no-untyped-def]
    height, width, channels = image.shape
    for y in range(height):
        for x in range(width):
            word = packed[y * width + x]
            image[y, x, 0] = np.uint8(word & np.uint32(255))
            if channels == 3:
                image[y, x, 1] = np.uint8((word >> np.uint32(8)) & np.uint32(255))
                image[y, x, 2] = np.uint8((word >> np.uint32(16)) & np.uint32(255))


@kernel
def _scatter(images, reach, iterations, stage_key, sample_keys):  # type: ignore[no-untyped-def]
    """Overwrite pixels in place with nearby pixels, at random displacements from Philox.

    One word selects one of the (2 reach)**2 displacements.
    """
    count, height, width, _ = images.shape
    rows, columns = height - 2 * reach, width - 2 * reach
    side = 2 * reach
    pairs = np.uint64(side * side)
    offsets = np.empty(side * side, np.int64)
    for k in range(side * side):
        offsets[k] = (k // side - reach) * width + (k % side - reach)
    packed = np.empty(height * width, np.uint32)
    band = max(_WORDS // columns, 1)
    words = np.empty(band * columns + 8, np.uint32)
    for n in range(count):
        _pack(images[n], packed)
        for i in range(iterations):
            for top in range(0, rows, band):
                bottom = min(top + band, rows)
                first = (i * rows + top) * columns
                at = first & 3
                fill_words(words[: at + (bottom - top) * columns], first >> 2, stage_key, sample_keys[n], DELTAS)
                for row in range(top, bottom):
                    place = (height - reach - row) * width + width - reach
                    for _ in range(columns):
                        pick = (np.uint64(words[np.uint64(at)]) * pairs) >> np.uint64(32)
                        packed[np.uint64(place)] = packed[np.uint64(place + offsets[pick])]
                        place -= 1
                        at += 1
        _unpack(packed, images[n])


@kernel
def _exchange(images, reach, iterations, copied, stage_key, sample_keys, deltas, swaps):  # type: ignore[no-untyped-def]
    """Exchange half of the pixels in place or, if `copied` is true, overwrite all pixels.

    `deltas` and `swaps` are drawn if they are empty.
    """
    count, height, width, _ = images.shape
    rows, columns = height - 2 * reach, width - 2 * reach
    side = 2 * reach
    pairs = np.uint64(side * side)
    packed = np.empty(height * width, np.uint32)
    words = np.empty(columns + 8, np.uint32)
    coins = np.empty(columns + 8, np.uint32)
    for n in range(count):
        _pack(images[n], packed)
        for i in range(iterations):
            for row in range(rows):
                first = (i * rows + row) * columns
                at = first & 3
                fill_words(words[: at + columns], first >> 2, stage_key, sample_keys[n], DELTAS)
                fill_words(coins[: at + columns], first >> 2, stage_key, sample_keys[n], SWAPS)
                for column in range(columns):
                    if swaps.size > 0:
                        exchanged = swaps[n, i, row, column] == 1
                    else:
                        exchanged = (coins[at + column] >> np.uint32(31)) == 1
                    if not (exchanged or copied):
                        continue
                    place = (height - reach - row) * width + width - reach - column
                    if deltas.size > 0:
                        other = (
                            place
                            + np.int64(deltas[n, i, row, column, 1]) * width
                            + np.int64(deltas[n, i, row, column, 0])
                        )
                    else:
                        pick = np.int64((np.uint64(words[at + column]) * pairs) >> np.uint64(32))
                        other = place + (pick // side - reach) * width + (pick % side - reach)
                    kept = packed[place]
                    packed[place] = packed[other]
                    if not copied:
                        packed[other] = kept
        _unpack(packed, images[n])


def _reach(parameters: Given) -> int:
    return min(int(parameters["max_delta"]), MAX_DELTA)  # Scaling can increase the value above the maximum.


def _draw_shape(shape: Shape, parameters: Given) -> tuple[int, ...]:
    """Return the shape (iterations, H - 2d, W - 2d) of the draws, where d is the maximum displacement."""
    return int(parameters["iterations"]), *(max(side - 2 * _reach(parameters), 0) for side in shape[:2])


def _given_deltas(deltas: NDArray[np.int8], shape: Shape, parameters: Given) -> NDArray[np.int8]:
    reach = _reach(parameters)
    if deltas.size and (deltas.min() < -reach or deltas.max() >= reach):
        raise ValueError(f"got values from {deltas.min()} to {deltas.max()}, expected {-reach} to {reach - 1}")
    return deltas


def _given_swaps(swaps: NDArray[np.uint8], shape: Shape, parameters: Given) -> NDArray[np.uint8]:
    if parameters.get("exchange") != "swap":
        raise ValueError("it is used only if exchange is 'swap'")
    return swaps


@corruption(
    reference=f"{HENDRYCKS_2019}; released make_imagenet_c.py, glass_blur",
    parameters=(
        Parameter(
            "sigma",
            low=0.01,
            high=200.0,
            length=True,
            at_least=0.01,
            about="standard deviation of both blurs in pixels",
        ),
        Parameter(
            "max_delta",
            kind=int,
            low=1,
            high=MAX_DELTA,
            length=True,
            at_least=1,
            about="maximum displacement d in pixels; displacements are -d..d-1",
        ),
        Parameter("iterations", int, 0, 100, "number of passes over the image"),
        AXES,
        choice(
            "exchange",
            ("copy", "swap"),
            "copy pixels, or swap half of them with others, as in MNIST-C",
            shapes_draws=True,
        ),
        ROUNDING,
    ),
    draws=(
        Draw(
            "deltas",
            "displacements (dx, dy) in -d..d-1, int8 (iterations, H - 2d, W - 2d, 2), d = max_delta, in scan order "
            "from H - d, W - d downwards",
            size=lambda shape, parameters: (*_draw_shape(shape, parameters), 2),
            dtype=np.int8,
            check=_given_deltas,
        ),
        Draw(
            "swaps",
            "1 for pixels that change places and 0 for others, uint8 (iterations, H - 2d, W - 2d), in the same order",
            size=_draw_shape,
            dtype=np.uint8,
            low=0,
            high=1,
            check=_given_swaps,
        ),
    ),
)
def glass_blur(
    images: Images,
    keys: Keys,
    *,
    sigma: float,
    max_delta: int,
    iterations: int,
    axes: str = "both",
    exchange: str = "copy",
    rounding: str = "floor",
    deltas: NDArray[np.int8],
    swaps: NDArray[np.uint8],
) -> Images:
    """Blur the image, overwrite each pixel with a nearby one, and blur again.

    The result of the first blur is floored to whole grey values.

    Notes
    -----
    A displacement is drawn at random for each pixel and iteration, and all displacements are equally likely. With
    ``exchange="swap"``, the two pixels are swapped with a probability of 1/2.

    The published code swaps two pixels through views of the same array, so the second assignment reads a pixel that the
    first one has overwritten. The pixel is therefore copied instead of swapped, and the image drifts by one to two
    pixels. The displacement +max_delta never occurs. corruptset keeps both effects, because the published sets contain
    them. In the code of MNIST-C, indexing a grey image gives numbers instead of views, so pixels are really swapped.

    A pixel is overwritten only if max_delta < row <= H - max_delta, and if its column is in the corresponding range. If
    2 * max_delta is at least the short side, only the two blurs remain. Scaling increases max_delta to at most 127.
    """
    reach = min(int(max_delta), MAX_DELTA)
    out = gaussian_filter(images, sigma, axes)
    if min(images.shape[1:3]) > 2 * reach:
        if exchange == "copy" and not deltas.size:
            _scatter(out, reach, int(iterations), *keys)
        else:
            _exchange(out, reach, int(iterations), exchange == "copy", *keys, deltas, swaps)
    return gaussian_filter(out, sigma, axes, rounding_offset(rounding))
