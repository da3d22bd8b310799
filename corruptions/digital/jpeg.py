"""JPEG compression: encoded at a low quality and decoded again."""

from __future__ import annotations

import numpy as np

from ...errors import ImageError
from ...references import HENDRYCKS_2019
from ..kernels import inlined, kernel
from ..registry import Images, Keys, Parameter, corruption
from .dct import quantise, quantisers

_MAX_SIDE = 65500
_16 = np.int32(16)
_HALF = np.int32(1 << 15)
_CENTRE = np.int32(128)
_0 = np.int32(0)
_255 = np.int32(255)


@inlined
def _shifted(x):  # type: ignore[no-untyped-def]
    """Drop 16 fractional bits."""
    return np.int32(np.int32(x) >> _16)


@inlined
def _repeat_end(row, size):  # type: ignore[no-untyped-def]
    """Fill a row beyond `size` with its last value."""
    for x in range(size, row.size):
        row[x] = row[size - 1]


@kernel
def _to_luma_and_chroma(images, swapped, lumas, chromas):  # type: ignore[no-untyped-def]
    """Convert (N, H, W, 3) images to planes.

    `lumas` (N, H', W') and `chromas` (2, N, H", W") of half the size, uint8. Sides are filled up to blocks as libjpeg
    does: columns by the last pixel, rows by the last row of either plane.
    """
    count, height, width, _ = images.shape
    wide = chromas.shape[3] * 2
    pairs = np.empty((2, 2, wide), np.uint8)
    for i in range(count):
        for y in range(height):
            source = images[i, y].reshape(-1)
            luma = lumas[i, y]
            blues, reds = pairs[0, y & 1], pairs[1, y & 1]
            for x in range(np.uint64(width)):
                p = np.uint64(3) * x
                r, g, b = np.int32(source[p]), np.int32(source[p + np.uint64(1)]), np.int32(source[p + np.uint64(2)])
                r, b = (b, r) if swapped else (r, b)
                luma[x] = np.uint8(_shifted(np.int32(19595) * r + np.int32(38470) * g + np.int32(7471) * b + _HALF))
                more = np.int32((128 << 16) + (1 << 15) - 1)
                blues[x] = np.uint8(_shifted(np.int32(32768) * b - np.int32(11059) * r - np.int32(21709) * g + more))
                reds[x] = np.uint8(_shifted(np.int32(32768) * r - np.int32(27439) * g - np.int32(5329) * b + more))
            _repeat_end(luma, width)
            _repeat_end(blues, width)
            _repeat_end(reds, width)
            if y & 1 or y == height - 1:
                for plane in range(2):
                    upper, lower = pairs[plane, 0], pairs[plane, y & 1]
                    row = chromas[plane, i, y >> 1]
                    for x in range(np.uint64(row.size)):
                        p = np.uint64(2) * x
                        q = p + np.uint64(1)
                        total = np.int32(upper[p]) + np.int32(upper[q]) + np.int32(lower[p]) + np.int32(lower[q])
                        row[x] = np.uint8((total + np.int32(1) + np.int32(x & np.uint64(1))) >> 2)
        for y in range(height, lumas.shape[1]):
            row, last = lumas[i, y], lumas[i, height - 1]
            for x in range(row.size):
                row[x] = last[x]
        for y in range((height + 1) // 2, chromas.shape[2]):
            for plane in range(2):
                row, last = chromas[plane, i, y], chromas[plane, i, (height - 1) // 2]
                for x in range(row.size):
                    row[x] = last[x]


@inlined
def _enlarge(near, far, size, sums, out):  # type: ignore[no-untyped-def]
    """Write a chroma row at full size.

    Nine, three, three and one sixteenth of the four nearest, edges repeated.
    """
    middle, left, right = sums[1 : size + 1], sums[:size], sums[2 : size + 2]
    for x in range(np.uint64(size)):
        middle[x] = np.int32(3) * np.int32(near[x]) + np.int32(far[x])
    sums[0] = sums[1]
    sums[size + 1] = sums[size]
    for x in range(np.uint64(size)):
        three = np.int32(3) * middle[x]
        out[np.uint64(2) * x] = np.int32(three + left[x] + np.int32(8)) >> np.int32(4)
        out[np.uint64(2) * x + np.uint64(1)] = np.int32(three + right[x] + np.int32(7)) >> np.int32(4)


@inlined
def _byte(x):  # type: ignore[no-untyped-def]
    return np.uint8(min(max(np.int32(x), _0), _255))


@kernel
def _to_colour(lumas, chromas, swapped, out):  # type: ignore[no-untyped-def]
    """Convert planes to (N, H, W, 3) images."""
    count, height, width, _ = out.shape
    low, slim = (height + 1) // 2, (width + 1) // 2
    sums = np.empty(slim + 2, np.int32)
    blues = np.empty(2 * slim, np.int32)
    reds = np.empty(2 * slim, np.int32)
    for i in range(count):
        for y in range(height):
            near = y >> 1
            far = min(near + 1, low - 1) if y & 1 else max(near - 1, 0)
            _enlarge(chromas[0, i, near], chromas[0, i, far], slim, sums, blues)
            _enlarge(chromas[1, i, near], chromas[1, i, far], slim, sums, reds)
            luma = lumas[i, y]
            target = out[i, y].reshape(-1)
            for x in range(np.uint64(width)):
                level = np.int32(luma[x])
                blue, red = blues[x] - _CENTRE, reds[x] - _CENTRE
                r = _byte(level + _shifted(np.int32(91881) * red + _HALF))
                g = _byte(level + _shifted(np.int32(-22554) * blue - np.int32(46802) * red + _HALF))
                b = _byte(level + _shifted(np.int32(116130) * blue + _HALF))
                p = np.uint64(3) * x
                target[p] = b if swapped else r
                target[p + np.uint64(1)] = g
                target[p + np.uint64(2)] = r if swapped else b


def _blocks(size: int, block: int) -> int:
    """Return a size filled up to whole blocks."""
    return -(-size // block) * block


def through_jpeg(images: Images, quality: int, *, swapped: bool = False) -> Images:
    """Encode every image as JPEG and decode it again.

    All but the coding, which loses nothing. With `swapped` the encoder takes red for blue and blue for red.
    """
    count, height, width, channels = images.shape
    if max(height, width) > _MAX_SIDE:
        raise ImageError(
            f"The image is {height}x{width} (height x width); a JPEG holds at most {_MAX_SIDE} pixels a side. Split "
            "it first."
        )
    luma_steps, chroma_steps = quantisers(int(quality))
    out = np.empty_like(images)
    lumas = np.empty((count, _blocks(height, 8), _blocks(width, 8)), np.uint8)
    if channels == 1:
        lumas[:, :height, :width] = images[..., 0]
        lumas[:, :height, width:] = lumas[:, :height, width - 1 : width]
        lumas[:, height:] = lumas[:, height - 1 : height]
        quantise(lumas.reshape(-1, lumas.shape[2]), luma_steps)
        out[..., 0] = lumas[:, :height, :width]
        return out
    chromas = np.empty((2, count, _blocks(height, 16) // 2, _blocks(width, 16) // 2), np.uint8)
    _to_luma_and_chroma(images, swapped, lumas, chromas)
    quantise(lumas.reshape(-1, lumas.shape[2]), luma_steps)
    quantise(chromas.reshape(-1, chromas.shape[3]), chroma_steps)
    _to_colour(lumas, chromas, swapped, out)
    return out


@corruption(
    reference=f"{HENDRYCKS_2019}; released make_imagenet_c.py, jpeg_compression",
    parameters=(Parameter("quality", int, 1, 100, "libjpeg's quality"),),
    deterministic=True,
    held=1,
)
def jpeg_compression(images: Images, keys: Keys, *, quality: int) -> Images:
    """Encode as JPEG (baseline, 4:2:0, libjpeg's standard tables) and decode again. Grey images stay grey.

    Raises
    ------
    ImageError
        A side above 65500 pixels, which JPEG cannot hold.

    Notes
    -----
    The pixels are those of Pillow's ``save(..., quality=quality)`` and of every libjpeg's decoder: its colour
    conversion, its 4:2:0 with smooth enlarging, its integer transforms. Entropy coding loses nothing, and is left out.
    """
    return through_jpeg(images, int(quality))
