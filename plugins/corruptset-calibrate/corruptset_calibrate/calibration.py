"""A table whose severities have, at another image size, the quality that a reference has at its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from corruptset.corruptions.calibrations import Calibration, get_calibration, parse_table
from corruptset.corruptions.keys import sample_keys
from corruptset.corruptions.registry import Images, get_corruption
from corruptset.corruptions.rows import row_between
from corruptset.corruptions.stages import Scale, Stage, apply_stage, chain_keys
from corruptset.errors import ParameterError
from corruptset.generate.pixels.metrics import measure
from corruptset.generate.pixels.ms_ssim import LEAST_SIDE, ms_ssim
from corruptset.generate.pixels.picture_file import check_output
from corruptset.generate.pixels.preprocessing import ResizeCrop
from corruptset.generate.plan.job import CheckedSample, load_clean
from corruptset.generate.sources.check import check
from corruptset.generate.sources.selection import select
from corruptset.generate.sources.source import Source, open_source
from corruptset.manifests.disk.atomic import write_atomic
from corruptset.manifests.records.digests import source_digest

Metric = Literal["ms-ssim", "ssim"]
METRICS: Mapping[Metric, tuple[Callable[..., Any], int]] = {
    "ms-ssim": (ms_ssim, LEAST_SIDE),
    "ssim": (lambda clean, image: measure(clean, image)[1], 8),
}
"""Metric -> its function, and the pixels of a side that it needs."""
GRAIN = 32
"""Parts of a severity that a place on the path is found to."""
FARTHEST = 10
"""Severities from 0 to which the path is followed; above the last row it is a line."""


class Search(dict[Fraction, float]):
    """The qualities of places on a path, each measured once, when it is asked for.

    Parameters
    ----------
    measure : callable
        A place above 0, in severities -> its quality; at 0 it is 1.
    """

    def __init__(self, measure: Callable[[Fraction], float]) -> None:
        super().__init__({Fraction(0): 1.0})
        self._measure = measure

    def __missing__(self, place: Fraction) -> float:
        self[place] = quality = self._measure(place)
        return quality

    def find(self, target: float, start: int) -> tuple[Fraction, bool]:
        """Return the place whose quality is nearest to a target, and whether the path passes the target.

        From a severity on outwards, the first stretch between two whole severities whose qualities lie on both sides of
        the target is halved until it is one grain long; so of several places with one quality the one near to the
        severity is found.
        """

        def off(place: Fraction) -> tuple[float, Fraction]:
            return abs(self[place] - target), place

        for low in sorted(map(Fraction, range(FARTHEST)), key=lambda low: (abs(low - start + 0.5), -low)):
            high = low + 1
            falls = self[low] >= self[high]
            if (self[low] - target) * (self[high] - target) > 0:
                continue
            while high - low > 1 / GRAIN:
                middle = (low + high) / 2
                if (self[middle] >= target) == falls:
                    low = middle
                else:
                    high = middle
            return min(filter(None, (low, high)), key=off), True
        return min(filter(None, self), key=off), False


class Level(NamedTuple):
    """A severity at the new size."""

    severity: int
    target: float
    """The reference's quality at the reference's size."""
    place: Fraction
    """On the path through the reference's rows, in severities."""
    parameters: Mapping[str, Any]
    quality: float
    """Of these parameters at the new size."""
    reached: bool
    """Whether the path passes the target."""
    unscaled: float
    """The quality of the reference's own row at the new size, with ``scale="none"``."""
    scaled: float
    """With ``scale="side"``."""


class Calibrated(NamedTuple):
    """A finished table."""

    table: Path
    levels: Mapping[str, Sequence[Level]]
    """Corruption -> its severities."""

    def distances(self, corruption: str) -> dict[str, float]:
        """Return the mean absolute distance from the targets: of this table, and of the reference's with either
        scale.
        """
        ways = {"calibrated": "quality", "none": "unscaled", "side": "scaled"}
        levels = self.levels[corruption]
        return {
            way: fmean(abs(getattr(level, field) - level.target) for level in levels) for way, field in ways.items()
        }


