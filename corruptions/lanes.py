"""A few neighbouring values at once, in vectors that are written out: for loops that the compiler does not see through.

A vector's + - * are those of its elements, each rounded once, so bytes are the same on every processor; one without
such vectors has them cut up. Loads and stores take whole vectors: an array has room for the rest of one behind its last
element.
"""

from __future__ import annotations

import functools
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

RUN = 8
"""How many values `stretch` writes."""
PIXEL = 4
"""How many `mix` writes: a pixel's three, and one that the next pixel overwrites."""
TERMS = 8
"""How many cosines `cosines_down` adds up, an even number: they are summed in pairs."""
SUMS = 16
"""How many sums of a row `weigh_in` and its like write."""
# Numba types what is called from Python, without the first parameter of an intrinsic.
_intrinsic: Any = intrinsic
_BYTES = {"uint8": 1, "float32": 4, "float64": 8}
_KINDS = {"uint8": ir.IntType(8), "float32": ir.FloatType(), "float64": ir.DoubleType()}
_PLACE = ir.IntType(64)


class _Vectors:
    """Vectors of one width in the arrays that a call is given; an array is named by its place among the arguments."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any, width: int) -> None:
        self._context, self._builder, self._kinds, self._arguments = context, builder, signature.args, arguments
        self._width = width

    def _at(self, array: int, place: Any) -> tuple[Any, str]:
        kind = self._kinds[array]
        data = self._context.make_array(kind)(self._context, self._builder, self._arguments[array]).data
        return self._builder.gep(data, [place]), str(kind.dtype)

    def element(self, array: int, place: Any) -> Any:
        """Return one element of an array."""
        return self._builder.load(self._at(array, place)[0])

    def put(self, value: Any, array: int, place: Any) -> None:
        """Write one double into an array, as the elements of it are."""
        at, own = self._at(array, place)
        self._builder.store(value if own == "float64" else self._builder.fptrunc(value, _KINDS[own]), at)

    def load(self, array: int, place: Any, kind: str) -> Any:
        """Return the elements of an array from a place on, as `kind`."""
        at, own = self._at(array, place)
        vector = ir.VectorType(_KINDS[own], self._width)
        loaded = self._builder.load(self._builder.bitcast(at, vector.as_pointer()), align=_BYTES[own])
        if own == kind:
            return loaded
        wide = ir.VectorType(_KINDS[kind], self._width)
        return self._builder.uitofp(loaded, wide) if own == "uint8" else self._builder.fpext(loaded, wide)

    def everywhere(self, value: Any) -> Any:
        """Return a vector of one number."""
        none = ir.Constant(ir.VectorType(value.type, self._width), ir.Undefined)
        first = self._builder.insert_element(none, value, ir.Constant(ir.IntType(32), 0))
        return self._builder.shuffle_vector(
            first, none, ir.Constant(ir.VectorType(ir.IntType(32), self._width), [0] * self._width)
        )

    def store(self, value: Any, array: int, place: Any, kind: str) -> None:
        """Write a vector of `kind` into an array, as the elements of it are."""
        at, own = self._at(array, place)
        vector = ir.VectorType(_KINDS[own], self._width)
        narrowed = value if own == kind else self._builder.fptrunc(value, vector)
        self._builder.store(narrowed, self._builder.bitcast(at, vector.as_pointer()), align=_BYTES[own])


@_intrinsic
def stretch(typingctx, source, at, step, share, out, to):  # type: ignore[no-untyped-def]
    """Write ``out[to + i] = source[at + i] + share[to + i] * (source[at + step + i] - source[at + i])``, i below `RUN`,
    in float32.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, at, step, _, _, to = arguments
        vectors = _Vectors(context, builder, signature, arguments, RUN)
        left, right = vectors.load(0, at, "float32"), vectors.load(0, builder.add(at, step), "float32")
        part = vectors.load(3, to, "float32")
        vectors.store(builder.fadd(left, builder.fmul(part, builder.fsub(right, left))), 4, to, "float32")
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
        for place, weight in zip(arguments[1:5], arguments[5:9], strict=True):
            term = builder.fmul(vectors.load(0, place, kind), vectors.everywhere(weight))
            total = term if total is None else builder.fadd(total, term)
        vectors.store(total, 9, arguments[10], kind)
        return context.get_dummy_value()

    return types.void(flat, *[types.uint64] * 4, u, v, w, z, out, types.uint64), generate


