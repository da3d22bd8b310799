"""Gradual degradations: thirty levels, each a step further than the one before; how many of something a level takes."""

from __future__ import annotations

# A decimal share such as 0.05 is no exact double: without this 0.05 of 60 could come out as 2.
_SLACK = 1e-9


def counted(share: float, whole: int) -> int:
    """Return ``floor(share * whole)``, with the share taken as the decimal number that it was written as.

    Examples
    --------
    >>> counted(0.1, 448), counted(0.05, 60), counted(0.29, 100)
    (44, 3, 29)
    """
    return int(share * whole + _SLACK)


def plural(count: int, what: str) -> str:
    """Return a count and its noun.

    Examples
    --------
    >>> plural(1, "line"), plural(7, "line"), plural(2, "box")
    ('1 line', '7 lines', '2 boxes')
    """
    ending = "" if count == 1 else "es" if what.endswith("x") else "s"
    return f"{count} {what}{ending}"
