"""The command line: thin, over the other rooms."""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    from ..starting import own_process

    own_process()
    from .app import run

    run()
