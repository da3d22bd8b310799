"""The application with all its commands, and the options of `corruptset` itself."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from ..corruptions.add_ons import cannot_load, find_add_ons, install_hint
from ..errors import ParameterError, PluginError
from ..foreign import ForeignCode
from . import INTERRUPTED
from .audit import audit
from .build import build
from .compare import compare, report
from .corrupt import check_corruption, corrupt, preview
from .export import export, page
from .failures import fail, guard, stop
from .hints import HintedCommand
from .output import prepare_streams, say, silence, unwritable
from .plan import plan
from .release import fetch, pack, publish, unpack
from .score import predict, score, score_table
from .show import list_, show
from .verify import rebuild, verify

ABOUT = "Build and check static benchmarks of corrupted images, such as ImageNet-C."
EPILOG = (
    "Exit codes: 0 success; 1 a verification, audit or check failed, or a build is unfinished; 2 an error in the "
    "command or its input; 3 the machine failed (disk, memory or workers); 130 interrupted."
)
COMMANDS: list[Callable[..., None]] = [
    list_, show, plan, build, verify, audit, rebuild, export, page, pack, unpack, publish, fetch,
    predict, score, score_table, compare, report,
    corrupt, preview, check_corruption,
]  # fmt: skip

BUILT_IN = {command.__name__.rstrip("_").replace("_", "-"): command for command in COMMANDS}
"""The commands of corruptset itself, by name. Add-ons provide further commands."""


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"corruptset {version('corruptset')}")
        raise typer.Exit


def corruptset(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version of corruptset and exit."),
    ] = False,
) -> None:
    """Handle the options that precede a command."""


def application(commands: dict[str, Callable[..., None]]) -> typer.Typer:
    """Return an application with the given commands. The docstring of each command is its help text."""
    result = typer.Typer(
        name="corruptset",
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog=EPILOG,
    )
    result.callback(help=ABOUT)(corruptset)
    for name, command in commands.items():
        # Each paragraph becomes one line, because typer does not rewrap lines.
        paragraphs = [" ".join(paragraph.split()) for paragraph in (command.__doc__ or "").split("\n\n")]
        result.command(name, cls=HintedCommand, help="\n\n".join(paragraphs))(guard(command))
    return result


app = application(BUILT_IN)


def select_commands(arguments: list[str]) -> dict[str, Callable[..., None]]:
    """Return the command that the arguments name, or all commands if they name no known command.

    Typer reads the signature of every command that it is given. This takes longer than running most commands. Commands
    from add-ons are imported from their packages. If a package cannot be imported, a warning is printed. If its
    command was requested, an error is raised instead.
    """
    requested = next((word for word in arguments if not word.startswith("-")), None)
    if requested in BUILT_IN:
        return {requested: BUILT_IN[requested]}
    entries = {name: entry for name, entry in find_add_ons("commands").items() if name not in BUILT_IN}
    if requested is not None and requested not in entries and install_hint(requested):
        raise ParameterError(f"There is no command {requested!r}.{install_hint(requested)}")
    result = dict(BUILT_IN)
    for name, entry in entries.items():
        if requested in entries and name != requested:
            continue
        try:
            with ForeignCode():
                result[name] = entry.load()
        except Exception as e:  # A foreign package can raise anything.
            if name == requested:
                raise cannot_load(entry, e) from None
            say(str(cannot_load(entry, e)), style="yellow")
    return result


def run() -> None:
    """Run the command line and exit with the exit code of the command."""
    prepare_streams()
    try:
        application(select_commands(sys.argv[1:]))(prog_name="corruptset")
    except (ParameterError, PluginError) as e:
        sys.exit(fail(e))
    except KeyboardInterrupt:
        sys.exit(stop())
    except BrokenPipeError:
        silence(sys.stdout)
    except SystemExit as e:
        if isinstance(e.__context__, typer.Exit) and e.__context__.exit_code == INTERRUPTED:
            sys.exit(stop())  # Typer prints nothing if a signal arrives while it parses the options.
        # If the reader of a pipe has closed it, Typer exits with 1. Help cannot fail in any other way.
        if e.code != 1 or "--help" not in sys.argv:
            raise
    except OSError as e:  # Typer itself prints help and the version. Standard output may not be writable.
        sys.exit(fail(unwritable(e)))
