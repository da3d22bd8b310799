"""The source ``hdf5:FILE``: a dataset of images and one of labels, or a shard of one of corruptset's own builds.

Ids are ``data/<row>``. A shard that lies in its build keeps its samples' ids, labels, splits and classes: its ``index``
says which samples its rows are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ...errors import CorruptsetError, SourceError
from ...manifests.digests import sha256_bytes
from ...manifests.models import ClassRecord
from ...manifests.reader import open as open_build
from ..decoding import MAX_FILE_BYTES, decode
from .arrays import image_shape, numbered_classes, whole_labels
from .base import BadSample, Loaded, Sample

CHUNK_CACHE = 64 << 20
"""Bytes: a compressed chunk is not unpacked again for every row of it."""


DAMAGED = (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError, OverflowError)
"""What h5py raises of a damaged file: at opening, and again wherever it goes on to something else in it."""
MOST_RATIO = 1100
"""How much more than its file a dataset may hold: deflate reaches 1032, and what was never written takes no space at all."""


@dataclass(frozen=True)
class Row(Sample):
    """A sample of a file: which row it is."""

    row: int = 0


class Hdf5Source:
    """Rows of an HDF5 file: pixels, or encoded images; the file is opened in each process, and again after it was copied there."""

    scheme = "hdf5"
    license: str | None = None
    notes: tuple[tuple[str, str], ...] = ()

    def __init__(self, path: Path, dataset: str, encoded: bool, samples: tuple[Sample, ...], classes: tuple[ClassRecord, ...]) -> None:
        self.path = path
        self.dataset = dataset
        self.encoded = encoded
        self.samples = samples
        self.classes = classes

    def load(self, sample: Sample) -> Loaded:
        """Read a row; an encoded one is decoded."""
        stored = self._read(sample)
        if self.encoded:
            return Loaded(decode(stored.tobytes()), sha256_bytes(stored.data))
        return Loaded(stored, sha256_bytes(stored.data))

    def fingerprint(self, sample: Sample) -> str:
        """Return the sha256 of a row: of its pixels, or of its encoded bytes."""
        return sha256_bytes(self._read(sample).data)

    def probe(self, sample: Sample) -> tuple[str, int, int]:
        """Read a row, keep nothing, and return its (sha256, width, height)."""
        loaded = self.load(sample)
        return loaded.sha256, loaded.image.shape[1], loaded.image.shape[0]

    def _read(self, sample: Sample) -> NDArray[np.uint8]:
        assert isinstance(sample, Row)
        try:
            row = np.asarray(_cached(self.path)[self.dataset][sample.row])
        except DAMAGED as e:
            raise BadSample(f"cannot be read from {self.path.name} ({e}): copy the file again") from None
        if self.encoded:
            if row.nbytes > MAX_FILE_BYTES:
                raise BadSample(f"has more than the {MAX_FILE_BYTES:,} bytes that one image may have: leave it out")
            return row
        return np.array(row[:, :, None] if row.ndim == 2 else row, order="C")


_open_file: tuple[tuple[Path, int, int], Any] | None = None


def _cached(path: Path) -> Any:
    """Return the file that this process has open: opening costs more than a row."""
    global _open_file
    status = path.stat()
    key = (path, status.st_ino, status.st_mtime_ns)
    if _open_file is None or _open_file[0] != key:
        if _open_file is not None:
            _open_file[1].close()
        _open_file = None
        _open_file = (key, h5py.File(path, "r", locking=False, rdcc_nbytes=CHUNK_CACHE))
    return _open_file[1]


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
    path = Path(rest).expanduser()
    if not rest or not path.is_file():
        what = "needs a path: hdf5:FILE" if not rest else f"is a folder: {path}" if path.is_dir() else f"is not there: {path}"
        raise SourceError(f"The source hdf5 {what}. Expected one HDF5 file with datasets of images and labels.")
    path = path.resolve()
    with _reading(path) as file:
        own = "corruptset_schema" in file.attrs and labels is None and images is None
        name = images or ("encoded" if own and "encoded" in file else "images")
        stored, given = _dataset(file, name, path, "--images"), _dataset(file, labels.as_posix() if labels else "labels", path, "--labels")
        encoded = h5py.check_vlen_dtype(stored.dtype) == np.uint8 and stored.ndim == 1
        if stored.dtype.kind == "O" and not encoded:
            raise SourceError(f"{path}: {name} holds objects ({stored.dtype}); expected uint8, or encoded images as vlen uint8.")
        if not encoded:
            image_shape(stored.dtype, stored.shape, f"{path}: {name}")
        if _outside(stored):
            raise SourceError(f"{path}: {name} is stored in other files. Give one file that holds its own data.")
        for dataset in (stored, given):
            if dataset.nbytes > MOST_RATIO * path.stat().st_size:
                raise SourceError(
                    f"{path}: {dataset.name.lstrip('/')} claims {dataset.nbytes:,} bytes, more than its file can hold. Copy it again."
                )
        values = whole_labels(given[()], len(stored), f"{path}: {given.name.lstrip('/')}")
        if own:
            index = _dataset(file, "index", path, "--images")[()]
            depth = str(file.attrs["set"]).count("/")
            samples, classes = _of_build(path, depth, index, values)
        else:
            samples = tuple(Row(i, f"data/{i}", label, None, None, i) for i, label in enumerate(values.tolist()))
            classes = numbered_classes(int(values.max()))
    return Hdf5Source(path, name, encoded, samples, classes)


@contextmanager
def _reading(path: Path) -> Iterator[Any]:
    try:
        with h5py.File(path, "r", locking=False) as file:
            yield file
    except CorruptsetError:
        raise
    except DAMAGED as e:
        raise SourceError(f"{path} is not an HDF5 file, or a damaged one ({e}). Copy it again.") from None


def _dataset(file: Any, name: str, path: Path, option: str) -> Any:
    # get with getlink: a link into another file must not be followed to find out that it is one.
    link = file.get(name, getlink=True) if name in file else None
    if link is None or isinstance(link, h5py.ExternalLink) or not isinstance(file[name], h5py.Dataset):
        here: list[str] = []
        file.visititems(lambda n, item: here.append(n) if isinstance(item, h5py.Dataset) else None)
        raise SourceError(f"{path} has no dataset {name!r} of its own. It has {', '.join(here[:12]) or 'none'}: name one with {option}.")
    return file[name]


def _outside(dataset: Any) -> bool:
    return bool(dataset.external) or bool(dataset.is_virtual)


def _of_build(path: Path, depth: int, index: NDArray[Any], labels: NDArray[np.int64]) -> tuple[tuple[Sample, ...], tuple[ClassRecord, ...]]:
    """Return the samples of a shard, and their classes, from the build that it lies in."""
    build = path.parents[depth + 1] if depth + 1 < len(path.parents) else path.parent
    if not (build / "manifest.json").is_file():
        raise SourceError(
            f"{path} is a shard of a corruptset build, and its samples' ids are in the build's samples.jsonl: "
            f"give it where the build put it ({build} holds no manifest.json). Or name its datasets, --images images --labels labels, "
            "and its rows become data/0, data/1, ..."
        )
    try:
        data = open_build(build)
        known = data.samples
        rows = [known[int(i)] for i in index]
    except (CorruptsetError, IndexError) as e:
        raise SourceError(f"{path} does not belong to the build in {build}: {e}") from None
    if [r.label for r in rows] != labels.tolist() or [r.index for r in rows] != index.tolist():
        raise SourceError(f"{path} does not belong to the build in {build}: its labels are others. Fetch the shard again.")
    samples = tuple(Row(i, r.id, r.label, None, r.split, i) for i, r in enumerate(rows))
    return samples, tuple(data.classes)
