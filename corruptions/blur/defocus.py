"""The corruption `defocus_blur`, which blurs with a disk and, as published, can brighten the image."""

from __future__ import annotations

import numpy as np

from ...errors import ParameterError
from ...references import HENDRYCKS_2019
from ..border import REFLECT, border_index
from ..kernels import inlined, kernel
from ..levels import ROUNDING, rounding_offset
from ..registry import Images, Keys, Parameter, corruption
from .disk import make_disk

MAX_RADIUS = 500.0
"""The maximum radius in pixels, because sums over the disk are 32-bit integers."""
_TIE = 1e-9
"""A small value that is added before the floor, so that rounding errors do not change flat areas."""


@inlined
def _prefix_row(image, y, pad, columns, target):  # type: ignore[no-untyped-def]
    """Write the running sums of a row with reflect padding.

    ``target[(x + pad) * C + c]`` is the sum of the columns -pad..x-1.
    """
    channels = image.shape[2]
    if channels == 3:
        row = image[y].reshape(-1)
        red = green = blue = np.int32(0)
        target[0] = target[1] = target[2] = np.int32(0)
        at = np.uint64(3)
        for j in range(columns.size):
            p = np.uint64(3) * np.uint64(columns[j])
            red = np.int32(red + np.int32(row[p]))
            green = np.int32(green + np.int32(row[p + np.uint64(1)]))
            blue = np.int32(blue + np.int32(row[p + np.uint64(2)]))
            target[at], target[at + np.uint64(1)], target[at + np.uint64(2)] = red, green, blue
            at += np.uint64(3)
        return
    for c in range(channels):
        total = np.int32(0)
        target[c] = total
        for j in range(columns.size):
            total += np.int32(image[y, columns[j], c])
            target[(j + 1) * channels + c] = total


@inlined
def _pixel_row(source, out):  # type: ignore[no-untyped-def]
    for j in range(np.uint64(out.size)):
        out[j] = np.int32(source[j])


@inlined
def _disk_row(prefix, y, height, pad, channels, runs, out):  # type: ignore[no-untyped-def]
    """Write the integer sums over the disk around each pixel of row `y`."""
    n = out.size
    depth = prefix.shape[0]
    a = prefix[y % depth]
    o = (pad + runs[0] + 1) * channels
    a1 = a[o : o + n]
    o = (pad - runs[0]) * channels
    a0 = a[o : o + n]
    for j in range(n):
        out[j] = a1[j] - a0[j]
    for d in range(1, runs.size):
        a = prefix[border_index(y - d, height, REFLECT) % depth]
        b = prefix[border_index(y + d, height, REFLECT) % depth]
        o = (pad + runs[d] + 1) * channels
        a1 = a[o : o + n]
        b1 = b[o : o + n]
        o = (pad - runs[d]) * channels
        a0 = a[o : o + n]
        b0 = b[o : o + n]
        for j in range(n):
            out[j] = (out[j] + (a1[j] - a0[j])) + (b1[j] - b0[j])


