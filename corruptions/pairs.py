"""Symmetric filters, a vector of results at a time: the sums stay in registers from the first tap to the last.

Written as a numba loop, a filter passes over its sums once for every few taps, and asks each time whether its arrays overlap:
on rows of 32 pixels that is most of its cost. So this writes the vector operations themselves, as `lanes` does. They are the
scalar ones, lane by lane, in the order that is given; nothing is fused or reordered.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from .kernels import kernel

LANES = 16
"""Results at a time. Up to 15 values behind the last one are read and written: arrays have so many to spare."""
_REGISTER = 4  # doubles

# numba's stubs take an intrinsic for a function with one more argument.
_intrinsic: Any = intrinsic
_cgutils: Any = cgutils


@_intrinsic
def _weigh(typing, source, at, before, behind, weights, out, to):  # type: ignore[no-untyped-def]
    """Write `LANES` sums: ``source[at] * weights[0]``, then ``+ (source[at + before[k]] + source[at + behind[k]]) * weights[k + 1]``."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        typed = zip(signature.args, arguments, strict=True)
        arrays = [context.make_array(kind)(context, builder, value) for kind, value in typed if isinstance(kind, types.Array)]
        source, before, behind, weights, out = arrays
        at, to = arguments[1], arguments[6]
        vector = ir.VectorType(ir.DoubleType(), LANES)
        undefined = ir.Constant(vector, ir.Undefined)
        mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)

        def pointer(array: Any, index: Any) -> Any:
            return builder.bitcast(builder.gep(array.data, [index]), vector.as_pointer())

        def element(array: Any, index: Any) -> Any:
            return builder.load(builder.gep(array.data, [index]))

        def weight(index: Any) -> Any:
            first = builder.insert_element(undefined, element(weights, index), ir.Constant(ir.IntType(32), 0))
            return builder.shuffle_vector(first, undefined, mask)

        def values(index: Any) -> Any:
            return builder.load(pointer(source, index), align=8)

        zero = ir.Constant(at.type, 0)
        sums = _cgutils.alloca_once_value(builder, builder.fmul(values(at), weight(zero)))
        count = builder.extract_value(before.shape, 0)
        with _cgutils.for_range(builder, count, intp=at.type) as loop:
            k = loop.index
            pair = builder.fadd(values(builder.add(at, element(before, k))), values(builder.add(at, element(behind, k))))
            product = builder.fmul(pair, weight(builder.add(k, ir.Constant(at.type, 1))))
            builder.store(builder.fadd(builder.load(sums), product), sums)
        builder.store(builder.load(sums), pointer(out, to), align=8)
        return context.get_dummy_value()

    return types.void(source, types.int64, before, behind, weights, out, types.int64), generate


def aligned(count: int, length: int) -> NDArray[np.float64]:
    """Return (count, length) zeros whose first lies where a vector register likes to be filled from: half as fast again."""
    spare = np.zeros(count * length + _REGISTER)
    first = -spare.ctypes.data // spare.itemsize % _REGISTER
    return spare[first : first + count * length].reshape(count, length)


@kernel
def filter_rows(source, at, stride, before, behind, weights, out, to, out_stride, rows, length):  # type: ignore[no-untyped-def]
    """Filter rows of a flat array.

    Parameters
    ----------
    source : (n,) ndarray of float64, C-contiguous
    at, stride : int
        Where the first row starts, and how far the next one is from it.
    before, behind : (taps,) ndarray of int64, C-contiguous
        The two values of a pair, from the value itself: nothing is checked.
    weights : (taps + 1,) ndarray of float64, C-contiguous
        Of the value itself, and of the pairs in the order in which they are added.
    out : (m,) ndarray of float64, C-contiguous
        Not `source`. Up to `LANES` - 1 values behind the end of a row are overwritten, from the first row to the last.
    to, out_stride : int
        Where the first row goes, and how far from it the next one.
    rows, length : int
    """
    for y in range(rows):
        for x in range(0, length, LANES):
            _weigh(source, at + y * stride + x, before, behind, weights, out, to + y * out_stride + x)
