"""Recognise masks among the images of a tree by the headers of their files."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from PIL import Image

from ...errors import SourceError, first_few
from ...files import open_regular
from .decoding import PILLOW_FORMATS

LABEL_MODES = ("P", "PA", "1")
"""Pillow modes of images whose values are indices, as in Pascal VOC masks, and of 1-bit images."""
COLOUR_MODES = ("RGB", "RGBA", "RGBX", "RGBa", "CMYK", "YCbCr")
JPEG = b"\xff\xd8"


def header_mode(file: Path) -> str | None:
    """Return the Pillow mode that the header of an image file states, or None if the header cannot be read.

    The mode of a JPEG is always given as RGB, because a JPEG cannot be a mask: it has no palette and is lossy.
    """
    try:
        with open_regular(file) as data, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the size of an image is checked when it is decoded
            if data.read(len(JPEG)) == JPEG:
                return "RGB"
            data.seek(0)
            with Image.open(data, formats=PILLOW_FORMATS) as image:
                return image.mode
    except Exception:  # Pillow raises many kinds of errors, and the file is reported when the source is checked
        return None


def refuse_masks(root: Path, images: Sequence[str], files: Iterable[str]) -> tuple[str, ...]:
    """Raise `SourceError` if a tree contains palette or 1-bit images, which are probably masks.

    This is checked only if the user has not selected the images with a pattern (``--images``).

    Parameters
    ----------
    root : Path
        The folder of the tree.
    images : sequence of str
        Paths of the files that are treated as images.
    files : iterable of str
        Paths of all files. The error message suggests a pattern that selects only the images among these files.

    Returns
    -------
    tuple of str
        A note if only some folders contain colour images. Folders of grey images may then contain masks too.
    """
    modes = {path: header_mode(root / path) for path in images}
    masks = [path for path, mode in modes.items() if mode in LABEL_MODES]
    if masks:
        others = [path for path in images if modes[path] not in LABEL_MODES]
        named, all_images = pattern_for(others, files), pattern_for(images, files)
        of_masks = {_folder(path) for path in masks}
        folder = Counter(_folder(path) for path in others if _folder(path) not in of_masks).most_common(1)
        if named is not None:
            advice = f"--images {named!r} selects the other images, and every other file is then copied unchanged."
        else:
            such = f", such as {folder[0][0].removeprefix('./') + '*'!r}," if folder else ""
            advice = f"--images PATTERN{such} selects the images, and every other file is then copied unchanged."
        if all_images is not None:
            advice += f" --images {all_images!r} selects all of them, including the masks."
        raise SourceError(
            f"{root} contains {len(masks):,} palette or 1-bit image{'s' * (len(masks) > 1)}, as masks are stored, in "
            f"{folder_counts(masks)}. Corruptions would destroy the labels in masks, so select the images with a "
            f"pattern. {advice}"
        )
    colour = {_folder(path) for path, mode in modes.items() if mode in COLOUR_MODES}
    grey = [path for path, mode in modes.items() if mode is not None and _folder(path) not in colour]
    if not grey or not colour:
        return ()
    return (
        f"The images in {folder_counts(grey)} are all grey, while other images are in colour. If they are masks or "
        "depth maps, select the images with --images PATTERN: every other file is then copied unchanged.",
    )


def pattern_for(wanted: Sequence[str], files: Iterable[str]) -> str | None:
    """Return a short pattern that matches exactly the wanted files, or None.

    Examples
    --------
    >>> pattern_for(["val/a.jpg", "val/b/c.jpg"], ["val/a.jpg", "val/b/c.jpg", "gt/a.png"])
    'val/*'
    """
    folders = {path.partition("/")[0] for path in wanted if "/" in path}
    suffixes = sorted({path.rpartition(".")[2].lower() for path in wanted})
    endings = [f"*.{suffixes[0]}" if len(suffixes) == 1 else "*.[jp]*g"] if suffixes else []
    inside = [f"{folder}/" for folder in folders] if len(folders) == 1 else []
    all_files = list(files)
    for pattern in [*(f"{folder}*" for folder in inside), *endings, *(f"{f}{e}" for f in inside for e in endings)]:
        if {path for path in all_files if matches_pattern(path, pattern)} == set(wanted):
            return pattern
    return None


def matches_pattern(path: str, pattern: str) -> bool:
    """Return whether a path matches a shell pattern. The case of the suffix does not matter.

    Examples
    --------
    >>> matches_pattern("val/IMG_1.JPG", "val/*.jpg"), matches_pattern("VAL/a.jpg", "val/*.jpg")
    (True, False)
    """
    return fnmatchcase(path, pattern) or fnmatchcase(_lower_suffix(path), _lower_suffix(pattern))


def _lower_suffix(path: str) -> str:
    stem, dot, suffix = path.rpartition(".")
    return path if "/" in suffix else f"{stem}{dot}{suffix.lower()}"


def folder_counts(paths: Iterable[str]) -> str:
    """Return the folders of files with the number of files in each, the largest first, for use in a sentence.

    Examples
    --------
    >>> folder_counts(["a/1.png", "b/2.png", "b/3.png", "4.png"])
    'b/ (2), a/ (1), ./ (1)'
    """
    return first_few([f"{folder} ({count:,})" for folder, count in Counter(map(_folder, paths)).most_common()])


def _folder(path: str) -> str:
    return f"{path.rpartition('/')[0] or '.'}/"
