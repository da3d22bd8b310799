"""Turn errors on the command line into a message and an exit code, without a traceback."""

from __future__ import annotations

import errno
import functools
import os
import re
import shlex
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from ..errors import (
    CorruptsetError,
    CorruptsetWarning,
    FinishedDataset,
    Interrupted,
    MissingParts,
    not_installed,
    require_utf8_names,
)
from ..interruption import cause_of
from .output import put_json, say, silence

MACHINE_FAILED = 3
# The user can correct these errors by changing the command. Every other OSError is a failure of the machine.
_PATH_ERRORS = {errno.ENOENT, errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ENAMETOOLONG}


def guard(command: Callable[..., None]) -> Callable[..., None]:
    """Wrap a command, so that its exceptions become a message and an exit code.

    With ``--json``, the error is also printed as JSON on standard output. ``CORRUPTSET_DEBUG=1`` adds the traceback.
    """

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        as_json = bool(kwargs.get("as_json"))
        try:
            with warnings.catch_warnings():
                warnings.showwarning = functools.partial(_show, warnings.showwarning)
                require_utf8_names()
                command(*args, **kwargs)
        except BrokenPipeError:
            silence(sys.stdout)
        except Interrupted as e:
            sys.exit(fail(e, as_json=as_json))
        except BaseException as e:
            if not isinstance(e, CorruptsetError) and (hasattr(e, "exit_code") or isinstance(e, typer.Abort)):
                raise  # Typer raised the exception (a usage error or Exit), and handles it itself.
            cause = cause_of(e)
            sys.exit(stop(as_json=as_json) if isinstance(cause, KeyboardInterrupt) else fail(cause, as_json=as_json))

    return run


def _show(show_other: Callable[..., None], message: Warning | str, category: type[Warning], *where: Any) -> None:
    """Show corruptset's own warnings as sentences, and any other warning as Python does."""
    if issubclass(category, CorruptsetWarning):
        say(str(message), style="yellow")
    else:
        show_other(message, category, *where)


def fail(error: BaseException, *, as_json: bool = False) -> int:
    """Write the message of an error to standard error, and return the exit code."""
    message, code = describe(error)
    if os.environ.get("CORRUPTSET_DEBUG", "") not in ("", "0"):
        say("".join(traceback.format_exception(error)).rstrip())
    say(message, style="red")
    if as_json:
        put_json({"ok": False, "exit_code": code, "error": {"kind": type(error).__name__, "message": message}})
    return code


def stop(*, as_json: bool = False) -> int:
    """Print the message for an interrupted command, including the way to resume it, and return the exit code."""
    resume = " Finished parts are kept. Run the same command again to resume:" if _resume() else ""
    return fail(Interrupted(f"Interrupted.{resume}"), as_json=as_json)


def describe(error: BaseException) -> tuple[str, int]:
    """Return the message and the exit code for an exception."""
    error = not_installed(error) or error
    resume = _resume()
    if isinstance(error, MissingParts):
        calls = [[f"--part={job}/{error.of}" if a == "--finish" else a for a in sys.argv[1:]] for job in error.jobs]
        return error.with_calls(
            [shlex.join(["corruptset", *a]) for a in calls], shlex.join(["corruptset", *sys.argv[1:]])
        ), error.exit_code
    if isinstance(error, FinishedDataset):
        given = [f"--{name}={value}" for name, value in error.options.items()]
        return error.with_call(shlex.join(["corruptset", *_without_out(sys.argv[1:]), *given])), error.exit_code
    if isinstance(error, CorruptsetError):
        return f"{error}{resume if isinstance(error, Interrupted) else ''}", error.exit_code
    next_step = f"run the same command again to resume:{resume}" if resume else "run the same command again."
    if isinstance(error, MemoryError):
        remedy = "Use fewer --jobs" if resume else "Close other programs"
        return f"The machine ran out of memory ({error or 'no details'}). {remedy}; {next_step}", MACHINE_FAILED
    if isinstance(error, ImportError) and re.search("failed to map segment|cannot allocate memory", str(error), re.I):
        return (
            f"The machine cannot load a library: {error}. Raise the memory limit (ulimit -v), or install corruptset "
            f"into a folder on a file system that is not mounted with noexec; {next_step}"
        ), MACHINE_FAILED
    if isinstance(error, OSError):
        reason = f"{error.strerror or error}{f' ({error.filename})' if error.filename else ''}"
        if error.errno in _PATH_ERRORS:
            return f"{reason}. Check the path and its permissions.", 2
        state = "Finished parts are kept" if resume else "No incomplete file was left behind"
        from ..manifests.disk.space import write_advice

        advice = write_advice(error, Path(os.fsdecode(error.filename or ".")))
        return f"The machine failed: {reason}. {state}; {advice}, and {next_step}", MACHINE_FAILED
    return (
        f"corruptset has a bug, please report it: {type(error).__name__}: {error} "
        f"(in: {shlex.join(['corruptset', *sys.argv[1:]])}; set CORRUPTSET_DEBUG=1 to see the traceback)",
        MACHINE_FAILED,
    )


def _without_out(arguments: list[str]) -> list[str]:
    """Return the arguments of a command without the option ``--out`` and its value."""
    kept: list[str] = []
    values = iter(arguments)
    for argument in values:
        if argument in ("--out", "-o"):
            next(values, None)
        elif not argument.startswith(("--out=", "-o")):
            kept.append(argument)
    return kept


def _resume() -> str:
    """Return the command that resumes the work, on a line of its own, or an empty string if it cannot be resumed."""
    return (
        f"\n  {shlex.join(['corruptset', *sys.argv[1:]])}"
        if sys.argv[1:2] in (["build"], ["rebuild"], ["pack"], ["unpack"], ["publish"], ["fetch"])
        else ""
    )
