"""A table whose severities have, at another image size, the quality that a reference has at its own."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from corruptset.corruptions.calibrations import Calibration, get_calibration, parse_table
from corruptset.corruptions.fractional import row_between
from corruptset.corruptions.keys import sample_keys
from corruptset.corruptions.registry import Images, get_corruption
from corruptset.corruptions.stages import Scale, Stage, apply_stage, chain_keys
from corruptset.errors import ParameterError
from corruptset.generate.pixels.metrics import ssim
from corruptset.generate.pixels.ms_ssim import LEAST_SIDE, ms_ssim
from corruptset.generate.pixels.picture_file import check_output
from corruptset.generate.pixels.preprocessing import ResizeCrop
from corruptset.generate.plan.job import CheckedSample
from corruptset.generate.sources.check import check
from corruptset.generate.sources.selection import select
from corruptset.generate.sources.source import Source, open_source
from corruptset.generate.work.worker import load_clean
from corruptset.manifests.disk.atomic import write_atomic
from corruptset.manifests.records.digests import source_digest

Metric = Literal["ms-ssim", "ssim"]
METRICS: Mapping[Metric, tuple[Callable[[Images, Images], float | None], int]] = {"ms-ssim": (ms_ssim, LEAST_SIDE), "ssim": (ssim, 8)}
"""Metric -> its function, and the pixels of a side that it needs."""


GRAIN = 32
"""Parts of a severity that a place on the path is found to."""
FARTHEST = 10
"""Severities from 0 to which the path is followed; above the last row it is a line."""


class Search:
    """Finds places on a path by their quality; each place is measured once.

    Parameters
    ----------
    measure : callable
        A place above 0, in severities -> its quality; at 0 it is 1.
    """

    def __init__(self, measure: Callable[[Fraction], float]) -> None:
        self.measured = {Fraction(0): 1.0}
        self._measure = measure

    def at(self, place: Fraction) -> float:
        """Return the quality at a place."""
        if place not in self.measured:
            self.measured[place] = self._measure(place)
        return self.measured[place]

    def find(self, target: float, start: int) -> tuple[Fraction, bool]:
        """Return the place whose quality is nearest to a target, and whether the path passes the target.

        From a severity on outwards, the first stretch between two whole severities whose qualities lie on both sides of
        the target is halved until it is one grain long; so of several places with one quality the one near to the
        severity is found.
        """

        def off(place: Fraction) -> tuple[float, Fraction]:
            return abs(self.at(place) - target), place

        for whole in sorted(range(FARTHEST), key=lambda low: (abs(low - start + 0.5), -low)):
            low, high = Fraction(whole), Fraction(whole + 1)
            falls = self.at(low) >= self.at(high)
            if (self.at(low) - target) * (self.at(high) - target) > 0:
                continue
            while high - low > Fraction(1, GRAIN):
                middle = (low + high) / 2
                if (self.at(middle) >= target) == falls:
                    low = middle
                else:
                    high = middle
            return min(filter(None, (low, high)), key=off), True
        return min(filter(None, self.measured), key=off), False


@dataclass(frozen=True)
class Level:
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


@dataclass(frozen=True)
class Calibrated:
    """A finished table."""

    table: Path
    name: str
    levels: Mapping[str, Sequence[Level]]
    """Corruption -> its severities."""

    def distances(self, corruption: str) -> dict[str, float]:
        """Return the mean absolute distance from the targets: of this table, and of the reference's with either scale."""
        ways = {"calibrated": "quality", "none": "unscaled", "side": "scaled"}
        levels = self.levels[corruption]
        return {way: fmean(abs(getattr(level, field) - level.target) for level in levels) for way, field in ways.items()}


