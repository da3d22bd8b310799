"""Calibrations and ladders: which parameters a severity means, and a level.

They are TOML files, shipped or a user's own.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..errors import ParameterError, RecipeError, first_few, mistakes, quoted, suggest
from ..files import parse_toml, read_text, reason
from .add_ons import installed_files, where_to_get
from .registry import PLUGIN, corruption_names, family_of, get_corruption, is_corruption
from .rows import Row, row_between, severity_number

SHIPPED = ("imagenet", "inception", "tiny", "cifar", "mnist")
SEVERITIES = (1, 2, 3, 4, 5)
LADDERS = ("evaluated", "text")
"""What the results of Swingler 2022 were made with (the paper's tables and its notebook agree), and what its text says.
"""
DEFAULT_LADDER = "evaluated"
Rows = Mapping[int, Row]
"""Severity -> row."""


@dataclass(frozen=True)
class Calibration:
    """The tables tuned for one image size."""

    name: str
    side: int
    """The short side, in pixels, that the tables were made for."""
    rows: Mapping[str, Rows]
    """By corruption."""
    otherwise: Calibration | None = None
    """Where the rows of a corruption stand that has none here."""
    ladder: str = DEFAULT_LADDER
    """Where the parameters of gradual degradations stand: they do not depend on the image's size."""

    def of(self, corruption: str) -> Calibration:
        """Return the calibration whose rows a corruption gets.

        It is this one, or the one to fall back to.
        """
        return self if self.otherwise is None or corruption in self.rows else self.otherwise

    def rung(self, corruption: str, level: Any) -> Row:
        """Return the parameters of a gradual degradation at one of its levels, or raise `ParameterError`."""
        gradual = get_corruption(corruption).gradual
        if gradual is None:
            raise ParameterError(f"{corruption} has no levels; it has severities 1 to 5.")
        if isinstance(level, bool) or not hasattr(level, "__index__") or not 1 <= int(level) <= gradual.most:
            raise ParameterError(
                f"{corruption}: level is {quoted(level)}; expected a whole number from 1 to {gradual.most}. "
                "Level 0 is the clean image: leave the stage out."
            )
        # a plugin's has its parameters given, or has none
        return ladder(self.ladder).get(corruption, Row({}, ""))

    def row(self, corruption: str, severity: Any) -> Row:
        """Return the row of a severity, interpolated where it is not whole, or raise `ParameterError`."""
        declared = get_corruption(corruption)
        if declared.gradual is not None:
            raise ParameterError(f"{corruption} has levels, 1 to {declared.gradual.most}, and no severities.")
        table = self.of(corruption)
        if corruption not in table.rows:
            known = calibrations_of(corruption)
            columns = ", ".join(p.name for p in declared.columns)
            raise ParameterError(
                f"{corruption} has no rows in calibration {quoted(self.name)}; give its parameters, or another "
                f"calibration (it has some in {', '.join(known)})."
                if known
                else f"{corruption} has no published severities; give its parameters instead: {columns}."
            )
        rows, number = table.rows[corruption], severity_number(severity)
        if number is None or not 0 < number <= max(rows) or (isinstance(number, int) and number not in rows):
            span = f"a whole number from {min(rows)} to {max(rows)}, or one between with at most two decimals, such as"
            expected = f"{span} 2.25" if len(rows) > 1 else f"{max(rows)}, its only one"
            raise ParameterError(
                f"{corruption}: severity is {quoted(severity)}; expected {expected}. Severity 0 is the clean image: "
                "leave the stage out."
            )
        return rows[number] if isinstance(number, int) else row_between(declared, rows, number, table.name)


class CalibrationFile(Mapping[str, Rows]):
    """A file of rows, by corruption.

    Those of a corruption are checked when it is asked for. So a mistake in them breaks no other corruption, and only
    those that are used are imported. Plugins may bring rows for the calibration `beside`, in files of their own.
    """

    def __init__(self, text: str, where: str, beside: str | None = None) -> None:
        self._where, self._beside = where, beside
        self.entries = parse_toml(text, where)
        self.name, self.side = self.entries.pop("name", None), self.entries.pop("side", None)
        self.sources = self.entries.pop("sources", {})
        self._checked: dict[str, Rows] = {}

    def __getitem__(self, corruption: str) -> Rows:
        if corruption not in self._checked:
            if corruption not in self.entries:
                return _plugin_table(corruption, self._beside)[corruption]
            rows, problems = self.read(corruption)
            if problems:
                raise RecipeError(mistakes(self._where, problems))
            self._checked[corruption] = rows
        return self._checked[corruption]

    def __contains__(self, corruption: object) -> bool:
        return corruption in self.entries or corruption in _plugin_table(corruption, self._beside)

    def __iter__(self) -> Iterator[str]:
        yield from self.entries
        yield from (name for name in corruption_names() if name not in self.entries and name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def read(self, corruption: str) -> tuple[Rows, list[str]]:
        """Return the rows of a corruption that can be read, and every problem with them."""
        entries, rows, problems = self.entries[corruption], dict[int, Row](), list[str]()
        if not is_corruption(corruption):
            return rows, [f"[[{corruption}]]: there is no such corruption.{suggest(corruption, corruption_names())}"]
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            return rows, [f"[[{corruption}]]: expected rows, each a table [[{corruption}]]"]
        if not entries:
            return rows, [f"[[{corruption}]]: has no rows; expected at least one, with a severity and a source"]
        for number, entry in enumerate(entries, 1):
            severity = entry.get("severity")
            row, wrong = _read_row(corruption, entry, self.sources)
            if type(severity) is not int or severity not in SEVERITIES:
                wrong = [f"severity is {quoted(severity)}; expected 1, 2, 3, 4 or 5"]
            elif severity in rows:
                wrong.append(f"severity {severity} is given twice")
            else:
                rows[severity] = row
            problems += [f"[[{corruption}]] row {number}: {problem}" for problem in wrong]
        return rows, problems


def _read_row(corruption: str, entry: Mapping[str, Any], sources: Mapping[str, str]) -> tuple[Row, list[str]]:
    """Return an entry of a table as a row, and every problem with it."""
    declared = get_corruption(corruption)
    known = {p.name: p for p in declared.parameters}
    source, problems, values = entry.get("source"), list[str](), {}
    if not isinstance(source, str) or source not in sources:
        names = first_few(list(sources)) or "(none)"
        near = suggest(source, sources) if isinstance(source, str) else ""
        problems.append(f"source is {quoted(source)}; expected one of the names in [sources]: {names}.{near}")
    for key in sorted(entry.keys() - known.keys() - {"severity", "source"}):
        problems.append(f"unknown parameter {quoted(key)}.{suggest(key, known)} Expected: {', '.join(known)}")
    for name, parameter in known.items():
        if name in entry:
            try:
                values[name] = parameter.checked(entry[name], corruption)
            except ParameterError as e:
                problems.append(str(e))
        elif not parameter.option:
            problems.append(f"{name!r} is missing")
    return Row(declared.without_defaults(values), sources.get(str(source), "")), problems


@functools.cache
def _plugin_table(corruption: Any, calibration: str | None) -> Mapping[str, Rows]:
    """Return the table that a plugin has for one of its corruptions.

    None for corruptset's own.
    """
    if calibration is None or family_of(corruption) != PLUGIN:
        return {}
    declared = get_corruption(corruption)
    path = Path(str(sys.modules[declared.module].__file__)).parent / declared.tables / f"{calibration}.toml"
    return CalibrationFile(read_text(path), str(path)) if path.is_file() else {}


def parse_table(text: str, where: str) -> Calibration:
    """Read a table: ``name``, ``side``, ``[sources]``, and ``[[corruption]]`` rows.

    A row has a severity, a source and every column.

    Raises
    ------
    RecipeError
        With every mistake at once: the row, the key, what was expected.
    """
    table = CalibrationFile(text, where)
    name, side, problems = table.name, table.side, list[str]()
    if not isinstance(name, str) or not name:
        problems.append(f"name is {quoted(name)}; expected the calibration's name")
    if type(side) is not int or not 8 <= side <= 65536:
        problems.append(
            f"side is {quoted(side)}; expected the short side in pixels (8 to 65536) that the table is made for"
        )
    if not isinstance(table.sources, dict) or not all(isinstance(text, str) for text in table.sources.values()):
        problems.append("[sources] should map short names to citations")
        table.sources = {}
    problems += [problem for corruption in table.entries for problem in table.read(corruption)[1]]
    if problems:
        raise RecipeError(mistakes(where, problems))
    return Calibration(name, side, table)


def calibration_names() -> list[str]:
    """Return the names of the calibrations of this package, and of those installed beside it."""
    return list(dict.fromkeys((*SHIPPED, *installed_files("tables"))))


@functools.cache
def shipped(name: str) -> Calibration:
    """Return a calibration that comes with the package, or with one installed beside it."""
    if name in SHIPPED:
        table = CalibrationFile(_shipped_text(name), f"The shipped table {name}.toml", beside=name)
        return Calibration(name, table.side, table)
    known = calibration_names()
    if name not in known:
        hint = f"{suggest(name, known)} Known: {', '.join(known)}, or the path of a table file (.toml)."
        raise ParameterError(f"There is no calibration {quoted(name)}.{where_to_get(name) or hint}")
    file = installed_files("tables")[name]
    return parse_table(file.read_text(encoding="utf-8"), f"The installed table {file}")


def _shipped_text(name: str) -> str:
    return (files(__package__) / "tables" / f"{name}.toml").read_text(encoding="utf-8")


def calibrations_of(corruption: str) -> list[str]:
    """Return the shipped calibrations that have rows of a corruption.

    None where no severities were published.
    """
    return [name for name in SHIPPED if corruption in shipped(name).rows]


def get_calibration(calibration: str | Path | Calibration) -> Calibration:
    """Return a calibration by name, or from a user's own table file (``.toml``)."""
    if isinstance(calibration, Calibration):
        return calibration
    path = Path(calibration)
    if isinstance(calibration, str) and path.suffix != ".toml":
        return shipped(calibration)
    try:
        return parse_table(read_text(path), str(path))
    except OSError as e:
        raise RecipeError(f"The table file {path} cannot be read: {reason(e)}.") from None


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


def fitting(name: str) -> Calibration:
    """Return a shipped calibration where none is named: with ``cifar``'s rows where ``mnist`` has none."""
    return replace(shipped(name), otherwise=shipped("cifar") if name == "mnist" else None)


def check_ladder(name: object) -> str:
    """Return the name of a ladder, or raise `ParameterError`."""
    if name not in LADDERS:
        raise ParameterError(f"There is no ladder {name!r}.{suggest(str(name), LADDERS)} Known: {', '.join(LADDERS)}.")
    return str(name)


@functools.cache
def ladder(name: str) -> Mapping[str, Row]:
    """Return the parameters of every gradual degradation, from a shipped ladder."""
    where = f"The shipped table ladder_{name}.toml"
    table = parse_toml(_shipped_text(f"ladder_{check_ladder(name)}"), where)
    sources = table.pop("sources")
    read = {corruption: _read_row(corruption, entry, sources) for corruption, entry in table.items()}
    if problems := [f"[{corruption}]: {problem}" for corruption, (_, wrong) in read.items() for problem in wrong]:
        raise RecipeError(mistakes(where, problems))
    return {corruption: row for corruption, (row, _) in read.items()}
