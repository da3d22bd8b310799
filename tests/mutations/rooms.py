"""The wrong variants of everything outside the pixels: sources, builds, data sets, views, the command line; `rooms.txt`
has them.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Mistake(NamedTuple):
    """An edit of one place of the package."""

    name: str
    file: str
    """Below the package."""
    right: str
    """Stands exactly once in the file."""
    wrong: str
    tests: str
    """Files below tests, without ``test_``: ``generate/parts`` is tests/generate/plan/test_parts.py."""

    @property
    def id(self) -> str:
        return f"{self.file.removesuffix('.py')}: {self.name}"


def read(path: Path) -> list[Mistake]:
    """Read a file of variants; its first lines say how it is written."""
    found: list[Mistake] = []
    file = tests = name = ""
    sides: dict[str, list[str]] = {}

    def close() -> None:
        if sides:
            found.append(Mistake(name, file, "\n".join(sides["-"]), "\n".join(sides.get("+", [])), tests))
            sides.clear()

    for line in path.read_text("utf-8").splitlines():
        if line.startswith(("- ", "+ ")):
            sides.setdefault(line[0], []).append(line[2:])
            continue
        close()
        if line.startswith("== "):
            file, _, tests = line[3:].partition(": ")
        elif line and not line.startswith("#"):
            name = line
    close()
    return found


MISTAKES = read(Path(__file__).with_suffix(".txt"))
