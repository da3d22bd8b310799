"""Sources of published datasets that are stored as arrays: CIFAR, MNIST and its relatives, and Icons-50.

Rows keep the order of the files. Every form of a dataset gives the same samples, with the same ids, labels and sha256
of the pixels. Icons-50 is an exception. Its file contains icons of 32x32 pixels, and its class names are numbers. Its
folders contain icons of any size, which are named ``<style>_<rendition>_<subtype>.png``.

References
----------
Krizhevsky, Learning Multiple Layers of Features from Tiny Images (2009); https://www.cs.toronto.edu/~kriz/cifar.html
LeCun, Cortes, Burges, The MNIST database; the IDX format is described at http://yann.lecun.com/exdb/mnist/.
Hendrycks & Dietterich 2018, Benchmarking Neural Network Robustness to Common Corruptions and Surface Variations
(arXiv:1807.01697).
"""

from __future__ import annotations

import math
import re
import struct
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...errors import SourceError, first_few
from .folder import class_source, list_classes
from .image_listing import IMAGE_SUFFIXES, is_ignored, list_images
from .labels import Groups, group_problem, named_classes, numbered_classes
from .pickles import PickleRefused, load_fields, load_saved_fields, number_array, string_column
from .rows import ImageRows, ReadResult, row_source
from .source import Source
from .tar_archives import looks_like_tar, read_expanded, read_named_files, reading_errors

SPLITS = {"test": ("test",), "train": ("train",), "all": ("test", "train")}
T = TypeVar("T")


def _choice(option: str, given: str, known: Mapping[str, T]) -> T:
    if given not in known:
        raise SourceError(f"{option} is {given!r}; expected one of {', '.join(known)}.")
    return known[given]


class Cifar(NamedTuple):
    """The file names of CIFAR-10 or CIFAR-100."""

    places: tuple[str, ...]
    """Names of the folders and archives of the dataset, in order of preference."""
    meta: str
    """The file of class names in the Python version."""
    batches: Mapping[str, tuple[str, ...]]
    """The file names of each split, without the suffix ``.bin`` that they have in the binary version."""
    names: tuple[tuple[str, str], ...]
    """For each label of a row, its key in the Python version and the file of class names in the binary version."""


CIFAR = {
    "cifar10": Cifar(
        ("cifar-10-batches-bin", "cifar-10-batches-py", "cifar-10-binary.tar.gz", "cifar-10-python.tar.gz"),
        "batches.meta",
        {"test": ("test_batch",), "train": tuple(f"data_batch_{i}" for i in range(1, 6))},
        (("label", "batches.meta.txt"),),
    ),
    "cifar100": Cifar(
        ("cifar-100-binary", "cifar-100-python", "cifar-100-binary.tar.gz", "cifar-100-python.tar.gz"),
        "meta",
        {"test": ("test",), "train": ("train",)},
        (("coarse_label", "coarse_label_names.txt"), ("fine_label", "fine_label_names.txt")),
    ),
}
PIXELS = 3 * 32 * 32
MAX_CLASS_NAMES = 1000
"""Limit on the number of class names in a file. CIFAR has at most a hundred."""


def open_cifar10(path: Path, *, split: str = "test") -> Source:
    """Open CIFAR-10, as a folder or an archive."""
    return _open_cifar("cifar10", path, 0, split)


def open_cifar100(path: Path, *, labels: str = "fine", split: str = "test") -> Source:
    """Open CIFAR-100 with its ``fine`` or its ``coarse`` labels."""
    return _open_cifar("cifar100", path, _choice("--labels", labels, {"fine": 1, "coarse": 0}), split)


def _open_cifar(scheme: str, path: Path, label_column: int, split: str) -> Source:
    cifar = CIFAR[scheme]
    if path.is_dir() and not any((path / meta).exists() for meta in (cifar.meta, cifar.names[label_column][1])):
        path = next((path / name for name in cifar.places if (path / name).exists()), path)
    files = sorted(path.iterdir()) if path.is_dir() else []
    return row_source(
        scheme, files or [path], _read_cifar, scheme, path, _choice("--split", split, SPLITS), label_column
    )


