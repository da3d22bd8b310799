"""Gradual degradations with thirty levels, each of which goes one step further than the previous level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..registry import Shape, get_corruption, is_corruption

# A decimal fraction such as 0.05 is not an exact double. Without this constant, 0.05 of 60 could become 2.
_SLACK = 1e-9


def floored_share(share: float, total: int) -> int:
    """Return ``floor(share * total)``, where the share is treated as an exact decimal fraction.

    Examples
    --------
    >>> floored_share(0.1, 448), floored_share(0.05, 60), floored_share(0.29, 100)
    (44, 3, 29)
    """
    return int(share * total + _SLACK)


def describe_level(corruption: str, level: int, shape: Shape, parameters: Mapping[str, Any]) -> str:
    """Describe the changes to an image at a level, as `corruptset show` prints them.

    For an unknown corruption, the description is only the number of the level.

    Parameters
    ----------
    corruption : str
        The name of a gradual degradation.
    level : int
        The level, from 1.
    shape : (int, int, int)
        The height, width and number of channels of the image, on which the number of boxes or dots can depend.
    parameters : mapping
        The parameters of the degradation.

    Returns
    -------
    str

    Examples
    --------
    >>> describe_level("black_lines", 6, (224, 224, 3), {})
    '6 lines'
    """
    gradual = get_corruption(corruption).gradual if is_corruption(corruption) else None
    return f"level {level}" if gradual is None else gradual.change(level, shape, parameters)
