"""The record of an unfinished build, ``.corruptset/build.json``."""

from __future__ import annotations

from pathlib import Path

from .disk.hashed import read_hashed, write_hashed
from .manifest_file import MANIFEST_CAP
from .paths import BUILD
from .records.fields import SetId
from .records.models import Header, Record
from .records.parsing import parse_record


class Unfinished(Record):
    """The contents of build.json."""

    sets: list[SetId]
    """The ids of all sets of the build."""
    header: Header
    """The fields that identify the build."""
    extends: bool
    """Whether the build extends another dataset. In that case, base.json contains the manifest of that dataset."""


def write_unfinished(directory: Path, state: Unfinished) -> None:
    """Write build.json."""
    write_hashed(directory / BUILD, state.model_dump_json(indent=2).encode())


def read_unfinished(directory: Path) -> Unfinished | None:
    """Return the contents of build.json, or None if it is missing, is damaged or has a different version."""
    data = read_hashed(directory / BUILD, MANIFEST_CAP)
    return None if data is None else parse_record(Unfinished, data)[0]
