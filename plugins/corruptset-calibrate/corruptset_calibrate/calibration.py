"""Calibrate a severity table for another image size, so that the image quality at each severity stays the same."""

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
from corruptset.generate.pixels.image_file import check_output
from corruptset.generate.pixels.metrics import measure
from corruptset.generate.pixels.ms_ssim import MIN_SIDE, ms_ssim
from corruptset.generate.pixels.preprocessing import ResizeCrop
from corruptset.generate.plan.job import CheckedSample, load_clean
from corruptset.generate.sources.check import check
from corruptset.generate.sources.selection import select
from corruptset.generate.sources.source import Source, open_source
from corruptset.manifests.disk.atomic import write_atomic
from corruptset.manifests.records.digests import source_digest

Metric = Literal["ms-ssim", "ssim"]
METRICS: Mapping[Metric, tuple[Callable[..., Any], int]] = {
    "ms-ssim": (ms_ssim, MIN_SIDE),
    "ssim": (lambda clean, image: measure(clean, image)[1], 8),
}
"""The function that computes each metric, and the minimum side in pixels that the function accepts."""
GRAIN = 32
"""The number of steps per severity in the search. It determines the resolution of the result."""
FARTHEST = 10
"""The highest severity of the search. Above the last row of the table, parameters are extrapolated linearly."""


class Search(dict[Fraction, float]):
    """A cache of the image quality at severities along a path. Each severity is measured when it is first accessed.

    Parameters
    ----------
    measure : callable
        A function that takes a severity above 0 and returns the quality. The quality at severity 0 is 1.
    """

    def __init__(self, measure: Callable[[Fraction], float]) -> None:
        super().__init__({Fraction(0): 1.0})
        self._measure = measure

    def __missing__(self, place: Fraction) -> float:
        self[place] = quality = self._measure(place)
        return quality

    def find(self, target: float, start: int) -> tuple[Fraction, bool]:
        """Return the severity with the quality nearest to a target, and whether the path reaches the target.

        The search begins in the interval next to the severity `start`, and moves outwards. It stops at the first
        interval between two whole severities whose qualities enclose the target. This interval is bisected until its
        length is one step. If several severities have the target quality, the result is therefore one near `start`.
        """

        def distance(place: Fraction) -> tuple[float, Fraction]:
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
            return min(filter(None, (low, high)), key=distance), True
        return min(filter(None, self), key=distance), False


class Level(NamedTuple):
    """A calibrated severity at the new size."""

    severity: int
    target: float
    """The quality under the reference table at this severity, for images of the size that the table is made for."""
    place: Fraction
    """The severity, on the path through the rows of the reference table, whose quality is nearest to the target."""
    parameters: Mapping[str, Any]
    quality: float
    """The quality with these parameters at the new size."""
    reached: bool
    """Whether the path reaches the target."""
    unscaled: float
    """The quality at the new size with the parameters of the reference table and ``scale="none"``."""
    scaled: float
    """The quality at the new size with the parameters of the reference table and ``scale="side"``."""


class Calibrated(NamedTuple):
    """The file of a calibrated table, and the severities in it."""

    table: Path
    levels: Mapping[str, Sequence[Level]]
    """The severities of each corruption."""

    def distances(self, corruption: str) -> dict[str, float]:
        """Return the mean absolute differences between the qualities of one corruption and their targets.

        The mapping contains the difference for this table, and for the reference table with each value of `scale`.
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
    """Write a severity table for another image size.

    The central squares of the same photographs are resized to the size of the reference table and to the new size. The
    target for a severity is the mean similarity of corrupted and clean images at the size of the reference table. A
    search along a path through the rows of the reference table then finds the severity that has the target similarity
    at the new size. The path starts at the clean image (severity 0). Beyond the last row, it continues along the line
    through the last two rows.

    Parameters
    ----------
    names : sequence of str
        The names of the corruptions.
    to : int
        The short side, in pixels, of images of the new size.
    reference : str, path or Calibration
        The table to match. Its `side` is the image size that it was made for.
    source : str or Source
        The source of the photographs, as for `corruptset.build`.
    metric : {"ms-ssim", "ssim"}
        The measure of image quality. MS-SSIM needs sides of at least 176 pixels.
    samples : int, optional
        The number of images to use, evenly spaced in the source. By default, all images are used.
    out : path, optional
        The table file to write (.toml). The default is ``<reference>-<to>.toml``.
    force : bool
        Overwrite the table file if it exists.
    jobs : int
        The number of processes. The table does not depend on this number.
    progress : callable, optional
        A function that is called with (phase, corruptions done, total number of corruptions).

    Returns
    -------
    Calibrated
        The path of the table, and its severities.

    Raises
    ------
    ParameterError, UnknownCorruption
        If the size does not suit the metric, or if the table lacks a corruption or its severity 0.
    SourceError
        If some images cannot be used.
    BuildError
        If `out` exists and `force` is false.
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
    """Raise a `ParameterError` if the corruptions cannot be calibrated for the new size."""
    if metric not in METRICS:
        raise ParameterError(f"The metric {metric!r} does not exist. Choose one of {', '.join(METRICS)}.")
    least = METRICS[metric][1]
    if not least <= to <= 8192 or table.side < least:
        advice = " Use the metric ssim for smaller images." * (metric == "ms-ssim")
        raise ParameterError(
            f"Cannot calibrate from {table.side} to {to} pixels, because {metric} needs sides of {least} to 8192 "
            f"pixels.{advice}"
        )
    if not names or len(set(names)) < len(names):
        raise ParameterError(f"The corruptions are {list(names)}. Name at least one corruption, and each only once.")
    for name in names:
        if get_corruption(name).needs_model:
            raise ParameterError(
                f"{name} uses the gradients of a model, so its severities do not depend on the size of images. Leave "
                "it out."
            )
        for severity in (0.5, *range(1, 6)):
            table.row(name, severity)


def _quality(
    images: list[Images], keys: NDArray[np.uint64], metric: Metric, side: int, stage: Stage, scale: Scale = "none"
) -> float:
    """Return the mean similarity between corrupted and clean images.

    The parameters of the stage are meant for images with the short side `side`. All stages with the same corruption
    use the same random draws.
    """
    (key,) = chain_keys([stage], 0, "severity")
    made = [
        apply_stage(image[None], stage, key, image_key, side=side, scale=scale)[0]
        for image, image_key in zip(images, keys[:, None], strict=True)
    ]
    return float(np.mean([*map(METRICS[metric][0], images, made)]))


def _levels(name: str, table: Calibration, old: Callable[..., float], new: Callable[..., float]) -> list[Level]:
    """Return the five calibrated severities of a corruption at the new size."""
    rows, declared, levels = table.of(name), get_corruption(name), []

    def stage(place: Fraction) -> Stage:
        parameters = row_between(declared, rows.rows[name], place, rows.name).parameters
        return Stage(name, declared.revision, 1, None, parameters)

    search = Search(lambda place: new(rows.side, stage(place)))
    for severity in range(1, 6):
        original = Fraction(severity)
        target = old(rows.side, stage(original))
        place, reached = search.find(target, severity)
        scaled = new(rows.side, stage(original), "side")
        levels.append(
            Level(severity, target, place, stage(place).parameters, search[place], reached, search[original], scaled)
        )
    return levels
