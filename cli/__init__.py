"""The command line: thin, over the other rooms."""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    from ..interruption import command_interruption  # before anything else: until then Ctrl-C prints a traceback

    interruption = command_interruption()
    try:
        from ..processes import prepare_process

        prepare_process()
        from .app import run

        run()
    finally:
        interruption.forget()
