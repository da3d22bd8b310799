"""The one vector operation that is written out, for zoom blur.

An enlargement interpolates each row between pixels that are next to each other for a few values only, and LLVM does
not vectorise such short runs. Zoom blur takes 1.5 times as long with plain loops: 1.4 to 1.9 ms more per image for its
five severities, which is 3 % of a build of imagenet-c. Nothing else in this package is written in LLVM's terms.

Each element is subtracted, multiplied and added as a single value would be, and rounded each time, so bytes are the
same on every processor. LLVM splits the vectors on a processor without vectors of this length.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

RUN = 8
"""Values that `stretch` writes. Arrays have room for as many behind the last element that is used."""
_FLOATS = ir.VectorType(ir.FloatType(), RUN)
_ALIGNMENT = 4
"""Bytes, because a run may begin at any element."""
# Numba types the function as Python calls it, without the first parameter of an intrinsic.
_intrinsic: Any = intrinsic


@_intrinsic
def stretch(typingctx, source, at, step, share, out, to):  # type: ignore[no-untyped-def]
    """Interpolate `RUN` values between a row and the same row `step` values further on, in float32.

    ``out[to + i] = source[at + i] + share[to + i] * (source[at + step + i] - source[at + i])``.
    """

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        source, share, out = (
            context.make_array(signature.args[k])(context, builder, arguments[k]).data for k in (0, 3, 4)
        )
        at, step, to = (arguments[k] for k in (1, 2, 5))

        def place(data: Any, first: Any) -> Any:
            return builder.bitcast(builder.gep(data, [first]), _FLOATS.as_pointer())

        left = builder.load(place(source, at), align=_ALIGNMENT)
        right = builder.load(place(source, builder.add(at, step)), align=_ALIGNMENT)
        shares = builder.load(place(share, to), align=_ALIGNMENT)
        values = builder.fadd(left, builder.fmul(shares, builder.fsub(right, left)))
        builder.store(values, place(out, to), align=_ALIGNMENT)
        return context.get_dummy_value()

    return types.void(source, types.uint64, types.uint64, share, out, types.uint64), generate
