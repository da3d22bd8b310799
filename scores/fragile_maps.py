"""Compute and draw maps of the correct and fragile regions of an image."""

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
from ..manifests.disk.atomic import make_folder, write_atomic
from ..manifests.manifest_file import result_path
from ..manifests.reader import Dataset
from ..pages.contact_sheet import SheetRow, draw_sheet
from .fragile import counts_top5, crop_places, flips, has_shrunk, is_correct
from .outcomes import CLEAN, Outcome
from .places import SHIFTS, SHRINKS, Neighbours, Places
from .tables import Cell, Table, columns

OUTSIDE = (205, 205, 205)
MIN_PANEL_SIDE = 160
"""The minimum length of a panel's longer side in pixels."""
COLOURS = {
    "right": (255, 255, 255),
    "wrong": (96, 96, 96),
    "right, and fragile": (0, 114, 178),
    "wrong, and fragile": (230, 159, 0),
}
"""The colours of regions. The index of a colour is wrong + 2 * fragile, where each term is 0 or 1.

Colour-blind people can distinguish this blue from this orange (Okabe & Ito).
"""
BOTH_COLOURS = {
    "fragile to both": (0, 158, 115),
    "to this model alone": (86, 180, 233),
    "to the other alone": (213, 94, 0),
    "fragile to neither": (255, 255, 255),
}
"""The colours for two models. The index is 2 * (not fragile for the model) + (not fragile for the other model)."""
CHANGES = ("shift", "shrink")
NAMES = ("right", *CHANGES, "probability", *(f"{change}, both models" for change in CHANGES))


@dataclass(frozen=True)
class FragileMaps:
    """The outcomes of a model for every region of one size, as arrays (rows, columns)."""

    source: str
    side: int
    right: NDArray[np.bool_]
    """Whether the model is correct."""
    shift: NDArray[np.bool_]
    """Whether a neighbour differs from the region in correctness."""
    shrink: NDArray[np.bool_] | None
    """Whether a shrunk region differs in correctness, or None for embedded images, which have no shrunk regions."""
    probability: NDArray[np.float32] | None
    """The probability of the true class, or None if the predictions do not contain it."""


def fragile_maps(data: Dataset, outcomes: Mapping[str, Outcome], sample_id: str, side: int) -> FragileMaps:
    """Return the maps of all regions of one size in an image. `measure_fragile` defines when a region is fragile.

    Parameters
    ----------
    data : Dataset
        A dataset with a region at every position, from a recipe with ``mode = "exhaustive"``.
    outcomes : mapping of str to Outcome
        A mapping from set ids to outcomes, which have one row per sample. Only the outcomes of ``clean`` are used.
    sample_id : str
        The id of the source image.
    side : int
        The side of the regions in pixels.

    Raises
    ------
    ParameterError
        If there are no regions of this size, or if there is no region at some positions.
    PredictionError
        If there are no predictions for ``clean``, or if their number differs from the number of samples.
    """
    chosen = [s.index for s in data.samples if s.region is not None and s.region.source == sample_id]
    if not chosen:
        raise ParameterError(
            f"The dataset has no regions of an image {sample_id!r}. Use the id of an image in the source."
        )
    return _maps(data, *_regions(data, outcomes, chosen), [side])[0]


def crop_maps(data: Dataset, outcome: Outcome, sample_id: str, side: int) -> FragileMaps:
    """Return the maps of an image whose regions are stored as a table.

    `outcome` has a row for each region in ``data.crops(sample_id)``. The other parameters are as in `fragile_maps`.
    """
    return _maps(data, crop_places(data, sample_id, outcome), outcome, [side])[0]


def overlap(first: FragileMaps, second: FragileMaps) -> dict[str, float | None]:
    """Return how much the fragile positions of two models overlap, as intersection over union for each change.

    The changes are ``shift`` and ``shrink``. The answers of a participant in a study are stored as predictions, so
    the second map may also come from a person. A value is None if no position is fragile for either model. ``shrink``
    is also None if there are no shrunk regions.

    Examples
    --------
    >>> one, other = np.array([[True, True, False]]), np.array([[True, False, True]])
    >>> overlap(FragileMaps("a", 5, one, one, None, None), FragileMaps("a", 5, other, other, None, None))
    {'shift': 0.3333333333333333, 'shrink': None}
    """
    overlaps: dict[str, float | None] = {}
    for change in CHANGES:
        a, b = getattr(first, change), getattr(second, change)
        union = 0 if a is None or b is None else np.count_nonzero(a | b)
        overlaps[change] = float(np.count_nonzero(a & b) / union) if union else None
    return overlaps


def write_maps(
    data: Dataset,
    outcomes: Mapping[str, Outcome],
    folder: str | Path,
    images: int,
    others: Mapping[str, Outcome] | None = None,
) -> list[Path]:
    """Write the maps of the first images as ``<image id>.png``, with a row per size and a column per map.

    Parameters
    ----------
    data, outcomes
        The dataset and the outcomes, as for `fragile_maps`.
    folder : path
    images : int
        The number of images to draw, in the order of the dataset.
    others : mapping of str to Outcome, optional
        The outcomes of a second model or of a person. The maps then show the positions that are fragile for both, and
        ``overlap.csv`` contains the `overlap` for each image and size, and its means over images.

    Returns
    -------
    list of Path
        The written images.

    Raises
    ------
    ParameterError, PredictionError
        As for `fragile_maps`.
    """
    rows: dict[str, list[int]] = {}
    for s in data.samples:
        if s.region is not None:
            rows.setdefault(s.region.source, []).append(s.index)
    if not rows:
        raise ParameterError(
            f"{data.path} has no regions among its samples, so there are no maps. Build a recipe with regions with "
            "--store images."
        )
    folder, files, found = result_path(folder), [], list[list[Any]]()
    for source in list(rows)[:images]:
        of_both = []
        for model in [outcomes, others] if others else [outcomes]:
            places, outcome = _regions(data, model, rows[source])
            of_both.append(_maps(data, places, outcome, np.unique(places.side[places.anchor]).tolist()))
        make_folder(folder, source.rpartition("/")[0])
        file = folder / f"{source}.png"
        write_atomic(file, map_sheet(*of_both))
        files.append(file)
        if others:
            found += [[source, a.side, *overlap(a, b).values()] for a, b in zip(*of_both, strict=True)]
    if others:
        write_atomic(folder / "overlap.csv", _overlaps(found).csv().encode())
    return files


