"""Calibrations: which parameters a severity means, read from TOML tables."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..errors import ParameterError, RecipeError, suggest
from ..files import read_text, reason
from .ladders import DEFAULT_LADDER, ladder
from .registry import corruption_names, get_corruption
from .rows import Row

SHIPPED = ("imagenet", "inception", "tiny", "cifar", "mnist")
SEVERITIES = (1, 2, 3, 4, 5)


@dataclass(frozen=True)
class Calibration:
    """The tables tuned for one image size."""

    name: str
    side: int
    """The short side, in pixels, that the tables were made for."""
    rows: Mapping[str, Mapping[int, Row]]
    """corruption -> severity -> row"""
    otherwise: Calibration | None = None
    """Where the rows of a corruption stand that has none here."""
    ladder: str = DEFAULT_LADDER
    """Where the parameters of gradual degradations stand: they do not depend on the image's size."""

    def of(self, corruption: str) -> Calibration:
        """Return the calibration whose rows a corruption gets: this one, or the one to fall back to."""
        return self if self.otherwise is None or corruption in self.rows else self.otherwise

    def rung(self, corruption: str, level: Any) -> Row:
        """Return the parameters of a gradual degradation at one of its levels, or raise `ParameterError`."""
        gradual = get_corruption(corruption).gradual
        if gradual is None:
            raise ParameterError(f"{corruption} has no levels; it has severities 1 to 5.")
        if isinstance(level, bool) or not hasattr(level, "__index__") or not 1 <= int(level) <= gradual.most:
            raise ParameterError(
                f"{corruption}: level is {level!r}; expected a whole number from 1 to {gradual.most}. "
                "Level 0 is the clean image: leave the stage out."
            )
        return ladder(self.ladder)[corruption]

    def row(self, corruption: str, severity: Any) -> Row:
        """Return the row of a severity, or raise `ParameterError`."""
        declared = get_corruption(corruption)
        if declared.gradual is not None:
            raise ParameterError(f"{corruption} has levels, 1 to {declared.gradual.most}, and no severities.")
        found = self.of(corruption)
        if corruption not in found.rows:
            if not declared.tabled:
                columns = ", ".join(p.name for p in declared.columns)
                raise ParameterError(f"{corruption} has no published severities; give its parameters instead: {columns}.")
            known = [name for name in SHIPPED if name != self.name and corruption in shipped(name).rows]
            others = f" (it has some in {', '.join(known)})" if known else ""
            raise ParameterError(
                f"{corruption} has no rows in calibration {self.name!r}; give its parameters, or another calibration{others}."
            )
        rows = found.rows[corruption]
        if isinstance(severity, bool) or not hasattr(severity, "__index__") or int(severity) not in rows:
            raise ParameterError(
                f"{corruption}: severity is {severity!r}; expected a whole number from {min(rows)} to {max(rows)}. "
                "Severity 0 is the clean image: leave the stage out."
            )
        return rows[int(severity)]


@functools.cache
def shipped(name: str) -> Calibration:
    """Return one of the calibrations that come with the package."""
    if name not in SHIPPED:
        raise ParameterError(
            f"There is no calibration {name!r}.{suggest(name, SHIPPED)} Known: {', '.join(SHIPPED)}, or the path of a table file (.toml)."
        )
    text = (files(__package__) / "tables" / f"{name}.toml").read_text(encoding="utf-8")
    return parse_table(text, f"the shipped table {name}.toml")


def get_calibration(calibration: str | Path | Calibration) -> Calibration:
    """Return a calibration by name, or from a user's own table file (a path ending in ``.toml``)."""
    if isinstance(calibration, Calibration):
        return calibration
    if isinstance(calibration, Path) or str(calibration).endswith(".toml"):
        path = Path(calibration)
        try:
            text = read_text(path)
        except OSError as e:
            raise RecipeError(f"The table file {path} cannot be read: {reason(e)}.") from None
        return parse_table(text, str(path))
    return shipped(calibration)


