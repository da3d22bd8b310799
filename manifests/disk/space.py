"""Free space: what is about to be written must fit, or nothing is begun."""

from __future__ import annotations

import shutil
from pathlib import Path

from ...errors import MachineError


def check_space(directory: Path, needed: int, what: str, advice: str) -> None:
    """Refuse to begin where there is too little room.

    Parameters
    ----------
    directory : Path
        Where it goes; it need not be there yet.
    needed : int
        Bytes.
    what : str
        Whatever needs them, such as ``the build``.
    advice : str
        A sentence.

    Raises
    ------
    MachineError
        Says how much there is, and how much is needed.
    """
    there = directory.absolute()
    while not there.exists():
        there = there.parent
    free = shutil.disk_usage(there).free
    if free < needed:
        raise MachineError(f"{directory} has {_size(free)} free, and {what} needs about {_size(needed)}. {advice}")


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 10**8 else f"{count / 1e6:.1f} MB"
