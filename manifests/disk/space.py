"""Check free disk space before writing."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from ...errors import MachineError
from ...quantities import size


def check_space(directory: Path, needed: int, what: str, advice: str) -> None:
    """Raise `MachineError` if fewer than `needed` bytes are free.

    Parameters
    ----------
    directory : Path
        A directory on the file system to check. The directory need not exist yet.
    needed : int
        The number of bytes that are needed.
    what : str
        What needs the space, such as ``the build``.
    advice : str
        The next step, as a sentence.
    """
    usage = shutil.disk_usage(_existing(directory))
    if usage.total and usage.free < needed:  # file systems such as /proc have no size, and raise their own errors
        raise MachineError(f"{directory} has {size(usage.free)} free, but {what} needs about {size(needed)}. {advice}")


def free_bytes(directory: Path) -> float:
    """Return the number of free bytes on the file system of a directory, which need not exist yet.

    The result is infinite on file systems without a size, such as /proc.
    """
    usage = shutil.disk_usage(_existing(directory))
    return usage.free if usage.total else float("inf")


def same_disk(one: Path, other: Path) -> bool:
    """Return whether two paths, which need not exist yet, are on the same file system."""
    return _existing(one).stat().st_dev == _existing(other).stat().st_dev


def write_advice(error: OSError, place: Path) -> str:
    """Return advice about a failed write, worded as the beginning of a sentence.

    Exhausted quotas, file systems without free inodes and full disks get different advice.

    Parameters
    ----------
    error : OSError
        The error that the write raised.
    place : Path
        The file that was written, or a folder on the same file system.
    """
    if error.errno == errno.EDQUOT:
        return "your disk quota is exhausted (`quota -s` shows it): delete files, or ask for a larger quota"
    if error.errno == errno.ENOSPC and _has_no_inodes(place):
        return (
            "the file system has free space, but no free inodes for new files (`df -i` shows them): delete files, or "
            "start again with another --out, or with --storage hdf5, which writes fewer files"
        )
    return "free some space or correct the path"


def _has_no_inodes(place: Path) -> bool:
    """Return whether a file system has free bytes but no free inodes."""
    try:
        status = os.statvfs(_existing(place))
    except (OSError, AttributeError):  # Windows has no statvfs
        return False
    return status.f_files > 0 and status.f_favail == 0 and status.f_bavail > 0


def _existing(place: Path) -> Path:
    """Return a path, or the nearest folder above it that exists."""
    existing = place.absolute()
    while not existing.exists():
        existing = existing.parent
    return existing
