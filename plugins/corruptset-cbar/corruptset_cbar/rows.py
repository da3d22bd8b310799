"""Blend fields into rows of pixels, and sample rows bilinearly from an image that has a black border."""

import numpy as np

from corruptset.corruptions.kernels import inlined, inner

from .elementary import along, real

_1 = np.uint64(1)
_2 = np.uint64(2)


@inlined
def level(value):  # type: ignore[no-untyped-def]
    """Clip a value to 0..255 and round it down, as in the released generator."""
    return np.uint8(np.int32(min(max(value, 0.0), 255.0)))


@inner
def lay(image, fields, keep, weight, out):  # type: ignore[no-untyped-def]
    """Write ``keep * image + weight * field`` to `out`, for float32 fields of shape (H, 1, W) or (H, C, W)."""
    height, _, channels = image.shape
    for y in range(height):
        for c in range(channels):
            source, target, line = image[y, :, c], out[y, :, c], fields[y, min(c, fields.shape[1] - 1)]
            for x in along(line):
                target[x] = level(keep * source[x] + weight * line[x])


@inner
def frame(image, framed):  # type: ignore[no-untyped-def]
    """Copy an image into the middle of a larger array, with a border of two pixels."""
    for y in range(image.shape[0]):
        source, target = image[y].reshape(-1), framed[y + 2, 2:].reshape(-1)
        for x in along(source):
            target[x] = source[x]


@inlined
def mixed(flat, at, beside, line, down, right):  # type: ignore[no-untyped-def]
    """Interpolate a flattened frame bilinearly, at the offset (`down`, `right`) from the value at index `at`."""
    upper = flat[at] * ((1.0 - down) * (1.0 - right)) + flat[at + beside] * ((1.0 - down) * right)
    below = at + line
    return upper + (flat[below] * (down * (1.0 - right)) + flat[below + beside] * (down * right))


@inner
def sample_row(framed, y, moves, places, out):  # type: ignore[no-untyped-def]
    """Sample row y of an image bilinearly, and write it to `out` of shape (W, C).

    For each pixel, the rows of `moves` contain the offsets down and right to the sampled position, and a value that is
    added to all channels.
    """
    downs, rights, more = moves[0], moves[1], moves[2]
    high, wide, channels = framed.shape
    flat, target = framed.reshape(-1), out.reshape(-1)
    beside, line = np.uint64(channels), np.uint64(wide * channels)
    top, left, bottom, end = -2 - y, -2, high - 4 - y, wide - 4
    for x in along(downs):
        row = np.int32(min(max(np.floor(downs[x]), top), bottom) - top)
        column = np.int32(min(max(np.floor(rights[x]) + real(x), left), end) - left)
        places[x] = (row * wide + column) * channels
    for x in range(downs.size):
        down, right = downs[x] - np.floor(downs[x]), rights[x] - np.floor(rights[x])
        at, to = np.uint64(places[x]), np.uint64(x * channels)
        # There is no loop over channels, because LLVM would vectorise the loop and make it slower.
        target[to] = level(mixed(flat, at, beside, line, down, right) + more[x])
        if channels == 3:
            target[to + _1] = level(mixed(flat, at + _1, beside, line, down, right) + more[x])
            target[to + _2] = level(mixed(flat, at + _2, beside, line, down, right) + more[x])
