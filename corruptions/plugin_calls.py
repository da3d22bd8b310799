"""Calls of a plugin's function: a few images at a time, which it cannot change, and what it returns is looked at."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import CorruptsetError, PluginError
from ..foreign import described, foreign_code
from .keys import Keys

if TYPE_CHECKING:
    from .registry import Corruption, Images

CHUNK_BYTES = 4 << 20
"""Pixels that a function is given at once: what numpy makes of them on the way takes ten times as much and more."""


def call_in_chunks(corruption: Corruption, images: Images, keys: Keys, given: Mapping[str, Any]) -> Images:
    """Return what a plugin's function makes of a batch (N, H, W, C).

    Raises
    ------
    PluginError
        It raises, or returns something else than images; the error's `position` is the image that it fails on alone.
    """
    step = max(1, CHUNK_BYTES // images[0].size)
    return np.concatenate([_call(corruption, images, keys, given, slice(at, at + step)) for at in range(0, len(images), step)])


def _call(corruption: Corruption, images: Images, keys: Keys, given: Mapping[str, Any], part: slice) -> Images:
    shown = images[part]
    shown.flags.writeable = False
    of_part = {name: value[part] if name == "labels" else value for name, value in given.items()}
    try:
        with foreign_code():
            made = corruption.function(shown, Keys(keys.stage, keys.samples[part]), **of_part)
            fault = fault_of(made, shown, keeps_shape=corruption.keeps_shape)
        cause = None
    except CorruptsetError:
        raise
    except Exception as e:
        fault, cause = f"raised {described(e)}{where_raised(e.__traceback__, corruption.module)}", e
        fault += "; it must leave its input as it is, and work on a copy" * ("read-only" in str(e))
    if not fault:
        return np.array(made, order="C")  # never its input, nor an array that it keeps
    if len(shown) > 1:  # the image that it fails on is found by itself
        for position in range(len(images))[part]:
            _call(corruption, images, keys, given, slice(position, position + 1))
    alone = f" on a batch of {len(shown)} images, though on none alone" if len(shown) > 1 else ""
    raise PluginError(f"The plugin {corruption.module}: {corruption.name} {fault}{alone}", None if alone else part.start) from cause


def fault_of(made: Any, images: Images, *, keeps_shape: bool = True) -> str:
    """Return what is wrong with what a corruption made of a batch, or an empty string."""
    if not isinstance(made, np.ndarray) or made.dtype != np.uint8:
        what = f"an array of {made.dtype}" if isinstance(made, np.ndarray) else f"a {type(made).__name__}"
        unset = int(np.isnan(made).sum()) if isinstance(made, np.ndarray) and made.dtype.kind == "f" else 0
        return f"returned {what}{f' with {unset} values that are NaN' * bool(unset)}; expected an array of uint8"
    fits = made.ndim == 4 and (len(made), made.shape[3]) == (len(images), images.shape[3]) and min(made.shape[1:3]) >= 8
    if not (made.shape == images.shape if keeps_shape else fits):
        expected = images.shape if keeps_shape else f"({len(images)}, height, width, {images.shape[3]}) of at least 8x8"
        return f"returned the shape {made.shape}; expected {expected}"
    return ""


def where_raised(traceback: TracebackType | None, module: str) -> str:
    """Return the last line of a plugin's own that a traceback goes through: `` (mine.py, line 12)``."""
    file, line = getattr(sys.modules.get(module), "__file__", None), None
    folder = Path(file).parent if file is not None else None
    place = ""
    while traceback is not None:
        path, line = Path(traceback.tb_frame.f_code.co_filename), traceback.tb_lineno
        if path == Path(str(file)) or (folder is not None and (folder / "__init__.py").is_file() and folder in path.parents):
            place = f" ({path.name}, line {line})"
        traceback = traceback.tb_next
    return place
