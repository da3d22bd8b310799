"""The registry of corruptions, which contains their declarations and finds a corruption by name."""

from __future__ import annotations

import functools
import importlib
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import PluginError, UnknownCorruption, suggest
from .add_ons import install_hint
from .index import MODULES
from .keys import Floats, Int64Array, Keys
from .parameters import Draw, Given, Gradual, Images, Parameter, Shape, choice

__all__ = [
    "Draw",
    "Floats",
    "Given",
    "Gradual",
    "Images",
    "Int64Array",
    "Keys",
    "Parameter",
    "Shape",
    "choice",
    "corruption",
]
"""The names that a module of corruptions imports from here."""

PLUGIN = "plugin"
"""The family of all corruptions that are defined outside of corruptset."""
_F = TypeVar("_F", bound=Callable[..., Any])

# The number of scratch values for a portion of a batch, chosen so that they fit into the second-level cache.
_PORTION_VALUES = 1 << 18
# The size in bytes of the images that are passed to a plugin at once. The plugin's intermediate arrays can be more than
# ten times as large.
_CHUNK_BYTES = 4 << 20


@dataclass(frozen=True, kw_only=True, eq=False)
class Corruption:
    """The declaration of a corruption, which is also the decorator that registers its function.

    ``@corruption(...)`` registers a function ``f(images, keys, *, columns..., options=..., draws..., resources=None)``
    under the function's name, and returns the function unchanged. The declaration describes the parameters, the draws
    and the reference, so the docstring need not repeat them. Two declarations are equal only if they are the same
    object, so a function that is declared again is never mistaken for the earlier one.

    Examples
    --------
    ::

        @corruption(reference="...", parameters=(Parameter("factor", low=0.0, high=10.0, about="..."),))
        def contrast(images: Images, keys: Keys, *, factor: float) -> Images: ...
    """

    revision: int = 1
    """The version of the definition, which increases whenever the output bytes change."""
    reference: str
    """The source of the definition: author, year and title."""
    parameters: tuple[Parameter, ...]
    draws: tuple[Draw, ...] = ()
    resources: Mapping[str, Callable[[int, int], Any] | None] = field(default_factory=dict)
    """Keyword arguments that are neither parameters nor draws, such as the textures of frost. Each is mapped to a
    function that returns the default for an image height and width. A resource without a default, such as a model, is
    mapped to None."""
    role: Literal["test", "validation", "train"] = "test"
    preserves_geometry: bool = True
    """False if the corruption moves pixels farther than a blur does."""
    deterministic: bool = False
    """True if the corruption draws nothing at random."""
    gradual: Gradual | None = None
    """The levels of a gradual degradation, whose function also takes ``level``. None for other corruptions."""
    keeps_shape: bool = True
    """False if the height or width of an image can change."""
    scratch_per_pixel: int = 0
    """The number of scratch values that the function needs per pixel. If it is not 0, batches are divided into portions
    whose scratch values fit into the processor's cache."""
    tables: str = "tables"
    """The folder of a plugin's tables ``<calibration>.toml``, relative to the folder of the function's file."""
    function: Any = field(default=None, repr=False)
    """The registered function, or None in a declaration that has not been applied to a function yet."""

    def __call__(self, function: _F) -> _F:
        """Register a function with this declaration, and return the function."""
        declared = replace(self, function=function)
        if declared.family == PLUGIN:
            _refuse_declaration(declared)
        _registered[declared.name] = declared
        return function

    @property
    def name(self) -> str:
        """The name of the corruption, which is the name of its function."""
        return str(self.function.__name__)

    @property
    def module(self) -> str:
        """The name of the module that defines the function."""
        return str(self.function.__module__)

    @property
    def family(self) -> str:
        """The folder of the function's module (one of `index.FAMILIES`), or ``plugin`` outside of the package."""
        return self.module.split(".")[-2] if self.module.startswith(f"{__package__}.") else PLUGIN

    @property
    def columns(self) -> tuple[Parameter, ...]:
        """The parameters that have a value in every row of a table."""
        return tuple(p for p in self.parameters if not p.option)

    @property
    def needs_model(self) -> bool:
        """Whether the corruption uses a model's gradient.

        Its function then takes a `surrogate` and the `labels` of the images. The output depends on the machine, so
        there are no golden digests.
        """
        return "surrogate" in self.resources

    def without_defaults(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return parameter values in the order of the declaration, without options that have their default value."""
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

        A gradual degradation performs one step, to the `level` in `given`. `params` contains all columns and the
        options that differ from their default, after scaling. `given` contains validated draws and resources, which
        replace the drawn or default ones.
        """
        count, *shape = images.shape
        call: Callable[..., Images] = self.function
        size = count
        if self.scratch_per_pixel:
            size = _PORTION_VALUES // (self.scratch_per_pixel * shape[0] * shape[1])
        if self.family == PLUGIN:
            from .plugins import call_plugin

            call, size = functools.partial(call_plugin, self), _CHUNK_BYTES // images[0].size

        def portion(at: int, end: int) -> Images:
            keys = Keys(np.uint64(stage_key), sample_keys[at:end])
            values = {**params, **given}
            draws = {d.name: d.rows(given.get(d.name), keys, images.shape[1:], values) for d in self.draws}
            labels = {"labels": given["labels"][at:end]} if "labels" in given else {}
            return call(images[at:end], keys, **values | draws | labels)

        parts = []
        for at in range(0, count, max(size, 1)):
            end = min(at + max(size, 1), count)
            try:
                parts.append(portion(at, end))
            except PluginError as e:
                # Each image is processed alone, to find the first one that fails.
                for position in range(at, end):
                    try:
                        portion(position, position + 1)
                    except PluginError as first:
                        raise PluginError(str(first), position) from first.__cause__
                raise PluginError(f"{e} on a batch of {end - at} images, but not on any of them alone") from e.__cause__
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


corruption = Corruption
_registered: dict[str, Corruption] = {}


def _refuse_declaration(registered: Corruption) -> None:
    """Raise `PluginError` if a plugin's declaration has values of a wrong type, or if its name is taken or invalid."""
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
    owner = f"corruptset's own {MODULES[name]}" if name in MODULES else f"the plugin {other and other.module}"
    # A function replaces itself if its file is reloaded or its notebook cell is executed a second time.
    is_reload = module == "__main__" or module in getattr(importlib, "_RELOADING", ())
    is_repeated = other is not None and not is_reload and getattr(sys.modules.get(module), name, None) is other.function
    if name in MODULES or is_repeated or (other is not None and other.module != module):
        raise PluginError(
            f"{module} registers {name!r}, but {owner} already has a corruption of that name. Rename one of them."
        )
    if not re.fullmatch("[a-z][a-z0-9_]*", name) or name == "clean":
        raise PluginError(
            f"{module} registers {name!r}; expected a name of lower-case letters, digits and _, and not 'clean'."
        )


def _are(values: object, kind: type) -> bool:
    return isinstance(values, tuple | list) and all(isinstance(value, kind) for value in values)


def corruption_names() -> tuple[str, ...]:
    """Return the names in `index.MODULES`, followed by the names of corruptions from loaded plugins."""
    return (*MODULES, *(name for name, registered in _registered.items() if registered.family == PLUGIN))


def plugin_declarations(set_id: str) -> tuple[Corruption | None, ...]:
    """Return the current declarations of all names in a set id that are not corruptset's own corruptions.

    A declaration is None if no loaded plugin has the name. A cache of resolved set ids uses the declarations as part of
    its key, because a plugin's corruption can be declared again in the same process.
    """
    return tuple(_registered.get(name) for name in re.findall("[a-z][a-z0-9_]*", set_id) if name not in MODULES)


def is_corruption(name: object) -> bool:
    """Return whether a corruption has this name, in corruptset or in an installed plugin."""
    if name not in MODULES and name not in _registered:
        from .plugins import load_installed

        load_installed()
    return name in MODULES or name in _registered


def family_of(name: str) -> str:
    """Return the family of a corruption without importing it, or ``other`` if the name is unknown."""
    if name in MODULES:
        return MODULES[name].partition(".")[0]
    return PLUGIN if name in _registered else "other"


def get_corruption(name: str) -> Corruption:
    """Return the declaration of a corruption, and import the module that defines it if necessary.

    Raises
    ------
    UnknownCorruption
        If no corruption has this name. The message suggests similar names.
    """
    if name not in _registered:
        if name in MODULES:
            importlib.import_module(f".{MODULES[name]}", __package__)
        elif not is_corruption(name):
            hint = install_hint(name) or f"{suggest(name, corruption_names())} `corruptset list` shows all."
            raise UnknownCorruption(f"There is no corruption {name!r}.{hint}")
    return _registered[name]
