"""White strokes with soft edges: the corruptions `line`, `dotted_line` and `zigzag` of MNIST-C."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...references import MU_2019
from ..kernels import inlined, kernel
from ..registry import Draw, Floats, Given, Images, Keys, Parameter, Shape, corruption

ROWS = 0
COLUMNS = 1
"""ROWS and COLUMNS are the streams of the rows and columns of a stroke's ends."""
# The published positions are for a side of 28 pixels. They are scaled in proportion for other sides.
_SIDE = 28
_REACH = Parameter(
    "reach", float, 0.1, 1000.0, "distance in pixels at which the logarithm is -infinity", length=True, at_least=0.1
)
Ends = Callable[[Shape], tuple[tuple[int, int], tuple[int, int]]]
"""A function of (H, W, C) that returns the minimums of two random numbers, and their numbers of possible values."""


@inlined
def _logarithm(x):  # type: ignore[no-untyped-def]
    """Return ln x with an error of about 1e-15, for x in 0.3 .. 1.

    The function uses only + - * /, because the logarithm of libm differs between machines.
    """
    z = (x - 1.0) / (x + 1.0)
    square = z * z
    total = 0.0
    for k in range(25, -1, -1):
        total = total * square + 1.0 / (2 * k + 1)
    return 2.0 * z * total


@kernel
def _draw(images, points, reach, dot):  # type: ignore[no-untyped-def]
    """Draw a polyline over each image.

    If `dot` is above 0, only every second group of `dot` columns is drawn.
    """
    count, height, width, channels = images.shape
    out = np.empty_like(images)
    ink = np.empty((height, width), np.float64)
    for n in range(count):
        ink[:] = 0.0
        for p in range(points.shape[1] - 1):
            x0, y0 = points[n, p, 0], points[n, p, 1]
            x1, y1 = points[n, p + 1, 0], points[n, p + 1, 1]
            if x1 <= x0:
                continue
            slope = (y1 - y0) / (x1 - x0)
            for x in range(max(int(np.floor(x0)), 0), min(int(np.ceil(x1)), width)):
                if dot > 0 and x // dot % 2 == 0:
                    continue
                centre = slope * (x - x0) + y0
                # The values are clipped first, because the centre of a steep stroke may not fit in an integer.
                first = np.int64(np.floor(min(max(centre - reach, 0.0), height - 1.0)))
                last = np.int64(np.floor(min(max(centre + reach, 0.0), height - 1.0)))
                for y in range(first, last + 1):
                    left = 1.0 - abs(y - centre) / reach
                    if left > 0.36:
                        ink[y, x] += max(_logarithm(left) + 1.0, 0.0)
        for y in range(height):
            for x in range(width):
                for c in range(channels):
                    value = min(np.float64(images[n, y, x, c]) / 255.0 + ink[y, x], 1.0)
                    out[n, y, x, c] = np.uint8(np.rint(value * 255.0))
    return out


def _share(columns_of_28: int, side: int) -> int:
    return columns_of_28 * side // _SIDE


def _two(stream: int, ends: Ends, *, relative: bool = False) -> Callable[[Keys, Shape, Given], Floats]:
    """Return a function that draws two whole numbers per image.

    The second number is relative to the first one if `relative` is true.
    """

    def drawn(keys: Keys, shape: Shape, parameters: Given) -> Floats:
        starts, counts = ends(shape)
        two = keys.integers(*counts, stream=stream) + starts
        return (np.cumsum(two, axis=1) if relative else two).astype(np.float64)

    return drawn


def _anywhere(shape: Shape) -> tuple[tuple[int, int], tuple[int, int]]:
    return (0, 0), (shape[0] - 1, shape[0] - 1)


def _at_the_sides(shape: Shape) -> tuple[tuple[int, int], tuple[int, int]]:
    width = shape[1]
    return (0, _share(22, width)), (_share(5, width), _share(27, width) - _share(22, width))


def _near(shape: Shape) -> tuple[tuple[int, int], tuple[int, int]]:
    low, high = -_share(5, shape[0]), max(_share(5, shape[0]), 1)
    return (0, low), (shape[0] - 1, high - low)


def _given_columns(columns: Floats, shape: Shape, parameters: Given) -> Floats:
    if columns[0] >= columns[1]:
        raise ValueError(f"got {columns.tolist()}, expected the first to be less than the second")
    return columns


def _rows(ends: Ends, *, relative: bool = False) -> Draw:
    drawn = _two(ROWS, ends, relative=relative)
    return Draw("rows", "rows of the left and the right end", drawn, lambda *_: (2,), low=-1e6, high=1e6)


def _stroked(images: Images, columns: Floats, rows: Floats, reach: float, dot: int = 0) -> Images:
    return np.asarray(_draw(images, np.stack([columns, rows], axis=-1), float(reach), dot))


