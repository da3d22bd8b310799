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
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...corruptions.stages import LEAST_SIDE
from ...errors import SourceError
from .labels import check_labels, numbered_classes
from .places import Place, expanded_size, is_zipped, read_place
from .rows import RowSource, Table, wanted_splits

FILE = re.compile(r"^(?P<prefix>.*?)(?P<split>train|t10k|test)-(?P<kind>images|labels)[-.]idx[13]-ubyte(\.gz)?$")
SPLIT_OF = {"train": "train", "t10k": "test", "test": "test"}
CLASSES = ((0, 9), (1, 26), (0, 46), (0, 61))
"""First and last label of what is published: MNIST, Fashion, K, EMNIST digits; EMNIST letters; balanced (and bymerge); byclass."""
UNSIGNED_BYTE = 0x08
TYPES = {0x08: "unsigned bytes", 0x09: "signed bytes", 0x0B: "short integers", 0x0C: "integers", 0x0D: "floats", 0x0E: "doubles"}
MOST_SIDE = 1 << 14


@dataclass(frozen=True)
class Pair:
    """The two files of a split."""

    images: Path
    labels: Path


@dataclass(frozen=True)
class Idx:
    """An IDX file of unsigned bytes: its dimensions, and where its elements lie."""

    shape: tuple[int, ...]
    place: Place


def open(rest: str, *, labels: Path | None = None, split: str | None = None) -> RowSource:
    """Open a folder of IDX files; or ``FOLDER/PREFIX``, where a folder holds several sets (``gzip/emnist-letters``).

    Raises
    ------
    SourceError
        Files are missing, cut, of another kind, or do not agree with each other.
    """
    if labels is not None:
        raise SourceError("The source mnist takes no --labels: they are in a file of their own beside the images.")
    splits = wanted_splits(split)
    pairs = _pairs(rest)
    missing = [name for name in splits if name not in pairs]
    if missing:
        raise SourceError(
            f"The source mnist:{rest} has no files of the split {missing[0]} (it has {', '.join(sorted(pairs))}). "
            "Expected images and labels, such as t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz for test."
        )
    # The labels of all splits together say what the classes are, so that one split has the classes of the other.
    values = {name: _labels(pair) for name, pair in sorted(pairs.items())}
    high = _last_label(values, pairs)
    tables = []
    for name in splits:
        pair, idx = pairs[name], read_idx(pairs[name].images, 3)
        count, height, width = idx.shape
        if min(height, width) < LEAST_SIDE:
            raise SourceError(f"{pair.images} holds images of {width}x{height}; both sides must have at least {LEAST_SIDE} pixels.")
        if count != len(values[name]):
            raise SourceError(f"{pair.images} holds {count} images and {pair.labels.name} {len(values[name])} labels. Download both again.")
        tables.append(Table(name, idx.place, count, (height, width, 1)))
    return RowSource("mnist", tables, [values[name] for name in splits], numbered_classes(high))


