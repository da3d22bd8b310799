"""The source ``mnist:PATH``: MNIST and what is shaped like it (Fashion-MNIST, KMNIST, EMNIST), as IDX files, gzipped or
not.

Rows keep the order of the files, pixels are stored as they are (EMNIST's are transposed, as it is published).

References
----------
LeCun, Cortes, Burges, The MNIST database; the IDX format is described at http://yann.lecun.com/exdb/mnist/.
"""

from __future__ import annotations

import math
import re
import struct
from collections import defaultdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import SourceError
from .labels import check_labels, numbered_classes
from .rows import Rows, Table, image_shape, row_source, wanted_splits
from .source import Source
from .tarred import read_whole

FILE = re.compile(r"^(?P<prefix>.*?)-?(?P<split>train|t10k|test)-(?P<kind>images|labels)[-.]idx[13]-ubyte(\.gz)?$")
CLASSES = ((0, 9), (1, 26), (0, 46), (0, 61))
"""First and last label of what is published: MNIST, Fashion, K, EMNIST digits; EMNIST letters; balanced (and bymerge);
byclass.
"""
MAGIC = {"labels": 0x801, "images": 0x803}
"""Unsigned bytes of one dimension, and of three."""
EXPECTED = "Expected {train,t10k}-images-idx3-ubyte.gz and {train,t10k}-labels-idx1-ubyte.gz, or such files unpacked."
Pair = tuple[str, Path, Path]
"""A split, its images, its labels."""


def open(path: Path, *, split: str | None = None) -> Source:
    """Open a folder of IDX files; or ``FOLDER/PREFIX``, where a folder holds several sets (``gzip/emnist-letters``).

    Raises
    ------
    SourceError
        Files are missing, cut, of another kind, or do not agree with each other.
    """
    splits, pairs = wanted_splits(split), _pairs(path.expanduser())
    held = [name for name, _, _ in pairs]
    if missing := [name for name in splits if name not in held]:
        raise SourceError(
            f"The source mnist:{path} has no files of the split {missing[0]} (it has {', '.join(held)}). {EXPECTED}"
        )
    return row_source("mnist", [file for _, *files in pairs for file in files], _read, pairs, splits)


def _pairs(path: Path) -> tuple[Pair, ...]:
    """Return the files of every split, test first."""
    folder, prefix = (path, None) if path.is_dir() else (path.parent, path.name.rstrip("-"))
    sets: dict[str, dict[tuple[str, str], Path]] = defaultdict(dict)
    for place in (folder, folder / "raw", folder / "MNIST" / "raw"):
        # An extracted file comes before its own .gz in the order of names, and is faster to read.
        for file in sorted(place.glob("*-ubyte*")):
            match = FILE.match(file.name)
            if match and file.is_file() and prefix in (None, match["prefix"]):
                split = "train" if match["split"] == "train" else "test"
                sets[match["prefix"]].setdefault((split, match["kind"]), file.resolve())
    if not sets:
        raise SourceError(
            f"The source mnist: {path} is no folder with IDX files, nor do names of IDX files begin so. {EXPECTED}"
        )
    if len(sets) > 1:
        names = ", ".join(f"mnist:{folder / name}" for name in sorted(sets))
        raise SourceError(f"The source mnist:{path} holds {len(sets)} data sets; say which one: {names}.")
    (files,) = sets.values()
    splits = [split for split in ("test", "train") if {(split, "images"), (split, "labels")} <= files.keys()]
    if single := [file.name for (split, _), file in files.items() if split not in splits]:
        raise SourceError(
            f"The source mnist:{path} has {', '.join(single)} without the labels or images that belong to it. "
            "Download both."
        )
    return tuple((split, files[split, "images"], files[split, "labels"]) for split in splits)


def _read(pairs: tuple[Pair, ...], splits: tuple[str, ...]) -> Rows:
    # The labels of all splits together say what the classes are, so that one split has the classes of the other.
    labels = {file: _idx(file, "labels").astype(np.int64) for _, _, file in pairs}
    every = np.concatenate(list(labels.values()))
    # the letters' labels begin at 1, and those of a few images may go only to 9
    ranges = CLASSES[1:2] if any("letters" in file.name for file in labels) else CLASSES
    fitting = [high for low, high in ranges if low <= every.min() and every.max() <= high]
    last = fitting[0] if fitting else ranges[-1][1]
    tables = []
    for split, images_path, labels_path in pairs:
        values = labels[labels_path]
        check_labels(values, last, str(labels_path))
        if split in splits:
            images = _idx(images_path, "images")
            shape = image_shape(images.dtype, images.shape, str(images_path))
            if len(images) != len(values):
                what = f"{images_path} holds {len(images)} images and {labels_path.name} {len(values)} labels"
                raise SourceError(f"{what}. Download both again.")
            tables.append(Table(split, images.reshape(-1, *shape), values))
    return numbered_classes(last), tables


def _idx(path: Path, kind: str) -> NDArray[np.uint8]:
    """Return what an IDX file, gzipped or not, holds."""
    data, magic = read_whole(path), MAGIC[kind]
    dimensions = magic & 0xFF
    length = 4 + 4 * dimensions
    begins = int.from_bytes(data[:4], "big")
    if begins != magic or len(data) < length:
        raise SourceError(
            f"{path} begins with the magic number {begins}; expected an IDX file of {kind} (magic number {magic}). "
            "Are the files of images and labels mixed up? Download it again."
        )
    shape = struct.unpack_from(f">{dimensions}I", data, 4)
    whole = length + math.prod(shape)
    if 0 in shape or len(data) != whole:
        raise SourceError(
            f"{path} says that it holds {' x '.join(map(str, shape))} bytes, which makes {whole:,} with its head, "
            f"and it has {len(data):,}: it is cut, or its head is wrong. Download it again."
        )
    return np.frombuffer(data, np.uint8, offset=length).reshape(shape)
