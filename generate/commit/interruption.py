"""What stops a build from outside, and the sentence that says how it is resumed."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...errors import BuildError, CorruptsetError, Interrupted, MachineError
from ...interruption import interruption
from ...processes import fill_standard_descriptors
from ..work.pool import machine_error

UNMADE = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL}
"""Why a folder cannot be made that is to be somewhere else."""


@dataclass
class BuildPlace:
    """Where a build stands, as far as it is known."""

    directory: Path


@contextlib.contextmanager
def resumable(out: Path) -> Iterator[BuildPlace]:
    """Say of all that stops a build from outside how it is resumed.

    SIGTERM stops it as Ctrl-C does.
    """
    place = BuildPlace(out)
    fill_standard_descriptors()  # before any file is opened, where a program has closed them
    with interruption() as signals:
        try:
            yield place
        except (KeyboardInterrupt, Exception) as e:
            where = str(place.directory)
            # A signal that comes while Python holds a lock of its own, or imports, may end in another error than
            # KeyboardInterrupt.
            if signals.came is not None or isinstance(e, KeyboardInterrupt):
                raise Interrupted(
                    f"Interrupted. What was committed in {where} stands: run the same command again to resume where "
                    "it stopped."
                ) from None
            if isinstance(e, CorruptsetError):
                raise
            if isinstance(e, OSError):
                if os.path.lexists(place.directory) or e.errno not in UNMADE:
                    raise machine_error(e, where) from e
                raise BuildError(
                    f"{e.filename or where} cannot be made: {e.strerror}. Nothing was written; choose another --out."
                ) from e
            if isinstance(e, MemoryError):
                raise MachineError(
                    f"The machine ran out of memory. What was committed in {where} stands: run the same command with "
                    "fewer --jobs to resume."
                ) from None
            raise