@inlined
def _slide_columns(image, y, run, columns, sums):  # type: ignore[no-untyped-def]
    """Move the window of the column sums down by one row, so that it covers the rows y - run to y + run.

    At row 0, all sums are computed from scratch.
    """
    height, width, channels = image.shape
    pad = (columns.size - width) // 2 * channels
    middle = sums[pad : pad + width * channels]
    if y == 0:
        middle[:] = 0
        for d in range(-run, run + 1):
            row = image[border_index(d, height, REFLECT)].reshape(-1)
            for j in range(np.uint64(middle.size)):
                middle[j] += np.int32(row[j])
    else:
        enters = image[border_index(y + run, height, REFLECT)].reshape(-1)
        leaves = image[border_index(y - 1 - run, height, REFLECT)].reshape(-1)
        for j in range(np.uint64(middle.size)):
            middle[j] += np.int32(enters[j]) - np.int32(leaves[j])
    for x in range(pad // channels):
        before, after = columns[x] * channels, columns[columns.size - 1 - x] * channels
        for c in range(channels):
            sums[x * channels + c] = middle[before + c]
            sums[sums.size - (x + 1) * channels + c] = middle[after + c]


@inlined
def _folded_columns(image, y, pad, columns, runs, lowest, folded, sums, out):  # type: ignore[no-untyped-def]
    """Write the part of row `y` that is due to weights reflected at the left and right edges of the kernel's window.

    The vertical gaussian is not applied yet.
    """
    n = out.size
    channels = image.shape[2]
    out[:] = 0.0
    for h in range(runs.size - 1, lowest - 1, -1):
        values = sums[h - lowest]
        _slide_columns(image, y, runs[h], columns, values)
        for t in range(folded.shape[0]):
            if folded[t, 1] == h:
                weight = folded[t, 2]
                o = (pad + np.int64(folded[t, 0])) * channels
                right = values[o : o + n]
                o = (pad - np.int64(folded[t, 0])) * channels
                left = values[o : o + n]
                # The sum is cast to 32 bits, because a processor converts eight 32-bit numbers to doubles at once.
                # numba would use 64 bits by default.
                for j in range(n):
                    out[j] += weight * np.float64(np.int32(left[j] + right[j]))


@inlined
def _add_folded_rows(prefix, y, height, pad, channels, runs, folded, out):  # type: ignore[no-untyped-def]
    """Add the part of row `y` that is due to weights reflected at the top and bottom edges of the kernel's window.

    The horizontal gaussian is not applied yet.
    """
    n = out.size
    depth = prefix.shape[0]
    for t in range(folded.shape[0]):
        distance, half, weight = np.int64(folded[t, 0]), runs[np.int64(folded[t, 1])], folded[t, 2]
        a = prefix[border_index(y - distance, height, REFLECT) % depth]
        b = prefix[border_index(y + distance, height, REFLECT) % depth]
        o = (pad + half + 1) * channels
        a1 = a[o : o + n]
        b1 = b[o : o + n]
        o = (pad - half) * channels
        a0 = a[o : o + n]
        b0 = b[o : o + n]
        for j in range(n):
            out[j] += weight * np.float64(np.int32((a1[j] - a0[j]) + (b1[j] - b0[j])))


@inlined
def _gaussian_rows(ring, y, height, taps, out):  # type: ignore[no-untyped-def]
    """Filter the rows in `ring` with a vertical gaussian, and write row `y` of the result."""
    depth = ring.shape[0]
    centre = ring[y % depth]
    for j in range(out.size):
        out[j] = taps[0] * centre[j]
    for d in range(1, taps.size):
        a = ring[border_index(y - d, height, REFLECT) % depth]
        b = ring[border_index(y + d, height, REFLECT) % depth]
        tap = taps[d]
        for j in range(out.size):
            out[j] += tap * np.float64(a[j] + b[j])


@kernel
def _filter(images, runs, taps, folded, lowest, scale, half):  # type: ignore[no-untyped-def]
    count, height, width, channels = images.shape
    out = np.empty_like(images)
    n = width * channels
    p = taps.size - 1
    pad = runs.size - 1 + p
    columns = np.empty(width + 2 * pad, np.int64)
    for x in range(columns.size):
        columns[x] = border_index(x - pad, width, REFLECT)
    # Row y depends on the rows y - p - pad .. y + p + pad, and reflection maps to rows in the same range.
    prefix = np.empty((min(2 * (pad + p) + 1, height), (columns.size + 1) * channels), np.int32)
    disks = np.empty((2 * p + 1, n), np.int32)
    sides = np.zeros((2 * p + 1, n), np.float64)
    sums = np.empty((runs.size - lowest, columns.size * channels), np.int32)
    across = np.empty(n + 2 * p * channels, np.float64)
    total = np.empty(n, np.float64)
    inner = across[p * channels : p * channels + n]
    # Sums are not needed if the disk is a single pixel.
    single = runs.size == 1 and runs[0] == 0 and folded.shape[0] == 0
    for i in range(count):
        image = images[i]
        ready = np.int64(0)
        summed = np.int64(0)
        for y in range(height):
            while summed < min(y + p + 1, height):
                if single:
                    _pixel_row(image[summed].reshape(n), disks[summed % disks.shape[0]])
                    summed += 1
                    continue
                while ready < min(summed + pad + 1, height):
                    _prefix_row(image, ready, pad, columns, prefix[ready % prefix.shape[0]])
                    ready += 1
                _disk_row(prefix, summed, height, pad, channels, runs, disks[summed % disks.shape[0]])
                if folded.shape[0] > 0:
                    row = sides[summed % disks.shape[0]]
                    _folded_columns(image, summed, pad, columns, runs, lowest, folded, sums, row)
                summed += 1
            _gaussian_rows(disks, y, height, taps, inner)
            if folded.shape[0] > 0:
                _add_folded_rows(prefix, y, height, pad, channels, runs, folded, inner)
                _gaussian_rows(sides, y, height, taps, total)
            else:
                total[:] = 0.0
            for x in range(p):
                left, right = border_index(x - p, width, REFLECT), border_index(width + x, width, REFLECT)
                for c in range(channels):
                    across[x * channels + c] = inner[left * channels + c]
                    across[(p + width + x) * channels + c] = inner[right * channels + c]
            for j in range(n):
                total[j] += taps[0] * inner[j]
            for d in range(1, p + 1):
                o = (p - d) * channels
                a = across[o : o + n]
                o = (p + d) * channels
                b = across[o : o + n]
                tap = taps[d]
                for j in range(n):
                    total[j] += tap * (a[j] + b[j])
            target = out[i, y].reshape(n)
            for j in range(n):
                target[j] = np.uint8(np.int32(min(total[j] * scale + half, 255.0)))
    return out


@corruption(
    reference=f"{HENDRYCKS_2019}; released make_imagenet_c.py, defocus_blur and disk",
    parameters=(
        Parameter(
            "radius",
            low=0.0,
            high=MAX_RADIUS,
            length=True,
            about="radius of the disk in pixels; one pixel if below 1",
        ),
        Parameter("alias_sigma", float, 0.01, 100.0, "sigma in pixels of the gaussian that smooths the disk"),
        ROUNDING,
    ),
    deterministic=True,
)
def defocus_blur(images: Images, keys: Keys, *, radius: float, alias_sigma: float, rounding: str = "floor") -> Images:
    """Blur the image with a disk, using reflect padding.

    The edge of the disk is smoothed by a gaussian with 3 weights for radii up to 8, and 5 weights for larger radii. For
    radii below 1, only the gaussian is applied.

    Raises
    ------
    ParameterError
        If the radius is above 500 after scaling.

    Notes
    -----
    The disk is smoothed within a window. At radius 8 and at every larger radius, the disk touches the edge of the
    window, where the published smoothing reflects weights. In this case, the sum of the kernel is up to 1.03, and the
    image becomes brighter. corruptset keeps this brightening, because the published sets contain it. The published
    radii above 8 are whole numbers. For a fractional radius, the window is that of the next lower whole number.
    """
    if radius > MAX_RADIUS:
        raise ParameterError(
            f"defocus_blur: the radius is {radius:g} after scaling to this image; expected at most "
            f"{MAX_RADIUS:g}. Pass a smaller radius, or scale='none'."
        )
    disk = make_disk(float(radius), float(alias_sigma))
    lowest = int(disk.folded[:, 1].min()) if len(disk.folded) else len(disk.runs)
    offset = rounding_offset(rounding) or _TIE
    return np.asarray(_filter(images, disk.runs, disk.taps, disk.folded, lowest, disk.scale, offset))
