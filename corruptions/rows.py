"""Rows of parameter tables, read from TOML: what a severity, or a ladder, means."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from ..errors import ParameterError, RecipeError, mistakes, suggest
from ..toml import parse_toml
from .registry import corruption_names, get_corruption

T = TypeVar("T")
_HEADER = re.compile(r"""\s*\[{1,2}\s*["']?([\w-]+)""")
_KEY = re.compile(r"""\s*["']?([\w-]+)["']?\s*=""")


@dataclass(frozen=True)
class Row:
    """The parameters of a corruption, and where they were published."""

    parameters: Mapping[str, Any]
    source: str


class TableFile(Mapping[str, T]):
    """A TOML file of rows: corruption -> what `read` makes of its entries.

    The entries of a corruption are read when they are first asked for, so that a mistake in them breaks no other corruption.

    Parameters
    ----------
    text : str
    where : str
        What errors call the file.
    read : callable
        (this file, corruption, problems) -> what stands for the corruption; it appends what is wrong to `problems`.
    head : collection of str
        The keys of the file that are no corruptions, beside ``[sources]``.
    """

    def __init__(self, text: str, where: str, read: Callable[[TableFile[T], str, list[str]], T], *, head: Collection[str] = ()) -> None:
        self.where = where
        self.entries = parse_toml(text, where)
        self.head = {key: self.entries.pop(key, None) for key in head}
        sources = self.entries.pop("sources", {})
        self._head_problems: list[str] = []
        if not isinstance(sources, dict) or not all(isinstance(citation, str) for citation in sources.values()):
            self._head_problems.append("[sources] should map short names to citations")
            sources = {}
        self.sources: Mapping[str, str] = sources
        self._text, self._read = text, read
        self._rows: dict[str, T] = {}

    def __getitem__(self, corruption: str) -> T:
        if corruption not in self._rows:
            if corruption not in self.entries:
                raise KeyError(corruption)
            problems = list(self._head_problems)
            rows = self._read(self, corruption, problems)
            if problems:
                raise RecipeError(mistakes(self.where, problems))
            self._rows[corruption] = rows
        return self._rows[corruption]

    def __contains__(self, corruption: object) -> bool:
        return corruption in self.entries

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def check(self, problems: list[str]) -> None:
        """Raise `RecipeError` with all mistakes of the file, after `problems` of its head; return where there are none."""
        problems = [*problems, *self._head_problems]
        for corruption in self.entries:
            if corruption in corruption_names():
                self._read(self, corruption, problems)
            else:
                near = suggest(corruption, corruption_names())
                problems.append(f"{self.place(corruption)}: there is no such corruption.{near}")
        if problems:
            raise RecipeError(mistakes(self.where, problems))

    def place(self, corruption: str, number: int | None = None, key: str = "") -> str:
        """Return where a corruption, one of its rows or a key of a row stands: ``line 12, [[fog]] row 1``."""
        lines = _lines(self._text)
        line = lines.get((corruption, number or 1, key)) or lines.get((corruption, number or 1, ""))
        header = f"[[{corruption}]]" if isinstance(self.entries[corruption], list) else f"[{corruption}]"
        return f"line {line}, " * (line is not None) + header + f" row {number}" * (number is not None)

    def row(self, corruption: str, entry: Mapping[str, Any], number: int | None, problems: list[str]) -> Row:
        """Return an entry as a row, and append what is wrong with it to `problems`."""

        def add(key: str, problem: str) -> None:
            problems.append(f"{self.place(corruption, number, key)}: {problem}")

        declared = get_corruption(corruption)
        known = {p.name: p for p in declared.parameters}
        source = entry.get("source")
        if not isinstance(source, str) or source not in self.sources:
            near = suggest(source, self.sources) if isinstance(source, str) else ""
            names = ", ".join(self.sources) or "(none)"
            add("source", f"source is {source!r}; expected one of the names in [sources]: {names}.{near}")
        for key in entry:
            if key not in known and key not in ("severity", "source"):
                add(key, f"unknown parameter {key!r}.{suggest(key, known)} Expected: {', '.join(known)}")
        values = {}
        for name, parameter in known.items():
            if name not in entry:
                if not parameter.option:
                    add("", f"{name!r} is missing")
                continue
            try:
                values[name] = parameter.checked(entry[name], corruption)
            except ParameterError as e:
                add(name, str(e))
        return Row(declared.without_defaults(values), self.sources.get(source, "") if isinstance(source, str) else "")


def _lines(text: str) -> dict[tuple[str, int, str], int]:
    """Return (corruption, number of the row, key; "" is the header) -> line: found in the text, because tomllib does not say it."""
    lines: dict[tuple[str, int, str], int] = {}
    numbers: Counter[str] = Counter()
    table = ""
    for line, content in enumerate(text.split("\n"), 1):
        if header := _HEADER.match(content):
            table = header[1]
            numbers[table] += 1
            lines[table, numbers[table], ""] = line
        elif key := _KEY.match(content):
            lines.setdefault((table, numbers[table], key[1]), line)
    return lines
