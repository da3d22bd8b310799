"""Draw stains, bubbles, black corners and characters on images.

Random positions are whole pixels. Positions that the caller specifies may be outside the image.
"""

from __future__ import annotations

import functools
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from corruptset.corruptions.keys import Floats, Int64Array, Keys
from corruptset.corruptions.registry import Draw, Given, Images, Parameter, Shape, corruption

from .rgb import REFERENCE, as_rgb

_MARGIN = 10
_RIM = 2  # This is the width of the brighter rim of a bubble.
_LEAST_BUBBLES, _LEAST_RADIUS, _LEAST_LETTERS, _LEAST_SCALE = 7, 3, 3, 14


def _between(chances: Floats, low: Int64Array | int, high: Int64Array | int) -> Int64Array:
    """Convert uniform numbers in [0, 1) to whole numbers from `low` to `high`. If `high` is below `low`, use `low`."""
    return low + np.floor(chances * (np.maximum(high, low) - low + 1)).astype(np.int64)


def _used(chances: Floats, low: int, rows: int) -> NDArray[np.bool_]:
    """Return which of `rows` rows are used for each image, as an (N, rows) array.

    The number of used rows is uniformly distributed from `low` to `rows`.
    """
    return np.arange(rows) < _between(chances, min(low, rows), rows)[:, None]


@functools.cache
def _inks(size: int) -> NDArray[np.bool_]:
    """Return the ten shapes of stains with a given size in pixels, (10, size, size)."""
    from PIL import Image

    with (files(__package__) / "inks" / f"{size}.png").open("rb") as file:
        return np.asarray(Image.open(file)).astype(bool).reshape(10, size, size)


