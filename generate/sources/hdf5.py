"""The source ``hdf5:FILE``: datasets of images and labels, or a shard from a corruptset build.

Ids are ``data/<row>``. If a shard is in the directory of its build, its samples keep the ids, labels, splits and
classes that the build recorded. The shard's dataset ``index`` contains the numbers of its samples in the build.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import CorruptsetError, SourceError, first_few
from ...files import file_problem
from ...manifests.images.shards import ENCODED, INDEX, LABELS, RAW, SCHEMA
from ...manifests.reader import Dataset
from .rows import ImageRows, ReadResult, row_source
from .source import Sample, Source

MAX_RATIO = 1100
"""Limit on the ratio of a dataset's size to the size of its file. Deflate reaches 1032, and chunks that were never
written take no space at all.
"""
MAX_ROWS_AHEAD = 64
"""Largest number of rows that are read at once. The more rows are read at once, the less often the file is opened."""
READ_AHEAD_BYTES = 4 << 20
CHUNK_CACHE = 64 << 20
"""Size of HDF5's chunk cache, in bytes. The cache avoids decompressing a chunk again for each of its rows."""
FILTERS = {
    **{307: "bzip2", 32000: "lzf", 32001: "blosc", 32004: "lz4", 32008: "bitshuffle", 32013: "zfp", 32015: "zstd"},
    **{32017: "sz", 32018: "fcidecomp", 32024: "sz3", 32026: "blosc2", 32028: "sperr", 305: "lzo", 4: "szip"},
}
"""Names of HDF5 filters, by the numbers under which The HDF Group has registered the filters."""
DAMAGED = (OSError, RuntimeError, LookupError, ValueError, TypeError, AttributeError, OverflowError)
"""Errors that h5py raises when damaged files are opened or read."""


def open(path: Path, *, labels: str | None = None, images: str | None = None) -> Source:
    """Open an HDF5 file and read its labels.

    Parameters
    ----------
    path : Path
        The file.
    labels, images : optional
        Names of the datasets. The defaults are ``labels`` and ``images``.

    Raises
    ------
    SourceError
        The file is not HDF5 or has no such datasets, the images are not uint8, or the labels do not match the images.
    """
    if (problem := file_problem(path)) is not None:
        raise SourceError(
            f"The source hdf5:{path} {problem}. Expected hdf5:FILE, one HDF5 file with datasets of images and labels."
        )
    with _open_file(path) as file:
        is_shard = SCHEMA in file.attrs and labels is None and images is None
        default = ENCODED if is_shard and ENCODED in file else RAW
    source = row_source("hdf5", [path], _read, path, images or default, labels or LABELS, width=1)
    if is_shard:
        _name_as_build(source, path)
    return source


@contextmanager
def _open_file(path: Path) -> Iterator[Any]:
    """Open a file for one read.

    Files are not kept open. Handles that are shared across a fork read wrong bytes, and handles to a file that is being
    written read old bytes.
    """
    import h5py

    try:
        with h5py.File(path, "r", locking=False, rdcc_nbytes=CHUNK_CACHE) as file:
            yield file
    except CorruptsetError:
        raise
    except DAMAGED as e:
        reason = str(e).partition("\n")[0][:300] or type(e).__name__
        raise SourceError(f"{path} is not an HDF5 file, or a damaged one ({reason}). Copy it again.") from None


