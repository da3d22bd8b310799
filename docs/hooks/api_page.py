"""Site hook that generates the page of the Python functions from the public names of `corruptset`."""

from __future__ import annotations

import inspect
import shutil
import sys
import tomllib
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

import corruptset
from corruptset import errors

HEAD = """# Python

`import corruptset` is fast, because each name is loaded when it is first used.
Reading, verifying and scoring need neither OpenCV nor numba.
"""


def on_startup(**_: Any) -> None:
    """Copy the packages into one folder, where the docstrings can be found.

    The tool that collects docstrings does not find the modules of an editable installation.
    """
    root = Path(__file__).parents[2]
    shutil.rmtree(root / "build/package", ignore_errors=True)
    packages = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["package-dir"]
    for name, folder in sorted(packages.items()):
        shutil.copytree(
            root / folder, root / "build/package" / name.replace(".", "/"), ignore=shutil.ignore_patterns("__pycache__")
        )


def on_files(files: Files, config: Any, **_: Any) -> None:
    """Add api.md with every public name, the classes that the functions return, and the errors."""
    public = {name: getattr(corruptset, name) for name in corruptset.__all__ if not name.startswith("__")}
    named = {
        name: value
        for name, value in public.items()
        if inspect.isfunction(inspect.unwrap(value)) or inspect.isclass(value)
    }
    parts = [HEAD, *(_entry(value, f"corruptset.{name}") for name, value in named.items()), "## Returned classes\n"]
    returned = {kind: None for value in named.values() for kind in _returned(value) if kind not in named.values()}
    parts += [_entry(kind, kind.__name__) for kind in returned]
    parts += [
        "## Errors\n",
        "All errors are in `corruptset.errors`. Their messages say what is wrong, where, and what to do next.\n",
    ]
    classes = (value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, Exception))
    parts += [_entry(kind, kind.__name__) for kind in classes]
    files.append(File.generated(config, "api.md", content="\n".join(parts)))


def _entry(value: Any, heading: str) -> str:
    return (
        f"::: {value.__module__}.{value.__qualname__}\n    options:\n      heading: {heading}\n      toc_label: "
        f"{heading}\n"
    )


def _returned(function: Any) -> Iterator[type]:
    """Yield the classes of corruptset that a function returns."""
    if inspect.isclass(function):
        return
    source = inspect.unwrap(function)
    written = getattr(source, "__annotations__", getattr(function, "__annotations__", {})).get("return", "None")
    module = vars(sys.modules[source.__module__])
    kind = eval(written, module) if isinstance(written, str) else written
    for returned in typing.get_args(kind) or (kind,):
        if inspect.isclass(returned) and returned.__module__.startswith("corruptset."):
            yield returned
