"""A build and its source, one inside the other: refused, because each command lists the source's folder again."""

from __future__ import annotations

from pathlib import Path

from ...errors import BuildError
from ..sources.image_files import ImageSource
from ..sources.source import Source


def refuse_nested(source: Source, directory: Path) -> None:
    """Raise `BuildError` if a build would lie in the folder of its source, or that folder in the build.

    Sources that are files, or read files of known names, may lie anywhere.
    """
    if not isinstance(source, ImageSource) or source.path.is_file():
        return
    if _lies_in(directory, source.listed):
        raise BuildError(
            f"{directory} would lie in the folder of the source, {source.listed}: what is built would count as images of the source, and "
            "the build could not be resumed. Choose an --out that is not in that folder. Nothing was written."
        )
    if _lies_in(source.listed, directory):
        raise BuildError(
            f"The folder of the source, {source.listed}, lies in {directory}, which the build is to write. Choose another --out. "
            "Nothing was written."
        )


def _lies_in(inner: Path, outer: Path) -> bool:
    """Whether a folder, which need not be there yet, is another or lies below it, whatever links or mounts they are named by."""
    path = inner.resolve()
    return any(above.exists() and outer.exists() and above.samefile(outer) for above in (path, *path.parents))
