"""What is known of each corruption: its function, its parameters, what it draws."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError, UnknownCorruption, suggest
from .docstrings import full_docstring
from .keys import Keys

Images = NDArray[np.uint8]
Shape = tuple[int, int, int]
"""Height, width, channels."""

FAMILIES = ("noise", "blur", "weather", "digital", "shape", "gradual")
MODULES: Mapping[str, tuple[str, ...]] = {
    "noise.noise": ("gaussian_noise", "shot_noise", "impulse_noise", "salt_pepper", "speckle_noise"),
    "blur.gaussian": ("gaussian_blur",),
    "blur.defocus": ("defocus_blur",),
    "blur.glass": ("glass_blur",),
    "blur.motion": ("motion_blur",),
    "blur.zoom": ("zoom_blur",),
    "weather.snow": ("snow",),
    "weather.frost": ("frost",),
    "weather.fog": ("fog",),
    "weather.brightness": ("brightness",),
    "weather.spatter": ("spatter",),
    "digital.contrast": ("contrast",),
    "digital.elastic": ("elastic_transform",),
    "digital.pixelate": ("pixelate",),
    "digital.jpeg": ("jpeg_compression",),
    "digital.saturate": ("saturate",),
    "digital.levels": ("quantize", "inverse"),
    "shape.affine": ("shear", "scale", "rotate", "translate"),
    "shape.stroke": ("line", "dotted_line", "zigzag"),
    "shape.stripe": ("stripe",),
    "shape.canny": ("canny_edges",),
    "gradual.lines": ("black_lines", "white_lines"),
    "gradual.boxes": ("random_boxes",),
    "gradual.blur": ("global_blur", "local_blur"),
    "gradual.pixels": ("random_noise", "white_fog"),
    "gradual.swap": ("pixel_swap", "adjacent_pixel_swap"),
    "gradual.fade": ("fade_black", "fade_white"),
    "gradual.grey": ("fade_grey",),
    "gradual.clean": ("posterize", "jpeg"),
}
"""Module -> the corruptions in it, by family. A module is imported when one of its corruptions is first asked for: a build
uses some, and a worker that begins just one."""
_HOMES = {name: module for module, names in MODULES.items() for name in names}

MOST = 2**53
"""Magnitude of a whole number that can be given: what JSON and doubles hold exactly."""


@dataclass(frozen=True)
class Parameter:
    """A named parameter of a corruption.

    A *column* (no default) has a value in every row of the calibration tables and is part of the stage key; an
    *option* (with a default) enters the key only if it `shapes_draws` and differs from its default.
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
        # a whole number beyond 64 bits is none that numpy knows, and beyond 1024 none that a float is
        if (
            not number
            or (isinstance(value, int) and abs(value) > MOST)
            or not np.isfinite(value)
            or (self.kind is int and value != int(value))
        ):
            raise ParameterError(f"{where} {'a whole' if self.kind is int else 'a finite'} number.")
        if (self.low is not None and value < self.low) or (self.high is not None and value > self.high):
            bounds = [f"at least {self.low:g}"] if self.low is not None else []
            bounds += [f"at most {self.high:g}"] if self.high is not None else []
            raise ParameterError(f"{where} a number {' and '.join(bounds)}.")
        return int(value) if self.kind is int else float(value)


def choice(name: str, choices: tuple[str, ...], about: str, *, shapes_draws: bool = False) -> Parameter:
    """Return an option that is one of a few words, the first of them by default."""
    return Parameter(name, str, choices=choices, default=choices[0], option=True, shapes_draws=shapes_draws, about=about)


@dataclass(frozen=True)
class Draw:
    """Something that a corruption draws at random and that can be given instead."""

    name: str
    about: str
    check: Callable[[Any, Shape, Mapping[str, Any]], Any]
    """(value, (H, W, C), scaled parameters) -> the value as the function takes it; raises ValueError with what was
    expected."""

    def checked(self, value: Any, shape: Shape, parameters: Mapping[str, Any], corruption: str) -> Any:
        try:
            return self.check(value, shape, parameters)
        except (ValueError, TypeError) as e:
            raise ParameterError(f"{corruption}: the given {self.name!r} does not fit: {e} ({self.about}).") from None


def given_scalar(low: float | None = None, high: float | None = None) -> Callable[[Any, Shape, Mapping[str, Any]], float]:
    """A draw that is one finite number, within bounds where they are given."""

    def check(value: Any, shape: Shape, parameters: Mapping[str, Any]) -> float:
        array = np.asarray(value)
        if array.shape != () or array.dtype.kind not in "iuf" or not np.isfinite(array):
            raise ValueError(f"got {value!r}, expected one finite number")
        number = float(array)
        if (low is not None and number < low) or (high is not None and number > high):
            raise ValueError(f"got {number:g}, expected a number from {low} to {high}")
        return number

    return check


def given_array(
    shape_of: Callable[[Shape, Mapping[str, Any]], tuple[int, ...]],
    dtype: Any,
    low: float | None = None,
    high: float | None = None,
) -> Callable[[Any, Shape, Mapping[str, Any]], NDArray[Any]]:
    """A draw that is an array of a shape that follows from the image's; it is cast to `dtype`."""

    def check(value: Any, shape: Shape, parameters: Mapping[str, Any]) -> NDArray[Any]:
        array = np.asarray(value)
        want = shape_of(shape, parameters)
        if array.shape != want:
            raise ValueError(f"got shape {array.shape}, expected {want}")
        if array.dtype.kind not in ("iu" if np.dtype(dtype).kind in "iu" else "iuf"):
            raise ValueError(f"got dtype {array.dtype}, expected {np.dtype(dtype)}")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError("got values that are not finite")
        if array.size and ((low is not None and array.min() < low) or (high is not None and array.max() > high)):
            raise ValueError(f"got values from {array.min()} to {array.max()}, expected {low} to {high}")
        return np.array(array, dtype=dtype, order="C")

    return check


