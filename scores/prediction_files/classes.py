"""Values of classes, a row an image: the highest, those above another, their exponentials; of float16 by its bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

SAFE_EXPONENT = 60.0
"""Up to here (and down to its negative) sums of exponentials of a million classes keep float32's accuracy."""

Memory = dict[object, NDArray[Any]]
"""Working memory that is used again: fresh memory of a block's size costs more than what is computed in it."""


def _working(memory: Memory, name: object, shape: tuple[int, int], dtype: type[np.generic]) -> NDArray[Any]:
    rows, columns = shape
    kept = memory.get(name)
    if kept is None or kept.shape[1] != columns or len(kept) < rows:
        kept = memory[name] = np.empty(shape, dtype)
    return kept[:rows]


def counted(mask: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return how many of each row are true; four times as fast as numpy's own sum."""
    return np.asarray(np.bitwise_count(np.packbits(mask, axis=1)).sum(axis=1, dtype=np.int32))


def scored(values: NDArray[Any], memory: Memory) -> Scored:
    """Return values (n, K) of float16, float32 or float64 with what is asked of them."""
    return Halves(values, memory) if values.dtype == np.float16 else Scored(values, memory)


class Scored:
    """Values of float32 or float64 (n, K)."""

    def __init__(self, values: NDArray[Any], memory: Memory) -> None:
        self.values = values
        self._memory = memory
        self._low, self._high = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)

    def finite(self) -> bool:
        """Return whether no value is NaN or infinite."""
        return bool(np.isfinite(self._low) and np.isfinite(self._high))

    def within(self, low: float, high: float) -> bool:
        """Return whether all values lie from `low` to `high`."""
        return low <= self._low and self._high <= high

    def best(self) -> NDArray[np.intp]:
        """Return the class of the highest value of each row, the lowest of equal ones."""
        return np.asarray(self.values.argmax(axis=1))

    def above(self, chosen: NDArray[np.intp], classes: NDArray[np.integer]) -> NDArray[np.int32]:
        """Return how many values of each chosen row are above the row's value of a class."""
        taken = self._taken(self.values, chosen)
        mask = _working(self._memory, "mask", taken.shape, np.bool_)
        return counted(np.greater(taken, self.values[chosen, classes][:, None], out=mask))

    def _taken(self, values: NDArray[Any], chosen: NDArray[np.intp]) -> NDArray[Any]:
        if len(chosen) == len(values):
            return values
        out = _working(self._memory, values.dtype, (len(chosen), values.shape[1]), values.dtype.type)
        return values.take(chosen, axis=0, out=out, mode="clip")

    def equal(self, chosen: NDArray[np.intp], classes: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return which values of each chosen row are equal to the row's value of a class."""
        return np.asarray(self.values[chosen] == self.values[chosen, classes][:, None])

    def singles(self) -> NDArray[np.float32]:
        """Return the values as float32."""
        return np.asarray(self.values, np.float32)

    def _exact(self) -> NDArray[Any]:
        """Return the values in a type whose differences are exact enough."""
        return self.values

    def shares(self, best: NDArray[np.intp], classes: NDArray[np.integer]) -> NDArray[np.float32]:
        """Return the softmax of each row's value of a class, within 1e-5; `best` is the class of its highest value."""
        images = np.arange(len(best))
        powers = _working(self._memory, "single", self.values.shape, np.float32)
        if self.within(-SAFE_EXPONENT, SAFE_EXPONENT):
            np.exp(self.singles(), out=powers)
        else:
            values = self._exact()
            np.subtract(values, values[images, best][:, None], out=powers, casting="same_kind")
            np.exp(powers, out=powers)
        return np.asarray(powers[images, classes] / np.einsum("ij->i", powers))


_MINUS_ZERO = -0x8000


class Halves(Scored):
    """Values of float16.

    Their bits are a sign and a magnitude that grows with the value: as int16, those of positive numbers have the numbers' order, and
    are above those of all negative ones; as uint16, those of negative numbers have the opposite order, and are above all others.
    """

    def __init__(self, values: NDArray[np.float16], memory: Memory) -> None:
        self.values = values
        self._memory = memory
        self._bits, self._unsigned = values.view(np.int16), values.view(np.uint16)
        self._low, self._high = self._bounds() if values.size else (0.0, 0.0)

    def _bounds(self) -> tuple[float, float]:
        """Return numbers between which all values lie: the extreme ones, or 0 where none is negative, or none positive."""
        signed, unsigned = int(self._bits.max()), int(self._unsigned.max())
        high = _half(signed) if signed >= 0 else 0.0
        low = _half(unsigned) if unsigned > -_MINUS_ZERO else 0.0
        return low, high

    def best(self) -> NDArray[np.intp]:
        best: NDArray[np.intp] = self._bits.argmax(axis=1)
        highest = self._bits[np.arange(len(best)), best]
        if (negative := np.flatnonzero(highest < 0)).size:
            best[negative] = self._taken(self._unsigned, negative).argmin(axis=1)
        if (zero := np.flatnonzero(highest == 0)).size:
            best[zero] = self.values[zero].astype(np.float32).argmax(axis=1)  # -0 is equal to it
        return best

    def above(self, chosen: NDArray[np.intp], classes: NDArray[np.integer]) -> NDArray[np.int32]:
        own = self._bits[chosen, classes]
        negative = (own < 0) & (own != _MINUS_ZERO)
        counts = np.empty(len(chosen), np.int32)
        for part, bits, compare in ((~negative, self._bits, np.greater), (negative, self._unsigned, np.less)):
            taken = self._taken(bits, chosen[part])
            limit = own[part].view(np.uint16) if compare is np.less else np.maximum(own[part], 0)
            mask = _working(self._memory, "mask", taken.shape, np.bool_)
            counts[part] = counted(compare(taken, limit[:, None], out=mask))
        return counts

    def equal(self, chosen: NDArray[np.intp], classes: NDArray[np.integer]) -> NDArray[np.bool_]:
        own = self._bits[chosen, classes]
        equal = np.asarray(self._taken(self._bits, chosen) == own[:, None])
        if (zero := np.flatnonzero((own == 0) | (own == _MINUS_ZERO))).size:
            equal[zero] = self.values[chosen[zero]] == 0  # -0 is equal to it
        return equal

    def singles(self) -> NDArray[np.float32]:
        """Return the values as float32; infinite ones become finite."""
        out: NDArray[np.float32] = _working(self._memory, "single", self.values.shape, np.float32)
        bits = out.view(np.int32)
        # exponent and fraction in the places of float32's, then 2**(127 - 15) for the difference of the biases: exact, subnormal ones too
        bits[...] = self._bits
        np.left_shift(bits, 13, out=bits)
        np.bitwise_and(bits, np.int32(-0x70002000), out=bits)
        out *= np.float32(2.0**112)
        return out

    _exact = singles


def _half(bits: int) -> float:
    return float(np.uint16(bits).view(np.float16))
