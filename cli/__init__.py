"""The command line: thin, over the other rooms."""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    from ..interruption import take_signals  # before anything else: until then Ctrl-C prints a traceback

    stopping = take_signals()
    code: object = 1
    try:
        from ..startup import own_process

        own_process()
        from .app import run

        run()
        code = 0
    except SystemExit as left:
        code = left.code
        raise
    finally:
        stopping.end(code if isinstance(code, int) else int(code is not None))
