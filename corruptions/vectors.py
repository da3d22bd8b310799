"""Two vector operations, written in LLVM's intermediate code because LLVM does not vectorise loops over a few values.

Each element is multiplied, added and subtracted like a single value, and every result is rounded, so the output is the
same on every processor. The instructions have no fast-math flags, so LLVM may not fuse a multiplication and an
addition. On processors with shorter vectors, LLVM splits the operations.

`lerp_row` interpolates the rows of zoom blur, in which only a few neighbouring values are next to each other in the
source. A plain loop takes 1.4 ms longer per image for the five severities, which is 3 % of a build of imagenet-c.
`bilinear_weighted` interpolates the pixels of elastic transform. Without vectors, its two steps take 0.8 ms longer per
image. The 75 outputs of imagenet-c would then take more than 2.25 times as long as their JPEG encoding.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

LERP_LENGTH = 8
"""The number of values that `lerp_row` writes.

Arrays need this number of extra elements, because the function writes beyond the last element that is used.
"""
PIXEL_LENGTH = 4
"""The number of values that `bilinear_weighted` reads and writes, which is one more than a colour pixel has. The next
pixel overwrites the extra value.
"""
_KINDS = {"uint8": ir.IntType(8), "float32": ir.FloatType(), "float64": ir.DoubleType()}
_BYTES = {"uint8": 1, "float32": 4, "float64": 8}
# numba types the functions as Python calls them, without the first parameter of an intrinsic.
_intrinsic: Any = intrinsic


def _vector(builder: Any, data: Any, first: Any, kind: str, length: int) -> Any:
    """Return a pointer to a vector that begins at element `first` of an array."""
    pointer = ir.VectorType(_KINDS[kind], length).as_pointer()
    return builder.bitcast(builder.gep(data, [first]), pointer)


def _load(builder: Any, data: Any, first: Any, kind: str, length: int) -> Any:
    """Load a vector that begins at element `first` of an array. It need not be aligned like other vectors."""
    return builder.load(_vector(builder, data, first, kind, length), align=_BYTES[kind])


def _data(context: Any, builder: Any, signature: Any, arguments: Any, k: int) -> Any:
    """Return the pointer to the data of the array that is argument `k`."""
    return context.make_array(signature.args[k])(context, builder, arguments[k]).data


@_intrinsic
def lerp_row(typingctx, source, at, step, share, out, to):  # type: ignore[no-untyped-def]
    """Interpolate `LERP_LENGTH` values between a row and the same row shifted by `step` values, in float32.

    ``out[to + i] = source[at + i] + share[to + i] * (source[at + step + i] - source[at + i])``, for i below
    `LERP_LENGTH`.
    """

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        source, share, out = (_data(context, builder, signature, arguments, k) for k in (0, 3, 4))
        at, step, to = (arguments[k] for k in (1, 2, 5))
        left = _load(builder, source, at, "float32", LERP_LENGTH)
        right = _load(builder, source, builder.add(at, step), "float32", LERP_LENGTH)
        part = builder.fmul(_load(builder, share, to, "float32", LERP_LENGTH), builder.fsub(right, left))
        place = _vector(builder, out, to, "float32", LERP_LENGTH)
        builder.store(builder.fadd(left, part), place, align=_BYTES["float32"])
        return context.get_dummy_value()

    return types.void(source, types.uint64, types.uint64, share, out, types.uint64), generate


@_intrinsic
def bilinear_weighted(typingctx, flat, a, b, c, d, u, v, w, z, out, to):  # type: ignore[no-untyped-def]
    """Write the weighted sum of four parts of a flat array, computed in the type of the weights u, v, w and z.

    ``out[to + i] = ((flat[a + i] * u + flat[b + i] * v) + flat[c + i] * w) + flat[d + i] * z``, for i below
    `PIXEL_LENGTH`.
    """
    kind, stored, sums = str(flat.dtype), str(out.dtype), ir.VectorType(_KINDS[str(u)], PIXEL_LENGTH)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        flat, out = (_data(context, builder, signature, arguments, k) for k in (0, 9))
        total = None
        for place, weight in zip(arguments[1:5], arguments[5:9], strict=True):
            values = _load(builder, flat, place, kind, PIXEL_LENGTH)
            if values.type != sums:
                values = (builder.uitofp if kind == "uint8" else builder.fpext)(values, sums)
            weights = ir.Constant(sums, ir.Undefined)
            for k in range(PIXEL_LENGTH):
                weights = builder.insert_element(weights, weight, ir.Constant(ir.IntType(32), k))
            product = builder.fmul(values, weights)
            total = product if total is None else builder.fadd(total, product)
        if stored != str(u):
            total = builder.fpext(total, ir.VectorType(_KINDS[stored], PIXEL_LENGTH))
        builder.store(total, _vector(builder, out, arguments[10], stored, PIXEL_LENGTH), align=_BYTES[stored])
        return context.get_dummy_value()

    return types.void(flat, *[types.uint64] * 4, u, v, w, z, out, types.uint64), generate
