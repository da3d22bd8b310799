"""What a corruption declares of itself: parameters, draws, levels; and the types that its function has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from .keys import Keys

Images = NDArray[np.uint8]
Shape = tuple[int, int, int]
"""Height, width, channels."""
MOST = 2**53
"""Magnitude of a whole number that can be given: what JSON and doubles hold exactly."""


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
        where = f"{corruption}: parameter {self.name!r} is {value!r}; expected"
        if self.option and value is None and self.default is None:
            return None
        if self.kind is str:
            if not isinstance(value, str) or (self.choices and value not in self.choices):
                raise ParameterError(f"{where} one of {', '.join(self.choices)}.")
            return value
        if self.kind is bool:
            if not isinstance(value, (bool, np.bool_)):
                raise ParameterError(f"{where} true or false.")
            return bool(value)
        number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
        # numpy knows no whole number beyond 64 bits, and no float is beyond 1024 bits
        fits = number and not (isinstance(value, int) and abs(value) > MOST) and np.isfinite(value)
        if not fits or (self.kind is int and value != int(value)):
            raise ParameterError(f"{where} {'a whole' if self.kind is int else 'a finite'} number.")
        if (self.low is not None and value < self.low) or (self.high is not None and value > self.high):
            bounds = [f"at least {self.low:g}"] if self.low is not None else []
            bounds += [f"at most {self.high:g}"] if self.high is not None else []
            raise ParameterError(f"{where} a number {' and '.join(bounds)}.")
        return int(value) if self.kind is int else float(value)


def choice(name: str, choices: tuple[str, ...], about: str, *, shapes_draws: bool = False) -> Parameter:
    """Return an option that is one of a few words, the first of them by default."""
    return Parameter(
        name, str, choices=choices, default=choices[0], option=True, shapes_draws=shapes_draws, about=about
    )


Given = Mapping[str, Any]
"""The parameters of a call, scaled; of a gradual degradation the `level`, too."""


def _one_number(shape: Shape, parameters: Given) -> tuple[int, ...]:
    return ()


@dataclass(frozen=True)
class Draw:
    """Something that a corruption draws at random, and that a caller may give instead: the function gets it for each
    image.

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
            whole = np.dtype(self.dtype).kind in "iu"
            if array.dtype.kind not in ("iu" if whole else "iuf"):
                raise ValueError(
                    f"got dtype {array.dtype}, expected {'whole numbers' if whole else np.dtype(self.dtype)}"
                )
            if not np.isfinite(array).all():
                raise ValueError("got values that are not finite")
            beyond = array.size and (
                (self.low is not None and array.min() < self.low) or (self.high is not None and array.max() > self.high)
            )
            if beyond:
                raise ValueError(f"got values from {array.min()} to {array.max()}, expected {self.low} to {self.high}")
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
        return np.empty(
            (count, *(0 for _ in self.size(shape, parameters))) if self.size is not None else count, self.dtype
        )


@dataclass(frozen=True)
class Gradual:
    """What makes a corruption a gradual degradation: it has levels 1, 2, ... in place of severities.

    Its function takes one step, ``f(images, keys, *, level, columns...)``: from the images of ``level - 1`` to those of
    `level` where it `accumulates`, else from the clean images. It draws from streams of that level
    (`keys.level_stream`), so that level 17 is the same alone and on the way to level 30.
    """

    change: Callable[[int, Shape, Mapping[str, Any]], str]
    """(level, (H, W, C), parameters) -> what the image has gone through so far, for people: ``"7 lines"``."""
    accumulates: bool = True
    most: int = 99
    """The last level; ids have two digits."""


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What a corruption is, beside its name, its family and its function: the arguments of the decorator."""

    revision: int = 1
    """Bumped whenever output bytes change."""
    reference: str
    """Where the definition comes from: author, year, title."""
    parameters: tuple[Parameter, ...]
    draws: tuple[Draw, ...] = ()
    resources: Mapping[str, Callable[[int, int], Any] | None] = field(default_factory=dict)
    """Keyword arguments that are neither parameters nor draws (frost's textures). Each has a function that returns the
    default one for images of a height and width; or None where there is no default, and it must be given (a model)."""
    role: Literal["test", "validation", "train"] = "test"
    preserves_geometry: bool = True
    """False where pixels move by more than a blur does."""
    deterministic: bool = False
    """True where nothing is drawn at random."""
    gradual: Gradual | None = None
    """For a corruption with levels in place of severities; its function takes ``level`` too."""
    keeps_shape: bool = True
    """False where images come out in another height and width."""
    held: int = 0
    """Values that an image holds for each of its pixels on the way, for a batch to come in portions whose values fit
    into the processor's cache; 0 where it may come whole."""
    tables: str = "tables"
    """Of a plugin: the folder of its tables, beside the function's file: ``<calibration>.toml``, in the form of the
    shipped ones.
    """

    @property
    def columns(self) -> tuple[Parameter, ...]:
        """The parameters that every row of a table gives."""
        return tuple(p for p in self.parameters if not p.option)

    @property
    def options(self) -> tuple[Parameter, ...]:
        """The parameters with a default."""
        return tuple(p for p in self.parameters if p.option)

    @property
    def needs_model(self) -> bool:
        """Whether it takes a `surrogate`, and the `labels` of the images: its bytes depend on the machine, and have no
        golden digests.
        """
        return "surrogate" in self.resources

    def without_defaults(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return values of parameters in the order of the declaration, without the options that are at their
        default.
        """
        return {
            p.name: values[p.name]
            for p in self.parameters
            if p.name in values and not (p.option and values[p.name] == p.default)
        }
