"""Rows of parameter tables, read from TOML: what a severity, or a ladder, means."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from ..errors import ParameterError, RecipeError, mistakes, suggest
from ..toml import parse_toml
from .registry import corruption_names, get_corruption, is_corruption

T = TypeVar("T")


@dataclass(frozen=True)
class Row:
    """The parameters of a corruption, and where they were published."""

    parameters: Mapping[str, Any]
    source: str


class TableFile(Mapping[str, T]):
    """A TOML file of rows: corruption -> what `read` makes of its entries.

    The entries of a corruption are read when they are first asked for, so that a mistake in them breaks no other corruption. `where`
    is what errors call the file; `head` are the keys beside ``[sources]`` that are no corruptions.
    """

    def __init__(self, text: str, where: str, read: Callable[[TableFile[T], str], T], *, head: Collection[str] = ()) -> None:
        self.entries = parse_toml(text, where)
        self.head = {key: self.entries.pop(key, None) for key in head}
        sources = self.entries.pop("sources", {})
        self._has_sources = isinstance(sources, dict) and all(isinstance(citation, str) for citation in sources.values())
        self.sources: Mapping[str, str] = sources if self._has_sources else {}
        self.problems: list[str] = []
        self._where, self._read = where, read
        self._rows: dict[str, T] = {}

    def __getitem__(self, corruption: str) -> T:
        if corruption not in self.entries:
            raise KeyError(corruption)
        if corruption not in self._rows:
            rows = self._read(self, corruption)
            self._raise_problems()
            self._rows[corruption] = rows
        return self._rows[corruption]

    def __contains__(self, corruption: object) -> bool:
        return corruption in self.entries

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

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
            self.add_problem(f"source is {source!r}; expected one of the names in [sources]: {names}.{near}", corruption, number)
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
