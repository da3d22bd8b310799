"""A few neighbouring values at once, in vectors that are written out: for loops too short or too scattered for the
compiler to see.

A vector's + - * are those of its elements, each rounded once, so bytes are the same on every processor; one without
such vectors has them cut up. Loads and stores take whole vectors: an array has room for the rest of one behind its last
element.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

RUN = 8
"""How many values `stretch` writes."""
PIXEL = 4
"""How many `mix` writes: a pixel's three, and one that the next pixel overwrites."""
# Numba types what is called from Python, without the first parameter of an intrinsic.
_intrinsic: Any = intrinsic
_BYTES = {"uint8": 1, "float32": 4, "float64": 8}
_KINDS = {"uint8": ir.IntType(8), "float32": ir.FloatType(), "float64": ir.DoubleType()}


class _Vectors:
    """Vectors of one width in the arrays that a call is given."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any, width: int) -> None:
        self._context, self._builder, self._kinds, self._arguments, self._width = (
            context,
            builder,
            signature.args,
            arguments,
            width,
        )

    def _place(self, array: int, at: int) -> tuple[Any, str]:
        kind = self._kinds[array]
        data = self._context.make_array(kind)(self._context, self._builder, self._arguments[array]).data
        vector = ir.VectorType(_KINDS[str(kind.dtype)], self._width).as_pointer()
        return self._builder.bitcast(self._builder.gep(data, [self._arguments[at]]), vector), str(kind.dtype)

    def load(self, array: int, at: int, kind: str) -> Any:
        """Return the elements of an argument from a place on, as `kind`."""
        place, own = self._place(array, at)
        loaded = self._builder.load(place, align=_BYTES[own])
        if own == kind:
            return loaded
        wide = ir.VectorType(_KINDS[kind], self._width)
        return self._builder.uitofp(loaded, wide) if own == "uint8" else self._builder.fpext(loaded, wide)

    def everywhere(self, number: int) -> Any:
        """Return a vector of one argument."""
        value = self._arguments[number]
        none = ir.Constant(ir.VectorType(value.type, self._width), ir.Undefined)
        first = self._builder.insert_element(none, value, ir.Constant(ir.IntType(32), 0))
        return self._builder.shuffle_vector(
            first, none, ir.Constant(ir.VectorType(ir.IntType(32), self._width), [0] * self._width)
        )

    def store(self, value: Any, array: int, at: int, kind: str) -> None:
        """Write a vector of `kind` into an argument, as the elements of it are."""
        place, own = self._place(array, at)
        narrowed = value if own == kind else self._builder.fptrunc(value, ir.VectorType(_KINDS[own], self._width))
        self._builder.store(narrowed, place, align=_BYTES[own])


@_intrinsic
def stretch(typingctx, source, at, step, share, out, to):  # type: ignore[no-untyped-def]
    """Write ``out[to + i] = source[at + i] + share[to + i] * (source[at + step + i] - source[at + i])``, i below `RUN`,
    in float32.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        behind = builder.add(arguments[1], arguments[2])
        vectors = _Vectors(context, builder, signature, [*arguments, behind], RUN)
        left, right, part = vectors.load(0, 1, "float32"), vectors.load(0, 6, "float32"), vectors.load(3, 5, "float32")
        vectors.store(builder.fadd(left, builder.fmul(part, builder.fsub(right, left))), 4, 5, "float32")
        return context.get_dummy_value()

    return types.void(source, types.uint64, types.uint64, share, out, types.uint64), generate


@_intrinsic
def mix(typingctx, flat, a, b, c, d, u, v, w, z, out, to):  # type: ignore[no-untyped-def]
    """Write ``out[to + i] = ((flat[a + i] * u + flat[b + i] * v) + flat[c + i] * w) + flat[d + i] * z``, i below
    `PIXEL`.

    It is worked out in the type of the weights u, v, w and z.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vectors, kind = _Vectors(context, builder, signature, arguments, PIXEL), str(signature.args[5])
        total = None
        for k in range(4):
            term = builder.fmul(vectors.load(0, 1 + k, kind), vectors.everywhere(5 + k))
            total = term if total is None else builder.fadd(total, term)
        vectors.store(total, 9, 10, kind)
        return context.get_dummy_value()

    return types.void(flat, *[types.uint64] * 4, u, v, w, z, out, types.uint64), generate
