"""What a corruption takes: parameters, draws, levels; each checks what is given."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError, quoted
from .keys import Keys

Images = NDArray[np.uint8]
Shape = tuple[int, int, int]
"""Height, width, channels."""
Given = Mapping[str, Any]
"""The parameters of a call, scaled; of a gradual degradation the `level`, too."""
_MOST_WHOLE = 2**53  # what JSON and doubles hold exactly


@dataclass(frozen=True)
class Parameter:
    """A named parameter of a corruption.

    A *column* (no default) has a value in every row of a table and is part of the stage key. An *option* (with a
    default) is part of the key only if it `shapes_draws` and differs from its default.
    """

    name: str
    kind: type = float
    low: float | None = None
    high: float | None = None
    about: str = ""
    length: bool = False
    """Scales with the image's short side under ``scale="side"``."""
    at_least: float | None = None
    """Least value after scaling."""
    default: Any = None
    option: bool = False
    shapes_draws: bool = False
    choices: tuple[str, ...] = ()

    def checked(self, value: Any, corruption: str) -> Any:
        """Return `value` as this parameter's kind, or raise `ParameterError`."""
        if self.option and value is None and self.default is None:
            return None
        if self.kind is str:
            fits, expected = isinstance(value, str) and value in self.choices, f"one of {', '.join(self.choices)}"
        elif self.kind is bool:
            fits, expected = isinstance(value, (bool, np.bool_)), "true or false"
        else:
            most = _MOST_WHOLE if self.kind is int else sys.float_info.max
            low, high = -most if self.low is None else self.low, most if self.high is None else self.high
            fits = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
            # no comparison holds for NaN
            fits = fits and bool(low <= value <= high) and (self.kind is float or value == int(value))
            bounds = [f"at least {self.low:g}"] * (self.low is not None)
            bounds += [f"at most {self.high:g}"] * (self.high is not None)
            expected = " ".join(["a whole number" if self.kind is int else "a finite number", " and ".join(bounds)])
        if not fits:
            raise ParameterError(
                f"{corruption}: parameter {self.name!r} is {quoted(value)}; expected {expected.strip()}."
            )
        return self.kind(value)


def choice(name: str, choices: tuple[str, ...], about: str, *, shapes_draws: bool = False) -> Parameter:
    """Return an option that is one of a few words, by default the first."""
    return Parameter(
        name, str, choices=choices, default=choices[0], option=True, shapes_draws=shapes_draws, about=about
    )


def _one_number(shape: Shape, parameters: Given) -> tuple[int, ...]:
    return ()


@dataclass(frozen=True)
class Draw:
    """Something that a corruption draws for each image, and a caller may give.

    A given one serves every image. Of a gradual degradation its first axis are the levels.
    """

    name: str
    about: str
    drawn: Callable[[Keys, Shape, Given], NDArray[Any]] | None = None
    """(keys, (H, W, C), parameters) -> what is drawn, a row an image, as `dtype`. None: the function draws by itself,
    from its keys, where it gets an array of no size."""
    size: Callable[[Shape, Given], tuple[int, ...]] | None = _one_number
    """((H, W, C), parameters) -> the shape of a given one; None where `check` says what fits."""
    dtype: Any = np.float64
    low: float | None = None
    high: float | None = None
    check: Callable[[NDArray[Any], Shape, Given], NDArray[Any]] | None = None
    """(a given array, (H, W, C), parameters) -> the array that takes the place of a drawn row; a ValueError says what
    was expected.
    """

    @property
    def is_number(self) -> bool:
        """Whether it is one number an image."""
        return self.size is _one_number

    def checked(self, value: Any, shape: Shape, parameters: Given, corruption: str) -> NDArray[Any]:
        """Return a given value as the function takes it, or raise `ParameterError`."""
        try:
            array = np.asarray(value)
            want = self.size(shape, parameters) if self.size is not None else array.shape
            if array.shape != want:
                raise ValueError(f"got shape {array.shape}, expected {want or 'one finite number'}")
            if array.dtype.kind not in ("iu" if np.dtype(self.dtype).kind in "iu" else "iuf"):
                raise ValueError(f"got dtype {array.dtype}, expected {np.dtype(self.dtype)}")
            low, high = -np.inf if self.low is None else self.low, np.inf if self.high is None else self.high
            if array.size and not (np.isfinite(array).all() and low <= array.min() and array.max() <= high):
                raise ValueError(
                    f"got values from {array.min()} to {array.max()}, expected finite ones, {low} to {high}"
                )
            array = np.array(array, dtype=self.dtype, order="C")
            return array if self.check is None else self.check(array, shape, parameters)
        except (ValueError, TypeError) as e:
            raise ParameterError(f"{corruption}: the given {self.name!r} does not fit: {e} ({self.about}).") from None

    def rows(self, given: NDArray[Any] | None, keys: Keys, shape: Shape, parameters: Given) -> NDArray[Any]:
        """Return what the function gets: a row for each image, drawn or given."""
        count = len(keys.samples)
        if given is not None:
            return np.repeat((given[parameters["level"] - 1] if "level" in parameters else given)[None], count, axis=0)
        if self.drawn is not None:
            return self.drawn(keys, shape, parameters)
        assert self.size is not None, "what a function draws by itself has a size"
        return np.empty((count, *(0 for _ in self.size(shape, parameters))), self.dtype)


@dataclass(frozen=True)
class Gradual:
    """What makes a corruption a gradual degradation: levels in place of severities.

    Its function takes one step, ``f(images, keys, *, level, columns...)``: from the images of ``level - 1`` to those of
    `level` where it `accumulates`, else from the clean images. It draws from streams of that level
    (`keys.level_stream`), so that level 17 is the same alone and on the way to level 30.
    """

    change: Callable[[int, Shape, Mapping[str, Any]], str]
    """(level, (H, W, C), parameters) -> what the image has gone through so far, for people: ``"7 lines"``."""
    accumulates: bool = True
    most: int = 99
    """The last level; ids have two digits."""
