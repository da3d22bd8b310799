"""The source ``icons50:PATH``: Icons-50, icons of fifty classes in the styles of their vendors, from Icons-50.npy or class folders.

Every sample has a group: its style, or, with ``--groups subtype``, which kind of its class it shows. The file has icons of 32x32 in
the order of its rows, and numbers for classes; the folders have images of any size, named ``<style>_<rendition>_<subtype>.png``. So
the two are two sources.

References
----------
Hendrycks & Dietterich 2018, Benchmarking Neural Network Robustness to Common Corruptions and Surface Variations (arXiv:1807.01697).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ...errors import SourceError, listed
from . import folder
from .groups import group_problem
from .image_files import ImageSource, Note, describe
from .labels import numbered_classes, whole_labels
from .npy import image_shape
from .pickles import MOST_BYTES, Refused, load_saved_fields, pixels, texts, whole_numbers
from .places import read_whole
from .rows import Rows, RowSource, Table
from .source import Sample
from .tarred import tarfile_like

FILE = "Icons-50.npy"
FOLDER = "Icons-50"
GROUPINGS = ("style", "subtype")
EXPECTED = f"Expected {FILE} as it was downloaded, or the folder {FOLDER} of class folders."


def open(rest: str, *, labels: Path | None = None, groups: str | Path | None = None) -> RowSource | ImageSource:
    """Open Icons-50; no image is read.

    Parameters
    ----------
    rest : str
        Icons-50.npy; the folder of class folders, or a tar of it; or a folder that holds one of them.
    groups : {"style", "subtype"}, optional
        What the samples' groups are.

    Raises
    ------
    SourceError
        The path is not there or is something else, the file is damaged or asks Python to run something, or no icon has a group.
    """
    grouping = str(groups) if groups is not None else GROUPINGS[0]
    if labels is not None:
        raise SourceError("The source icons50 takes no --labels: its file or its folders hold them.")
    if grouping not in GROUPINGS:
        raise SourceError(f"--groups is {grouping!r}; for icons50 expected one of {', '.join(GROUPINGS)}.")
    if not rest:
        raise SourceError(f"The source icons50 needs a path: icons50:PATH. {EXPECTED}")
    path = Path(rest).expanduser().resolve()
    if not path.exists():
        raise SourceError(f"The source icons50:{rest}: {path} is not there. {EXPECTED}")
    if (path / FILE).is_file():
        path /= FILE
    while (path / FOLDER).is_dir():  # the archive has one in the other
        path /= FOLDER
    folders = path.is_dir() or (path.suffix != ".npy" and tarfile_like(path))
    source = _open_folders(path, grouping) if folders else RowSource("icons50", [path], _read, path, grouping)
    source.grouping = grouping
    return source


def _open_folders(path: Path, grouping: str) -> ImageSource:
    """Open class folders; an icon whose name has no style becomes a note."""
    source = folder.open(str(path))
    kept: list[Sample] = []
    notes: list[Note] = []
    for sample in source.samples:
        names = _style_and_subtype(sample.id.rpartition("/")[2])
        if names is None:
            reason = "has a name without style and subtype: expected <style>_<rendition>_<subtype>, as microsoft_2_rabbit_face.png"
            notes.append((sample.path or sample.id, reason))
        else:
            kept.append(replace(sample, index=len(kept), group=names[GROUPINGS.index(grouping)]))
    if not kept:
        raise SourceError(f"The source icons50: {path} holds no icon whose name has a style.{describe(notes)}")
    source.scheme, source.samples, source.notes = "icons50", tuple(kept), tuple(sorted([*source.notes, *notes]))
    return source


def _style_and_subtype(stem: str) -> tuple[str, str] | None:
    """Return what a file's name says, or None.

    Examples
    --------
    >>> _style_and_subtype("microsoft_2_rabbit_face"), _style_and_subtype("rabbit")
    (('microsoft', 'rabbit_face'), None)
    """
    style, _, rest = stem.partition("_")
    rendition, _, subtype = rest.partition("_")
    return (style, subtype) if style and rendition and subtype else None


def _read(path: Path, grouping: str) -> Rows:
    try:
        fields = load_saved_fields(read_whole(path, MOST_BYTES))
        missing = [key for key in ("image", "class", *GROUPINGS) if key not in fields]
        if missing:
            held = ", ".join(repr(key[:40]) for key in sorted(fields)[:8]) or "nothing"
            raise Refused(f"holds no {' and no '.join(missing)} (it holds {held})")
        images = pixels(fields["image"], "images")
        if images.ndim == 4 and images.shape[1] == 3 and images.shape[3] != 3:
            images = images.transpose(0, 2, 3, 1)
        if image_shape(images.dtype, images.shape, f"{path}: image")[2] != 3:
            raise Refused(f"has images of shape {images.shape}; expected (icons, 3, 32, 32)")
        labels = whole_labels(whole_numbers(fields["class"]), len(images), f"{path}: class")
        groups = texts(fields[grouping])
        if len(groups) != len(images):
            raise Refused(f"has {len(images)} icons and {len(groups)} in {grouping!r}")
        problems = [group_problem(name) if name else f"has no {grouping}" for name in groups]
        wrong = [f"row {i}: {problem}" for i, problem in enumerate(problems) if problem is not None]
        if wrong:
            raise Refused(f"has {len(wrong)} icons without a group:\n{listed(wrong, 10)}\n")
    except Refused as e:
        raise SourceError(f"{path} {e}. {EXPECTED}") from None
    return numbered_classes(int(labels.max())), [Table("data", images, labels, groups)]
