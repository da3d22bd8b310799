"""Tables of parameters: calibrations for severities, and ladders for the levels of gradual degradations."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..errors import ParameterError, RecipeError, first_few, problems_message, quote, suggest
from ..files import parse_toml, read_text, reason
from .add_ons import install_hint, installed_files
from .registry import PLUGIN, Corruption, corruption_names, family_of, get_corruption, is_corruption
from .rows import Row, row_between, severity_number

SHIPPED = ("imagenet", "inception", "tiny", "cifar", "mnist")
SEVERITIES = (1, 2, 3, 4, 5)
LADDERS = ("evaluated", "text")
"""The ladders. ``evaluated`` has the parameters that Swingler 2022 used for the published results, and ``text`` has the
parameters in the text of the paper. For the published results, the tables in the paper and the released notebook have
the same parameters.
"""
DEFAULT_LADDER = "evaluated"
Rows = Mapping[int, Row]
"""The parameters of a corruption at each severity."""


@dataclass(frozen=True)
class Calibration:
    """A table with the parameters of corruptions at each severity, tuned for one image size."""

    name: str
    side: int
    """The short side, in pixels, of the images for which the parameters were tuned."""
    rows: Mapping[str, Rows]
    """The rows of each corruption."""
    fallback: Calibration | None = None
    """The calibration to use for corruptions that have no rows here."""
    ladder: str = DEFAULT_LADDER
    """The name of the ladder with the parameters of gradual degradations. Ladders do not depend on the image size."""

    def of(self, corruption: str) -> Calibration:
        """Return this calibration, or `fallback` if this calibration has no rows for the corruption."""
        return self if self.fallback is None or corruption in self.rows else self.fallback

    def level_row(self, corruption: str, level: Any) -> Row:
        """Return the parameters of a gradual degradation at one of its levels, or raise `ParameterError`."""
        gradual = get_corruption(corruption).gradual
        if gradual is None:
            raise ParameterError(f"{corruption} has no levels; it has severities 1 to 5.")
        if isinstance(level, bool) or not hasattr(level, "__index__") or not 1 <= int(level) <= gradual.most:
            raise ParameterError(
                f"{corruption}: level is {quote(level)}; expected a whole number from 1 to {gradual.most}. "
                "Level 0 is the clean image, so leave the stage out."
            )
        # The ladders do not contain plugins. The caller gives the parameters of a plugin.
        return ladder(self.ladder).get(corruption, Row({}, ""))

    def row(self, corruption: str, severity: Any) -> Row:
        """Return the parameters of a corruption at a severity, or raise `ParameterError`.

        For a fractional severity, the parameters are interpolated.
        """
        declared = get_corruption(corruption)
        if declared.gradual is not None:
            raise ParameterError(f"{corruption} has levels from 1 to {declared.gradual.most} instead of severities.")
        table = self.of(corruption)
        if corruption not in table.rows:
            known = calibrations_of(corruption)
            columns = ", ".join(p.name for p in declared.columns)
            if known:
                raise ParameterError(
                    f"{corruption} has no rows in calibration {quote(self.name)}. Pass its parameters, or choose a "
                    f"calibration that has rows for it: {', '.join(known)}."
                )
            instead = f"Pass its parameters instead: {columns}"
            if declared.family != PLUGIN:
                raise ParameterError(f"{corruption} has no published severities. {instead}.")
            file = (
                f"{declared.tables}/{self.name}.toml" if isinstance(self.rows, ShippedTable) else "the recipe's table"
            )
            raise ParameterError(f"{corruption} has no severity table. {instead}, or add rows for it to {file}.")
        rows, number = table.rows[corruption], severity_number(severity)
        if number is None or not 0 < number <= max(rows) or (isinstance(number, int) and number not in rows):
            given = f"{severity:g}" if isinstance(severity, float) else quote(severity)
            if number == 0:
                raise ParameterError(
                    f"{corruption}: severity is {given}; expected a number above 0. Severity 0 is the clean image, so "
                    "leave the stage out."
                )
            if len(rows) == 1:
                expected = f"0 or {max(rows)}, its only severity in calibration {self.name!r}"
            elif len(rows) == max(rows):
                expected = f"a number from 0 to {max(rows)} with at most two decimals, such as 2.25"
            else:
                expected = f"0 or one of {', '.join(map(str, sorted(rows)))}, or a number between two of them"
            raise ParameterError(
                f"{corruption}: severity is {given}; expected {expected}. Severity 0 is the clean image."
            )
        return rows[number] if isinstance(number, int) else row_between(declared, rows, number, table.name)


class ShippedTable(Mapping[str, Rows]):
    """A mapping from each corruption to its rows in a shipped calibration.

    Rows are parsed on first access, so that the modules of other corruptions are not imported. Rows are not validated
    here, because a test validates them. Plugins can have rows for the same calibration in their own files.
    """

    def __init__(self, calibration: str) -> None:
        self._calibration = calibration
        self._entries = parse_toml(_shipped_text(calibration), f"The shipped table {calibration}.toml")
        self._entries.pop("name")
        self.side, self._sources = self._entries.pop("side"), self._entries.pop("sources")
        self._rows: dict[str, Rows] = {}

    def __getitem__(self, corruption: str) -> Rows:
        if corruption not in self._entries:
            return _plugin_table(corruption, self._calibration)[corruption]
        if corruption not in self._rows:
            entries = self._entries[corruption]
            self._rows[corruption] = {entry["severity"]: _row(corruption, entry, self._sources) for entry in entries}
        return self._rows[corruption]

    def __contains__(self, corruption: object) -> bool:
        return corruption in self._entries or corruption in _plugin_table(corruption, self._calibration)

    def __iter__(self) -> Iterator[str]:
        yield from self._entries
        yield from (name for name in corruption_names() if name not in self._entries and name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _row(corruption: str, entry: Mapping[str, Any], sources: Mapping[str, str]) -> Row:
    """Return an entry of a shipped table as a row."""
    declared = get_corruption(corruption)
    values = {p.name: p.kind(entry[p.name]) for p in declared.parameters if p.name in entry}
    return Row(declared.without_defaults(values), sources[entry["source"]])


def _checked_rows(corruption: str, entries: Any, sources: Mapping[str, str]) -> tuple[Rows, list[str]]:
    """Return the valid rows for one corruption in a user's table, and all problems."""
    rows, problems = dict[int, Row](), list[str]()
    if not is_corruption(corruption):
        return rows, [f"[[{corruption}]]: there is no such corruption.{suggest(corruption, corruption_names())}"]
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        return rows, [f"[[{corruption}]]: expected rows, each a table [[{corruption}]]"]
    if not entries:
        return rows, [f"[[{corruption}]]: has no rows; expected at least one, with a severity and a source"]
    for number, entry in enumerate(entries, 1):
        severity = entry.get("severity")
        row, wrong = _checked_row(corruption, entry, sources)
        if type(severity) is not int or severity not in SEVERITIES:
            wrong = [f"severity is {quote(severity)}; expected 1, 2, 3, 4 or 5"]
        elif severity in rows:
            wrong.append(f"severity {severity} is given twice")
        else:
            rows[severity] = row
        problems += [f"[[{corruption}]] row {number}: {problem}" for problem in wrong]
    return rows, problems


