"""Corruptions: what each declares, how it is found by its name, and called."""

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

from ..errors import PluginError, UnknownCorruption, suggest
from .add_ons import where_to_get
from .keys import Floats, Keys, Wholes
from .parameters import Draw, Given, Gradual, Images, Parameter, Shape, choice

__all__ = [
    "Draw",
    "Floats",
    "Given",
    "Gradual",
    "Images",
    "Keys",
    "Parameter",
    "Shape",
    "Wholes",
    "choice",
    "corruption",
]
"""What the file of an operator takes from here."""

FAMILIES = ("noise", "blur", "weather", "digital", "shape", "gradual", "adversarial")
"""The folders of corruptions, in the order in which people see them. A module of such a folder is imported when one of
its corruptions is first asked for: a build uses some, and a worker that begins just one."""
PLUGIN = "plugin"
"""The family of corruptions in other people's modules (`plugins`)."""

_AT_A_TIME = 1 << 18  # values that a portion of a batch holds: they stay in the second-level cache
# pixels that a plugin is given at once: what numpy makes of them on the way takes ten times as much and more
_CHUNK_BYTES = 4 << 20


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
            _refuse_declaration(self)
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


def _refuse_declaration(registered: Corruption) -> None:
    """Raise `PluginError` where a plugin's corruption cannot have its name, or what it declares is of another type.

    Another has the name, or it cannot stand in the id of a set.
    """
    name, module = registered.name, registered.module
    for declared, fits, expected in (
        ("revision", type(registered.revision) is int and registered.revision > 0, "a whole number from 1"),
        ("role", registered.role in ("test", "validation", "train"), "test, validation or train"),
        ("parameters", _are(registered.parameters, Parameter), "a tuple of Parameter"),
        ("draws", _are(registered.draws, Draw), "a tuple of Draw"),
    ):
        if not fits:
            given = f"{declared}={getattr(registered, declared)!r}"
            raise PluginError(f"{module}: {name} is declared with {given}; expected {expected}.")
    other = _registered.get(name)
    there = f"corruptset's own {_modules()[name]}" if name in _modules() else f"the plugin {other and other.module}"
    # where a file is reloaded, or a cell of a notebook run again, the function replaces itself
    again = module == "__main__" or module in getattr(importlib, "_RELOADING", ())
    twice = other is not None and not again and getattr(sys.modules.get(module), name, None) is other.function
    if name in _modules() or twice or (other is not None and other.module != module):
        raise PluginError(
            f"{module} registers {name!r}, and {there} has a corruption of that name. Rename one of them."
        )
    if not re.fullmatch("[a-z][a-z0-9_]*", name) or name == "clean":
        raise PluginError(
            f"{module} registers {name!r}; expected a name of lower-case letters, digits and _, and not 'clean'."
        )


def _are(values: object, kind: type) -> bool:
    return isinstance(values, tuple | list) and all(isinstance(one, kind) for one in values)


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
