"""The source ``mnist:PATH``: MNIST and what is shaped like it (Fashion-MNIST, KMNIST, EMNIST), as IDX files, gzipped or not.

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
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import SourceError
from .labels import check_labels, numbered_classes
from .npy import image_shape
from .places import read_whole
from .rows import Rows, RowSource, Table, wanted_splits

FILE = re.compile(r"^(?P<prefix>.*?)(?P<split>train|t10k|test)-(?P<kind>images|labels)[-.]idx[13]-ubyte(\.gz)?$")
SPLIT_OF = {"train": "train", "t10k": "test", "test": "test"}
CLASSES = ((0, 9), (1, 26), (0, 46), (0, 61))
"""First and last label of what is published: MNIST, Fashion, K, EMNIST digits; EMNIST letters; balanced (and bymerge); byclass."""
UNSIGNED_BYTE = 0x08
MOST_BYTES = 1 << 30
"""Bytes of an IDX file: the images of EMNIST's byclass have 547 million."""
Pair = tuple[str, Path, Path]
"""A split, its images, its labels."""


def open(rest: str, *, labels: Path | None = None, split: str | None = None) -> RowSource:
    """Open a folder of IDX files; or ``FOLDER/PREFIX``, where a folder holds several sets (``gzip/emnist-letters``).

    Raises
    ------
    SourceError
        Files are missing, cut, of another kind, or do not agree with each other.
    """
    if labels is not None:
        raise SourceError("The source mnist takes no --labels: they are in a file of their own beside the images.")
    splits, pairs = wanted_splits(split), _pairs(rest)
    held = [name for name, _, _ in pairs]
    missing = [name for name in splits if name not in held]
    if missing:
        raise SourceError(
            f"The source mnist:{rest} has no files of the split {missing[0]} (it has {', '.join(held)}). "
            "Expected images and labels, such as t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz for test."
        )
    return RowSource("mnist", [file for _, *files in pairs for file in files], _read, pairs, splits)


def _read(pairs: tuple[Pair, ...], splits: tuple[str, ...]) -> Rows:
    # The labels of all splits together say what the classes are, so that one split has the classes of the other.
    labels = {file: read_idx(file, 1).astype(np.int64) for _, _, file in pairs}
    tables = []
    for split, images_path, labels_path in pairs:
        if split not in splits:
            continue
        images = read_idx(images_path, 3)
        shape, values = image_shape(images.dtype, images.shape, str(images_path)), labels[labels_path]
        if len(images) != len(values):
            raise SourceError(f"{images_path} holds {len(images)} images and {labels_path.name} {len(values)} labels. Download both again.")
        tables.append(Table(split, images.reshape(-1, *shape), values))
    return numbered_classes(_last_label(labels)), tables


def _pairs(rest: str) -> tuple[Pair, ...]:
    """Return the files of every split, test first."""
    if not rest:
        raise SourceError("The source mnist needs a path: mnist:PATH, of the folder with the IDX files.")
    path = Path(rest).expanduser()
    folder, prefix = (path, None) if path.is_dir() else (path.parent, path.name.rstrip("-"))
    if path.is_file() or not folder.is_dir():
        what = "is a file, not the folder that it lies in" if path.is_file() else "is not there"
        raise SourceError(f"The source mnist:{rest}: {path} {what}. Expected the folder of {{train,t10k}}-{{images,labels}}-...-ubyte.gz.")
    sets: dict[str, dict[tuple[str, str], Path]] = defaultdict(dict)
    for place in (folder, folder / "raw", folder / "MNIST" / "raw"):
        # An extracted file comes before its own .gz in the order of names, and is faster to read.
        for file in sorted(place.glob("*-ubyte*")):
            match = FILE.match(file.name)
            if match and file.is_file() and prefix in (None, match["prefix"].rstrip("-")):
                sets[match["prefix"].rstrip("-")].setdefault((SPLIT_OF[match["split"]], match["kind"]), file.resolve())
    if not sets:
        raise SourceError(
            f"The source mnist:{rest} {'is not there, nor does the name of an IDX file begin so' if prefix else 'has no IDX files'}. "
            "Expected train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz, t10k-images-idx3-ubyte.gz, t10k-labels-idx1-ubyte.gz."
        )
    if len(sets) > 1:
        names = ", ".join(f"mnist:{folder / name}" for name in sorted(sets))
        raise SourceError(f"The source mnist:{rest} holds {len(sets)} data sets; say which one: {names}.")
    (files,) = sets.values()
    single = sorted(file.name for (split, _), file in files.items() if not {(split, "images"), (split, "labels")} <= files.keys())
    if single:
        raise SourceError(f"The source mnist:{rest} has {', '.join(single)} without the labels or images that belong to it. Download both.")
    return tuple((split, files[split, "images"], files[split, "labels"]) for split in ("test", "train") if (split, "images") in files)


def _last_label(labels: Mapping[Path, NDArray[np.int64]]) -> int:
    """Return the last label of the published set that all labels fit into; those of EMNIST's letters begin at 1."""
    least, most = min(int(v.min()) for v in labels.values()), max(int(v.max()) for v in labels.values())
    ranges = ((1, 26),) if any("letters" in file.name for file in labels) else CLASSES
    for low, high in ranges:
        if low <= least and most <= high:
            return high
    for file, values in labels.items():
        check_labels(values, *ranges[-1], str(file))
    raise AssertionError("labels outside every range are refused above")


def read_idx(path: Path, dimensions: int) -> NDArray[np.uint8]:
    """Return what an IDX file, gzipped or not, holds.

    Parameters
    ----------
    path : Path
    dimensions : int
        1 for labels, 3 for images.

    Raises
    ------
    SourceError
        Another magic number, another number of elements than the head says, a cut or damaged file.
    """
    data = read_whole(path, MOST_BYTES)
    length = 4 + 4 * dimensions
    expected = f"expected an IDX file of {'labels' if dimensions == 1 else 'images'} (magic number {(UNSIGNED_BYTE << 8) + dimensions})"
    if len(data) < length:
        raise SourceError(f"{path} has {len(data)} bytes, too few for an IDX head; {expected}. Download it again.")
    magic, *shape = struct.unpack_from(f">{dimensions + 1}I", data)
    if magic != (UNSIGNED_BYTE << 8) + dimensions:
        raise SourceError(f"{path} begins with the magic number {magic}; {expected}. Are the files of images and labels mixed up?")
    if 0 in shape or len(data) != length + math.prod(shape):
        raise SourceError(
            f"{path} says that it holds {' x '.join(map(str, shape))} bytes, which makes {length + math.prod(shape):,} with its head, "
            f"and it has {len(data):,}: it is cut, or its head is wrong. Download it again."
        )
    return np.frombuffer(data, np.uint8, offset=length).reshape(shape)
