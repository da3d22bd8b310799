"""Describe the sets that a loader provides as a mapping of set ids to sequences of (image, label)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import ParameterError
from .found_set import FoundData, FoundSet, array_header, loaded_pixels
from .layouts import range_keys
from .names import parsed_id


def sets_of_loader(data: Mapping[str, Any]) -> FoundData:
    """Return the sets that a loader provides as a mapping of set ids to sequences of (image, label)."""
    sets = []
    for set_id, items in data.items():
        if not hasattr(items, "__len__") or not hasattr(items, "__getitem__"):
            raise ParameterError(
                f"The set {set_id!r} is of type {type(items).__name__}; expected a sequence of (image, label), such as "
                "a list or a PyTorch dataset."
            )
        corruption, severity = parsed_id(str(set_id))
        sets.append(
            FoundSet(
                id=str(set_id),
                corruption=corruption,
                severity=severity,
                keys=range_keys(len(items)),
                named=False,
                read=lambda i, items=items, set_id=set_id: loaded_pixels(  # type: ignore[misc]
                    _pair(items, i, set_id)[0], f"Image {i} of {set_id!r}"
                ),
                header=array_header,
                label=lambda i, items=items, set_id=set_id: _convert_label(_pair(items, i, set_id)[1]),  # type: ignore[misc]
                labels_cheap=False,
            )
        )
    return FoundData(sets, "loader")


def _pair(items: Any, index: int, set_id: str) -> tuple[Any, Any]:
    item = items[index]
    if not isinstance(item, tuple | list) or len(item) < 2:
        raise ParameterError(f"Item {index} of {set_id!r} is of type {type(item).__name__}; expected (image, label).")
    return item[0], item[1]


def _convert_label(label: Any) -> str | int | None:
    if label is None or isinstance(label, str):
        return label
    return int(np.asarray(label).reshape(-1)[0])
