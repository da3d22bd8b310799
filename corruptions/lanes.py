"""A few neighbouring values at once, in vectors that are written out.

For loops that the compiler does not see through.

A vector's + - * are those of its elements, each rounded once, so bytes are the same on every processor; one without
such vectors has them cut up. Loads and stores take whole vectors: an array has room for the rest of one behind its last
element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

RUN = 8
"""How many values `stretch` writes, and how many columns `cosines_down` filters."""
PIXEL = 4
"""How many `mix` and `blend` write: a pixel's three, and one that the next pixel overwrites."""
TERMS = 8
"""How many cosines `cosines_down` adds up, an even number: they are summed in pairs."""
SUMS = 16
"""How many sums of a row `weigh_inwards` and its like write."""
# Numba types what is called from Python, without the first parameter of an intrinsic; nor are its builders typed.
_intrinsic: Any = intrinsic
_tools: Any = cgutils
_BYTES = {"uint8": 1, "float32": 4, "float64": 8}
_KINDS = {"uint8": ir.IntType(8), "float32": ir.FloatType(), "float64": ir.DoubleType()}
_PLACE = types.int64


@dataclass
class _Value:
    """A number or vector of code that is being made.

    Its + - * are made, too.
    """

    builder: Any
    made: Any

    def _with(self, other: Any, operation: str) -> _Value:
        kind = "" if isinstance(self.made.type, ir.IntType) else "f"
        right = other.made if isinstance(other, _Value) else ir.Constant(self.made.type, other)
        return _Value(self.builder, getattr(self.builder, kind + operation)(self.made, right))

    def __add__(self, other: Any) -> _Value:
        return self._with(other, "add")

    def __sub__(self, other: Any) -> _Value:
        return self._with(other, "sub")

    def __mul__(self, other: Any) -> _Value:
        return self._with(other, "mul")

    def part(self, places: Sequence[int]) -> _Value:
        """Return some elements of a vector."""
        mask = ir.Constant(ir.VectorType(ir.IntType(32), len(places)), [*places])
        return _Value(self.builder, self.builder.shuffle_vector(self.made, self.made, mask))

    def everywhere(self, width: int) -> _Value:
        """Return a vector of one number."""
        none = ir.Constant(ir.VectorType(self.made.type, width), ir.Undefined)
        first = self.builder.insert_element(none, self.made, ir.Constant(ir.IntType(32), 0))
        return _Value(self.builder, first).part([0] * width)

    def kept(self) -> _Kept:
        """Keep the value from one turn of a loop to the next.

        It is in a register, once the code is optimised.
        """
        return _Kept(self.builder, _tools.alloca_once_value(self.builder, self.made))

    @contextmanager
    def loop(self) -> Iterator[_Value]:
        """Loop as often as the number says."""
        with _tools.for_range(self.builder, self.made) as loop:
            yield _Value(self.builder, loop.index)


@dataclass
class _Kept:
    builder: Any
    place: Any

    def get(self) -> _Value:
        return _Value(self.builder, self.builder.load(self.place))

    def set(self, value: _Value) -> None:
        self.builder.store(value.made, self.place)


@dataclass
class _Array:
    """An array that an intrinsic is given."""

    builder: Any
    data: Any
    kind: str

    def element(self, place: _Value) -> _Value:
        """Return one element."""
        return _Value(self.builder, self.builder.load(self.builder.gep(self.data, [place.made])))

    def _place(self, place: _Value, kind: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(self.data, [place.made]), kind.as_pointer())

    def load(self, place: _Value, width: int, kind: str = "float64") -> _Value:
        """Return the elements from a place on, as `kind`."""
        loaded = self.builder.load(self._place(place, ir.VectorType(_KINDS[self.kind], width)), align=_BYTES[self.kind])
        if self.kind != kind:
            convert = self.builder.uitofp if self.kind == "uint8" else self.builder.fpext
            loaded = convert(loaded, ir.VectorType(_KINDS[kind], width))
        return _Value(self.builder, loaded)

    def store(self, value: _Value, place: _Value) -> None:
        """Write a vector from a place on, as the elements are."""
        made, to = value.made, ir.VectorType(_KINDS[self.kind], value.made.type.count)
        made = made if made.type == to else self.builder.fptrunc(made, to)
        self.builder.store(made, self._place(place, to), align=_BYTES[self.kind])


