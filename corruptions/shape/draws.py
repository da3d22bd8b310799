"""Whole numbers drawn once an image, and the checks of those that are given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import kernel
from ..random.philox import draw_word
from ..registry import Shape, given_array


@kernel
def draw_whole(stage_key, sample_keys, stream, counts):  # type: ignore[no-untyped-def]
    """Return whole numbers, (N, K) int64: column k, uniform on 0 .. counts[k] - 1, comes from word k of the stream.

    Parameters
    ----------
    stage_key : numpy.uint64
    sample_keys : (N,) ndarray of uint64
    stream : int
    counts : (K,) ndarray of int64
        1 .. 2**31.
    """
    out = np.empty((sample_keys.size, counts.size), np.int64)
    for i in range(sample_keys.size):
        for k in range(counts.size):
            out[i, k] = (np.int64(draw_word(k, stage_key, sample_keys[i], stream)) * counts[k]) >> 32
    return out


def given_sign(value: Any, shape: Shape, parameters: Mapping[str, Any]) -> int:
    """Check a draw that is -1 or 1."""
    array = np.asarray(value)
    if array.shape != () or array.dtype.kind not in "iuf" or array not in (-1, 1):
        raise ValueError(f"got {value!r}, expected -1 or 1")
    return int(array)


def given_signs(value: Any, shape: Shape, parameters: Mapping[str, Any]) -> NDArray[np.int64]:
    """Check a draw that is two numbers, each -1 or 1."""
    array: NDArray[np.int64] = given_array(lambda *_: (2,), np.int64, -1, 1)(value, shape, parameters)
    if not array.all():
        raise ValueError(f"got {array.tolist()}, expected -1 or 1")
    return array


def given_rows(value: Any, shape: Shape, parameters: Mapping[str, Any]) -> NDArray[np.float64]:
    """Check a draw that is two rows; the second may lie beyond the image."""
    array: NDArray[np.float64] = given_array(lambda *_: (2,), np.float64, -shape[0], 2 * shape[0])(value, shape, parameters)
    return array


def given_columns(value: Any, shape: Shape, parameters: Mapping[str, Any]) -> NDArray[np.float64]:
    """Check a draw that is two columns of the image, the left one first."""
    array: NDArray[np.float64] = given_array(lambda *_: (2,), np.float64, 0, shape[1] - 1)(value, shape, parameters)
    if array[0] >= array[1]:
        raise ValueError(f"got {array.tolist()}, expected the first to be less than the second")
    return array
