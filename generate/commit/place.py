"""Where a build may be written."""

from __future__ import annotations

import os
from pathlib import Path

from ...errors import BuildError
from ...manifests.layout import MANIFEST, WORK_FOLDER, is_begun


def refuse_place(directory: Path) -> None:
    """Raise `BuildError` if a directory cannot be made or written to."""
    nearest = directory.absolute()
    while not os.path.lexists(nearest):
        nearest = nearest.parent
    if not nearest.is_dir():
        raise BuildError(f"{nearest} is not a folder, so {directory} cannot lie in it. Choose another --out.")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise BuildError(
            f"{nearest} cannot be written to (Permission denied, or a read-only disk); {directory} has to be. "
            "Mend the path's permissions, or choose another --out."
        )


def refuse_foreign(directory: Path) -> None:
    """Raise `BuildError` if a directory cannot be made, or is there and is neither empty nor a build."""
    if (directory / MANIFEST).exists():
        return
    refuse_place(directory)
    names = sorted(p.name for p in directory.iterdir()) if directory.exists() else []
    if names and names != [WORK_FOLDER] and not is_begun(directory):  # in this order: a job of the same array may begin it now
        raise BuildError(
            f"{directory} is not empty and holds no build ({', '.join(names[:5])}{' ...' if len(names) > 5 else ''}). "
            "Choose another --out, or empty it."
        )