class DatasetImages:
    """The images in an HDF5 dataset. They are read in groups of neighbouring rows."""

    def __init__(self, path: Path, dataset: Any, encoded: bool) -> None:
        self.path, self.name, self.shape, self.dtype = path, dataset.name, dataset.shape or (), dataset.dtype
        size = path.stat().st_size // max(1, len(self)) if encoded else math.prod(self.shape[1:])
        self.ahead = max(1, min(MAX_ROWS_AHEAD, READ_AHEAD_BYTES // max(size, 1)))
        self.cached: tuple[int, Any] = (-1, ())

    def __len__(self) -> int:
        return int(self.shape[0]) if self.shape else 0

    def __getitem__(self, row: int) -> NDArray[np.uint8]:
        first = row // self.ahead * self.ahead
        if self.cached[0] != first:
            with _open_file(self.path) as file:
                try:
                    self.cached = first, file[self.name][first : first + self.ahead]
                except DAMAGED:  # neighbours of a damaged row are still readable
                    alone: NDArray[np.uint8] = file[self.name][row]
                    return alone
        image: NDArray[np.uint8] = self.cached[1][row - first]
        return image


def _read(path: Path, images: str, labels: str) -> ReadResult:
    import h5py

    with _open_file(path) as file:
        stored = _dataset(file, path, images, "--images")
        encoded = stored.ndim == 1 and h5py.check_vlen_dtype(stored.dtype) == np.uint8
        given = _dataset(file, path, labels, "--labels")
        where = f"{path}: {stored.name[1:]}", f"{path}: {given.name[1:]}"
        return None, [
            ImageRows(None, DatasetImages(path, stored, encoded), np.asarray(given[()]), where, encoded=encoded)
        ]


def _dataset(file: Any, path: Path, name: str, option: str) -> Any:
    import h5py

    # getlink, because a link into another file must not be followed
    link = file.get(name, getlink=True) if name in file else None
    if link is None or isinstance(link, h5py.ExternalLink) or not isinstance(file[name], h5py.Dataset):
        names: list[str] = []
        file.visititems(lambda n, item: names.append(n) if isinstance(item, h5py.Dataset) else None)
        raise SourceError(
            f"{path} contains no dataset {name!r}. It has {first_few(names, 12) or 'none'}: name one with {option}."
        )
    dataset = file[name]
    _require_filters(dataset, path, name)
    if dataset.external or dataset.is_virtual:
        raise SourceError(
            f"{path}: {name} is stored in other files. Copy all data into one file, and specify that file."
        )
    if dataset.nbytes > MAX_RATIO * path.stat().st_size:
        raise SourceError(
            f"{path}: {name} claims {dataset.nbytes:,} bytes, more than its file can contain. Copy the file again."
        )
    return dataset


def _require_filters(dataset: Any, path: Path, name: str) -> None:
    """Raise `SourceError` if a dataset is compressed with a filter that is not installed.

    If a filter is missing and the package hdf5plugin is installed, its filters are registered for this process.
    """
    import h5py

    properties = dataset.id.get_create_plist()
    filters = [properties.get_filter(i) for i in range(properties.get_nfilters())]

    def missing() -> list[str]:
        absent = [(number, label) for number, _, _, label in filters if not h5py.h5z.filter_avail(number)]
        return [f"{FILTERS.get(number, label.decode(errors='replace'))} ({number})" for number, label in absent]

    if missing() and find_spec("hdf5plugin") is not None:
        importlib.import_module("hdf5plugin")
    if absent := missing():
        advice = (
            "Install it with pip install hdf5plugin, and run the same command again."
            if find_spec("hdf5plugin") is None
            else "hdf5plugin does not have it either, so write the file again with gzip: h5repack -f GZIP=4 OLD NEW."
        )
        raise SourceError(
            f"{path}: {name} is compressed with the HDF5 filter {', '.join(absent)}, which is not installed. {advice}"
        )


def _name_as_build(source: Source, path: Path) -> None:
    """Replace the samples and classes of a shard with the samples and classes that its build recorded."""
    with _open_file(path) as file:
        index = _dataset(file, path, INDEX, "--images")[()].tolist()
        depth = str(file.attrs["set"]).count("/")
    build = path.parents[min(depth + 1, len(path.parents) - 1)]
    if not (build / "manifest.json").is_file():
        raise SourceError(
            f"{path} is a shard of a corruptset build, and the ids of its samples are in the build's samples.jsonl, "
            f"but {build} has no manifest.json. Specify the shard in the directory of its build. Alternatively, name "
            "its datasets with --images images --labels labels. The ids of its rows are then data/0, data/1, ..."
        )
    try:
        data = Dataset(build)
        rows = [data.samples[i] for i in index]
    except (CorruptsetError, IndexError) as e:
        raise SourceError(f"{path} does not belong to the build in {build}: {e}") from None
    if [r.label for r in rows] != [s.label for s in source.samples] or [r.index for r in rows] != index:
        raise SourceError(
            f"{path} does not belong to the build in {build}, because its labels differ. Download the shard again."
        )
    source.samples = tuple(Sample(i, r.id, r.label, None, r.split) for i, r in enumerate(rows))
    source.classes = tuple(data.classes)
