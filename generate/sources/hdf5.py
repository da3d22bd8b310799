"""The source ``hdf5:FILE``: a dataset of images and one of labels, or a shard of one of corruptset's own builds.

Ids are ``data/<row>``. A shard that lies in its build keeps its samples' ids, labels, splits and classes: its ``index``
says which samples its rows are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import CorruptsetError, SourceError, first_few
from ...files import file_problem
from ...manifests.images.shards import ENCODED, INDEX, LABELS, RAW, SCHEMA
from ...manifests.reader import open as open_build
from ...manifests.records.digests import sha256_bytes
from ...manifests.records.models import ClassRecord
from .decoding import MAX_FILE_BYTES, decode
from .labels import numbered_classes, whole_labels
from .npy import image_shape
from .places import Stamp, stamp
from .source import BadSample, Loaded, Sample, Source

MOST_RATIO = 1100
"""How much more than its file a dataset may hold: deflate reaches 1032, and what was never written takes no space at all."""
MOST_AHEAD = 64
"""Rows that are read at once, at most: to open the file then costs little beside them."""
AHEAD_BYTES = 4 << 20
CHUNK_CACHE = 64 << 20
"""Bytes: a compressed chunk is not unpacked again for every row of it."""
DAMAGED = (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError, OverflowError)
"""What h5py raises of a damaged file, when it is opened and whenever more of it is read."""
MOST_NAMES = 12
"""Of the datasets that a file has instead of the one that was asked for."""


@dataclass(eq=False, repr=False)
class Hdf5Source(Source):
    """Rows of an HDF5 file: pixels, or encoded images."""

    path: Path
    dataset: str
    shape: tuple[int, int, int] | None
    """(H, W, C); None where images are encoded."""
    samples: tuple[Sample, ...]
    """One a row, in the order of the rows."""
    classes: tuple[ClassRecord, ...]
    ahead: int
    """Rows that are read at once where they are asked for in order."""
    scheme = "hdf5"

    def load(self, sample: Sample) -> Loaded:
        stored = _row(self, sample.index)
        return Loaded(decode(stored.tobytes()) if self.shape is None else stored, sha256_bytes(stored.data))

    def fingerprint(self, sample: Sample) -> str:
        return sha256_bytes(_row(self, sample.index).data)


_last: tuple[tuple[Path, str, Stamp] | None, int, list[NDArray[np.uint8]]] = (None, 0, [])
"""Rows that were read together: of which file (one that has changed is read again), the first one's number, and they."""


def _row(source: Hdf5Source, row: int) -> NDArray[np.uint8]:
    """Return a row. Rows that are asked for in order are read many at a time.

    No file is kept open: a handle shared over a fork reads wrong bytes, and one of a file that is written to old ones.
    """
    global _last
    key = (source.path, source.dataset, stamp(source.path))
    first, rows = _last[1:] if _last[0] == key else (-1, [])
    if not first <= row < first + len(rows):
        # where many cannot be read, another row may be the damaged one, which nobody may ever ask for
        for count in (source.ahead, 1) if row == first + len(rows) else (1,):
            try:
                first, rows = row, _rows(source, row, count)
                break
            except DAMAGED as e:
                problem = _reason(e)
        else:
            raise BadSample(f"cannot be read from {source.path.name} ({problem}): copy the file again")
        _last = key, first, rows
    if rows[row - first].nbytes > MAX_FILE_BYTES and source.shape is None:
        raise BadSample(f"has more than the {MAX_FILE_BYTES:,} bytes that one image may have: leave it out")
    return rows[row - first].copy()  # a view would keep all rows that were read with it in memory


def _rows(source: Hdf5Source, first: int, count: int) -> list[NDArray[np.uint8]]:
    with _opened(source.path) as file:
        values = file[source.dataset][first : first + count]
    if source.shape is None:
        return [np.ascontiguousarray(value, np.uint8) for value in values]
    if values.dtype != np.uint8 or values.shape[1:3] != source.shape[:2] or not len(values):
        raise ValueError("its images have another shape than before")
    return list(np.ascontiguousarray(values).reshape(-1, *source.shape))


def _opened(path: Path) -> Any:
    import h5py

    return h5py.File(path, "r", locking=False, rdcc_nbytes=CHUNK_CACHE)


def _reason(e: Exception) -> str:
    return str(e).partition("\n")[0][:300] or type(e).__name__


