"""Calibrations and ladders: which parameters a severity means, and a level; read from the TOML files of tables/ or a
user's own.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from ..errors import ParameterError, RecipeError, mistakes, suggest
from ..files import parse_toml, read_text, reason
from .add_ons import installed_files, where_to_get
from .registry import PLUGIN, corruption_names, family_of, get_corruption, is_corruption
from .rows import Row, row_between, severity_number

T = TypeVar("T")

SHIPPED = ("imagenet", "inception", "tiny", "cifar", "mnist")
SEVERITIES = (1, 2, 3, 4, 5)
LADDERS = ("evaluated", "text")
"""What the results of Swingler 2022 were made with (the paper's tables and its notebook agree), and what its text says.
"""
DEFAULT_LADDER = "evaluated"


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
        # a plugin's has its parameters given, or has none
        return (
            ladder(self.ladder).get(corruption, Row({}, ""))
            if family_of(corruption) == PLUGIN
            else ladder(self.ladder)[corruption]
        )

    def row(self, corruption: str, severity: Any) -> Row:
        """Return the row of a severity, interpolated where it is not whole, or raise `ParameterError`."""
        declared = get_corruption(corruption)
        if declared.gradual is not None:
            raise ParameterError(f"{corruption} has levels, 1 to {declared.gradual.most}, and no severities.")
        table = self.of(corruption)
        if corruption not in table.rows:
            known = calibrations_of(corruption)
            if not known:
                columns = ", ".join(p.name for p in declared.columns)
                raise ParameterError(
                    f"{corruption} has no published severities; give its parameters instead: {columns}."
                )
            raise ParameterError(
                f"{corruption} has no rows in calibration {self.name!r}; give its parameters, or another calibration "
                f"(it has some in {', '.join(known)})."
            )
        rows = table.rows[corruption]
        number = severity_number(severity)
        if number is None or not 0 < number <= max(rows) or (isinstance(number, int) and number not in rows):
            raise ParameterError(
                f"{corruption}: severity is {severity!r}; expected a whole number from {min(rows)} to {max(rows)}, or "
                "one between with at most two decimals, such as 2.25. Severity 0 is the clean image: leave the stage "
                "out."
            )
        return rows[number] if isinstance(number, int) else row_between(declared, rows, number, table.name)


@functools.cache
def shipped(name: str) -> Calibration:
    """Return one of the calibrations that come with the package; a row is checked when its corruption is asked for."""
    if name not in SHIPPED:
        more = installed_files("tables")
        if name not in more:
            known = (*SHIPPED, *more)
            hint = (
                where_to_get(name)
                or f"{suggest(name, known)} Known: {', '.join(known)}, or the path of a table file (.toml)."
            )
            raise ParameterError(f"There is no calibration {name!r}.{hint}")
        return parse_table(more[name].read_text(encoding="utf-8"), f"The installed table {name}.toml")
    file = files(__package__) / "tables" / f"{name}.toml"
    table = _table(file.read_text(encoding="utf-8"), f"The shipped table {name}.toml", beside=name)
    return Calibration(table.head["name"], table.head["side"], table)


class TableFile(Mapping[str, T]):
    """A TOML file of rows: corruption -> what `read` makes of its entries.

    The entries of a corruption are read when they are first asked for, so that a mistake in them breaks no other
    corruption. `where` is what errors call the file; `head` are the keys beside ``[sources]`` that are no corruptions;
    `beside` is the calibration whose rows plugins may bring.
    """

    def __init__(
        self,
        text: str,
        where: str,
        read: Callable[[TableFile[T], str], T],
        *,
        head: Collection[str] = (),
        beside: str | None = None,
    ) -> None:
        self.entries = parse_toml(text, where)
        self.head = {key: self.entries.pop(key, None) for key in head}
        sources = self.entries.pop("sources", {})
        self._has_sources = isinstance(sources, dict) and all(
            isinstance(citation, str) for citation in sources.values()
        )
        self.sources: Mapping[str, str] = sources if self._has_sources else {}
        self.problems: list[str] = []
        self._where, self._read, self._beside = where, read, beside
        self._rows: dict[str, T] = {}

    def __getitem__(self, corruption: str) -> T:
        if corruption not in self.entries:
            rows: T = _brought(corruption, self._beside)[corruption]
            return rows
        if corruption not in self._rows:
            rows = self._read(self, corruption)
            self._raise_problems()
            self._rows[corruption] = rows
        return self._rows[corruption]

    def __contains__(self, corruption: object) -> bool:
        return corruption in self.entries or (
            isinstance(corruption, str) and corruption in _brought(corruption, self._beside)
        )

    def __iter__(self) -> Iterator[str]:
        yield from self.entries
        yield from (name for name in corruption_names() if name not in self.entries and name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def check(self) -> None:
        """Raise `RecipeError` with all mistakes of the file, where there are some."""
        if not self._has_sources:
            self.problems.append("[sources] should map short names to citations")
        for corruption in self.entries:
            if is_corruption(corruption):
                self._read(self, corruption)
            else:
                self.add_problem(f"there is no such corruption.{suggest(corruption, corruption_names())}", corruption)
        self._raise_problems()

    def add_problem(self, problem: str, corruption: str, number: int | None = None) -> None:
        """Note a problem with a corruption or one of its rows: ``[[fog]] row 1: ...``."""
        header = f"[[{corruption}]]" if isinstance(self.entries[corruption], list) else f"[{corruption}]"
        row = f" row {number}" if number is not None else ""
        self.problems.append(f"{header}{row}: {problem}")

    def row(self, corruption: str, entry: Mapping[str, Any], number: int | None = None) -> Row:
        """Return an entry as a row, and note every problem with it."""
        declared = get_corruption(corruption)
        known = {p.name: p for p in declared.parameters}
        source = entry.get("source")
        if not isinstance(source, str) or source not in self.sources:
            near = suggest(source, self.sources) if isinstance(source, str) else ""
            names = ", ".join(self.sources) or "(none)"
            self.add_problem(
                f"source is {source!r}; expected one of the names in [sources]: {names}.{near}", corruption, number
            )
        for key in entry:
            if key not in known and key not in ("severity", "source"):
                problem = f"unknown parameter {key!r}.{suggest(key, known)} Expected: {', '.join(known)}"
                self.add_problem(problem, corruption, number)
        values = {}
        for name, parameter in known.items():
            if name not in entry:
                if not parameter.option:
                    self.add_problem(f"{name!r} is missing", corruption, number)
                continue
            try:
                values[name] = parameter.checked(entry[name], corruption)
            except ParameterError as e:
                self.add_problem(str(e), corruption, number)
        return Row(declared.without_defaults(values), self.sources.get(source, "") if isinstance(source, str) else "")

    def _raise_problems(self) -> None:
        problems, self.problems = self.problems, []
        if problems:
            raise RecipeError(mistakes(self._where, problems))


def _brought(corruption: str, calibration: str | None) -> Any:
    """Return the table in which a plugin's corruption stands; nothing for corruptset's own, and where there is no
    calibration.
    """
    return {} if calibration is None or family_of(corruption) != PLUGIN else _plugin_table(corruption, calibration)


@functools.cache
def _plugin_table(corruption: str, calibration: str) -> Any:
    """Return the table that a plugin has for a calibration; nothing where it has none."""
    declared = get_corruption(corruption)
    path = Path(str(sys.modules[declared.module].__file__)).parent / declared.tables / f"{calibration}.toml"
    return _table(read_text(path), str(path)) if path.is_file() else {}


def calibrations_of(corruption: str) -> list[str]:
    """Return the names of the shipped calibrations that have rows of a corruption; none where no severities were
    published.
    """
    return [name for name in SHIPPED if corruption in shipped(name).rows]


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
    """Return a shipped calibration as it is used where none is named: with ``cifar``'s rows where ``mnist`` has
    none.
    """
    table = shipped(name)
    return replace(table, otherwise=shipped("cifar")) if name == "mnist" else table


def parse_table(text: str, where: str) -> Calibration:
    """Read a table: ``name``, ``side``, ``[sources]``, and ``[[corruption]]`` rows with a severity, a source and every
    column.

    Raises
    ------
    RecipeError
        With every mistake at once: the row, the key, what was expected.
    """
    table = _table(text, where)
    name, side = table.head["name"], table.head["side"]
    if not isinstance(name, str) or not name:
        table.problems.append(f"name is {name!r}; expected the calibration's name")
    if isinstance(side, bool) or not isinstance(side, int) or not 8 <= side <= 65536:
        table.problems.append(
            f"side is {side!r}; expected the short side in pixels (8 to 65536) that the table is made for"
        )
    table.check()
    return Calibration(name, side, table)


def _table(text: str, where: str, beside: str | None = None) -> TableFile[Mapping[int, Row]]:
    return TableFile(text, where, _rows_by_severity, head=("name", "side"), beside=beside)


def _rows_by_severity(table: TableFile[Mapping[int, Row]], corruption: str) -> dict[int, Row]:
    entries, rows = table.entries[corruption], dict[int, Row]()
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        table.add_problem(f"expected rows, each a table [[{corruption}]]", corruption)
        return rows
    for number, entry in enumerate(entries, 1):
        severity = entry.get("severity")
        if isinstance(severity, bool) or not isinstance(severity, int) or severity not in SEVERITIES:
            table.add_problem(f"severity is {severity!r}; expected 1, 2, 3, 4 or 5", corruption, number)
            continue
        if severity in rows:
            table.add_problem(f"severity {severity} is given twice", corruption, number)
        rows[severity] = table.row(corruption, entry, number)
    return rows


def check_ladder(name: object) -> str:
    """Return the name of a ladder, or raise `ParameterError`."""
    if name not in LADDERS:
        hint = suggest(name, LADDERS) if isinstance(name, str) else ""
        raise ParameterError(f"There is no ladder {name!r}.{hint} Known: {', '.join(LADDERS)}.")
    return str(name)


@functools.cache
def ladder(name: str) -> Mapping[str, Row]:
    """Return corruption -> its parameters, of one of the ladders that come with the package; a row is checked when it
    is asked for.
    """
    file = files(__package__) / "tables" / f"ladder_{check_ladder(name)}.toml"
    return TableFile(file.read_text(encoding="utf-8"), f"The shipped table ladder_{name}.toml", _ladder_row)


def _ladder_row(table: TableFile[Row], corruption: str) -> Row:
    if get_corruption(corruption).gradual is None:
        table.add_problem("it has no levels", corruption)
    return table.row(corruption, table.entries[corruption])