def _checked_row(corruption: str, entry: Mapping[str, Any], sources: Mapping[str, str]) -> tuple[Row, list[str]]:
    """Return one entry of a user's table as a row, and all problems with it."""
    declared = get_corruption(corruption)
    known = {p.name: p for p in declared.parameters}
    source, problems, values = entry.get("source"), list[str](), {}
    if not isinstance(source, str) or source not in sources:
        names = first_few(list(sources)) or "(none)"
        near = suggest(source, sources) if isinstance(source, str) else ""
        problems.append(f"source is {quote(source)}; expected one of the names in [sources]: {names}.{near}")
    for key in sorted(entry.keys() - known.keys() - {"severity", "source"}):
        problems.append(f"unknown parameter {quote(key)}.{suggest(key, known)} Expected: {', '.join(known)}")
    for name, parameter in known.items():
        if name in entry:
            try:
                values[name] = parameter.checked(entry[name], corruption)
            except ParameterError as e:
                problems.append(str(e))
        elif not parameter.option:
            problems.append(f"{name!r} is missing")
    return Row(declared.without_defaults(values), sources.get(str(source), "")), problems


def _plugin_table(corruption: Any, calibration: str | None) -> Mapping[str, Rows]:
    """Return the table that a plugin provides for its corruption, or an empty table for other corruptions."""
    if calibration is None or family_of(corruption) != PLUGIN:
        return {}
    return _table_of(get_corruption(corruption), calibration)