def _overlaps(rows: list[list[Any]]) -> Table:
    """Return a table of the overlap for each image and size, followed by the means over images."""
    means = list[list[Cell]]()
    for side in dict.fromkeys(row[1] for row in rows):
        known = [[row[at] for row in rows if row[1] == side and row[at] is not None] for at in (2, 3)]
        means.append(["mean", side, *(fmean(values) if values else None for values in known)])
    heads = columns("text", "image") + columns("whole", "side") + columns("number", "shift IoU", "shrink IoU")
    return Table("overlap", "Overlap of fragile positions", heads, [*rows, *means])


def _regions(data: Dataset, outcomes: Mapping[str, Outcome], chosen: Sequence[int]) -> tuple[Places, Outcome]:
    """Return the positions and the outcomes of the samples with the given indices."""
    if CLEAN not in outcomes or len(outcomes[CLEAN]) != len(data.samples):
        raise PredictionError(f"Maps need predictions of every region in the set {CLEAN!r}.")
    records = (data.samples[index].region for index in chosen)
    return Places.of(record for record in records if record is not None), outcomes[CLEAN].rows(np.array(chosen))


def _maps(data: Dataset, places: Places, outcome: Outcome, sides: Sequence[int]) -> list[FragileMaps]:
    """Return the maps of the regions of one image, one per size."""
    correct = is_correct(outcome, counts_top5(data, [outcome]))
    neighbours = Neighbours(places)
    maps = []
    for side in sides:
        anchors = np.flatnonzero(places.anchor & (places.side == side))
        y, x = places.y[anchors], places.x[anchors]
        shape = int(y.max(initial=0)) + 1, int(x.max(initial=0)) + 1
        if len(anchors) != shape[0] * shape[1]:
            raise ParameterError(
                "Maps need an anchor at every position, as in an exhaustive recipe, but the image "
                f"{places.sources[0]!r} has only {len(anchors):,} of side {side}."
            )
        order = np.lexsort((x, y))
        values = {
            "right": correct[anchors],
            "shift": flips(neighbours, anchors, correct, SHIFTS).any_differ,
            "shrink": flips(neighbours, anchors, correct, SHRINKS).any_differ if has_shrunk(data) else None,
            "probability": None if outcome.probability is None else outcome.probability[anchors],
        }
        grids: dict[str, Any] = {k: None if row is None else row[order].reshape(shape) for k, row in values.items()}
        maps.append(FragileMaps(places.sources[0], side, **grids))
    return maps


def map_sheet(maps: Sequence[FragileMaps], others: Sequence[FragileMaps] = ()) -> bytes:
    """Return the maps of one image as a PNG file, with a row per size.

    Each position is drawn at the middle of its region. Correct regions are white and wrong ones are dark. Fragile
    positions are blue if the model is correct there, and orange if it is wrong. The probability of the true class is
    drawn from black (0) to white (1). If there is a second model, positions that are fragile for both models are green.
    """
    height, width = (max(m.right.shape[axis] + m.side - 1 for m in maps) for axis in (0, 1))
    scale, lines = max(1, -(-MIN_PANEL_SIDE // max(height, width))), []
    colours, both_colours = (np.array(list(palette.values())) for palette in (COLOURS, BOTH_COLOURS))
    for m, other in zip_longest(maps, others):
        panels = [colours[1 - m.right]]
        panels += [None if fragile is None else colours[1 - m.right + 2 * fragile] for fragile in (m.shift, m.shrink)]
        panels.append(None if m.probability is None else np.rint(m.probability[..., None] * 255))
        if other is not None:
            pairs = ((m.shift, other.shift), (m.shrink, other.shrink))
            panels += [None if a is None or b is None else both_colours[2 * (1 - a) + (1 - b)] for a, b in pairs]
        cells = []
        for name, panel in zip(NAMES, panels, strict=False):
            # The frame has the size of the image, and each position is the middle of its region.
            frame, margin = np.full((height, width, 3), OUTSIDE, np.uint8), (m.side - 1) // 2
            if panel is not None:
                frame[margin : margin + panel.shape[0], margin : margin + panel.shape[1]] = panel
            drawn = frame.repeat(scale, axis=0).repeat(scale, axis=1)
            cells.append((name, None if panel is None else drawn))
        lines.append(SheetRow(f"side {m.side}", cells))
    legend = {**COLOURS, "no region": OUTSIDE}
    legend |= {words: BOTH_COLOURS[words] for words in list(BOTH_COLOURS)[:3]} if others else {}
    return draw_sheet(lines, title=maps[0].source, legend=list(legend.items()), side=max(height, width) * scale)
