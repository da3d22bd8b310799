"""What is known of each corruption: found by its name, and called."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PluginError, UnknownCorruption, suggest
from .add_ons import where_to_get
from .declarations import Declaration, Draw, Given, Gradual, Images, Parameter, Shape, choice
from .keys import Keys

__all__ = ["Draw", "Given", "Gradual", "Images", "Keys", "Parameter", "Shape", "choice", "corruption"]
"""What the file of an operator takes from here."""

FAMILIES = ("noise", "blur", "weather", "digital", "shape", "gradual", "adversarial")
"""The folders of corruptions, in the order in which people see them. A module of such a folder is imported when one of
its corruptions is first asked for: a build uses some, and a worker that begins just one."""
PLUGIN = "plugin"
"""The family of corruptions in other people's modules (`plugins`)."""

_AT_A_TIME = 1 << 18  # values that a portion of a batch holds: they stay in the second-level cache
# pixels that a plugin is given at once: what numpy makes of them on the way takes ten times as much and more
_CHUNK_BYTES = 4 << 20


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