@_intrinsic
def blend(typingctx, flat, upper, lower, u, v, out, to):  # type: ignore[no-untyped-def]
    """Write what lies `u` to the right and `v` below the first of four pixels of three values, from ``out[to]`` on, in
    float32: `PIXEL` values.

    Two neighbours begin at ``flat[upper]``, those below them at ``flat[lower]``; behind each pair is room for two
    values.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, upper, lower, u, v, _, to = arguments

        def between(vectors: _Vectors, first: Any, second: Any, share: Any) -> Any:
            return builder.fadd(first, builder.fmul(vectors.everywhere(share), builder.fsub(second, first)))

        pair, pixel = (_Vectors(context, builder, signature, arguments, size) for size in (2 * PIXEL, PIXEL))
        both = between(pair, pair.load(0, upper, "float32"), pair.load(0, lower, "float32"), v)
        left, right = (
            builder.shuffle_vector(
                both, both, ir.Constant(ir.VectorType(ir.IntType(32), PIXEL), [*range(at, at + PIXEL)])
            )
            for at in (0, 3)
        )
        pixel.store(between(pixel, left, right, u), 5, to, "float32")
        return context.get_dummy_value()

    return types.void(flat, types.uint64, types.uint64, u, v, out, types.uint64), generate


def _weighing(inwards: bool, rows: int) -> Any:
    """Return an intrinsic that filters one row of an array, or two neighbouring ones, as `separable.weigh` does.

    Sums stay in registers from the first pair to the last; and what one of two rows reads, the other has read at the
    pair before.
    """

    def weigh(typingctx, source, at, step, weights, radius, out, to, second):  # type: ignore[no-untyped-def]
        """Write `SUMS` sums from ``out[to]`` on, and those of the row `step` further in `source` from ``out[second]``
        on.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            _, at, step, _, radius, _, to, second = arguments
            vectors, one = _Vectors(context, builder, signature, arguments, SUMS), ir.Constant(_PLACE, 1)
            reach = builder.mul(radius, step)
            centres = [vectors.load(0, place, "float64") for place in (at, builder.add(at, step))[:rows]]
            weight = vectors.everywhere(vectors.element(3, ir.Constant(_PLACE, 0)))
            sums = [cgutils.alloca_once_value(builder, builder.fmul(centre, weight)) for centre in centres]
            kept = []
            if rows == 2:
                if inwards:
                    ends = builder.sub(at, reach), builder.add(builder.add(at, reach), step)
                    centres = [vectors.load(0, place, "float64") for place in ends]
                kept = [cgutils.alloca_once_value(builder, value) for value in centres]
            with cgutils.for_range(builder, radius) as loop:
                k = builder.sub(radius, loop.index) if inwards else builder.add(loop.index, one)
                reach = builder.mul(k, step)
                low, high = builder.sub(at, reach), builder.add(at, reach)
                if rows == 2:
                    low, high = (builder.add(low, step), high) if inwards else (low, builder.add(high, step))
                low, high = vectors.load(0, low, "float64"), vectors.load(0, high, "float64")
                pairs = [(low, high)]
                if rows == 2:
                    last_low, last_high = map(builder.load, kept)
                    pairs = [(last_low, high), (low, last_high)] if inwards else [(low, last_high), (last_low, high)]
                    builder.store(low, kept[0])
                    builder.store(high, kept[1])
                weight = vectors.everywhere(vectors.element(3, k))
                for total, pair in zip(sums, pairs, strict=True):
                    builder.store(builder.fadd(builder.load(total), builder.fmul(builder.fadd(*pair), weight)), total)
            for total, place in zip(sums, (to, second), strict=False):
                vectors.store(builder.load(total), 5, place, "float64")
            return context.get_dummy_value()

        place = types.int64
        return types.void(source, place, place, weights, place, out, place, place), generate

    return _intrinsic(weigh)


weigh_inwards, weigh_outwards = _weighing(True, 1), _weighing(False, 1)
weigh_two_inwards, weigh_two_outwards = _weighing(True, 2), _weighing(False, 2)


@_intrinsic
def cosines_down(typingctx, x, left, width, rows, below, above, steps, first, factor, out):  # type: ignore[no-untyped-def]
    """Filter `RUN` columns of an image by running sums of `TERMS` cosines: see `fields`. All sums stay in registers.

    The image is flat, of rows of `width`; columns begin at `left` and become rows of `out`, `rows` values each. Row
    y + R + k of the reflected image begins at ``below[y + k]``, row y - R - 1 + k at ``above[y + k]``, k being 0 or 1;
    `steps` and `first` are flat (terms, 3) and (rows, terms). Results are multiplied by `factor`.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, left, width, rows, *_, factor, _ = arguments
        vectors = _Vectors(context, builder, signature, arguments, RUN)
        whole = functools.partial(ir.Constant, _PLACE)

        def everywhere(array: int, place: Any) -> Any:
            return vectors.everywhere(vectors.element(array, place))

        def row(array: int, place: Any) -> Any:
            return vectors.load(0, builder.add(left, vectors.element(array, place)), "float64")

        nothing = ir.Constant(ir.VectorType(_KINDS["float64"], RUN), None)
        sums = [cgutils.alloca_once_value(builder, nothing) for _ in range(TERMS)]
        with cgutils.for_range(builder, rows) as loop:
            values = vectors.load(0, builder.add(left, builder.mul(loop.index, width)), "float64")
            for m, total in enumerate(sums):
                weight = everywhere(7, builder.add(builder.mul(loop.index, whole(TERMS)), whole(m)))
                builder.store(builder.fadd(builder.load(total), builder.fmul(weight, values)), total)
        # Reflected samples are symmetric about the edge, and so are the sums.
        earlier = [cgutils.alloca_once_value(builder, builder.load(total)) for total in sums]
        with cgutils.for_range(builder, rows) as loop:
            following = builder.add(loop.index, whole(1))
            far = builder.fadd(row(4, following), row(5, loop.index))
            near = builder.fadd(row(4, loop.index), row(5, following))
            now = [builder.load(total) for total in sums]
            result = builder.fadd(now[0], now[1])
            for m in range(2, TERMS, 2):
                result = builder.fadd(result, builder.fadd(now[m], now[m + 1]))
            result = builder.fmul(result, vectors.everywhere(factor))
            for k in range(RUN):
                place = builder.add(builder.mul(builder.add(left, whole(k)), rows), loop.index)
                vectors.put(builder.extract_element(result, ir.Constant(ir.IntType(32), k)), 9, place)
            for m in range(TERMS):
                turn, enter, leave = (everywhere(6, whole(3 * m + k)) for k in range(3))
                change = builder.fsub(builder.fmul(enter, far), builder.fmul(leave, near))
                turned = builder.fsub(builder.fmul(turn, now[m]), builder.load(earlier[m]))
                builder.store(now[m], earlier[m])
                builder.store(builder.fadd(turned, change), sums[m])
        return context.get_dummy_value()

    place = types.int64
    return types.void(x, place, place, place, below, above, steps, first, types.float64, out), generate
