"""What is wrong with predictions, collected while they are read: counts, the first few, and the next step."""

from __future__ import annotations

from collections.abc import Iterable

FEW = 3
"""That are named of many."""


def few(names: Iterable[object], count: int | None = None) -> str:
    """Return the first few of some names.

    Examples
    --------
    >>> few(["a", "b", "c", "d", "e"])
    'a, b, c and 2 more'
    >>> few([4, 5, 6], count=1000)
    '4, 5, 6 and 997 more'
    """
    shown = [str(name) for name in names]
    rest = (len(shown) if count is None else count) - len(shown[:FEW])
    return ", ".join(shown[:FEW]) + (f" and {rest:,} more" if rest > 0 else "")


class RowFindings:
    """Problems of a file's rows: how many rows have each, and the first few."""

    def __init__(self) -> None:
        self._rows: dict[str, tuple[int, list[str]]] = {}

    def add(self, problem: str, count: int, first: Iterable[str]) -> None:
        """Note rows that have a problem, in words that follow the number of rows, and how the first of them are called."""
        if count:
            before, named = self._rows.get(problem, (0, []))
            self._rows[problem] = before + count, [*named, *first][:FEW]

    def lines(self) -> list[str]:
        """Return a line a problem."""
        return [f"has {count:,} row{'s' * (count > 1)} {problem}: {few(named, count)}" for problem, (count, named) in self._rows.items()]
