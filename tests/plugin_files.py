"""Helpers for tests of plugins: files with custom corruptions, and a temporarily empty registry."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from corruptset.corruptions import add_ons, plugins, registry
from corruptset.generate.recipes import recipe_files

PAGE = Path(__file__).resolve().parents[1] / "docs" / "plugins.md"
HEAD = "import numpy as np\nfrom corruptset.corruptions.plugins import Parameter, corruption\n"
TABLE = """name = "cifar"
side = 32
[sources]
own = "chosen by eye"
"""
CACHES = (
    add_ons.find_add_ons,
    add_ons.installed_files,
    plugins.load_installed,
    recipe_files._files,
    recipe_files.recipe_aliases,
)


def documented_module() -> str:
    """Return the module that docs/plugins.md presents."""
    return re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)[0]


def function_source(name: str, body: str, declared: str = "", signature: str = "images, keys") -> str:
    """Return the source code of a registered function."""
    return f"@corruption(revision=1, reference='x', parameters=(){declared})\ndef {name}({signature}):\n    {body}\n"


def write_installed(folder: Path, name: str, entry_points: str) -> None:
    """Write the metadata of an installed package in a folder."""
    info = folder / f"{name}-3.4.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 3.4\n")
    (info / "top_level.txt").write_text(f"{name}\n")
    (info / "entry_points.txt").write_text(entry_points)


def write_blinds(folder: Path, *, tables: bool = True) -> Path:
    """Write the module of docs/plugins.md, with a table of five severities."""
    text = documented_module()
    if tables:
        text = text.replace("    revision=1,", '    revision=1, tables="blinds_tables",')
        rows = "".join(f'[[blinds]]\nseverity = {s}\ndepth = {s / 6}\nsource = "own"\n' for s in range(1, 6))
        (folder / "blinds_tables").mkdir(exist_ok=True)
        (folder / "blinds_tables" / "cifar.toml").write_text(TABLE + rows)
    (folder / "mine.py").write_text(text)
    return folder / "mine.py"


@contextmanager
def without_plugins() -> Iterator[None]:
    """Remove all plugins from the registry for the duration of the block, as in a new process."""
    registered, loaded = dict(registry._registered), dict(plugins._loaded)
    modules = _forget()
    try:
        yield
    finally:
        _forget()
        registry._registered.update(registered)
        plugins._loaded.update(loaded)
        sys.modules.update(modules)


def _forget() -> dict[str, ModuleType]:
    """Unregister all plugins, and return their modules."""
    names = {
        corruption.module for corruption in registry._registered.values() if corruption.family == registry.PLUGIN
    } | set(plugins._loaded)
    names = {name for name in sys.modules for plugin in names if name == plugin or name.startswith(f"{plugin}.")} - {
        "__main__"
    }
    for corruption in [
        name for name, corruption in registry._registered.items() if corruption.family == registry.PLUGIN
    ]:
        del registry._registered[corruption]
    plugins._loaded.clear()
    for cache in CACHES:
        cache.cache_clear()
    return {name: sys.modules.pop(name) for name in names}
