"""Vector operations: a pixel's channels in one register, or the same pixel of several images.

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
_WHOLE = 1.5 * 2.0**52


def _pointer(context: Any, builder: Any, kind: Any, array: Any, index: Any, lanes: int = _LANES) -> Any:
    """Return a pointer to as many elements from `index` on."""
    data = context.make_array(kind)(context, builder, array).data
    element = context.get_data_type(kind.dtype)
    return builder.bitcast(builder.gep(data, [index]), ir.VectorType(element, lanes).as_pointer())


def _every(builder: Any, value: Any, vector: Any) -> Any:
    """Return a vector whose lanes all hold `value`."""
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), mask)


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
            product = builder.fmul(value, _every(builder, weight, vector))
            total = product if total is None else builder.fadd(total, product)
        if wide:
            total = builder.fptrunc(total, ir.VectorType(ir.FloatType(), _LANES))
        builder.store(total, _pointer(context, builder, signature.args[9], out, at), align=4)
        return context.get_dummy_value()

    return types.void(pixels, a, b, c, d, w0, w1, w2, w3, out, at), generate


@_intrinsic
def blend_bytes(typing, pixels, a, b, c, d, w0, w1, w2, w3, out, at):  # type: ignore[no-untyped-def]
    """Write the sum that `blend` writes, of bytes, in doubles, rounded to whole levels (halves to even).

    Parameters
    ----------
    pixels : (n,) ndarray of uint8, C-contiguous
    a, b, c, d : uint64
        At most n - 4: nothing is checked.
    w0, w1, w2, w3 : float64
        The sum must lie between 0 and 255 when it is rounded.
    out : (m,) ndarray of uint8, C-contiguous
    at : uint64
        At most m - 4.
    """

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        pixels, a, b, c, d, w0, w1, w2, w3, out, at = arguments
        vector = ir.VectorType(ir.DoubleType(), _LANES)
        total = None
        for index, weight in ((a, w0), (b, w1), (c, w2), (d, w3)):
            value = builder.load(_pointer(context, builder, signature.args[0], pixels, index), align=1)
            value = builder.sitofp(builder.zext(value, ir.VectorType(ir.IntType(32), _LANES)), vector)
            product = builder.fmul(value, _every(builder, weight, vector))
            total = product if total is None else builder.fadd(total, product)
        # Doubles of this size have no fraction bits: adding rounds, and the low bits are the whole number.
        whole = builder.bitcast(builder.fadd(total, ir.Constant(vector, [_WHOLE] * _LANES)), ir.VectorType(ir.IntType(64), _LANES))
        level = builder.trunc(whole, ir.VectorType(ir.IntType(8), _LANES))
        builder.store(level, _pointer(context, builder, signature.args[9], out, at), align=1)
        return context.get_dummy_value()

    return types.void(pixels, a, b, c, d, w0, w1, w2, w3, out, at), generate


SIDE_BY_SIDE = 16
"""Values that `add_between` and `put_between` take at a time."""


@_intrinsic
def add_between(typing, values, a, b, part, total, at):  # type: ignore[no-untyped-def]
    """Add what lies between two runs: ``total[at + k] += values[a + k] + part * (values[b + k] - values[a + k])``, k = 0..15.

    Parameters
    ----------
    values : (n,) ndarray of float32, C-contiguous
    a, b : uint64
        At most n - 16: nothing is checked.
    part : float32
    total : (m,) ndarray of float32, C-contiguous
        Not `values`.
    at : uint64
        At most m - 16.
    """

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        values, a, b, part, total, at = arguments
        vector = ir.VectorType(ir.FloatType(), SIDE_BY_SIDE)

        def pointer(kind: Any, array: Any, index: Any) -> Any:
            return _pointer(context, builder, kind, array, index, SIDE_BY_SIDE)

        low = builder.load(pointer(signature.args[0], values, a), align=4)
        high = builder.load(pointer(signature.args[0], values, b), align=4)
        step = builder.fmul(_every(builder, part, vector), builder.fsub(high, low))
        goal = pointer(signature.args[4], total, at)
        builder.store(builder.fadd(builder.load(goal, align=4), builder.fadd(low, step)), goal, align=4)
        return context.get_dummy_value()

    return types.void(values, a, b, part, total, at), generate


@_intrinsic
def put_between(typing, values, a, b, parts, out, at):  # type: ignore[no-untyped-def]
    """Write what lies between two runs: ``out[at + k] = values[a + k] + parts[at + k] * (values[b + k] - values[a + k])``, k = 0..15.

    Parameters
    ----------
    values : (n,) ndarray of float32, C-contiguous
    a, b : uint64
        At most n - 16: nothing is checked.
    parts : (m,) ndarray of float32, C-contiguous
    out : (m,) ndarray of float32, C-contiguous
        Not `values`.
    at : uint64
        At most m - 16.
    """

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        values, a, b, parts, out, at = arguments

        def pointer(kind: Any, array: Any, index: Any) -> Any:
            return _pointer(context, builder, kind, array, index, SIDE_BY_SIDE)

        low = builder.load(pointer(signature.args[0], values, a), align=4)
        high = builder.load(pointer(signature.args[0], values, b), align=4)
        part = builder.load(pointer(signature.args[3], parts, at), align=4)
        result = builder.fadd(low, builder.fmul(part, builder.fsub(high, low)))
        builder.store(result, pointer(signature.args[4], out, at), align=4)
        return context.get_dummy_value()

    return types.void(values, a, b, parts, out, at), generate


@_intrinsic
def turn_bytes(typing, source, at, stride, out, to, out_stride):  # type: ignore[no-untyped-def]
    """Transpose 16 x 16 bytes: ``out[to + j * out_stride + i] = source[at + i * stride + j]``.

    Parameters
    ----------
    source, out : ndarray of uint8, 1-D, C-contiguous
        Not one array; nothing is checked.
    at, stride, to, out_stride : int64
    """

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        source, at, stride, out, to, out_stride = arguments
        half = SIDE_BY_SIDE // 2
        halves = []
        for first in (0, half):
            picked = [first + k // 2 + (k % 2) * SIDE_BY_SIDE for k in range(SIDE_BY_SIDE)]
            halves.append(ir.Constant(ir.VectorType(ir.IntType(32), SIDE_BY_SIDE), picked))

        def pointer(kind: Any, array: Any, start: Any, step: Any, row: int) -> Any:
            index = builder.add(start, builder.mul(step, ir.Constant(step.type, row)))
            return _pointer(context, builder, kind, array, index, SIDE_BY_SIDE)

        rows = [builder.load(pointer(signature.args[0], source, at, stride, i), align=1) for i in range(SIDE_BY_SIDE)]
        # Rows that are half of them apart are interleaved; four times over, that is the transpose.
        for _ in range(4):
            rows = [builder.shuffle_vector(rows[i], rows[i + half], mask) for i in range(half) for mask in halves]
        for j, row in enumerate(rows):
            builder.store(row, pointer(signature.args[3], out, to, out_stride, j), align=1)
        return context.get_dummy_value()

    integer = types.int64
    return types.void(source, integer, integer, out, integer, integer), generate
