"""Maps of what a model makes of every region of an image, as arrays and as pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
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

_OUTSIDE = (205, 205, 205)
_RIGHT, _WRONG = (255, 255, 255), (96, 96, 96)
_POSITIVE, _NEGATIVE = (0, 114, 178), (230, 159, 0)
"""Okabe and Ito's blue and orange: they differ to the colour-blind, and in lightness."""
_PANEL = 160
"""Pixels of a panel's longer side at least."""
_NAMES = ("right", "shift", "shrink", "probability")
_LEGEND = (
    ("right", _RIGHT),
    ("wrong", _WRONG),
    ("right, and fragile", _POSITIVE),
    ("wrong, and fragile", _NEGATIVE),
    ("no region", _OUTSIDE),
)


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


def write_maps(data: DataSet, outcomes: Mapping[str, Outcome], folder: str | Path, images: int) -> list[Path]:
    """Write the maps of the first images as pictures, ``<image id>.png`` in a folder: a row a side, a column a map.

    Parameters
    ----------
    data, outcomes
        As in `fragile_maps`.
    folder : path
    images : int
        How many, in the data set's order; of fewer, all.

    Returns
    -------
    list of Path
        The files.

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
    files = []
    for source in list(rows)[:images]:
        places, outcome = _regions(data, outcomes, rows[source])
        maps = _maps(data, places, outcome, np.unique(places.side[places.anchor]).tolist())
        file = inside(Path(folder), f"{source}.png")
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(file, picture(maps))
        files.append(file)
    return files


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
                "Maps need an anchor at every position, as an exhaustive recipe makes them; "
                f"the image {places.sources[0]!r} has {len(anchors):,} of side {side}."
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


def picture(maps: Sequence[FragileMaps]) -> bytes:
    """Return the maps of one image as PNG: a row a side, each position where the region's middle lies in the image.

    Right is white and wrong is dark; a fragile position is blue where the model is right there, and orange where it is
    wrong. Of the probability of the true class, black is 0 and white 1.
    """
    height, width = (max(shape[axis] + m.side - 1 for m in maps for shape in [m.right.shape]) for axis in (0, 1))
    scale = max(1, -(-_PANEL // max(height, width)))
    lines = []
    for m in maps:
        panels = [None if panel is None else _framed(panel, m.side, (width, height), scale) for panel in _panels(m)]
        lines.append(Line(f"side {m.side}", list(zip(_NAMES, panels, strict=True))))
    return sheet(lines, title=maps[0].source, legend=_LEGEND, side=max(height, width) * scale)


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
