"""The command line: thin, over the other rooms."""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    from .app import run

    run()
