"""The command line: thin, over the other rooms."""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    from ..starting import loading, own_process

    own_process()
    with loading():
        from .app import run
    run()