@corruption(
    reference=f"{MU_2019}; released corruptions.py, line and line_from_points",
    parameters=(_REACH,),
    draws=(
        _rows(_anywhere),
        Draw(
            "columns",
            "columns of the left and the right end",
            _two(COLUMNS, _at_the_sides),
            lambda *_: (2,),
            low=-1e6,
            high=1e6,
            check=_given_columns,
        ),
    ),
)
def line(images: Images, keys: Keys, *, reach: float, rows: Floats, columns: Floats) -> Images:
    """Draw a white line that begins near the left edge and ends near the right edge.

    At a vertical distance d from the line, ``ln(1 - d / reach) + 1`` is added to every channel if this value is
    positive. This is the case up to a distance of 0.63 times `reach`. The result is rounded.

    Notes
    -----
    Two rows and two columns per image are sampled at random, as whole numbers. The rows are uniform on 0 .. H - 2. The
    columns are uniform on 0 .. 4 and 22 .. 26 for a width of 28, and in proportion for other widths.
    """
    return _stroked(images, columns, rows, reach)


@corruption(
    reference=f"{MU_2019}; released corruptions.py, dotted_line",
    parameters=(
        _REACH,
        Parameter(
            "dot", kind=int, low=1, high=1000, length=True, at_least=1, about="number of columns of a dot and of a gap"
        ),
    ),
    draws=(_rows(_anywhere),),
)
def dotted_line(images: Images, keys: Keys, *, reach: float, dot: int, rows: Floats) -> Images:
    """Draw a dotted white line from edge to edge, with the soft edges of `line`.

    Notes
    -----
    The rows of the two ends are sampled uniformly from 0 .. H - 2.

    Gaps and dots alternate from the left edge. As in the published code, the last column is left unchanged.
    """
    return _stroked(images, np.broadcast_to([0.0, images.shape[2] - 1.0], rows.shape), rows, reach, int(dot))


@corruption(
    reference=f"{MU_2019}; released corruptions.py, zigzag",
    parameters=(
        _REACH,
        Parameter(
            "step", low=0.5, high=1000.0, length=True, at_least=0.5, about="half the distance between turns in pixels"
        ),
        Parameter(
            "amplitude", low=0.0, high=1000.0, length=True, about="distance of turns from the middle line in pixels"
        ),
    ),
    draws=(_rows(_near, relative=True),),
)
def zigzag(images: Images, keys: Keys, *, reach: float, step: float, amplitude: float, rows: Floats) -> Images:
    """Draw a white zigzag from side to side, with the soft edges of `line`.

    Notes
    -----
    The two rows of the middle line are drawn at random. The first is uniform on 0 .. H - 2. For a height of 28, the
    second is uniform from 5 rows above the first to 4 rows below it. For other heights, these distances are scaled in
    proportion.

    The zigzag reaches from column 2 to column 25 for a width of 28, and in proportion for other widths. Where two
    strokes meet, both are added. The height of the last stroke is ``amplitude / (2 * rest)``. For the published
    amplitude of 2, this is the published ``2 / (2 * rest)``. The rest is the length that remains after the last whole
    period, about 3 pixels at a width of 28. If it is half a pixel or less, which does not occur at this width, the last
    stroke ends at the amplitude.
    """
    left, right = (float(_share(column, images.shape[2])) for column in (2, 25))
    columns, turns = _turns(left, right, rows, float(step), float(amplitude))
    return _stroked(images, columns, turns, reach)


def _turns(left: float, right: float, rows: Floats, step: float, amplitude: float) -> tuple[Floats, Floats]:
    """Return the columns and rows of the corners of zigzags, (N, P) each.

    A zigzag with fewer corners than others repeats its last corner.
    """
    slope = (rows[:, 1] - rows[:, 0]) / (right - left)
    stretch = np.sqrt(1.0 + slope * slope)
    length = (right - left) * stretch
    turns = np.maximum(np.floor((length - step) / (2 * step)), -1.0) + 1
    rest = length - 2 * step * np.floor(length / (2 * step))
    corners = np.arange(int(turns.max()) + 2)[None, :]
    along = np.minimum(np.where(corners > 0, (2 * corners - 1) * step, 0.0), length[:, None])
    side = np.where(corners > 0, np.where(corners % 2 == 1, amplitude, -amplitude), 0.0)
    side = np.broadcast_to(side, along.shape).copy()
    last = np.where(turns % 2 == 1, amplitude, -amplitude) / np.maximum(2 * rest, 1.0)
    last = np.where(turns == 0, 0.0, last)
    behind = corners > turns[:, None]
    along = np.where(behind, length[:, None], along)
    side = np.where(behind, last[:, None], side)
    cosine, sine = (1.0 / stretch)[:, None], (slope / stretch)[:, None]
    return along * cosine - side * sine + left, along * sine + side * cosine + rows[:, :1]
