"""The source ``tree:PATH``: any tree of images, without labels, and the files beside them, such as annotations.

Every image keeps its path, its name and its format; every other file is copied to the same path in the data set.
"""

from __future__ import annotations

import unicodedata
from fnmatch import fnmatchcase
from pathlib import Path

from ...errors import SourceError, first_few
from ...manifests.layout import is_own
from .image_files import Images, ImageSource, describe
from .listing import KEPT_SUFFIXES, kept_suffix
from .naming import find_equal, name_problem

OTHER_FORMAT = (
    f"has none of the suffixes {', '.join(KEPT_SUFFIXES)}, and images keep their names: what is stored is JPEG or PNG. Convert it, or "
    "leave it out: --images PATTERN names the images, and all other files are copied as they are"
)


def folder_of(rest: str, scheme: str, expected: str) -> Path:
    """Return the folder that a source names, or raise `SourceError`."""
    if not rest:
        raise SourceError(f"The source {scheme} needs a path: {scheme}:PATH.")
    root = Path(rest).expanduser()
    if not root.is_dir():
        what = "is a file, not a folder" if root.exists() else "is not there"
        raise SourceError(f"The source {scheme}:{rest}: {root} {what}. Expected {expected}.")
    return root.resolve()


def open(rest: str, *, labels: Path | None = None, images: str | None = None) -> ImageSource:
    """List a tree of images; none is read. An image's id is its path, with its suffix, in Unicode's normal form C.

    Parameters
    ----------
    rest : str
        The folder.
    images : str, optional
        A shell pattern over paths, such as ``val2017/*.jpg``: the images. By default all files with the suffix of one.

    Raises
    ------
    SourceError
        The folder is not there, or holds no image.
    """
    if labels is not None:
        raise SourceError("The source tree has no labels, and takes none. Leave --labels out, or use folder:PATH.")
    tree = Images.of_folder(folder_of(rest, "tree", "a folder with images in it, at any depth"))
    listing = tree.listing
    files = set(listing.files)
    notes = [(path, reason) for path, reason in listing.notes if path not in files]
    chosen = listing.images if images is None else [path for path in listing.files if fnmatchcase(path, images)]
    if not chosen:
        there = f" The images there: {first_few(listing.images)}." if listing.images else ""
        which = "" if images is None else f" that --images {images!r} names"
        raise SourceError(f"The source tree:{rest} holds no image{which}.{there}{describe(notes)}")
    notes += [(path, OTHER_FORMAT) for path in chosen if not kept_suffix(path)]
    others = {path: tree.path / path for path in sorted(files.difference(chosen))}
    unfit = find_equal({path: path for path in others}) | {path: why for path in others if (why := _problem(path)) is not None}
    kept = dict.fromkeys(filter(kept_suffix, chosen))
    source = tree.source("tree", kept, lambda path: unicodedata.normalize("NFC", path), (), [*notes, *unfit.items()])
    source.pattern = images
    source.left_out = tuple(path for path in others if is_own(path))
    source.other_files = {path: file for path, file in others.items() if path not in unfit and not is_own(path)}
    return source


def _problem(path: str) -> str | None:
    """Return why a file cannot have its path in a data set, or None."""
    if (problem := name_problem(path)) is not None:
        return problem
    return "has a colon in its first name, as a drive has elsewhere: rename it" if ":" in path.partition("/")[0] else None
