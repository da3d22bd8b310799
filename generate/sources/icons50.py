"""The source ``icons50:PATH``: Icons-50, icons of fifty classes in the styles of their vendors, from Icons-50.npy or
class folders.

Every sample has a group: its style, or, with ``--groups subtype``, which kind of its class it shows. The file has icons
of 32x32 in the order of its rows, and numbers for classes; the folders have images of any size, named
``<style>_<rendition>_<subtype>.png``. So the two are two sources.

References
----------
Hendrycks & Dietterich 2018, Benchmarking Neural Network Robustness to Common Corruptions and Surface Variations
(arXiv:1807.01697).
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from ...errors import SourceError
from . import folder
from .groups import group_problem
from .labels import numbered_classes, whole_labels
from .pickles import Refused, load_saved_fields, pixels, texts, whole_numbers
from .rows import Rows, Table, image_shape, row_source
from .source import SCHEMES, Source
from .tarred import read_whole, tarfile_like

FILE = "Icons-50.npy"
FOLDER = "Icons-50"
EXPECTED = f"Expected {FILE} as it was downloaded, or the folder {FOLDER} of class folders."
NAME = re.compile(r"(?P<style>[^_]+)_[^_]+_(?P<subtype>.+)")
"""Of an icon's file, without its suffix."""


def open(path: Path, *, groups: str = "style") -> Source:
    """Open Icons-50; no image is read.

    Parameters
    ----------
    path : Path
        Icons-50.npy; the folder of class folders, or a tar of it; or a folder that holds one of them.
    groups : {"style", "subtype"}, optional
        What the samples' groups are.

    Raises
    ------
    SourceError
        The path is something else, the file is damaged or asks Python to run something, or no icon has a group.
    """
    if groups not in SCHEMES["icons50"].groupings:
        raise SourceError(
            f"--groups is {groups!r}; for icons50 expected one of {', '.join(SCHEMES['icons50'].groupings)}."
        )
    if (path / FILE).is_file():
        path /= FILE
    while (path / FOLDER).is_dir():  # the archive has one in the other
        path /= FOLDER
    folders = path.is_dir() or (path.suffix != ".npy" and tarfile_like(path))
    source = _open_folders(path, groups) if folders else row_source("icons50", [path], _read, path, groups)
    source.scheme, source.grouping = "icons50", groups
    return source


def _open_folders(path: Path, grouping: str) -> Source:
    source = folder.open(path)
    named = {sample: NAME.fullmatch(sample.id.rpartition("/")[2]) for sample in source.samples}
    kept = [replace(sample, group=match[grouping]) for sample, match in named.items() if match is not None]
    reason = f"has no {grouping} in its name; expected <style>_<rendition>_<subtype>.png"
    if not kept:
        raise SourceError(
            f"The source icons50: {path} holds no icon whose name has a style: its first image {reason}. {EXPECTED}"
        )
    source.samples = tuple(replace(sample, index=i) for i, sample in enumerate(kept))
    unnamed = [(str(sample.path), reason) for sample, match in named.items() if match is None]
    source.notes = tuple(sorted([*source.notes, *unnamed]))
    return source


def _read(path: Path, grouping: str) -> Rows:
    fields = load_saved_fields(read_whole(path))
    images = pixels(fields["image"])
    if images.ndim == 4 and images.shape[1] == 3 and images.shape[3] != 3:
        images = images.transpose(0, 2, 3, 1)
    groups = texts(fields[grouping], len(images))
    if image_shape(images.dtype, images.shape, f"{path}: image")[2] != 3 or len(groups) != len(images):
        raise Refused(
            f"it has images of shape {images.shape} and {len(groups)} in {grouping!r}; expected (icons, 3, 32, 32)"
        )
    labels = whole_labels(whole_numbers(fields["class"], len(images)), len(images), f"{path}: class")
    for name in set(groups):
        if (problem := group_problem(name) if name else "is empty") is not None:
            raise Refused(f"the {grouping} of row {groups.index(name)}, {name[:90]!r}, {problem}")
    return numbered_classes(int(labels.max())), [Table("data", images, labels, groups)]
