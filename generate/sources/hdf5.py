"""The source ``hdf5:FILE``: datasets of images and labels, or a shard of a corruptset build.

Ids are ``data/<row>``. A shard that lies in its build keeps its samples' ids, labels, splits and classes: its ``index``
says which samples its rows are.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import CorruptsetError, SourceError, first_few
from ...files import file_problem
from ...manifests.images.shards import ENCODED, INDEX, LABELS, RAW, SCHEMA
from ...manifests.reader import open as open_build
from ...manifests.records.models import ClassRecord
from .decoding import BadSample
from .labels import numbered_classes, whole_labels
from .rows import image_shape
from .source import Sample, Source
from .tarred import Stamp, stamp

MOST_RATIO = 1100
"""How much more than its file a dataset may hold: deflate reaches 1032, and what was never written takes no space at
all.
"""
MOST_AHEAD = 64
"""Rows that are read at once, at most: to open the file then costs little beside them."""
AHEAD_BYTES = 4 << 20
CHUNK_CACHE = 64 << 20
"""Bytes: a compressed chunk is not unpacked again for every row of it."""
DAMAGED = (OSError, RuntimeError, LookupError, ValueError, TypeError, AttributeError, OverflowError)
"""What h5py raises of a damaged file, when it is opened and whenever more of it is read."""


def _read(path: Path, dataset: str, shape: tuple[int, ...], ahead: int, sample: Sample) -> bytes | NDArray[np.uint8]:
    """Return a row; its neighbours are read with it, for those who read in order."""
    first = sample.index // ahead * ahead
    try:
        row = _rows(path, dataset, stamp(path), first, ahead)[sample.index - first]
        if row.dtype != np.uint8 or shape not in ((), (*row.shape, 1)[:3]):
            raise ValueError("its images have another shape than before")
    except DAMAGED as e:
        raise BadSample(f"cannot be read from {path.name} ({_reason(e)}): copy the file again") from None
    # a view would keep all rows that were read with it in memory
    return np.array(row.reshape(shape)) if shape else bytes(row)


@lru_cache(maxsize=1)
def _rows(path: Path, dataset: str, version: Stamp, first: int, count: int) -> NDArray[Any]:
    """Return some rows of a file of a version.

    No file is kept open: a handle shared over a fork reads wrong bytes, and one of a file that is written to old ones.
    """
    with _opened(path) as file:
        rows: NDArray[Any] = file[dataset][first : first + count]
    return rows


def _opened(path: Path) -> Any:
    import h5py

    return h5py.File(path, "r", locking=False, rdcc_nbytes=CHUNK_CACHE)


def _reason(e: Exception) -> str:
    return str(e).partition("\n")[0][:300] or type(e).__name__


def open(path: Path, *, labels: str | None = None, images: str | None = None) -> Source:
    """Open an HDF5 file; nothing is read but its labels.

    Parameters
    ----------
    path : Path
        The file.
    labels, images : optional
        Names of the datasets; ``labels`` and ``images`` by default.

    Raises
    ------
    SourceError
        No HDF5 file, no such datasets, images that are not uint8, labels that do not belong to them.
    """
    if (problem := file_problem(path)) is not None:
        raise SourceError(
            f"The source hdf5: {path} {problem}. Expected hdf5:FILE, one HDF5 file with datasets of images and labels."
        )
    try:
        with _opened(path) as file:
            return _listed(file, path, images, labels)
    except CorruptsetError:
        raise
    except DAMAGED as e:
        raise SourceError(f"{path} is not an HDF5 file, or a damaged one ({_reason(e)}). Copy it again.") from None


def _listed(file: Any, path: Path, images: str | None, labels: str | None) -> Source:
    import h5py

    own = SCHEMA in file.attrs and labels is None and images is None
    stored = _dataset(file, path, images or (ENCODED if own and ENCODED in file else RAW), "--images")
    encoded = stored.ndim == 1 and h5py.check_vlen_dtype(stored.dtype) == np.uint8
    shape = () if encoded else image_shape(stored.dtype, stored.shape or (), f"{path}: {stored.name[1:]}")
    given = _dataset(file, path, labels or LABELS, "--labels")
    values = whole_labels(given, len(stored), f"{path}: {given.name[1:]}").tolist()
    if own:
        index = _dataset(file, path, INDEX, "--images")[()].tolist()
        samples, classes = _of_build(path, str(file.attrs["set"]).count("/"), index, values)
    else:
        samples = tuple(Sample(i, f"data/{i}", label) for i, label in enumerate(values))
        classes = numbered_classes(max(values))
    size = math.prod(shape) if shape else path.stat().st_size // len(samples)
    ahead = max(1, min(MOST_AHEAD, AHEAD_BYTES // max(size, 1)))
    return Source("hdf5", samples, classes, partial(_read, path, stored.name, shape, ahead))


def _dataset(file: Any, path: Path, name: str, option: str) -> Any:
    import h5py

    # get with getlink: a link into another file must not be followed to find out that it is one.
    link = file.get(name, getlink=True) if name in file else None
    if link is None or isinstance(link, h5py.ExternalLink) or not isinstance(file[name], h5py.Dataset):
        names: list[str] = []
        file.visititems(lambda n, item: names.append(n) if isinstance(item, h5py.Dataset) else None)
        raise SourceError(
            f"{path} has no dataset {name!r} of its own. It has {first_few(names, 12) or 'none'}: name one with "
            f"{option}."
        )
    dataset = file[name]
    if dataset.external or dataset.is_virtual:
        raise SourceError(f"{path}: {name} is stored in other files. Give one file that holds its own data.")
    if dataset.nbytes > MOST_RATIO * path.stat().st_size:
        raise SourceError(
            f"{path}: {name} claims {dataset.nbytes:,} bytes, more than its file can hold. Copy it again."
        )
    return dataset


def _of_build(
    path: Path, depth: int, index: list[int], labels: list[int]
) -> tuple[tuple[Sample, ...], tuple[ClassRecord, ...]]:
    """Return the samples and classes of a shard, from the build around it."""
    build = path.parents[min(depth + 1, len(path.parents) - 1)]
    if not (build / "manifest.json").is_file():
        raise SourceError(
            f"{path} is a shard of a corruptset build, and its samples' ids are in the build's samples.jsonl: "
            f"give it where the build put it ({build} holds no manifest.json). Or name its datasets, --images images "
            "--labels labels, and its rows become data/0, data/1, ..."
        )
    try:
        data = open_build(build)
        rows = [data.samples[i] for i in index]
    except (CorruptsetError, IndexError) as e:
        raise SourceError(f"{path} does not belong to the build in {build}: {e}") from None
    if [(r.label, r.index) for r in rows] != list(zip(labels, index, strict=True)):
        raise SourceError(
            f"{path} does not belong to the build in {build}: its labels are others. Fetch the shard again."
        )
    return tuple(Sample(i, r.id, r.label, None, r.split) for i, r in enumerate(rows)), tuple(data.classes)