@functools.cache
def _table_of(declared: Corruption, calibration: str) -> Mapping[str, Rows]:
    file = getattr(sys.modules[declared.module], "__file__", None)  # A notebook has no file.
    path = Path(file or "").parent / declared.tables / f"{calibration}.toml"
    return parse_table(read_text(path), str(path)).rows if file and path.is_file() else {}


def parse_table(text: str, where: str) -> Calibration:
    """Parse a table with ``name``, ``side``, ``[sources]``, and an entry ``[[corruption]]`` for each severity.

    Each entry has a severity, a source and all columns of its corruption.

    Raises
    ------
    RecipeError
        If the table contains errors. The message lists all of them.
    """
    entries, problems, rows = parse_toml(text, where), list[str](), dict[str, Rows]()
    name, side, sources = (
        entries.pop(key, default) for key, default in (("name", None), ("side", None), ("sources", {}))
    )
    if not isinstance(name, str) or not name:
        problems.append(f"name is {quote(name)}; expected the calibration's name")
    if type(side) is not int or not 8 <= side <= 65536:
        problems.append(
            f"side is {quote(side)}; expected the short side in pixels (8 to 65536) that the table is made for"
        )
    if not isinstance(sources, dict) or not all(isinstance(text, str) for text in sources.values()):
        problems.append("[sources] should map short names to citations")
        sources = {}
    for corruption, given in entries.items():
        rows[corruption], wrong = _checked_rows(corruption, given, sources)
        problems += wrong
    if problems:
        raise RecipeError(problems_message(where, problems))
    return Calibration(name, side, rows)


def calibration_names() -> list[str]:
    """Return the names of all calibrations of this package and of installed add-ons."""
    return list(dict.fromkeys((*SHIPPED, *installed_files("tables"))))


@functools.cache
def shipped(name: str) -> Calibration:
    """Return a calibration of this package or of an installed add-on."""
    if name in SHIPPED:
        table = ShippedTable(name)
        return Calibration(name, table.side, table)
    known = calibration_names()
    if name not in known:
        hint = f"{suggest(name, known)} Known: {', '.join(known)}, or the path of a table file (.toml)."
        raise ParameterError(f"There is no calibration {quote(name)}.{install_hint(name) or hint}")
    file = installed_files("tables")[name]
    return parse_table(file.read_text(encoding="utf-8"), f"The installed table {file}")


def _shipped_text(name: str) -> str:
    return (files(__package__) / "tables" / f"{name}.toml").read_text(encoding="utf-8")


def calibrations_of(corruption: str) -> list[str]:
    """Return the names of the shipped calibrations that contain a corruption.

    The list is empty if no severities were published.
    """
    return [name for name in SHIPPED if corruption in shipped(name).rows]


def get_calibration(calibration: str | Path | Calibration) -> Calibration:
    """Return a calibration by its name or the path of a table file (``.toml``)."""
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
    """Return the name of the calibration for the short side of an image.

    Examples
    --------
    >>> for_shape(224, 300), for_shape(64, 64), for_shape(32, 32), for_shape(28, 28, 1), for_shape(28, 28, 3)
    ('imagenet', 'tiny', 'cifar', 'mnist', 'cifar')
    """
    side = min(height, width)
    if side <= 28 and channels == 1:
        return "mnist"
    return "cifar" if side <= 48 else "tiny" if side <= 96 else "imagenet"


def with_fallback(name: str) -> Calibration:
    """Return a shipped calibration. For ``mnist``, corruptions without rows fall back to ``cifar``."""
    return replace(shipped(name), fallback=shipped("cifar") if name == "mnist" else None)


def check_ladder(name: object) -> str:
    """Return the name of a ladder, or raise `ParameterError` if there is no ladder of this name."""
    if name not in LADDERS:
        raise ParameterError(f"There is no ladder {name!r}.{suggest(str(name), LADDERS)} Known: {', '.join(LADDERS)}.")
    return str(name)


@functools.cache
def ladder(name: str) -> Mapping[str, Row]:
    """Return the parameters of every gradual degradation, from a shipped ladder."""
    file = f"ladder_{check_ladder(name)}"
    table = parse_toml(_shipped_text(file), f"The shipped table {file}.toml")
    sources = table.pop("sources")
    return {corruption: _row(corruption, entry, sources) for corruption, entry in table.items()}
