"""What is known of each corruption: its function, its parameters, what it draws."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError, PluginError, UnknownCorruption, suggest
from .add_ons import where_to_get
from .keys import Keys

Images = NDArray[np.uint8]
Shape = tuple[int, int, int]
"""Height, width, channels."""

FAMILIES = ("noise", "blur", "weather", "digital", "shape", "gradual", "adversarial")
"""The folders of corruptions, in the order in which people see them. A module of such a folder is imported when one of
its corruptions is first asked for: a build uses some, and a worker that begins just one."""
PLUGIN = "plugin"
"""The family of corruptions in other people's modules (`plugins`)."""

_AT_A_TIME = 1 << 18  # values that a portion of a batch holds: they stay in the second-level cache
# pixels that a plugin is given at once: what numpy makes of them on the way takes ten times as much and more
_CHUNK_BYTES = 4 << 20

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


class corruption(Declaration):
    """Register a function ``f(images, keys, *, columns..., options=..., draws..., resources=None)`` under its name.

    The family is the folder of the function's module, or ``plugin`` outside of the package. What the declaration says
    of parameters and draws, and its reference, need not stand in the docstring.

    Examples
    --------
    ::

        @corruption(revision=1, reference="...", parameters=(Parameter("factor", low=0.0, high=10.0, about="..."),))
        def contrast(images: Images, keys: Keys, *, factor: float) -> Images: ...
    """

    def __call__(self, function: Callable[..., Images]) -> Callable[..., Images]:
        shipped = function.__module__.startswith(f"{__package__}.")
        family = function.__module__.split(".")[-2] if shipped else PLUGIN
        registered = Corruption(**vars(self), name=function.__name__, family=family, function=function)
        if not shipped:
            _refuse_name(registered)
        _registered[registered.name] = registered
        return function


def _refuse_name(registered: Corruption) -> None:
    """Raise `PluginError` for a plugin's corruption that has another one's name, or one that cannot stand in the id of
    a set.
    """
    name, module = registered.name, registered.module
    other = _registered.get(name)
    there = (
        f"corruptset's own {_modules()[name]}"
        if name in _modules()
        else f"the plugin {other.module}"
        if other is not None
        else ""
    )
    if name in _modules() or (other is not None and other.module != module):
        raise PluginError(
            f"{module} registers {name!r}, and {there} has a corruption of that name. Rename one of them."
        )
    if not re.fullmatch("[a-z][a-z0-9_]*", name) or name == "clean":
        raise PluginError(
            f"{module} registers {name!r}; expected a name of lower-case letters, digits and _, and not 'clean'."
        )


@dataclass(frozen=True, kw_only=True)
class Corruption(Declaration):
    """A registered corruption."""

    name: str
    family: str
    """One of `FAMILIES`, or ``plugin``."""
    function: Callable[..., Images] = field(repr=False)

    @property
    def module(self) -> str:
        """The module that defines it."""
        return self.function.__module__

    def apply(
        self,
        images: Images,
        params: Mapping[str, Any],
        stage_key: np.uint64,
        sample_keys: NDArray[np.uint64],
        **given: Any,
    ) -> Images:
        """Corrupt a C-contiguous batch (N, H, W, C); a gradual degradation takes one step, to the `level` given.

        `params` are every column and the options that are not at their default, after scaling; `given` are checked
        draws and resources that take the place of the drawn or default ones.
        """
        shape, values = images.shape[1:], {**params, **given}
        call: Callable[..., Images] = self.function
        at_a_time = _AT_A_TIME // (self.held * shape[0] * shape[1]) if self.held else len(images)
        if self.family == PLUGIN:
            from .plugins import called

            call, at_a_time = functools.partial(called, self), _CHUNK_BYTES // images[0].size

        step = max(at_a_time, 1)
        starts = range(0, len(images), step)
        parts = [
            self._portion(call, images, np.uint64(stage_key), sample_keys, values, given, slice(at, at + step))
            for at in starts
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _portion(
        self,
        call: Callable[..., Images],
        images: Images,
        stage_key: np.uint64,
        sample_keys: NDArray[np.uint64],
        values: Given,
        given: Given,
        part: slice,
    ) -> Images:
        """Corrupt some images of a batch; where a plugin fails on them, find the image that it fails on by itself."""
        keys = Keys(stage_key, sample_keys[part])
        own = {draw.name: draw.rows(given.get(draw.name), keys, images.shape[1:], values) for draw in self.draws}
        labels = {"labels": given["labels"][part]} if "labels" in given else {}
        try:
            return call(images[part], keys, **{**values, **own, **labels})
        except PluginError as e:
            count = len(keys.samples)
            if count == 1:
                raise PluginError(str(e), part.start) from e.__cause__
            for at in range(part.start, part.start + count):
                self._portion(call, images, stage_key, sample_keys, values, given, slice(at, at + 1))
            raise PluginError(f"{e} on a batch of {count} images, though on none alone") from e.__cause__


_registered: dict[str, Corruption] = {}


@functools.cache
def _modules() -> Mapping[str, str]:
    """Return corruption -> the module that declares it, by family. The modules are read as text, in 2 ms, and none is
    imported.
    """
    modules: dict[str, str] = {}
    for family in FAMILIES:
        for path in sorted((Path(__file__).parent / family).glob("*.py")):
            module = f"{family}.{path.stem}"
            for declared in path.read_text(encoding="utf-8").split("\n@corruption(")[1:]:
                name = declared.partition("\ndef ")[2].partition("(")[0]
                if name in modules:
                    raise ValueError(f"two corruptions are called {name!r}: in {modules[name]} and in {module}")
                modules[name] = module
    return modules


def corruption_names() -> tuple[str, ...]:
    """Return the names of all corruptions, by family, module and place in it; those of the plugins that are loaded come
    last.
    """
    return (*_modules(), *(name for name, registered in _registered.items() if registered.family == PLUGIN))


def is_corruption(name: object) -> bool:
    """Whether there is a corruption of this name, of an installed plugin too."""
    if name in _modules() or name in _registered:
        return True
    from .plugins import load_installed

    load_installed()
    return name in _registered


def family_of(name: str) -> str:
    """Return the family of a corruption, without importing it; ``other`` where this release does not know it."""
    others = "other." if name not in _registered or _registered[name].family != PLUGIN else f"{PLUGIN}."
    return _modules().get(name, others).partition(".")[0]


def get_corruption(name: str) -> Corruption:
    """Return a corruption, from its module; an unknown name raises `UnknownCorruption` and suggests the nearest."""
    if name not in _registered:
        module = _modules().get(name)
        if module is None and is_corruption(name):
            return _registered[name]
        if module is None:
            hint = where_to_get(name) or f"{suggest(name, corruption_names())} `corruptset list` names all."
            raise UnknownCorruption(f"There is no corruption {name!r}.{hint}")
        importlib.import_module(f".{module}", __package__)
    return _registered[name]