def _quality(
    images: Sequence[Images],
    keys: NDArray[np.uint64],
    metric: Metric,
    name: str,
    side: int,
    parameters: Mapping[str, Any],
    scale: Scale = "none",
) -> float:
    """Return the mean similarity of corrupted and clean images; all parameters have the same random draws.

    The parameters are every column of a row that is made for images of `side`.
    """
    stage = Stage(name, get_corruption(name).revision, 1, None, parameters)
    (key,) = chain_keys([stage], 0, "severity")
    values = []
    for i, image in enumerate(images):
        out = apply_stage(image[None], stage, key, keys[i : i + 1], side=side, scale=scale)
        value = METRICS[metric][0](image, out[0])
        values.append(1.0 if value is None else value)
    return float(np.mean(values))


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

    The same photographs, the middle square of each, are resized to the reference's size and to the new one. A severity's target is the
    mean similarity of corrupted and clean images under the reference's row at the reference's size. At the new size it is searched on
    the path through the reference's rows, from the clean image (severity 0) on, the line through the last two rows above the last.

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
    path = Path(f"{table.name}-{to}.toml" if out is None else out)
    check_output(path, force=force, formats=(".toml",))
    opened = open_source(source) if isinstance(source, str) else source
    checked = check(opened, select(opened.samples, samples=samples))
    checked.raise_for_bad()
    chosen = [CheckedSample(*entry) for entry in checked.good]
    keys = sample_keys(one.sample.id for one in chosen)
    qualities = []
    for side in (table.side, to):
        square = ResizeCrop(kind="resize-crop", resize=side, crop=side)
        images = [load_clean(opened, one, square) for one in chosen]
        qualities.append(functools.partial(_quality, images, keys, metric))
    found: dict[str, list[Level]] = {}
    workers = Parallel(n_jobs=min(jobs, len(names)), return_as="generator")
    for levels in workers(delayed(_levels)(name, table, *qualities) for name in names):
        found[names[len(found)]] = levels
        if progress is not None:
            progress("corruptions", len(found), len(names))
    digest = source_digest((c.sample.id, c.sample.label, c.sha256) for c in chosen)
    text = _table_text(found, table, to, f"mean {metric} over {len(chosen)} images of {digest}")
    parse_table(text, str(path))
    write_atomic(path, text.encode())
    return Calibrated(path, f"{table.name}-{to}", found)


def _check(names: Sequence[str], table: Calibration, to: int, metric: Metric) -> None:
    """Raise `ParameterError` for what cannot be calibrated."""
    if metric not in METRICS:
        raise ParameterError(f"metric is {metric!r}; expected one of {', '.join(METRICS)}.")
    least = METRICS[metric][1]
    if type(to) is not int or not least <= to <= 8192 or table.side < least:
        instead = " Use metric ssim for smaller ones." if metric == "ms-ssim" else ""
        raise ParameterError(f"From {table.side} to {to} pixels: {metric} needs sides of {least} to 8192 pixels.{instead}")
    if not names or len(set(names)) < len(names):
        raise ParameterError(f"names is {list(names)}; expected some corruptions, each once.")
    for name in names:
        if get_corruption(name).needs_model:
            raise ParameterError(f"{name} follows the gradient of a model; its severities do not depend on the image's size.")
        for severity in (0.5, *range(1, 6)):
            table.row(name, severity)


def _levels(name: str, table: Calibration, old: Callable[..., float], new: Callable[..., float]) -> list[Level]:
    """Return the five severities of a corruption at the new size."""
    of = table.of(name)

    def parameters(place: Fraction) -> Mapping[str, Any]:
        return row_between(get_corruption(name), of.rows[name], place, of.name).parameters

    search, levels = Search(lambda place: new(name, of.side, parameters(place))), []
    for severity in range(1, 6):
        own = Fraction(severity)
        target = old(name, of.side, parameters(own))
        place, reached = search.find(target, severity)
        unscaled, scaled = search.at(own), new(name, of.side, parameters(own), "side")
        levels.append(Level(severity, target, place, parameters(place), search.at(place), reached, unscaled, scaled))
    return levels


def _table_text(found: Mapping[str, Sequence[Level]], table: Calibration, to: int, where: str) -> str:
    """Return the table file: rows with a source each, which says what was reached."""
    lines, rows = [f"name = {json.dumps(f'{table.name}-{to}')}", f"side = {to}", "", "[sources]"], []
    for name, levels in found.items():
        for level in levels:
            key = f"{name}_{level.severity}"
            source = (
                f"corruptset calibrate: place {float(level.place):g} on the path through the rows of {table.name}; "
                f"{where}: {level.quality:.4f}, where {table.name} at {table.side} pixels has {level.target:.4f}"
            ) + ("" if level.reached else "; the path does not reach it")
            lines.append(f"{key} = {json.dumps(source)}")
            columns = {"severity": level.severity, **level.parameters, "source": key}
            rows += ["", f"[[{name}]]", *(f"{column} = {json.dumps(value)}" for column, value in columns.items())]
    return "\n".join(lines + rows) + "\n"
