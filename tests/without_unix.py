"""Simulate Python on Windows by hiding from corruptset's modules what is missing there according to typeshed."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import os
from pathlib import Path

MODULES = ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog", "readline", "posix")
"""Modules of the standard library that Windows does not have."""

HOOK = """
import builtins, json, os, sys, types, warnings

LACKING = json.loads(os.environ["CORRUPTSET_LACKS"])
_import = builtins.__import__
_reduced = {}

def reduced(module):
    if module.__name__ not in _reduced:
        _reduced[module.__name__] = copy = types.ModuleType(module.__name__)
        vars(copy).update({k: v for k, v in vars(module).items() if k not in LACKING[module.__name__]})
    return _reduced[module.__name__]

def hook(name, globals=None, locals=None, fromlist=(), level=0):
    top = name.partition(".")[0]
    if level or top not in LACKING or not str((globals or {}).get("__package__")).startswith("corruptset"):
        return _import(name, globals, locals, fromlist, level)
    if LACKING[top] is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return reduced(_import(name, globals, locals, fromlist, level))

builtins.__import__ = hook
warnings.filterwarnings("ignore", category=EncodingWarning)  # other libraries'
warnings.filterwarnings("error", category=EncodingWarning, module="corruptset")
"""


def unix_names(module: str) -> list[str]:
    """Return the names of a module that typeshed defines only for systems other than Windows."""
    stubs = Path(importlib.util.find_spec("mypy").origin).with_name("typeshed") / "stdlib"  # type: ignore[union-attr,arg-type]
    file = next(p for p in (stubs / f"{module}.pyi", stubs / module / "__init__.pyi") if p.exists())
    elsewhere: set[str] = set()
    on_windows: set[str] = set()
    _sort_names(ast.parse(file.read_text("utf-8")).body, on_windows, elsewhere, windows=True)
    names = vars(importlib.import_module(module))
    return sorted(name for name in elsewhere - on_windows if name in names and not name.startswith("__"))


def _sort_names(body: list[ast.stmt], on_windows: set[str], elsewhere: set[str], *, windows: bool) -> None:
    for node in body:
        if isinstance(node, ast.If):
            test = ast.unparse(node.test)
            here = False if "!= 'win32'" in test or ("sys.platform == " in test and "'win32'" not in test) else windows
            other = False if test == "sys.platform == 'win32'" else windows
            _sort_names(node.body, on_windows, elsewhere, windows=here)
            _sort_names(node.orelse, on_windows, elsewhere, windows=other)
            continue
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names = {node.name}
        elif isinstance(node, ast.ImportFrom):
            names = {a.asname or a.name for a in node.names}
        else:
            names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        (on_windows if windows else elsewhere).update(names)


def environment(folder: Path) -> dict[str, str]:
    """Return environment variables that hide these names in a Python and in processes that it starts."""
    (folder / "sitecustomize.py").write_text(HOOK, encoding="utf-8")
    lacks = {
        **dict.fromkeys(MODULES),
        **{name: unix_names(name) for name in ("os", "signal", "mmap", "time", "socket", "select")},
    }
    lacks["_signal"] = lacks["signal"]
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {"PYTHONPATH": path, "CORRUPTSET_LACKS": json.dumps(lacks), "PYTHONWARNDEFAULTENCODING": "1"}
