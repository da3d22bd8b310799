"""Free space: what is to be written must fit, or nothing starts."""

from __future__ import annotations

import shutil
from pathlib import Path

from ...errors import MachineError
from ...quantities import size


def check_space(directory: Path, needed: int, what: str, advice: str) -> None:
    """Raise MachineError where less than `needed` bytes are free; `directory` need not exist yet.

    `what` needs them, such as ``the build``; `advice` is the next step, a sentence.
    """
    existing = directory.absolute()
    while not existing.exists():
        existing = existing.parent
    usage = shutil.disk_usage(existing)
    if usage.total and usage.free < needed:  # what is no disk, as /proc, says itself why nothing can be made there
        raise MachineError(f"{directory} has {size(usage.free)} free, and {what} needs about {size(needed)}. {advice}")
