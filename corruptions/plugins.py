"""Plugins: modules outside of the package that define corruptions.

Plugins are loaded by name, by path or by entry point, and identified by the hash of their source. A plugin imports what
it needs from here: ``from corruptset.corruptions.plugins import Draw, Images, Keys, Parameter, corruption``.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import packages_distributions, version
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

import numpy as np

from .. import foreign
from ..arguments import as_list
from ..errors import CorruptsetError, PluginError, suggest
from ..files import NUL
from ..foreign import ForeignCode, describe_error
from . import registry
from .add_ons import find_add_ons, load_each
from .cache import add_sources
from .keys import Keys
from .registry import PLUGIN, Corruption, Draw, Gradual, Images, Parameter, choice, corruption, get_corruption

__all__ = ["Draw", "Gradual", "Images", "Keys", "Parameter", "Plugin", "choice", "corruption", "load_plugin"]


@dataclass(frozen=True)
class Plugin:
    """A loaded module that defines corruptions.

    A process that unpickles this object, such as a worker, also loads the module.
    """

    module: str
    version: str | None
    """The version of the distribution that contains the module, or else the ``__version__`` of the module."""
    sha256: str
    """The hash of the module's file, or of all Python files in a package."""
    place: str
    """The name of the module or the absolute path of its file, from which the module can be loaded again."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _load_again, (self.place, self.sha256)

    @property
    def corruptions(self) -> list[str]:
        """The names of the corruptions that the plugin defines."""
        return [name for name, known in registry._registered.items() if _within(known.module, self.module)]


_loaded: dict[str, Plugin] = {}


def load_plugin(name: str | Path) -> Plugin:
    """Load a module that defines corruptions, so that this process can use them by name.

    Importing the module has the same effect. Builds and all other functions that create images have an argument
    `plugins`, and load the plugins in their workers as well.

    Parameters
    ----------
    name : str or path
        The name of a module that can be imported, the path of a ``.py`` file, or the name of an entry point in the
        group ``corruptset.corruptions``.

    Returns
    -------
    Plugin
        The module with its version, hash and corruptions.

    Raises
    ------
    PluginError
        If the module does not exist, cannot be imported, or has changed since it was loaded. It is also an error if the
        module defines no corruption, or one whose name is taken.
    """
    if "\0" in str(name):
        raise PluginError(f"The plugin {str(name)!r} cannot be loaded: {NUL}.")
    by_path = isinstance(name, Path) or name.endswith(".py") or Path(name).name != name
    if by_path:
        place = str(Path(name).resolve())
        module = _import_file(Path(place))
    else:
        place = find_add_ons("corruptions")[name].module if name in find_add_ons("corruptions") else str(name)
        module = _import_module(place)
    own = getattr(module, "__version__", None)
    installed_version = None if by_path else _version(module)
    plugin = Plugin(module.__name__, installed_version or (own and str(own)), _source_hash(module), place)
    before = _loaded.setdefault(plugin.module, plugin)
    if before.sha256 != plugin.sha256:
        raise PluginError(
            f"The plugin {plugin.module} has changed since it was loaded. Start a new process to use the new source."
        )
    if not plugin.corruptions:
        del _loaded[plugin.module]
        raise PluginError(f"The plugin {name} registers no corruption. Add the decorator @corruption to its functions.")
    return before


def load_plugins(names: str | Path | Iterable[str | Path]) -> tuple[Plugin, ...]:
    """Load one or more plugins."""
    return tuple(load_plugin(name) for name in as_list(names))


@functools.cache
def load_installed() -> None:
    """Load all plugins that have an installed entry point, and warn about plugins that cannot be loaded."""
    load_each(load_plugin, find_add_ons("corruptions"))


def plugins_of(corruptions: Iterable[str]) -> tuple[Plugin, ...]:
    """Return the plugins that define the given corruptions, sorted by module.

    Raises
    ------
    PluginError
        If a corruption is defined in a script or notebook, which workers cannot load.
    """
    found = {}
    for name in corruptions:
        declared = get_corruption(name)
        if declared.family != PLUGIN:
            continue
        if declared.module == "__main__":
            raise PluginError(
                f"{name} is defined in a script or notebook, which workers cannot load. Move it to a separate file."
            )
        known = [*_loaded, *(entry.module for entry in find_add_ons("corruptions").values())]
        module = max((m for m in known if _within(declared.module, m)), key=len, default=declared.module)
        found[module] = _loaded.get(module) or load_plugin(module)
    return tuple(found[module] for module in sorted(found))


def loaded_plugins() -> tuple[Plugin, ...]:
    """Return the plugins that define the known corruptions, except corruptions in a script or notebook."""
    return plugins_of(
        name for name, known in registry._registered.items() if known.family == PLUGIN and known.module != "__main__"
    )


def _load_again(place: str, sha256: str) -> Plugin:
    """Load a plugin that another process has loaded, or raise `PluginError` if its source is different."""
    plugin = load_plugin(place)
    if plugin.sha256 != sha256:
        raise PluginError(
            f"The plugin {plugin.module} has changed while it was used ({sha256} then, {plugin.sha256} now). Run the "
            "same command again."
        )
    return plugin


def _within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


_PACKAGE = (
    "The folder of a package cannot be loaded as a plugin. Install the package (`pip install -e .`) or add its parent "
    "folder to PYTHONPATH, and pass the name of the package."
)


def _import_module(name: str) -> ModuleType:
    try:
        with ForeignCode():
            return importlib.import_module(name)
    except ModuleNotFoundError as e:
        if e.name is None or not _within(name, e.name):
            raise _failure(name, name, e) from e
        hint = f" To load the file {name}.py, pass ./{name}.py." if Path(f"{name}.py").is_file() else ""
        hint += f" {_PACKAGE}" if Path(name).is_dir() else ""
        hint = hint or f"{suggest(name, find_add_ons('corruptions'))} To load a file, pass its path, which ends in .py."
        raise PluginError(
            f"There is no plugin {name!r}, because no module of this name can be imported, and no installed plugin has "
            f"this name.{hint}"
        ) from None
    except Exception as e:
        raise _failure(name, name, e) from e


def _import_file(path: Path) -> ModuleType:
    """Import a file as a module with the same name as the file."""
    name = path.stem
    present = sys.modules.get(name)
    if present is not None and getattr(present, "__file__", None) == str(path):
        return present
    spec = importlib.util.spec_from_file_location(name, path)
    if path.is_dir() or path.name == "__init__.py":
        raise PluginError(f"The plugin {path} cannot be loaded. {_PACKAGE}")
    if not path.is_file():
        raise PluginError(f"The plugin {path} cannot be loaded: there is no such file.")
    if spec is None or spec.loader is None or not name.isidentifier():
        raise PluginError(f"The plugin {path} cannot be loaded: expected a file whose name is a word and ends in .py.")
    other = present or (name in sys.stdlib_module_names and name)
    if other:
        raise PluginError(
            f"The plugin {path} cannot be loaded: {name!r} is the name of another module ({other}). Rename the file."
        )
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with ForeignCode():
            spec.loader.exec_module(module)
    except Exception as e:
        del sys.modules[name]
        raise _failure(str(path), name, e) from e
    return module


def _failure(given: str, module: str, error: BaseException) -> PluginError:
    """Return the error for a plugin whose import failed, and remove the corruptions that it registered."""
    for name in [name for name, known in registry._registered.items() if _within(known.module, module)]:
        del registry._registered[name]
    if isinstance(error, SyntaxError) and error.filename is not None:
        where = f"{error.filename}, line {error.lineno}"
    else:
        inner = __file__, importlib.__file__, registry.__file__, foreign.__file__
        frames = [
            f
            for f in traceback.extract_tb(error.__traceback__)
            if f.filename not in inner and not f.filename.startswith("<frozen")
        ]
        where = f"{frames[-1].filename}, line {frames[-1].lineno}" if frames else "while it was imported"
    return PluginError(f"The plugin {given} cannot be loaded ({where}): {describe_error(error)}")


def _version(module: ModuleType) -> str | None:
    """Return the version of the distribution that contains a module, or None."""
    top = module.__name__.partition(".")[0]
    for entry in find_add_ons("corruptions").values():
        if entry.module.partition(".")[0] == top and entry.dist is not None:
            return entry.dist.version
    return next((version(name) for name in packages_distributions().get(top, ())), None)


def _source_hash(module: ModuleType) -> str:
    """Return the hash of a module's file, or of the paths and contents of all Python files of a package."""
    if not (file := getattr(module, "__file__", None)) or not file.endswith(".py"):
        raise PluginError(
            f"The plugin {module.__name__} cannot be used, because it has no Python source file ({file}) that "
            "identifies it. Use a module with a .py file."
        )
    if not hasattr(module, "__path__"):
        return f"sha256:{hashlib.sha256(Path(file).read_bytes()).hexdigest()}"
    digest = hashlib.sha256()
    add_sources(digest, Path(file).parent)
    return f"sha256:{digest.hexdigest()}"