def _read_cifar(scheme: str, path: Path, splits: tuple[str, ...], label_column: int) -> ReadResult:
    cifar = CIFAR[scheme]
    kind, names_file = cifar.names[label_column]
    batches = [(split, name) for split in splits for name in cifar.batches[split]]
    wanted = {cifar.meta, names_file, *(name + end for _, name in batches for end in ("", ".bin"))}
    members, files = read_named_files(path, wanted, "*")
    binary = cifar.meta not in files
    meta, end = (names_file, ".bin") if binary else (cifar.meta, "")
    needed = {meta: f"(or {cifar.meta}), which contains the class names"}
    needed |= {name + end: f"of the split {split}" for split, name in batches}
    if missing := [f"{name} {what}" for name, what in needed.items() if name not in files]:
        raise SourceError(
            f"The source {scheme}:{path} has no {missing[0]}. It {_content_summary(path, members)} "
            "Specify the archive as it was downloaded, or its extracted folder, or choose another --split."
        )
    with reading_errors(path / meta):
        if binary:
            names = [line.strip() for line in files[meta].decode("utf-8", "replace").splitlines() if line.strip()]
        else:
            names = string_column(load_fields(files[meta])[f"{kind}_names"], MAX_CLASS_NAMES)
    classes, tables = named_classes(names, f"{path}: {meta}"), []
    for split, name in batches:
        name += end
        with reading_errors(path / name):
            if binary:
                rows, labels = _read_binary(files[name], len(cifar.names), label_column)
            else:
                fields = load_fields(files.pop(name))
                rows, labels = number_array(fields["data"]), number_array(fields[f"{kind}s"])
            if rows.shape[1:] != (PIXELS,):
                raise PickleRefused(f"it has data of shape {rows.shape}; expected rows of {PIXELS} bytes")
        images = rows.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        tables.append(ImageRows(split, images, labels, (f"{path}: {name}",) * 2))
    return classes, tables


def _content_summary(path: Path, members: Sequence[str] = ()) -> str:
    """Return the rest of a sentence that says what a folder, or an archive with these members, contains."""
    if path.is_dir():
        names = [f"{entry.name}/" if entry.is_dir() else entry.name for entry in path.iterdir()]
        images = len(list_images(path).images)
    else:
        names = list(members)
        images = sum(name.rpartition(".")[2].lower() in IMAGE_SUFFIXES for name in members)
    text = f"contains {first_few(sorted(name for name in names if not is_ignored(name)), 12) or 'nothing'}"
    if not images:
        return f"{text}."
    return f"{text}, with {images:,} image files in all. A folder of images is the source folder:{path}."


