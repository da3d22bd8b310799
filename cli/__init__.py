"""The command line: thin, over the other rooms."""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    from ..interruption import command_interruption  # before anything else: until then Ctrl-C prints a traceback

    interruption = command_interruption()
    try:
        from ..processes import prepare_process

        prepare_process()
        from .guardian import ended, watched

        watched()
        code = 1
        try:
            from .app import run

            run()
            code = 0
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else int(left.code is not None)
            raise
        finally:
            ended(code)
    finally:
        interruption.forget()