def call_plugin(corruption: Corruption, images: Images, keys: Keys, **given: Any) -> Images:
    """Call a plugin's function with a read-only batch (N, H, W, C), and return its output.

    Raises
    ------
    PluginError
        If the function raises an exception or returns anything other than images.
    """
    images.flags.writeable = False
    try:
        with ForeignCode():
            made = corruption.function(images, keys, **given)
            fault = output_problem(made, images, keeps_shape=corruption.keeps_shape)
        cause = None
    except CorruptsetError:
        raise
    except Exception as e:
        fault, cause = f"raised {describe_error(e)}{where_raised(e.__traceback__, corruption.module)}", e
        fault += "; it must not change its input, so work on a copy" * ("read-only" in str(e))
    if not fault:
        return np.array(made, order="C")  # The result is copied, because the function may return its input.
    raise PluginError(f"The plugin {corruption.module}: {corruption.name} {fault}") from cause


def output_problem(made: Any, images: Images, *, keeps_shape: bool = True) -> str:
    """Return the problem with the output of a corruption for a batch, or an empty string."""
    if not isinstance(made, np.ndarray) or made.dtype != np.uint8:
        what = f"an array of {made.dtype}" if isinstance(made, np.ndarray) else f"a {type(made).__name__}"
        unset = int(np.isnan(made).sum()) if isinstance(made, np.ndarray) and made.dtype.kind == "f" else 0
        return f"returned {what}{f' with {unset} values that are NaN' * bool(unset)}; expected an array of uint8"
    fits = made.ndim == 4 and (len(made), made.shape[3]) == (len(images), images.shape[3]) and min(made.shape[1:3]) >= 8
    if not (made.shape == images.shape if keeps_shape else fits):
        expected = images.shape if keeps_shape else f"({len(images)}, height, width, {images.shape[3]}) of at least 8x8"
        return f"returned the shape {made.shape}; expected {expected}"
    return ""


def where_raised(trace: TracebackType | None, module: str) -> str:
    """Return the file and line of a plugin's last frame in a traceback, such as `` (mine.py, line 12)``."""
    file = Path(str(getattr(sys.modules.get(module), "__file__", None)))
    package = file.parent if (file.parent / "__init__.py").is_file() else None
    own = [
        f
        for f in traceback.extract_tb(trace)
        if Path(f.filename) == file or (package is not None and package in Path(f.filename).parents)
    ]
    return f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""
