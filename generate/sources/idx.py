"""IDX files, MNIST's format: a magic number with the type and the number of dimensions, the dimensions, the elements.

References
----------
LeCun, Cortes, Burges, The MNIST database; the format is described at http://yann.lecun.com/exdb/mnist/.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from pathlib import Path

from ...errors import SourceError
from .places import Place, expanded_size, is_zipped, read_place

UNSIGNED_BYTE = 0x08
TYPES = {0x08: "unsigned bytes", 0x09: "signed bytes", 0x0B: "short integers", 0x0C: "integers", 0x0D: "floats", 0x0E: "doubles"}
MOST_SIDE = 1 << 14


@dataclass(frozen=True)
class Idx:
    """An IDX file of unsigned bytes: its dimensions, and where its elements lie."""

    shape: tuple[int, ...]
    place: Place


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
