"""Errors that tell the user how to resume a build after an interruption or a machine failure."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...errors import BuildError, CorruptsetError, Interrupted, MachineError
from ...interruption import cause_of
from ..work.pool import machine_error

UNMADE = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL}
"""The error numbers that mean that a folder cannot be created because of its path."""


@dataclass
class BuildPlace:
    """The directory to name in error messages. It is set to the exact folder once the recipe is known."""

    directory: Path


@contextlib.contextmanager
def resumable(out: Path) -> Iterator[BuildPlace]:
    """Turn interruptions and machine failures in the ``with`` block into errors that say how to resume."""
    place = BuildPlace(out)
    try:
        yield place
    except (KeyboardInterrupt, Exception) as error:
        if isinstance(error, CorruptsetError):
            raise
        e, where = cause_of(error), str(place.directory)
        has_begun = os.path.lexists(place.directory)
        kept = f" Finished parts in {where} are kept." * has_begun
        if isinstance(e, KeyboardInterrupt):
            raise Interrupted(
                f"Interrupted.{kept} Run the same command again to resume."
                if has_begun
                else "Interrupted before anything was written. Run the same command again."
            ) from None
        if isinstance(e, CorruptsetError):
            raise e from None
        if isinstance(e, OSError):
            if has_begun or e.errno not in UNMADE:
                raise machine_error(e, where) from e
            raise BuildError(
                f"{e.filename or where} cannot be created: {e.strerror}. Nothing was written. Choose another --out."
            ) from e
        if isinstance(e, MemoryError):
            raise MachineError(
                f"The machine ran out of memory.{kept} To resume, run the same command again with fewer --jobs."
            ) from None
        raise