def _pairs(rest: str) -> Mapping[str, Pair]:
    """Return split -> files."""
    if not rest:
        raise SourceError("The source mnist needs a path: mnist:PATH, of the folder with the IDX files.")
    path = Path(rest).expanduser()
    folder, prefix = (path, None) if path.is_dir() else (path.parent, path.name.rstrip("-"))
    if path.is_file() or not folder.is_dir():
        what = "is a file, not the folder that it lies in" if path.is_file() else "is not there"
        raise SourceError(f"The source mnist:{rest}: {path} {what}. Expected the folder of {{train,t10k}}-{{images,labels}}-...-ubyte.gz.")
    sets: dict[str, dict[tuple[str, str], Path]] = {}
    for place in (folder, folder / "raw", folder / "MNIST" / "raw"):
        # An extracted file comes before its own .gz in the order of names, and is faster to read.
        for file in sorted(place.iterdir()) if place.is_dir() and not sets else ():
            match = FILE.match(file.name)
            if match and file.is_file() and prefix in (None, match["prefix"].rstrip("-")):
                sets.setdefault(match["prefix"].rstrip("-"), {}).setdefault((SPLIT_OF[match["split"]], match["kind"]), file.resolve())
    if not sets:
        raise SourceError(
            f"The source mnist:{rest} {'is not there, nor does the name of an IDX file begin so' if prefix else 'has no IDX files'}. "
            "Expected train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz, t10k-images-idx3-ubyte.gz, t10k-labels-idx1-ubyte.gz."
        )
    if len(sets) > 1:
        names = ", ".join(f"mnist:{folder / name}" for name in sorted(sets))
        raise SourceError(f"The source mnist:{rest} holds {len(sets)} data sets; say which one: {names}.")
    (files,) = sets.values()
    single = sorted(file.name for (split, kind), file in files.items() if (split, "labels" if kind == "images" else "images") not in files)
    if single:
        raise SourceError(f"The source mnist:{rest} has {', '.join(single)} without the labels or images that belong to it. Download both.")
    return {split: Pair(files[split, "images"], files[split, "labels"]) for split, kind in files if kind == "images"}


def _labels(pair: Pair) -> NDArray[np.int64]:
    return np.frombuffer(read_place(read_idx(pair.labels, 1).place), np.uint8).astype(np.int64)


def _last_label(values: Mapping[str, NDArray[np.int64]], pairs: Mapping[str, Pair]) -> int:
    """Return the last label of the published set that all labels fit into; those of EMNIST's letters begin at 1."""
    least, most = min(int(v.min()) for v in values.values()), max(int(v.max()) for v in values.values())
    letters = any("letters" in pair.labels.name for pair in pairs.values())
    for low, high in ((1, 26),) if letters else CLASSES:
        if low <= least and most <= high:
            return high
    low, high = (1, 26) if letters else (0, CLASSES[-1][1])
    for split, labels in values.items():
        check_labels(labels, low, high, str(pairs[split].labels))
    raise AssertionError("labels outside every range are refused above")


def read_idx(path: Path, dimensions: int) -> Idx:
    """Read an IDX file's head, and compare its size with it; a gzipped one is unpacked for that.

    Parameters
    ----------
    path : Path
        Gzipped or not.
    dimensions : int
        1 for labels, 3 for images.

    Raises
    ------
    SourceError
        Another magic number, another number of elements than the head says, a cut or damaged file.
    """
    zipped = is_zipped(path)
    size = expanded_size(path) if zipped else path.stat().st_size
    length = 4 + 4 * dimensions
    head = read_place(Place(path, 0, min(size, length), zipped))
    kind = "labels" if dimensions == 1 else "images"
    expected = f"expected an IDX file of {kind} (magic number {(UNSIGNED_BYTE << 8) + dimensions})"
    if size < length:
        raise SourceError(f"{path} has {size} bytes, too few for an IDX head; {expected}. Download it again.")
    magic, *shape = struct.unpack(f">{dimensions + 1}I", head)
    if magic != (UNSIGNED_BYTE << 8) + dimensions:
        means = f", {TYPES[head[2]]} of {head[3]} dimensions" if head[:2] == b"\0\0" and head[2] in TYPES else ""
        raise SourceError(f"{path} begins with the magic number {magic}{means}; {expected}. Are the files of images and labels mixed up?")
    if 0 in shape or max(shape[1:], default=1) > MOST_SIDE:
        raise SourceError(f"{path} says that it holds {' x '.join(map(str, shape))} bytes; {expected}. Download it again.")
    count = math.prod(shape)
    if size != length + count:
        raise SourceError(
            f"{path} says that it holds {' x '.join(map(str, shape))} bytes, which makes {length + count:,} with its head, "
            f"and it has {size:,}: it is cut, or its head is wrong. Download it again."
        )
    return Idx(tuple(shape), Place(path, length, count, zipped))