def for_shape(height: int, width: int, channels: int = 3) -> str:
    """Return the name of the calibration that fits an image's short side.

    Examples
    --------
    >>> for_shape(224, 300), for_shape(64, 64), for_shape(32, 32), for_shape(28, 28, 1), for_shape(28, 28, 3)
    ('imagenet', 'tiny', 'cifar', 'mnist', 'cifar')
    """
    side = min(height, width)
    if side <= 28 and channels == 1:
        return "mnist"
    return "cifar" if side <= 48 else "tiny" if side <= 96 else "imagenet"


@functools.cache
def fitting(name: str) -> Calibration:
    """Return a shipped calibration as it is used where none is named: with ``cifar``'s rows where ``mnist`` has none."""
    found = shipped(name)
    return replace(found, otherwise=shipped("cifar")) if name == "mnist" else found


def parse_table(text: str, where: str) -> Calibration:
    """Read a table: ``name``, ``side``, ``[sources]``, and ``[[corruption]]`` rows with a severity, a source and every column.

    Raises
    ------
    RecipeError
        With every mistake at once: the row, the key, what was expected.
    """
    try:
        data = tomllib.loads(text)
    except RecursionError:
        raise RecipeError(f"{where} is not TOML that a table needs: it is nested too deeply.") from None
    except ValueError as e:  # TOMLDecodeError, and what Python says of a number of thousands of digits
        raise RecipeError(f"{where} is not TOML: {e}.") from None
    problems: list[str] = []
    name, side, sources = data.pop("name", None), data.pop("side", None), data.pop("sources", {})
    if not isinstance(name, str) or not name:
        problems.append(f"name is {name!r}; expected the calibration's name")
    if isinstance(side, bool) or not isinstance(side, int) or not 8 <= side <= 65536:
        problems.append(f"side is {side!r}; expected the short side in pixels (8 to 65536) that the table is made for")
    if not isinstance(sources, dict) or not all(isinstance(v, str) for v in sources.values()):
        problems.append("[sources] should map short names to citations")
        sources = {}
    rows: dict[str, dict[int, Row]] = {}
    for corruption, entries in data.items():
        if corruption not in corruption_names():
            problems.append(f"[[{corruption}]]: there is no such corruption.{suggest(corruption, corruption_names())}")
            continue
        if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
            problems.append(f"{corruption}: expected rows, each a table [[{corruption}]]")
            continue
        rows[corruption] = {}
        for number, entry in enumerate(entries, 1):
            _read_row(corruption, number, dict(entry), sources, rows[corruption], problems)
    if problems:
        raise RecipeError(f"{where} has {len(problems)} mistake{'s' * (len(problems) > 1)}:\n" + "\n".join(f"  {p}" for p in problems))
    assert isinstance(name, str)
    assert isinstance(side, int)
    return Calibration(name, side, rows)


def _read_row(
    corruption: str, number: int, entry: dict[str, Any], sources: Mapping[str, str], rows: dict[int, Row], problems: list[str]
) -> None:
    where = f"[[{corruption}]] row {number}"
    severity, source = entry.pop("severity", None), entry.pop("source", None)
    if isinstance(severity, bool) or not isinstance(severity, int) or severity not in SEVERITIES:
        problems.append(f"{where}: severity is {severity!r}; expected 1, 2, 3, 4 or 5")
        return
    if severity in rows:
        problems.append(f"{where}: severity {severity} is given twice")
    if not isinstance(source, str) or source not in sources:
        problems.append(f"{where}: source is {source!r}; expected one of the names in [sources]: {', '.join(sources) or '(none)'}")
    known = {p.name: p for p in get_corruption(corruption).parameters}
    for key in entry:
        if key not in known:
            problems.append(f"{where}: unknown parameter {key!r}.{suggest(key, known)} Expected: {', '.join(known)}")
    values = {}
    for parameter in known.values():
        if parameter.name not in entry:
            if not parameter.option:
                problems.append(f"{where}: {parameter.name!r} is missing")
            continue
        try:
            value = parameter.checked(entry[parameter.name], corruption)
            # As in a stage: an option at its default says nothing.
            if not (parameter.option and value == parameter.default):
                values[parameter.name] = value
        except ParameterError as e:
            problems.append(f"{where}: {e}")
    rows[severity] = Row(values, sources.get(source, "") if isinstance(source, str) else "")
