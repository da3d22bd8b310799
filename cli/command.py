"""The usual command: a function whose parameters are its options, and no more.

The function of `corruptset` that has its name takes them, and what it returns is printed, as text or JSON.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from .options import AsJson, Command, Declared, as_parameters, set_parameters
from .output import progress_of, put_json
from .records import put_record

ROOT = __package__.rpartition(".")[0]


def json_of(record: Any) -> dict[str, Any]:
    """Return the JSON of a record that has no other."""
    rounded = {"seconds": round(record.seconds, 3)} if hasattr(record, "seconds") else {}
    return {"ok": True, **vars(record), **rounded}


def runs(
    added: Declared | None = None,
    *,
    json: Callable[[Any], dict[str, Any]] = json_of,
    put: Callable[[Any], None] | None = None,
    watched: bool = True,
) -> Callable[[Command], Command]:
    """Make a command of a declaration, with `added` options and ``--json`` behind its own.

    `json` returns what is printed of a record; `put` prints it for people where its JSON is not enough. A command that
    is not `watched` has no progress to show.
    """

    def decorate(declared: Command) -> Command:
        name = declared.__name__

        @functools.wraps(declared)
        def command(as_json: bool, **given: Any) -> None:
            with progress_of(name) if watched else nullcontext() as progress:
                run = getattr(importlib.import_module(ROOT), name)
                record = run(**given, progress=progress) if watched else run(**given)
            if as_json:
                put_json(json(record))
            elif put is not None:
                put(record)
            else:
                put_record(json(record))

        own = inspect.signature(declared, eval_str=True).parameters.values()
        set_parameters(command, [*own, *as_parameters({**(added or {}), "as_json": (AsJson, False)})])
        return command

    return decorate
