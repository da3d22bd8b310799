"""The parameters, draws and levels that a corruption declares, and the checks of given values."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError, quote
from .keys import Keys

Images = NDArray[np.uint8]
Shape = tuple[int, int, int]
"""The height, width and number of channels of an image."""
Given = Mapping[str, Any]
"""The parameters of a call by name, after scaling. For a gradual degradation, they include its `level`."""
_MAX_INTEGER = 2**53  # JSON and doubles represent whole numbers exactly up to this one.


@dataclass(frozen=True)
class Parameter:
    """A named parameter of a corruption.

    A *column* has no default. It has a value in every row of a table and is part of the stage key. An *option* has a
    default. It is part of the stage key only if `shapes_draws` is true and its value differs from the default.
    """

    name: str
    kind: type = float
    low: float | None = None
    high: float | None = None
    about: str = ""
    length: bool = False
    """True for a length in pixels, which is scaled with the short side of the image if ``scale="side"``."""
    at_least: float | None = None
    """The minimum after scaling."""
    default: Any = None
    option: bool = False
    shapes_draws: bool = False
    choices: tuple[str, ...] = ()

    def checked(self, value: Any, corruption: str) -> Any:
        """Return a value converted to the kind of this parameter, or raise `ParameterError`."""
        if self.option and value is None and self.default is None:
            return None
        if self.kind is str:
            fits, expected = isinstance(value, str) and value in self.choices, f"one of {', '.join(self.choices)}"
        elif self.kind is bool:
            fits, expected = isinstance(value, (bool, np.bool_)), "true or false"
        else:
            limit = _MAX_INTEGER if self.kind is int else sys.float_info.max
            low, high = -limit if self.low is None else self.low, limit if self.high is None else self.high
            fits = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
            # Comparisons with NaN are false.
            fits = fits and bool(low <= value <= high) and (self.kind is float or value == int(value))
            bounds = [f"at least {self.low:g}"] * (self.low is not None)
            bounds += [f"at most {self.high:g}"] * (self.high is not None)
            expected = " ".join(["a whole number" if self.kind is int else "a finite number", " and ".join(bounds)])
        if not fits:
            raise ParameterError(
                f"{corruption}: parameter {self.name!r} is {quote(value)}; expected {expected.strip()}."
            )
        return self.kind(value)


def choice(name: str, choices: tuple[str, ...], about: str, *, shapes_draws: bool = False) -> Parameter:
    """Return an option whose value is one of several words. The first word is the default."""
    return Parameter(
        name, str, choices=choices, default=choices[0], option=True, shapes_draws=shapes_draws, about=about
    )


def _one_number(shape: Shape, parameters: Given) -> tuple[int, ...]:
    return ()


@dataclass(frozen=True)
class Draw:
    """A random value that a corruption draws for each image, and that a caller can replace.

    A given value is used for all images. For a gradual degradation, its first axis is the level.
    """

    name: str
    about: str
    drawn: Callable[[Keys, Shape, Given], NDArray[Any]] | None = None
    """A function of (keys, (H, W, C), parameters) that returns one row per image, as `dtype`. If it is None, the
    corruption gets an empty array and draws from its keys."""
    size: Callable[[Shape, Given], tuple[int, ...]] | None = _one_number
    """A function of ((H, W, C), parameters) that returns the shape of a given value. It is None if only `check` tests
    the shape.
    """
    dtype: Any = np.float64
    low: float | None = None
    high: float | None = None
    check: Callable[[NDArray[Any], Shape, Given], NDArray[Any]] | None = None
    """A function of (a given array, (H, W, C), parameters) that returns the array to use instead of a drawn row. If the
    given array does not fit, it raises ValueError with a description of what was expected.
    """

    @property
    def is_number(self) -> bool:
        """Whether the draw is one number per image."""
        return self.size is _one_number

    def checked(self, value: Any, shape: Shape, parameters: Given, corruption: str) -> NDArray[Any]:
        """Return a given value as the array that the function expects, or raise `ParameterError`."""
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
            raise ParameterError(f"{corruption}: the given {self.name!r} is invalid: {e} ({self.about}).") from None

    def rows(self, given: NDArray[Any] | None, keys: Keys, shape: Shape, parameters: Given) -> NDArray[Any]:
        """Return the array to pass to the function, with one drawn or given row per image."""
        count = len(keys.samples)
        if given is not None:
            return np.repeat((given[parameters["level"] - 1] if "level" in parameters else given)[None], count, axis=0)
        if self.drawn is not None:
            return self.drawn(keys, shape, parameters)
        assert self.size is not None, "a value that the function draws itself has a size"
        return np.empty((count, *(0 for _ in self.size(shape, parameters))), self.dtype)


@dataclass(frozen=True)
class Gradual:
    """The declaration of a gradual degradation, which has levels instead of severities.

    Its function ``f(images, keys, *, level, columns...)`` performs one step. If `accumulates` is true, the step leads
    from the images of ``level - 1`` to those of `level`. Otherwise, it starts from the clean images. The function draws
    from streams of that level (`keys.level_stream`). Level 17 is therefore the same whether it is computed alone or as
    a step towards level 30.
    """

    change: Callable[[int, Shape, Mapping[str, Any]], str]
    """A function of (level, (H, W, C), parameters) that describes the changes up to a level, such as ``"7 lines"``."""
    accumulates: bool = True
    most: int = 99
    """The last level, which is at most 99 because ids have two digits."""
