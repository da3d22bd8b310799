"""Maps of what a model makes of every region of an image, as arrays and as pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError, PredictionError
from ..manifests.disk.atomic import inside, write_atomic
from ..manifests.reader import DataSet
from ..pages.sheets.sheet import Line, sheet
from .fragile import counts_top5, crop_places, flips, has_shrunk, is_right
from .outcomes import CLEAN, Outcome
from .places import SHIFTS, SHRINKS, Neighbours, Places
from .tables import Cell, Table, columns

_OUTSIDE = (205, 205, 205)
_RIGHT, _WRONG = (255, 255, 255), (96, 96, 96)
_POSITIVE, _NEGATIVE = (0, 114, 178), (230, 159, 0)
"""Okabe and Ito's blue and orange: they differ to the colour-blind, and in lightness."""
_PANEL = 160
"""Pixels of a panel's longer side at least."""
_BOTH, _FIRST, _SECOND = (0, 158, 115), (86, 180, 233), (213, 94, 0)
_NAMES = ("right", "shift", "shrink", "probability", "shift, both models", "shrink, both models")
_LEGEND = (
    ("right", _RIGHT),
    ("wrong", _WRONG),
    ("right, and fragile", _POSITIVE),
    ("wrong, and fragile", _NEGATIVE),
    ("no region", _OUTSIDE),
)
_LEGEND_OF_BOTH = (
    ("fragile to both", _BOTH),
    ("to this model alone", _FIRST),
    ("to the other alone", _SECOND),
)
OVERLAPS = "overlap.csv"


@dataclass(frozen=True)
class FragileMaps:
    """What a model makes of every region of one side of an image: arrays (rows, columns) of positions."""

    source: str
    side: int
    right: NDArray[np.bool_]
    """Whether the model is right."""
    shift: NDArray[np.bool_]
    """Whether a neighbour differs from it in that."""
    shrink: NDArray[np.bool_] | None
    """Whether a shrunk region differs; None where there are none (embedded images)."""
    probability: NDArray[np.float32] | None
    """Of the true class; None where the predictions do not say."""


def fragile_maps(data: DataSet, outcomes: Mapping[str, Outcome], sample_id: str, side: int) -> FragileMaps:
    """Return the maps of an image's regions of one side; `measure_fragile` says what fragile is.

    Parameters
    ----------
    data : DataSet
        With a region at every position, as ``mode = "exhaustive"`` makes them.
    outcomes : mapping of str to Outcome
        By set id, a row a sample; those of ``clean`` count.
    sample_id : str
        Of the source image.
    side : int
        Of the regions.

    Raises
    ------
    ParameterError
        There are no such regions, or not at every position.
    PredictionError
        There are no predictions of ``clean``, or of other rows than samples.
    """
    chosen = [s.index for s in data.samples if s.region is not None and s.region.source == sample_id]
    if not chosen:
        raise ParameterError(
            f"The data set has no regions of an image {sample_id!r}; they are named by the image's id in the source."
        )
    return _maps(data, *_regions(data, outcomes, chosen), [side])[0]


def crop_maps(data: DataSet, outcome: Outcome, sample_id: str, side: int) -> FragileMaps:
    """Return the maps of an image whose regions are stored as a table; `outcome` has a row for each of
    ``data.crops(sample_id)``.

    The rest is as in `fragile_maps`.
    """
    return _maps(data, crop_places(data, sample_id, outcome), outcome, [side])[0]


def overlap(first: FragileMaps, second: FragileMaps) -> dict[str, float | None]:
    """Return the intersection over union of the fragile positions of two models, for shifts and shrinks.

    The second may be a person, whose answers are predictions too. None where no position is fragile to either, or
    nothing is shrunk.

    Examples
    --------
    >>> one, other = np.array([[True, True, False]]), np.array([[True, False, True]])
    >>> overlap(FragileMaps("a", 5, one, one, None, None), FragileMaps("a", 5, other, other, None, None))
    {'shift': 0.3333333333333333, 'shrink': None}
    """
    found: dict[str, float | None] = {}
    for change, one, other in _both(first, second):
        union = 0 if one is None or other is None else np.count_nonzero(one | other)
        found[change] = float(np.count_nonzero(one & other) / union) if union else None
    return found


def _both(first: FragileMaps, second: FragileMaps) -> list[tuple[str, Any, Any]]:
    return [("shift", first.shift, second.shift), ("shrink", first.shrink, second.shrink)]


def write_maps(
    data: DataSet,
    outcomes: Mapping[str, Outcome],
    folder: str | Path,
    images: int,
    others: Mapping[str, Outcome] | None = None,
) -> list[Path]:
    """Write the maps of the first images as pictures, ``<image id>.png`` in a folder: a row a side, a column a map.

    Parameters
    ----------
    data, outcomes
        As in `fragile_maps`.
    folder : path
    images : int
        How many, in the data set's order; of fewer, all.
    others : mapping of str to Outcome, optional
        Another model's, or a person's: pictures then show where both are fragile, and ``overlap.csv`` has the
        `overlap` of each image and side, and its means over images.

    Returns
    -------
    list of Path
        The pictures.

    Raises
    ------
    ParameterError, PredictionError
        As in `fragile_maps`.
    """
    rows: dict[str, list[int]] = {}
    for s in data.samples:
        if s.region is not None:
            rows.setdefault(s.region.source, []).append(s.index)
    if not rows:
        raise ParameterError(
            f"{data.path} has no regions among its samples, of which maps could be drawn. Build a recipe with regions "
            "with --store images."
        )
    files, found = [], list[list[Cell]]()
    for source in list(rows)[:images]:
        of_both = []
        for model in [outcomes, others] if others else [outcomes]:
            places, outcome = _regions(data, model, rows[source])
            of_both.append(_maps(data, places, outcome, np.unique(places.side[places.anchor]).tolist()))
        file = inside(Path(folder), f"{source}.png")
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(file, picture(*of_both))
        files.append(file)
        if others:
            found += [[source, a.side, *overlap(a, b).values()] for a, b in zip(*of_both, strict=True)]
    if others:
        write_atomic(Path(folder) / OVERLAPS, _overlaps(found).csv().encode())
    return files


