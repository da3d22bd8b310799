"""Gradual degradations: thirty levels, each a step further than the one before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..registry import Shape, get_corruption, is_corruption

# A decimal share such as 0.05 is not an exact double, so without this 0.05 of 60 could come out as 2.
_SLACK = 1e-9


def counted(share: float, whole: int) -> int:
    """Return ``floor(share * whole)``, with the share as the decimal that was written.

    Examples
    --------
    >>> counted(0.1, 448), counted(0.05, 60), counted(0.29, 100)
    (44, 3, 29)
    """
    return int(share * whole + _SLACK)


def describe_level(corruption: str, level: int, shape: Shape, parameters: Mapping[str, Any]) -> str:
    """Return what an image has gone through at a level, as `corruptset show` has it.

    For a corruption unknown here it is the level's number.

    Parameters
    ----------
    corruption : str
        A gradual degradation.
    level : int
        1, 2, ...
    shape : (int, int, int)
        Height, width and channels of the image: how many boxes or dots a level has may follow from them.
    parameters : mapping
        The parameters of the degradation.

    Examples
    --------
    >>> describe_level("black_lines", 6, (224, 224, 3), {})
    '6 lines'
    """
    gradual = get_corruption(corruption).gradual if is_corruption(corruption) else None
    return f"level {level}" if gradual is None else gradual.change(level, shape, parameters)
