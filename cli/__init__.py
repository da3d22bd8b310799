"""The command line, a thin layer over the other packages."""

from __future__ import annotations

import atexit
import gc
import sys

INTERRUPTED = 130
"""The exit code of an interrupted command."""


def main() -> None:
    """Run the command line."""
    from ..interruption import handle_signals, ignore_signals  # Imported first, because other imports are slow.

    atexit.register(gc.freeze)  # Without this, the last garbage collection takes a quarter of a short command's time.
    try:
        handle_signals()
        from .app import run

        run()
    except KeyboardInterrupt:  # A signal arrived while handlers were installed or modules were imported.
        print("Interrupted.", file=sys.stderr)
        sys.exit(INTERRUPTED)
    finally:
        ignore_signals()