def _written(write: Callable[..., None]) -> Any:
    """Return what makes the code of an intrinsic.

    It is written with `_Array` and `_Value` in place of its arguments.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        given: list[_Array | _Value] = []
        for kind, argument in zip(signature.args, arguments, strict=True):
            if isinstance(kind, types.Array):
                data = context.make_array(kind)(context, builder, argument).data
                given.append(_Array(builder, data, str(kind.dtype)))
            else:
                given.append(_Value(builder, argument))
        write(*given)
        return context.get_dummy_value()

    return generate


@_intrinsic
def stretch(typingctx, source, at, step, share, out, to):  # type: ignore[no-untyped-def]
    """Write a row between two rows, in float32.

    ``out[to + i] = source[at + i] + share[to + i] * (source[at + step + i] - source[at + i])``, i below `RUN`.
    """

    def write(source, at, step, share, out, to):  # type: ignore[no-untyped-def]
        left, right = source.load(at, RUN, "float32"), source.load(at + step, RUN, "float32")
        out.store(left + share.load(to, RUN, "float32") * (right - left), to)

    return types.void(source, types.uint64, types.uint64, share, out, types.uint64), _written(write)


@_intrinsic
def mix(typingctx, flat, a, b, c, d, u, v, w, z, out, to):  # type: ignore[no-untyped-def]
    """Write a weighted sum of four places of a flat array.

    ``out[to + i] = ((flat[a + i] * u + flat[b + i] * v) + flat[c + i] * w) + flat[d + i] * z``, i below `PIXEL`.

    It is worked out in the type of the weights u, v, w and z.
    """
    kind = str(u)

    def write(flat, a, b, c, d, u, v, w, z, out, to):  # type: ignore[no-untyped-def]
        first, *others = (
            flat.load(place, PIXEL, kind) * weight.everywhere(PIXEL)
            for place, weight in zip((a, b, c, d), (u, v, w, z), strict=True)
        )
        out.store(sum(others, first), to)

    return types.void(flat, *[types.uint64] * 4, u, v, w, z, out, types.uint64), _written(write)


@_intrinsic
def blend(typingctx, flat, upper, lower, u, v, out, to):  # type: ignore[no-untyped-def]
    """Write what lies `u` to the right and `v` below the first of four pixels.

    It goes from ``out[to]`` on, in float32: `PIXEL` values, of pixels of three.

    Two neighbours begin at ``flat[upper]``, those below them at ``flat[lower]``; behind each pair is room for two
    values.
    """

    def write(flat, upper, lower, u, v, out, to):  # type: ignore[no-untyped-def]
        above, below = flat.load(upper, 2 * PIXEL, "float32"), flat.load(lower, 2 * PIXEL, "float32")
        both = above + v.everywhere(2 * PIXEL) * (below - above)
        left, right = both.part(range(PIXEL)), both.part(range(3, 3 + PIXEL))
        out.store(left + u.everywhere(PIXEL) * (right - left), to)

    return types.void(flat, types.uint64, types.uint64, u, v, out, types.uint64), _written(write)


def _weighing(inwards: bool, rows: int) -> Any:
    """Return an intrinsic that filters one row of an array, or two neighbouring ones.

    It does as `separable.weigh`.

    Sums stay in registers from the first pair to the last; and what one of two rows reads, the other has read at the
    pair before.
    """

    def weigh(typingctx, source, at, step, weights, radius, out, to, second):  # type: ignore[no-untyped-def]
        """Write `SUMS` sums from ``out[to]`` on, and those of another row.

        That is the row `step` further in `source`; its sums go from ``out[second]`` on.
        """

        def write(source, at, step, weights, radius, out, to, second):  # type: ignore[no-untyped-def]
            weight = weights.element(at - at).everywhere(SUMS)
            ends = centres = [source.load(place, SUMS) for place in (at, at + step)[:rows]]
            sums = [(centre * weight).kept() for centre in centres]
            if inwards and rows == 2:
                ends = [source.load(place, SUMS) for place in (at - radius * step, at + radius * step + step)]
            ends = [end.kept() for end in ends]
            with radius.loop() as turn:
                k = radius - turn if inwards else turn + 1
                low, high = at - k * step, at + k * step
                if rows == 2:
                    low, high = (low + step, high) if inwards else (low, high + step)
                low, high = source.load(low, SUMS), source.load(high, SUMS)
                pairs = [low + high]
                if rows == 2:
                    pairs = [ends[0].get() + high, low + ends[1].get()][:: 1 if inwards else -1]
                    ends[0].set(low)
                    ends[1].set(high)
                weight = weights.element(k).everywhere(SUMS)
                for total, pair in zip(sums, pairs, strict=True):
                    total.set(total.get() + pair * weight)
            for total, place in zip(sums, (to, second), strict=False):
                out.store(total.get(), place)

        return types.void(source, _PLACE, _PLACE, weights, _PLACE, out, _PLACE, _PLACE), _written(write)

    return _intrinsic(weigh)


weigh_inwards, weigh_outwards = _weighing(True, 1), _weighing(False, 1)
weigh_two_inwards, weigh_two_outwards = _weighing(True, 2), _weighing(False, 2)


@_intrinsic
def cosines_down(typingctx, x, left, width, rows, below, above, steps, first, factor, out):  # type: ignore[no-untyped-def]
    """Filter `RUN` columns of an image by running sums of `TERMS` cosines.

    See `fields`. All sums stay in registers.

    The image is flat, of rows of `width`; columns begin at `left` and become rows of `out`, `rows` values each. Row
    y + R + k of the reflected image begins at ``below[y + k]``, row y - R - 1 + k at ``above[y + k]``, k being 0 or 1;
    `steps` and `first` are flat (terms, 3) and (rows, terms). Results are multiplied by `factor`.
    """

    def write(x, left, width, rows, below, above, steps, first, factor, out):  # type: ignore[no-untyped-def]
        none = left - left
        nothing = _Value(left.builder, ir.Constant(ir.VectorType(_KINDS["float64"], RUN), None))
        sums = [nothing.kept() for _ in range(TERMS)]
        with rows.loop() as y:
            values = x.load(left + y * width, RUN)
            for m, total in enumerate(sums):
                total.set(total.get() + first.element(y * TERMS + m).everywhere(RUN) * values)
        # Reflected samples are symmetric about the edge, and so are the sums.
        earlier = [total.get().kept() for total in sums]
        with rows.loop() as y:
            far = x.load(left + below.element(y + 1), RUN) + x.load(left + above.element(y), RUN)
            near = x.load(left + below.element(y), RUN) + x.load(left + above.element(y + 1), RUN)
            now = [total.get() for total in sums]
            pair, *others = (now[m] + now[m + 1] for m in range(0, TERMS, 2))
            result = sum(others, pair) * factor.everywhere(RUN)
            for k in range(RUN):
                out.store(result.part([k]), (left + k) * rows + y)
            for m in range(TERMS):
                turn, enter, leave = (steps.element(none + (3 * m + k)).everywhere(RUN) for k in range(3))
                sums[m].set(turn * now[m] - earlier[m].get() + (enter * far - leave * near))
                earlier[m].set(now[m])

    return types.void(x, _PLACE, _PLACE, _PLACE, below, above, steps, first, types.float64, out), _written(write)
