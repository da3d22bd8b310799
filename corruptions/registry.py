"""What each corruption declares; how it is found by its name, and called."""

from __future__ import annotations

import functools
import importlib
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError, PluginError, UnknownCorruption, suggest
from .add_ons import where_to_get
from .keys import Floats as Floats
from .keys import Keys as Keys
from .keys import Wholes as Wholes

Images = NDArray[np.uint8]
Shape = tuple[int, int, int]
"""Height, width, channels."""
Given = Mapping[str, Any]
"""The parameters of a call, scaled; of a gradual degradation the `level`, too."""
FAMILIES = ("noise", "blur", "weather", "digital", "shape", "gradual", "adversarial")
"""The folders of corruptions, in the order in which people see them. A module of such a folder is imported when one of
its corruptions is first asked for: a build uses some, and a worker that begins just one."""
PLUGIN = "plugin"
"""The family of corruptions in other people's modules (`plugins`)."""

_MOST_WHOLE = 2**53  # what JSON and doubles hold exactly
_AT_A_TIME = 1 << 18  # values that a portion of a batch holds: they stay in the second-level cache
# pixels that a plugin is given at once: what numpy makes of them on the way takes ten times as much and more
_CHUNK_BYTES = 4 << 20


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
            raise ParameterError(f"{corruption}: parameter {self.name!r} is {value!r}; expected {expected.strip()}.")
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


@dataclass(kw_only=True)
class Corruption:
    """A corruption: what its decorator declares, and the function under it.

    ``@corruption(...)`` registers a function ``f(images, keys, *, columns..., options=..., draws..., resources=None)``
    under its name. The family is the folder of the function's module, or ``plugin`` outside of the package. What the
    declaration says of parameters and draws, and its reference, need not stand in the docstring.

    Examples
    --------
    ::

        @corruption(reference="...", parameters=(Parameter("factor", low=0.0, high=10.0, about="..."),))
        def contrast(images: Images, keys: Keys, *, factor: float) -> Images: ...
    """

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
    name: str = ""
    """Of the function, from here on what registering it adds."""
    family: str = ""
    """One of `FAMILIES`, or ``plugin``."""
    function: Any = field(default=None, repr=False)

    def __call__(self, function: Callable[..., Images]) -> Callable[..., Images]:
        """Register a function."""
        self.name, self.function = function.__name__, function
        shipped = self.module.startswith(f"{__package__}.")
        self.family = self.module.split(".")[-2] if shipped else PLUGIN
        if not shipped:
            _refuse_name(self)
        _registered[self.name] = self
        return function

    @property
    def module(self) -> str:
        """The module that defines it."""
        return str(self.function.__module__)

    @property
    def columns(self) -> tuple[Parameter, ...]:
        """The parameters that every row of a table gives."""
        return tuple(p for p in self.parameters if not p.option)

    @property
    def needs_model(self) -> bool:
        """Whether it follows a model's gradient.

        It takes a `surrogate`, and the `labels` of the images: its bytes depend on the machine, and have no golden
        digests.
        """
        return "surrogate" in self.resources

    def without_defaults(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return values of parameters in the order of the declaration, without options at their default."""
        return {
            p.name: values[p.name]
            for p in self.parameters
            if p.name in values and not (p.option and values[p.name] == p.default)
        }

    def apply(
        self,
        images: Images,
        params: Mapping[str, Any],
        stage_key: np.uint64,
        sample_keys: NDArray[np.uint64],
        **given: Any,
    ) -> Images:
        """Corrupt a C-contiguous batch (N, H, W, C).

        A gradual degradation takes one step, to the `level` given. `params` are every column and the options that are
        not at their default, after scaling; `given` are checked draws and resources that take the place of the drawn or
        default ones.
        """
        count, *shape = images.shape
        call: Callable[..., Images] = self.function
        at_a_time = _AT_A_TIME // (self.held * shape[0] * shape[1]) if self.held else count
        if self.family == PLUGIN:
            from .plugins import called

            call, at_a_time = functools.partial(called, self), _CHUNK_BYTES // images[0].size

        def portion(at: int, end: int) -> Images:
            keys = Keys(np.uint64(stage_key), sample_keys[at:end])
            values = {**params, **given}
            own = {d.name: d.rows(given.get(d.name), keys, images.shape[1:], values) for d in self.draws}
            labels = {"labels": given["labels"][at:end]} if "labels" in given else {}
            return call(images[at:end], keys, **values | own | labels)

        parts = []
        for at in range(0, count, max(at_a_time, 1)):
            end = min(at + max(at_a_time, 1), count)
            try:
                parts.append(portion(at, end))
            except PluginError as e:
                for alone in range(at, end):
                    try:
                        portion(alone, alone + 1)
                    except PluginError as first:
                        raise PluginError(str(first), alone) from first.__cause__
                raise PluginError(f"{e} on a batch of {end - at} images, though on none alone") from e.__cause__
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


corruption = Corruption
_registered: dict[str, Corruption] = {}


def _refuse_name(registered: Corruption) -> None:
    """Raise `PluginError` where a plugin's corruption cannot have its name.

    Another has it, or it cannot stand in the id of a set.
    """
    name, module = registered.name, registered.module
    other = _registered.get(name)
    there = f"corruptset's own {_modules()[name]}" if name in _modules() else f"the plugin {other and other.module}"
    if name in _modules() or (other is not None and other.module != module):
        raise PluginError(
            f"{module} registers {name!r}, and {there} has a corruption of that name. Rename one of them."
        )
    if not re.fullmatch("[a-z][a-z0-9_]*", name) or name == "clean":
        raise PluginError(
            f"{module} registers {name!r}; expected a name of lower-case letters, digits and _, and not 'clean'."
        )


@functools.cache
def _modules() -> Mapping[str, str]:
    """Return corruption -> the module that declares it, by family.

    The modules are read as texts, in 2 ms, and none is imported.
    """
    modules: dict[str, str] = {}
    for family in FAMILIES:
        for path in sorted((Path(__file__).parent / family).glob("*.py")):
            for declared in path.read_text(encoding="utf-8").split("\n@corruption(")[1:]:
                name = declared.partition("\ndef ")[2].partition("(")[0]
                if modules.setdefault(name, f"{family}.{path.stem}") != f"{family}.{path.stem}":
                    raise ValueError(
                        f"two corruptions are called {name!r}: in {modules[name]} and {family}.{path.stem}"
                    )
    return modules


def corruption_names() -> tuple[str, ...]:
    """Return the names of all corruptions, by family, module and place in it.

    Those of loaded plugins come last.
    """
    return (*_modules(), *(name for name, registered in _registered.items() if registered.family == PLUGIN))


def is_corruption(name: object) -> bool:
    """Whether there is a corruption of this name, of an installed plugin too."""
    if name not in _modules() and name not in _registered:
        from .plugins import load_installed

        load_installed()
    return name in _modules() or name in _registered


def family_of(name: str) -> str:
    """Return the family of a corruption, without importing it.

    ``other`` where this release does not know it.
    """
    if name in _modules():
        return _modules()[name].partition(".")[0]
    return PLUGIN if name in _registered else "other"


def get_corruption(name: str) -> Corruption:
    """Return a corruption, from its module; an unknown name raises `UnknownCorruption` and suggests the nearest."""
    if name not in _registered:
        if name in _modules():
            importlib.import_module(f".{_modules()[name]}", __package__)
        elif not is_corruption(name):
            hint = where_to_get(name) or f"{suggest(name, corruption_names())} `corruptset list` names all."
            raise UnknownCorruption(f"There is no corruption {name!r}.{hint}")
    return _registered[name]
