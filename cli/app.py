"""The application with all its commands, and the options of `corruptset` itself."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from ..corruptions.add_ons import cannot_load, installed, where_to_get
from ..errors import ParameterError, PluginError
from ..foreign import Foreign
from . import INTERRUPTED
from .audit import audit
from .build import build
from .compare import compare, report
from .corrupt import check_corruption, corrupt, preview
from .export import export, page
from .failures import fail, guarded, stop
from .hints import HintedCommand
from .output import prepare_streams, say, silence, unwritable
from .plan import plan
from .release import fetch, pack, publish, unpack
from .score import predict, score, score_table
from .show import list_, show
from .verify import rebuild, verify

ABOUT = "Make static corrupted image benchmark sets (ImageNet-C and its relatives), and check them."
EPILOG = (
    "Exit codes: 0 done; 1 verification failed or incomplete; 2 a mistake in the command or its input; 3 the machine "
    "failed; 130 interrupted."
)
COMMANDS: list[Callable[..., None]] = [
    list_, show, plan, build, verify, audit, rebuild, export, page, pack, unpack, publish, fetch,
    predict, score, score_table, compare, report,
    corrupt, preview, check_corruption,
]  # fmt: skip

OWN = {command.__name__.rstrip("_").replace("_", "-"): command for command in COMMANDS}
"""The commands of corruptset itself, by name."""


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"corruptset {version('corruptset')}")
        raise typer.Exit


def corruptset(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version of corruptset and stop."),
    ] = False,
) -> None:
    """Handle the options before a command."""


def application(commands: dict[str, Callable[..., None]]) -> typer.Typer:
    """Return an application with some commands. The docstring of a command is its help."""
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
        # Each paragraph becomes one line, because typer keeps line ends.
        paragraphs = [" ".join(paragraph.split()) for paragraph in (command.__doc__ or "").split("\n\n")]
        result.command(name, cls=HintedCommand, help="\n\n".join(paragraphs))(guarded(command))
    return result


app = application(OWN)


def needed(arguments: list[str]) -> dict[str, Callable[..., None]]:
    """Return the command that the arguments name, or all commands for help or an unknown word.

    Typer reads the signature of every command that it is given, which takes longer than most commands. The command of
    an add-on imports its package. In help, a package that cannot be imported is only a warning.
    """
    asked = next((word for word in arguments if not word.startswith("-")), None)
    if asked in OWN:
        return {asked: OWN[asked]}
    entries = {name: entry for name, entry in installed("commands").items() if name not in OWN}
    if asked is not None and asked not in entries and where_to_get(asked):
        raise ParameterError(f"There is no command {asked!r}.{where_to_get(asked)}")
    result = dict(OWN)
    for name, entry in entries.items():
        if asked in entries and name != asked:
            continue
        try:
            with Foreign():
                result[name] = entry.load()
        except Exception as e:  # A foreign package can raise anything.
            if name == asked:
                raise cannot_load(entry, e) from None
            say(str(cannot_load(entry, e)), style="yellow")
    return result


def run() -> None:
    """Run the command line and leave with its exit code."""
    prepare_streams()
    try:
        application(needed(sys.argv[1:]))(prog_name="corruptset")
    except (ParameterError, PluginError) as e:
        sys.exit(fail(e))
    except KeyboardInterrupt:
        sys.exit(stop())
    except BrokenPipeError:
        silence(sys.stdout)
    except SystemExit as e:
        if isinstance(e.__context__, typer.Exit) and e.__context__.exit_code == INTERRUPTED:
            sys.exit(stop())  # Typer prints nothing if a signal arrives while it reads the options
        # Typer exits with 1 if the reader of a pipe is gone. Help cannot fail in another way.
        if e.code != 1 or "--help" not in sys.argv:
            raise
    except OSError as e:  # typer prints help and the version itself
        sys.exit(fail(unwritable(e)))