def _stains(keys: Keys, shape: Shape, parameters: Given) -> Int64Array:
    marks, size = parameters["marks"], parameters["size"]
    chances = keys.uniforms(marks, 3, stream=1)
    out = np.empty(chances.shape, np.int64)
    out[..., 0] = np.where(_used(keys.uniforms(), 1, marks), _between(chances[..., 0], 0, 9), -1)
    for column, side in ((1, shape[1]), (2, shape[0])):
        margin = max(min(_MARGIN, (side - size) // 2), 0)
        out[..., column] = _between(chances[..., column], margin, side - size - margin)
    return out


@corruption(
    reference=f"{REFERENCE}, StainDeposit",
    parameters=(
        Parameter("marks", int, 1, 100, "maximum number of stains"),
        Parameter("size", int, 24, 32, "side of a stain in pixels, 24 or 32"),
    ),
    draws=(
        Draw(
            "stains",
            "(marks, 3) whole numbers: shape from 0 to 9, or -1 for none, and x and y of the upper left corner",
            _stains,
            lambda shape, parameters: (parameters["marks"], 3),
            np.int64,
            -1,
            1 << 20,
        ),
    ),
)
def stain_deposit(images: Images, keys: Keys, *, marks: int, size: int, stains: Int64Array) -> Images:
    """Draw black stains of ten shapes.

    Notes
    -----
    The number of stains is drawn uniformly from 1 to `marks`. Their shapes and positions are drawn uniformly, and they
    are at least 10 pixels away from the edges. The published severities 1 to 4 have stains of 24 pixels, and severity 5
    has stains of 32 pixels. Shapes of other sizes were published too, but they are never used.
    """
    out, shapes = images.copy(), _inks(24 if size < 32 else 32)
    for target, rows in zip(out, stains, strict=True):
        for shape, x, y in rows[rows[:, 0] >= 0].tolist():
            area = target[y : y + size, x : x + size]
            area[shapes[shape % 10][: area.shape[0], : area.shape[1]]] = 0
    return out


def _bubbles(keys: Keys, shape: Shape, parameters: Given) -> Int64Array:
    rows, (height, width, _) = parameters["bubbles"], shape
    chances = keys.uniforms(rows, 3, stream=1)
    radius = _between(chances[..., 0], _LEAST_RADIUS, min(parameters["max_radius"], min(height, width) // 2))
    x, y = (_between(chances[..., i + 1], radius, side - radius) for i, side in enumerate((width, height)))
    return np.stack([np.where(_used(keys.uniforms(), _LEAST_BUBBLES, rows), radius, 0), x, y], axis=2)


@corruption(
    reference=f"{REFERENCE}, Bubble",
    parameters=(
        Parameter("max_radius", int, 3, 1000, "maximum radius in pixels"),
        Parameter("bubbles", int, 1, 1000, "maximum number of bubbles"),
    ),
    draws=(
        Draw(
            "circles",
            "(bubbles, 3) whole numbers: radius, or 0 for no bubble, and x and y of the centre",
            _bubbles,
            lambda shape, parameters: (parameters["bubbles"], 3),
            np.int64,
            0,
            1 << 20,
        ),
    ),
)
def bubble(images: Images, keys: Keys, *, max_radius: int, bubbles: int, circles: Int64Array) -> Images:
    """Draw white, translucent bubbles with a brighter rim.

    Notes
    -----
    The number of bubbles is drawn uniformly from 7 to `bubbles`, and radii are drawn uniformly from 3 to `max_radius`.
    Bubbles are inside the image, except for their rims. Where bubbles overlap, the last one replaces the others.
    """
    from PIL import Image, ImageDraw

    out, (height, width) = np.empty_like(images), images.shape[1:3]
    for image, rows, target in zip(images, circles, out, strict=True):
        opacity = Image.new("L", (width, height))
        draw = ImageDraw.Draw(opacity)
        for radius, x, y in rows[rows[:, 0] > 0].tolist():
            for reach, alpha in ((radius + _RIM, 130), (radius, 100)):
                draw.ellipse((x - reach, y - reach, x + reach, y + reach), fill=alpha)
        share = np.asarray(opacity).astype(np.int64)[..., None]
        mixed = image * (255 - share) + 255 * share + 128
        target[:] = (mixed + (mixed >> 8)) >> 8  # Pillow divides by 255 in this way.
    return out


@corruption(
    reference=f"{REFERENCE}, BlackCorner",
    parameters=(Parameter("radius", low=0.0, high=100.0, about="radius of the circle, as a fraction of half a side"),),
    deterministic=True,
)
def black_corner(images: Images, keys: Keys, *, radius: float) -> Images:
    """Make everything black except for a circle around the centre.

    Notes
    -----
    The circle at the published severity 5 is larger than at severity 4, so severity 5 is weaker.
    """
    import cv2

    height, width = images.shape[1:3]
    x, y = width // 2, height // 2
    inside = np.zeros((height, width), np.uint8)
    cv2.circle(inside, (x, y), int(min(x, y, width - x, height - y) * radius), 1, thickness=-1)
    return images * inside[..., None]


def _words(keys: Keys, shape: Shape, parameters: Given) -> Int64Array:
    rows, (height, width, _) = parameters["words"], shape
    chances = keys.uniforms(rows, 7, stream=1)
    letters = _between(chances[..., 0], min(_LEAST_LETTERS, parameters["letters"]), parameters["letters"])
    scale = _between(chances[..., 1], min(_LEAST_SCALE, parameters["font_scale"]), parameters["font_scale"])
    left, top = min(_MARGIN, width // 4), min(_MARGIN, height // 4)
    x, y = _between(chances[..., 2], left, width - 8 * letters), _between(chances[..., 3], top, height - top)
    colour = _between(chances[..., 4:], 0, 255)
    used = _used(keys.uniforms(), 1, rows)
    return np.concatenate([np.stack([np.where(used, letters, 0), scale, x, y], axis=2), colour], axis=2)


def _letters(keys: Keys, shape: Shape, parameters: Given) -> Int64Array:
    size = parameters["words"], parameters["letters"]
    return _between(keys.uniforms(*size, stream=2), 0, 25)


@corruption(
    reference=f"{REFERENCE}, Characters (OpenCV's putText with FONT_HERSHEY_DUPLEX)",
    parameters=(
        Parameter("words", int, 1, 100, "maximum number of words"),
        Parameter("letters", int, 1, 100, "maximum number of letters of a word"),
        Parameter("font_scale", int, 1, 1000, "maximum scale of the font in hundredths"),
    ),
    draws=(
        Draw(
            "placed",
            "(words, 7) whole numbers: number of letters, or 0 for no word, scale in hundredths, x and y of the lower "
            "left corner, red, green and blue",
            _words,
            lambda shape, parameters: (parameters["words"], 7),
            np.int64,
            0,
            1 << 20,
        ),
        Draw(
            "spelling",
            "(words, letters) whole numbers from 0 to 25 for the letters a to z",
            _letters,
            lambda shape, parameters: (parameters["words"], parameters["letters"]),
            np.int64,
            0,
            25,
        ),
    ),
)
@as_rgb
def characters(
    images: Images, keys: Keys, *, words: int, letters: int, font_scale: int, placed: Int64Array, spelling: Int64Array
) -> Images:
    """Write random words of small letters in random colours.

    Notes
    -----
    The number of words is drawn uniformly from 1 to `words`, and the number of letters from 3 to `letters`. The scale
    of the font is drawn uniformly from 0.14 to ``font_scale / 100``. Positions and colours are drawn uniformly too.
    OpenCV draws the letters. Its fonts changed in version 5, so the pixels depend on its major version, which is
    recorded in a manifest.
    """
    import cv2

    out = images.copy()
    for target, rows, spelled in zip(out, placed, spelling, strict=True):
        for (count, hundredths, x, y, *colour), alphabet in zip(rows.tolist(), spelled.tolist(), strict=True):
            text = "".join(chr(ord("a") + letter) for letter in alphabet[:count])
            cv2.putText(target, text, (x, y), cv2.FONT_HERSHEY_DUPLEX, hundredths / 100, colour, 1, cv2.LINE_AA)
    return out