@dataclass(frozen=True)
class Gradual:
    """What makes a corruption a gradual degradation: it has levels 1, 2, ... in place of severities.

    Its function takes one step, ``f(images, keys, *, level, columns...)``: from the images of ``level - 1`` to those of
    `level` where it `accumulates`, else from the clean images to those of `level`. What it draws comes from streams of
    that level (`keys.level_stream`), so that level 17 is the same alone and on the way to level 30.
    """

    change: Callable[[int, Shape, Mapping[str, Any]], str]
    """(level, (H, W, C), parameters) -> what was done to the image so far, for people: ``"7 lines"``."""
    accumulates: bool = True
    most: int = 99
    """The last level; ids have two digits."""


@dataclass(frozen=True)
class Corruption:
    """A registered corruption."""

    name: str
    family: str
    role: Literal["test", "validation"]
    revision: int
    preserves_geometry: bool
    reference: str
    parameters: tuple[Parameter, ...]
    draws: tuple[Draw, ...]
    resources: tuple[str, ...]
    deterministic: bool
    tabled: bool
    function: Callable[..., Images] = field(repr=False)
    gradual: Gradual | None = None

    @property
    def columns(self) -> tuple[Parameter, ...]:
        """The parameters that every row of the calibration tables gives."""
        return tuple(p for p in self.parameters if not p.option)

    @property
    def options(self) -> tuple[Parameter, ...]:
        """The parameters with a default."""
        return tuple(p for p in self.parameters if p.option)

    @property
    def versioned(self) -> str:
        """``name@revision``, as it stands in stage keys."""
        return f"{self.name}@{self.revision}"

    def apply(
        self,
        images: Images,
        params: Mapping[str, Any],
        stage_key: np.uint64,
        sample_keys: NDArray[np.uint64],
        **given: Any,
    ) -> Images:
        """Corrupt a batch; a gradual degradation takes one step, to the `level` given.

        Parameters
        ----------
        images : (N, H, W, C) ndarray of uint8, RGB or grey (C = 3 or 1), C-contiguous
        params : mapping
            Every column, and options that differ from their default, at the values to be applied (after scaling).
        stage_key : numpy.uint64
        sample_keys : (N,) ndarray of uint64
        **given
            Draws and resources given in place of the drawn or default ones, already checked.

        Returns
        -------
        (N, H', W', C) ndarray of uint8
        """
        return self.function(images, Keys(np.uint64(stage_key), sample_keys), **params, **given)


_registered: dict[str, Corruption] = {}


def corruption(
    *,
    family: str,
    revision: int,
    reference: str,
    parameters: tuple[Parameter, ...],
    draws: tuple[Draw, ...] = (),
    resources: tuple[str, ...] = (),
    role: Literal["test", "validation"] = "test",
    preserves_geometry: bool = True,
    deterministic: bool = False,
    gradual: Gradual | None = None,
    tabled: bool = True,
) -> Callable[[Callable[..., Images]], Callable[..., Images]]:
    """Register a function ``f(images, keys, *, columns..., options=..., draws=None, resources=None)`` under its name.

    Its docstring gets the sections that follow from the registration (`docstrings.full_docstring`).

    Parameters
    ----------
    family : str
        One of `FAMILIES`.
    revision : int
        Bumped whenever output bytes change.
    reference : str
        Where the definition comes from.
    parameters, draws
        See `Parameter` and `Draw`.
    resources : tuple of str
        Keyword arguments that are neither parameters nor draws (frost's textures).
    role : {"test", "validation"}
    preserves_geometry : bool
        False where pixels move by more than a blur does.
    deterministic : bool
        True where nothing is drawn at random.
    gradual : Gradual, optional
        For a corruption with levels in place of severities; its function takes ``level`` too.
    tabled : bool
        False where no severities were published: no shipped calibration has rows for it, and its columns are always
        given. (A user's own table may have rows.)
    """

    def register(function: Callable[..., Images]) -> Callable[..., Images]:
        name = function.__name__
        if name in _registered and _registered[name].function.__module__ != function.__module__:
            raise ValueError(f"two corruptions are called {name!r}")
        if family not in FAMILIES:
            raise ValueError(f"{name}: unknown family {family!r}")
        if name not in _HOMES:
            raise ValueError(f"{name} is missing in MODULES of corruptions/registry.py")
        _registered[name] = Corruption(
            name,
            family,
            role,
            revision,
            preserves_geometry,
            reference,
            parameters,
            draws,
            resources,
            deterministic,
            tabled and gradual is None,
            function,
            gradual,
        )
        function.__doc__ = full_docstring(_registered[name])
        return function

    return register


def corruption_names() -> tuple[str, ...]:
    """Return the names of all corruptions, by family, in the order of `MODULES`."""
    return tuple(_HOMES)


def get_corruption(name: str) -> Corruption:
    """Return a corruption, from its module; an unknown name raises `UnknownCorruption` and suggests the nearest."""
    if name not in _registered and name in _HOMES:
        importlib.import_module(f".{_HOMES[name]}", __package__)
    if name not in _registered:
        names = corruption_names()
        raise UnknownCorruption(f"There is no corruption {name!r}.{suggest(name, names)} Known: {', '.join(names)}.")
    return _registered[name]
