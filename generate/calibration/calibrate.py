"""`calibrate`: a table whose severities have, at another image size, the quality that a reference has at its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from ...corruptions.calibrations import Calibration, get_calibration, parse_table
from ...corruptions.fractional import row_between
from ...corruptions.registry import get_corruption
from ...errors import ParameterError
from ...manifests.disk.atomic import write_atomic
from ...manifests.records.digests import source_digest
from ...processes import loky_workers_starting, workers_at_most
from ...progress import shows_progress, told
from ..pixels.picture_file import check_output
from ..plan.job import CheckedSample
from ..sources.check import check
from ..sources.selection import select
from ..sources.source import Source, open_source
from .path_search import Search
from .photographs import LEAST, METRICS, Metric, Photographs


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
    report: Path
    name: str
    metric: Metric
    levels: Mapping[str, Sequence[Level]]
    """Corruption -> its severities."""
    curves: Mapping[str, Mapping[Fraction, float]]
    """Corruption -> place on the path -> quality at the new size, of all places that were measured."""


@shows_progress("calibrate")
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
    progress: Callable[[str, int, int], None] | bool | None = None,
) -> Calibrated:
    """Write a table file for another image size.

    The same photographs, the middle square of each, are resized to the reference's size and to the new one. A severity's target is the mean
    similarity of corrupted and clean images under the reference's row at the reference's size. At the new size it is searched on the path
    through the reference's rows, from the clean image (severity 0) on, the line through the last two rows above the last.

    Parameters
    ----------
    names : sequence of str
        Corruptions.
    to : int
        The new size: the short side in pixels.
    reference : str, path or Calibration
        The table, made for its own size.
    source : str or Source
        Where the photographs come from; as of `build`.
    metric : {"ms-ssim", "ssim"}
        MS-SSIM needs sides of 176 pixels.
    samples : int, optional
        So many of the source's images, spread evenly.
    out : path, optional
        The table file (.toml), by default ``<reference>-<to>.toml``; the report goes beside it (.html).
    force : bool
        Overwrite them.
    jobs : int
        Processes; the table does not depend on it.
    progress : callable or bool, optional
        Called with the step, corruptions done and the total. By default a bar is shown in a terminal and in a notebook; False shows none.

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
    name = f"{table.name}-{to}"
    path = Path(f"{name}.toml") if out is None else Path(out)
    report = path.with_suffix(".html")
    check_output(path, force=force, formats=(".toml",))
    check_output(report, force=force, formats=(".html",))
    opened = open_source(source) if isinstance(source, str) else source
    checked = check(opened, select(opened.samples, samples=samples))
    checked.raise_for_bad()
    chosen = [CheckedSample(*entry) for entry in checked.good]
    old, new = (Photographs(opened, chosen, side, metric) for side in (table.side, to))
    tell = told(progress)
    found = {}
    for one, levels, curve in _each(names, table, old, new, workers_at_most(min(jobs, len(names)))):
        found[one] = levels, curve
        tell("corruptions", len(found), len(names))
    digest = source_digest((c.sample.id, c.sample.label, c.sha256) for c in chosen)
    where = f"mean {metric} over {len(chosen)} images of {digest}"
    result = Calibrated(path, report, name, metric, {n: found[n][0] for n in names}, {n: found[n][1] for n in names})
    text = table_text(result, table, to, where)
    parse_table(text, str(path))
    from .calibration_page import report_page

    write_atomic(path, text.encode())
    write_atomic(report, report_page(result, table, to, where))
    return result


def _check(names: Sequence[str], table: Calibration, to: int, metric: Metric) -> None:
    """Raise `ParameterError` for what cannot be calibrated."""
    if metric not in METRICS:
        raise ParameterError(f"metric is {metric!r}; expected one of {', '.join(METRICS)}.")
    least = LEAST[metric]
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


def _each(names: Sequence[str], table: Calibration, old: Photographs, new: Photographs, jobs: int) -> Any:
    """Yield what was found of each corruption, in their order."""
    if jobs == 1:
        return (_levels(name, table, old, new) for name in names)
    from joblib import Parallel, delayed

    with loky_workers_starting():
        return Parallel(n_jobs=jobs, backend="loky", return_as="generator")(delayed(_levels)(name, table, old, new) for name in names)


def _levels(name: str, table: Calibration, old: Photographs, new: Photographs) -> tuple[str, list[Level], dict[Fraction, float]]:
    """Return the levels of a corruption, and every place of its path that was measured."""
    declared, of = get_corruption(name), table.of(name)
    rows = of.rows[name]

    def parameters(place: Fraction) -> Mapping[str, Any]:
        if place.denominator == 1 and int(place) in rows:
            return rows[int(place)].parameters
        return row_between(declared, rows, place, of.name).parameters

    search = Search(lambda place: new.quality(name, parameters(place), side=of.side))
    levels = []
    for severity in range(1, 6):
        own = rows[severity].parameters
        target = old.quality(name, own, side=of.side)
        place, reached = search.find(target, severity)
        unscaled, scaled = search.at(Fraction(severity)), new.quality(name, own, scale="side", side=of.side)
        levels.append(Level(severity, target, place, parameters(place), search.at(place), reached, unscaled, scaled))
    return name, levels, dict(sorted(search.measured.items()))


def table_text(result: Calibrated, table: Calibration, to: int, where: str) -> str:
    """Return the table file: rows with a source each, which says what was reached."""
    lines = [f"name = {json.dumps(result.name)}", f"side = {to}", "", "[sources]"]
    for name, levels in result.levels.items():
        for level in levels:
            note = f"{where}: {level.quality:.4f}, where {table.name} at {table.side} pixels has {level.target:.4f}"
            short = "" if level.reached else "; the path does not reach it"
            source = f"corruptset calibrate: place {float(level.place):g} on the path through the rows of {table.name}; {note}{short}"
            lines.append(f"{name}_{level.severity} = {json.dumps(source)}")
    for name, levels in result.levels.items():
        for level in levels:
            values = [f"{key} = {json.dumps(value)}" for key, value in level.parameters.items()]
            lines += ["", f"[[{name}]]", f"severity = {level.severity}", *values, f'source = "{name}_{level.severity}"']
    return "\n".join(lines) + "\n"
