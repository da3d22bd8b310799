"""The record of an unfinished build, ``.corruptset/build.json``: what the build is, and its sets."""

from __future__ import annotations

from pathlib import Path

from .disk.hashed import read_hashed, write_hashed
from .manifest_file import MANIFEST_CAP
from .paths import BUILD
from .records.fields import SetId
from .records.models import Header, Record
from .records.parsing import record_or_mistakes


class Unfinished(Record):
    """The contents of build.json."""

    sets: list[SetId]
    """The ids of all sets of the build."""
    header: Header
    """What the build is, with the resources of these sets."""
    extends: bool
    """Whether it extends a dataset, whose manifest is then in base.json."""


def write_unfinished(directory: Path, state: Unfinished) -> None:
    """Write build.json."""
    write_hashed(directory / BUILD, state.model_dump_json(indent=2).encode())


def read_unfinished(directory: Path) -> Unfinished | None:
    """Return what build.json says; None if it is missing or damaged, or if another version of corruptset wrote it."""
    data = read_hashed(directory / BUILD, MANIFEST_CAP)
    return None if data is None else record_or_mistakes(Unfinished, data)[0]