def _overlaps(rows: list[list[Cell]]) -> Table:
    """Return the overlaps of images and sides, and their means over images."""
    values: dict[Cell, list[list[float | None]]] = {}
    for _, side, *own in rows:
        values.setdefault(side, []).append(own)  # type: ignore[arg-type]
    means: list[list[Cell]] = []
    for side, of_side in values.items():
        known = [[value for value in change if value is not None] for change in zip(*of_side, strict=True)]
        means.append(["mean", side, *(fmean(some) if some else None for some in known)])
    heads = columns("text", "image") + columns("whole", "side") + columns("number", "shift IoU", "shrink IoU")
    return Table("overlap", "Overlap of fragile positions", heads, [*rows, *means])


def _regions(data: DataSet, outcomes: Mapping[str, Outcome], chosen: Sequence[int]) -> tuple[Places, Outcome]:
    """Return where some of the samples lie, and what the model made of them."""
    if CLEAN not in outcomes or len(outcomes[CLEAN]) != len(data.samples):
        raise PredictionError(f"Maps need predictions of every region of the set {CLEAN!r}.")
    records = (data.samples[index].region for index in chosen)
    return Places.of(record for record in records if record is not None), outcomes[CLEAN].rows(np.array(chosen))


def _maps(data: DataSet, places: Places, outcome: Outcome, sides: Sequence[int]) -> list[FragileMaps]:
    """Return the maps of the regions of one image."""
    right = is_right(outcome, counts_top5(data, [outcome]))
    neighbours = Neighbours(places)
    maps = []
    for side in sides:
        anchors = np.flatnonzero(places.anchor & (places.side == side))
        y, x = places.y[anchors], places.x[anchors]
        shape = int(y.max(initial=0)) + 1, int(x.max(initial=0)) + 1
        if len(anchors) != shape[0] * shape[1]:
            raise ParameterError(
                "Maps need an anchor at every position, as an exhaustive recipe makes them; the image "
                f"{places.sources[0]!r} has {len(anchors):,} of side {side}."
            )
        order = np.lexsort((x, y))
        values = {
            "right": right[anchors],
            "shift": flips(neighbours, anchors, right, SHIFTS).some,
            "shrink": flips(neighbours, anchors, right, SHRINKS).some if has_shrunk(data) else None,
            "probability": None if outcome.probability is None else outcome.probability[anchors],
        }
        grids: dict[str, Any] = {name: None if of is None else of[order].reshape(shape) for name, of in values.items()}
        maps.append(FragileMaps(places.sources[0], side, **grids))
    return maps


def picture(maps: Sequence[FragileMaps], others: Sequence[FragileMaps] = ()) -> bytes:
    """Return the maps of one image as PNG: a row a side, each position where the region's middle lies in the image.

    Right is white and wrong is dark; a fragile position is blue where the model is right there, and orange where it is
    wrong. Of the probability of the true class, black is 0 and white 1. Beside another model's maps, what is fragile to
    both is green.
    """
    height, width = (max(shape[axis] + m.side - 1 for m in maps for shape in [m.right.shape]) for axis in (0, 1))
    scale = max(1, -(-_PANEL // max(height, width)))
    lines = []
    for m, other in zip_longest(maps, others):
        panels = _panels(m) + ([] if other is None else [_agreement(*both) for _, *both in _both(m, other)])
        drawn = [None if panel is None else _framed(panel, m.side, (width, height), scale) for panel in panels]
        lines.append(Line(f"side {m.side}", list(zip(_NAMES, drawn, strict=False))))
    legend = (*_LEGEND, *(_LEGEND_OF_BOTH if others else ()))
    return sheet(lines, title=maps[0].source, legend=legend, side=max(height, width) * scale)


def _agreement(one: NDArray[np.bool_] | None, other: NDArray[np.bool_] | None) -> NDArray[Any] | None:
    """Return where both of two models are fragile, and where one alone."""
    if one is None or other is None:
        return None
    colours = np.array([_RIGHT, _FIRST, _SECOND, _BOTH])
    return colours[one + 2 * other]


def _panels(maps: FragileMaps) -> list[NDArray[Any] | None]:
    right = maps.right[..., None]
    plain, flipped = np.where(right, _RIGHT, _WRONG), np.where(right, _POSITIVE, _NEGATIVE)
    fragile = [
        None if some is None else np.where(some[..., None], flipped, plain) for some in (maps.shift, maps.shrink)
    ]
    return [plain, *fragile, None if maps.probability is None else np.rint(maps.probability[..., None] * 255)]


def _framed(panel: NDArray[Any], side: int, size: tuple[int, int], scale: int) -> NDArray[np.uint8]:
    """Return a panel of the image's size, each position at the middle of its region."""
    frame = np.empty((size[1], size[0], 3), np.uint8)
    frame[:] = _OUTSIDE
    margin = (side - 1) // 2
    frame[margin : margin + panel.shape[0], margin : margin + panel.shape[1]] = panel
    return frame.repeat(scale, axis=0).repeat(scale, axis=1)
