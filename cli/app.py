"""The application: its commands, and what `corruptset` alone does."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable
from typing import Annotated

import typer

from .build import build, plan
from .corrupt import corrupt
from .export import export
from .failures import fail, guarded, stop
from .list import list_
from .output import prepare_streams, silence, unwritable
from .pack import pack, unpack
from .preview import preview
from .rebuild import rebuild
from .show import show
from .verify import verify

EPILOG = "Exit codes: 0 done; 1 verification failed or incomplete; 2 a mistake in what was asked; 3 the machine failed; 130 interrupted."

HELP = ["-h", "--help"]


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"corruptset {version('corruptset')}")
        raise typer.Exit


def _unwrapped(text: str) -> str:
    """Return a docstring with one line a paragraph: typer keeps line ends, and terminals wrap by themselves."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def corruptset(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version of corruptset and stop.")
    ] = False,
) -> None:
    """Make static corrupted image benchmark sets (ImageNet-C and its relatives), and check them."""


COMMANDS: dict[str, Callable[..., None]] = {
    "list": list_,
    "show": show,
    "plan": plan,
    "build": build,
    "verify": verify,
    "rebuild": rebuild,
    "export": export,
    "pack": pack,
    "unpack": unpack,
    "corrupt": corrupt,
    "preview": preview,
}


def application(names: Iterable[str]) -> typer.Typer:
    """Return the application with some of the commands."""
    made = typer.Typer(
        name="corruptset",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": HELP},
        epilog=EPILOG,
    )
    made.callback()(corruptset)
    for name in names:
        made.command(name, help=_unwrapped(COMMANDS[name].__doc__ or ""))(guarded(COMMANDS[name]))
    return made


app = application(COMMANDS)


def run() -> None:
    """Run the command line and leave with its exit code."""
    prepare_streams()
    try:
        if not help_shown(sys.argv[1:]):
            # Typer works out the options of all commands that it has: where one is named, of that one alone.
            named = [name for name in sys.argv[1:2] if name in COMMANDS]
            application(named or COMMANDS)()
    except KeyboardInterrupt:
        sys.exit(stop())
    except BrokenPipeError:
        silence(sys.stdout)
    except OSError as e:  # of what typer itself prints: help, the version
        sys.exit(fail(unwritable(e)))


def help_shown(arguments: list[str]) -> bool:
    """Print the help that the arguments ask for, if they do.

    Typer would do it as well, but newer ones load pydantic to look at the option first, and help should come at once.
    """
    before = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if not set(HELP) & set(before):
        return False
    command = typer.main.get_command(app)
    context = typer.Context(command, info_name="corruptset")
    names = [a for a in before if not a.startswith("-")]
    if names:
        found = command.commands.get(names[0])  # type: ignore[attr-defined]
        if found is None:
            return False
        command, context = found, typer.Context(found, info_name=names[0], parent=context)
    # rich leaves with 1 when the reader of a pipe has left; help has no other way to fail
    with contextlib.suppress(SystemExit):
        typer.echo(command.get_help(context))
    return True
