"""What a level of a gradual degradation does, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import UnknownCorruption
from .registry import Shape, get_corruption


def describe_level(corruption: str, level: int, shape: Shape, parameters: Mapping[str, Any]) -> str:
    """Return what an image has gone through at a level, as `corruptset show` has it; of a corruption unknown here, the level's number.

    Parameters
    ----------
    corruption : str
        A gradual degradation.
    level : int
        1, 2, ...
    shape : (int, int, int)
        Height, width and channels of the image: how many boxes or dots a level has may follow from them.
    parameters : mapping
        Those of the degradation.

    Examples
    --------
    >>> describe_level("black_lines", 6, (224, 224, 3), {})
    '6 lines'
    """
    try:
        gradual = get_corruption(corruption).gradual
    except UnknownCorruption:
        gradual = None
    return f"level {level}" if gradual is None else gradual.change(level, shape, parameters)