def open(rest: str, *, labels: Path | None = None, images: str | None = None) -> Hdf5Source:
    """Open an HDF5 file; nothing is read but its labels.

    Parameters
    ----------
    rest : str
        The file.
    labels, images : optional
        Names of the datasets; ``labels`` and ``images`` by default.

    Raises
    ------
    SourceError
        No HDF5 file, no such datasets, images that are not uint8, labels that do not belong to them.
    """
    path = Path(rest).expanduser().resolve()
    problem = file_problem(path)
    if problem is not None:
        raise SourceError(f"The source hdf5: {path} {problem}. Expected hdf5:FILE, one HDF5 file with datasets of images and labels.")
    try:
        with _opened(path) as file:
            return _listed(file, path, images, labels.as_posix() if labels is not None else None)
    except CorruptsetError:
        raise
    except DAMAGED as e:
        raise SourceError(f"{path} is not an HDF5 file, or a damaged one ({_reason(e)}). Copy it again.") from None


def _listed(file: Any, path: Path, images: str | None, labels: str | None) -> Hdf5Source:
    import h5py

    own = SCHEMA in file.attrs and labels is None and images is None
    stored = _dataset(file, path, images or (ENCODED if own and ENCODED in file else RAW), "--images")
    given = _dataset(file, path, labels or LABELS, "--labels")
    name = stored.name.removeprefix("/")
    encoded = stored.ndim == 1 and h5py.check_vlen_dtype(stored.dtype) == np.uint8
    if stored.dtype.kind == "O" and not encoded:
        raise SourceError(f"{path}: {name} holds objects ({stored.dtype}); expected uint8, or encoded images as vlen uint8.")
    shape = None if encoded else image_shape(stored.dtype, stored.shape or (), f"{path}: {name}")
    values = whole_labels(given, stored.shape[0], f"{path}: {given.name.removeprefix('/')}")
    if own:
        index = _dataset(file, path, INDEX, "--images")[()].tolist()
        samples, classes = _of_build(path, str(file.attrs["set"]).count("/"), index, values.tolist())
    else:
        samples = tuple(Sample(i, f"data/{i}", label) for i, label in enumerate(values.tolist()))
        classes = numbered_classes(int(values.max()))
    size = path.stat().st_size // len(samples) if shape is None else math.prod(shape)
    return Hdf5Source(path, name, shape, samples, classes, max(1, min(MOST_AHEAD, AHEAD_BYTES // max(size, 1))))


def _dataset(file: Any, path: Path, name: str, option: str) -> Any:
    import h5py

    # get with getlink: a link into another file must not be followed to find out that it is one.
    link = file.get(name, getlink=True) if name in file else None
    if link is None or isinstance(link, h5py.ExternalLink) or not isinstance(file[name], h5py.Dataset):
        names: list[str] = []
        file.visititems(lambda n, item: names.append(n) if isinstance(item, h5py.Dataset) else None)
        raise SourceError(
            f"{path} has no dataset {name!r} of its own. It has {first_few(names, MOST_NAMES) or 'none'}: name one with {option}."
        )
    dataset = file[name]
    if dataset.external or dataset.is_virtual:
        raise SourceError(f"{path}: {name} is stored in other files. Give one file that holds its own data.")
    if dataset.nbytes > MOST_RATIO * path.stat().st_size:
        raise SourceError(f"{path}: {name} claims {dataset.nbytes:,} bytes, more than its file can hold. Copy it again.")
    return dataset


def _of_build(path: Path, depth: int, index: list[int], labels: list[int]) -> tuple[tuple[Sample, ...], tuple[ClassRecord, ...]]:
    """Return the samples of a shard, and their classes, from the build that it lies in."""
    build = path.parents[min(depth + 1, len(path.parents) - 1)]
    if not (build / "manifest.json").is_file():
        raise SourceError(
            f"{path} is a shard of a corruptset build, and its samples' ids are in the build's samples.jsonl: "
            f"give it where the build put it ({build} holds no manifest.json). Or name its datasets, --images images --labels labels, "
            "and its rows become data/0, data/1, ..."
        )
    try:
        data = open_build(build)
        rows = [data.samples[i] for i in index]
    except (CorruptsetError, IndexError) as e:
        raise SourceError(f"{path} does not belong to the build in {build}: {e}") from None
    if [r.label for r in rows] != labels or [r.index for r in rows] != index:
        raise SourceError(f"{path} does not belong to the build in {build}: its labels are others. Fetch the shard again.")
    samples = tuple(Sample(i, r.id, r.label, None, r.split) for i, r in enumerate(rows))
    return samples, tuple(data.classes)