def _read_binary(
    data: bytes | bytearray, label_bytes: int, label_column: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    if len(data) % (label_bytes + PIXELS):
        raise PickleRefused(
            f"it has {len(data):,} bytes, which is not a multiple of the row size {label_bytes + PIXELS}"
        )
    table = np.frombuffer(data, np.uint8).reshape(-1, label_bytes + PIXELS)
    return table[:, label_bytes:], table[:, label_column]


IDX = re.compile(r"^(?P<prefix>.*?)-?(?P<split>train|t10k|test)-(?P<kind>images|labels)[-.]idx[13]-ubyte(\.gz)?$")
MAGIC = {"labels": 0x801, "images": 0x803}
"""Magic numbers of IDX files that contain unsigned bytes, in one dimension (labels) or in three (images)."""
LABEL_RANGES = ((0, 9), (1, 26), (0, 46), (0, 61))
"""The first and last labels of groups of datasets. The groups are (1) MNIST, Fashion-MNIST, KMNIST and EMNIST digits,
(2) EMNIST letters, (3) EMNIST balanced and bymerge, and (4) EMNIST byclass.
"""
IDX_FILES = "Expected {train,t10k}-images-idx3-ubyte.gz and {train,t10k}-labels-idx1-ubyte.gz, or such files unpacked."


def open_mnist(path: Path, *, split: str = "test") -> Source:
    """Open a folder of IDX files, or ``FOLDER/PREFIX`` if a folder has several datasets (``gzip/emnist-letters``).

    Images keep the published orientation, so EMNIST images are transposed.

    Raises
    ------
    SourceError
        Files are missing, truncated or of a different kind, or do not belong together.
    """
    splits, path = _choice("--split", split, SPLITS), path.expanduser()
    folder, prefix = (path, None) if path.is_dir() else (path.parent, path.name.rstrip("-"))
    sets: dict[str, dict[str, Path]] = defaultdict(dict)
    for subfolder in (folder, folder / "raw", folder / "MNIST" / "raw"):
        # An extracted file comes before its own .gz in the order of names, and is faster to read.
        for file in sorted(subfolder.glob("*-ubyte*")):
            match = IDX.match(file.name)
            if match and not is_ignored(file.name) and file.is_file() and prefix in (None, match["prefix"]):
                part = "train" if match["split"] == "train" else "test"
                sets[match["prefix"]].setdefault(f"{part} {match['kind']}", file.resolve())
    if not sets:
        found = f" {folder} {_content_summary(folder)}" if folder.is_dir() else ""
        raise SourceError(
            f"The source mnist:{path} is neither a folder with IDX files, nor the first part of the names of IDX "
            f"files.{found} {IDX_FILES}"
        )
    if len(sets) > 1:
        names = ", ".join(f"mnist:{folder / name}" for name in sorted(sets))
        raise SourceError(f"The source mnist:{path} contains {len(sets)} datasets. Choose one: {names}.")
    (files,) = sets.values()
    required = [part for part in SPLITS["all"] if part in splits or any(name.startswith(part) for name in files)]
    if missing := [f"{part} {kind}" for part in required for kind in MAGIC if f"{part} {kind}" not in files]:
        raise SourceError(
            f"The source mnist:{path} has no file of {missing[0]} (it has {', '.join(files)}). {IDX_FILES}"
        )
    pairs = tuple((part, files[f"{part} images"], files[f"{part} labels"]) for part in required)
    return row_source("mnist", list(files.values()), _read_mnist, pairs, splits)


def _read_mnist(pairs: tuple[tuple[str, Path, Path], ...], splits: tuple[str, ...]) -> ReadResult:
    # Classes are determined from the labels of all splits, so that all splits have the same classes.
    labels = {split: _idx(file, "labels") for split, _, file in pairs}
    every = np.concatenate(list(labels.values()))
    # The labels of EMNIST letters begin at 1, and a few images may all have labels below 10.
    ranges = LABEL_RANGES[1:2] if any("letters" in file.name for _, _, file in pairs) else LABEL_RANGES
    last = next((high for low, high in ranges if low <= every.min() and every.max() <= high), ranges[-1][1])
    tables = []
    for split, images_path, labels_path in pairs:
        if split in splits:
            images = _idx(images_path, "images")
            tables.append(ImageRows(split, images, labels[split], (str(images_path), str(labels_path))))
    return numbered_classes(last), tables


def _idx(path: Path, kind: str) -> NDArray[np.uint8]:
    """Return the array in an IDX file. The file may be gzipped."""
    data, magic = read_expanded(path), MAGIC[kind]
    begins, dimensions = int.from_bytes(data[:4], "big"), magic & 0xFF
    header_size = 4 + 4 * dimensions
    if begins != magic or len(data) < header_size:
        raise SourceError(
            f"{path} begins with the magic number {begins}; expected an IDX file of {kind} (magic number {magic}). "
            "The files of images and labels may have been swapped. If they were not, download this file again."
        )
    shape = struct.unpack_from(f">{dimensions}I", data, 4)
    expected_size = header_size + math.prod(shape)
    if 0 in shape or len(data) != expected_size:
        raise SourceError(
            f"The header of {path} announces {' x '.join(map(str, shape))} bytes, so the file should have "
            f"{expected_size:,} bytes, but it has {len(data):,}. It is truncated or damaged. Download it again."
        )
    return np.frombuffer(data, np.uint8, offset=header_size).reshape(shape)


ICONS = ("Icons-50.npy", "Icons-50")
"""The two forms of Icons-50: the name of its file, and the name of the folder that contains its class folders."""
ICON = re.compile(r"(?P<style>[^_]+)_[^_]+_(?P<subtype>.+)")
"""The file name of an icon, without its suffix."""


def open_icons50(path: Path, *, groups: str = "style") -> Source:
    """Open Icons-50 without reading its images.

    Parameters
    ----------
    path : Path
        The file Icons-50.npy, the folder that contains the class folders, or a tar of this folder. It can also be a
        folder that contains the file or the folder.
    groups : {"style", "subtype"}, optional
        The groups of the samples: the style of an icon, or the kind of object within its class.

    Raises
    ------
    SourceError
        The path is none of these, the file is damaged or would run code when it is unpickled, or no icon has a group.
    """
    _choice("--groups", groups, ICON.groupindex)
    file, folder = ICONS
    if (path / file).is_file():
        path /= file
    while (path / folder).is_dir():  # the archive contains this folder twice, one inside the other
        path /= folder
    if path.is_file() and (path.suffix == ".npy" or not looks_like_tar(path)):
        source = row_source("icons50", [path], _read_icons, path, groups)
    else:
        listing = list_classes(path)
        names = {image: ICON.fullmatch(image.rpartition("/")[2].rpartition(".")[0]) for image in listing.images}
        styled = {image: match[groups] for image, match in names.items() if match is not None}
        missing_message = f"has no {groups} in its name; expected <style>_<rendition>_<subtype>.png"
        listing.groups = Groups(groups, styled, missing_message)
        source = class_source(listing)
    source.scheme, source.grouping = "icons50", groups
    return source


def _read_icons(path: Path, grouping: str) -> ReadResult:
    fields = load_saved_fields(read_expanded(path))
    images = number_array(fields["image"])
    if images.ndim == 4 and images.shape[1] == 3 and images.shape[3] != 3:
        images = images.transpose(0, 2, 3, 1)
    groups = string_column(fields[grouping], len(images))
    if len(groups) != len(images):
        raise PickleRefused(
            f"it has {len(images)} images and {len(groups)} values of {grouping!r}; expected one per image"
        )
    for name in set(groups):
        if (problem := group_problem(name) if name else "is empty") is not None:
            raise PickleRefused(f"the {grouping} of row {groups.index(name)}, {name[:90]!r}, {problem}")
    return None, [ImageRows(None, images, number_array(fields["class"]), (f"{path}: image", f"{path}: class"), groups)]
