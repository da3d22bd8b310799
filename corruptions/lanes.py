"""Four neighbouring values at a time: a pixel's channels in one vector register.

LLVM vectorises loops over pixels that lie side by side, but not those that gather from anywhere: numba has its packing of
straight-line code (SLP) switched off. So this writes the vector operations themselves. They are the scalar ones, lane by
lane, and LLVM turns them into whatever the machine has; nothing is fused or reordered.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_LANES = 4


def _pointer(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    """Return a pointer to the four elements from `index` on."""
    data = context.make_array(kind)(context, builder, array).data
    element = context.get_data_type(kind.dtype)
    return builder.bitcast(builder.gep(data, [index]), ir.VectorType(element, _LANES).as_pointer())


# numba's stubs take an intrinsic for a function with one more argument.
_intrinsic: Any = intrinsic


@_intrinsic
def blend(typing, pixels, a, b, c, d, w0, w1, w2, w3, out, at):  # type: ignore[no-untyped-def]
    """Write ``out[at + k] = ((pixels[a + k] * w0 + pixels[b + k] * w1) + pixels[c + k] * w2) + pixels[d + k] * w3``, k = 0..3.

    Parameters
    ----------
    pixels : (n,) ndarray of float32, C-contiguous
    a, b, c, d : uint64
        At most n - 4: nothing is checked.
    w0, w1, w2, w3 : float32 or float64
        What the sums are worked out in.
    out : (m,) ndarray of float32, C-contiguous
        The sums, rounded.
    at : uint64
        At most m - 4.
    """
    wide = w0 == types.float64

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        pixels, a, b, c, d, w0, w1, w2, w3, out, at = arguments
        vector = ir.VectorType(ir.DoubleType() if wide else ir.FloatType(), _LANES)
        total = None
        for index, weight in ((a, w0), (b, w1), (c, w2), (d, w3)):
            value = builder.load(_pointer(context, builder, signature.args[0], pixels, index), align=4)
            if wide:
                value = builder.fpext(value, vector)
            first = builder.insert_element(ir.Constant(vector, ir.Undefined), weight, ir.Constant(ir.IntType(32), 0))
            mask = ir.Constant(ir.VectorType(ir.IntType(32), _LANES), [0] * _LANES)
            every = builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), mask)
            product = builder.fmul(value, every)
            total = product if total is None else builder.fadd(total, product)
        if wide:
            total = builder.fptrunc(total, ir.VectorType(ir.FloatType(), _LANES))
        builder.store(total, _pointer(context, builder, signature.args[9], out, at), align=4)
        return context.get_dummy_value()

    return types.void(pixels, a, b, c, d, w0, w1, w2, w3, out, at), generate