def calibrate(
    names: Sequence[str],
    *,
    to: int,
    reference: str | Path | Calibration = "imagenet",
    source: str | Source = "sample",
    metric: Metric = "ms-ssim",
    samples: int | None = None,
    out: str | Path | None = None,
    force: bool = False,
    jobs: int = 1,
    progress: Callable[[str, int, int], None] | None = None,
) -> Calibrated:
    """Write a table file for another image size.

    The same photographs, the middle square of each, are resized to the reference's size and to the new one. A
    severity's target is the mean similarity of corrupted and clean images under the reference's row at the reference's
    size. At the new size it is searched on the path through the reference's rows, from the clean image (severity 0) on,
    the line through the last two rows above the last.

    Parameters
    ----------
    names : sequence of str
        Corruptions.
    to : int
        The new size: the short side in pixels.
    reference : str, path or Calibration
        The table, made for its own size.
    source : str or Source
        Where the photographs come from, as of `corruptset.build`.
    metric : {"ms-ssim", "ssim"}
        MS-SSIM needs sides of 176 pixels.
    samples : int, optional
        So many of the source's images, spread evenly.
    out : path, optional
        The table file (.toml), by default ``<reference>-<to>.toml``.
    force : bool
        Overwrite it.
    jobs : int
        Processes; the table does not depend on it.
    progress : callable, optional
        Called with the step, corruptions done and the total.

    Returns
    -------
    Calibrated

    Raises
    ------
    ParameterError, UnknownCorruption
        The size or the metric does not fit; a corruption has no rows, or no row for severity 0.
    SourceError
        Images cannot be used.
    BuildError
        `out` exists.
    """
    table = get_calibration(reference)
    _check(names, table, to, metric)
    title = f"{table.name}-{to}"
    path = Path(out or f"{title}.toml")
    check_output(path, force=force, formats=(".toml",))
    opened = open_source(source) if isinstance(source, str) else source
    checked = check(opened, select(opened.samples, samples=samples))
    checked.raise_for_bad()
    keys = sample_keys(sample.id for sample, *_ in checked.good)
    qualities = []
    for side in (table.side, to):
        square = ResizeCrop(kind="resize-crop", resize=side, crop=side)
        images = [load_clean(opened, CheckedSample(*entry), square) for entry in checked.good]
        qualities.append(partial(_quality, images, keys, metric))
    digest = source_digest((sample.id, sample.label, sha256) for sample, sha256, *_ in checked.good)
    found: dict[str, list[Level]] = {}
    lines, rows = [f"name = {json.dumps(title)}", f"side = {to}", "", "[sources]"], []
    workers = Parallel(n_jobs=min(jobs, len(names)), return_as="generator")
    for name, levels in zip(names, workers(delayed(_levels)(name, table, *qualities) for name in names), strict=True):
        found[name] = levels
        if progress is not None:
            progress("corruptions", len(found), len(names))
        for level in levels:
            key = f"{name}_{level.severity}"
            source_text = (
                f"corruptset calibrate: place {float(level.place):g} on the path through the rows of {table.name}; "
                f"mean {metric} over {len(keys)} images of {digest}: {level.quality:.4f}, where {table.name} at "
                f"{table.side} pixels has {level.target:.4f}{'' if level.reached else '; the path does not reach it'}"
            )
            lines.append(f"{key} = {json.dumps(source_text)}")
            columns = {"severity": level.severity, **level.parameters, "source": key}
            rows += ["", f"[[{name}]]", *(f"{column} = {json.dumps(value)}" for column, value in columns.items())]
    text = "\n".join([*lines, *rows, ""])
    parse_table(text, str(path))
    write_atomic(path, text.encode())
    return Calibrated(path, found)


def _check(names: Sequence[str], table: Calibration, to: int, metric: Metric) -> None:
    """Raise `ParameterError` for what cannot be calibrated."""
    if metric not in METRICS:
        raise ParameterError(f"metric is {metric!r}; expected one of {', '.join(METRICS)}.")
    least = METRICS[metric][1]
    if not least <= to <= 8192 or table.side < least:
        instead = " Use metric ssim for smaller ones." * (metric == "ms-ssim")
        raise ParameterError(
            f"From {table.side} to {to} pixels: {metric} needs sides of {least} to 8192 pixels.{instead}"
        )
    if not names or len(set(names)) < len(names):
        raise ParameterError(f"names is {list(names)}; expected some corruptions, each once.")
    for name in names:
        if get_corruption(name).needs_model:
            raise ParameterError(
                f"{name} follows the gradient of a model; its severities do not depend on the image's size."
            )
        for severity in (0.5, *range(1, 6)):
            table.row(name, severity)


def _quality(
    images: list[Images], keys: NDArray[np.uint64], metric: Metric, side: int, stage: Stage, scale: Scale = "none"
) -> float:
    """Return the mean similarity of corrupted and clean images; all stages of a corruption have the same random draws.

    The stage has the columns of a row that is made for images of `side`.
    """
    (key,) = chain_keys([stage], 0, "severity")
    made = [
        apply_stage(image[None], stage, key, own, side=side, scale=scale)[0]
        for image, own in zip(images, keys[:, None], strict=True)
    ]
    return float(np.mean([*map(METRICS[metric][0], images, made)]))


def _levels(name: str, table: Calibration, old: Callable[..., float], new: Callable[..., float]) -> list[Level]:
    """Return the five severities of a corruption at the new size."""
    of, declared, levels = table.of(name), get_corruption(name), []

    def stage(place: Fraction) -> Stage:
        return Stage(name, declared.revision, 1, None, row_between(declared, of.rows[name], place, of.name).parameters)

    search = Search(lambda place: new(of.side, stage(place)))
    for severity in range(1, 6):
        own = Fraction(severity)
        target = old(of.side, stage(own))
        place, reached = search.find(target, severity)
        scaled = new(of.side, stage(own), "side")
        levels.append(
            Level(severity, target, place, stage(place).parameters, search[place], reached, search[own], scaled)
        )
    return levels
