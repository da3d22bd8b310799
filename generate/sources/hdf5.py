"""The source ``hdf5:FILE``: a dataset of images and one of labels, or a shard of one of corruptset's own builds.

Ids are ``data/<row>``. A shard that lies in its build keeps its samples' ids, labels, splits and classes: its ``index``
says which samples its rows are.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import CorruptsetError, SourceError
from ...files import file_problem
from ...manifests.images.guard import GUARD, SECONDS_VARIABLE, NoAnswer, Refused
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
"""Rows that are read at once, at most: a request then costs little beside them."""
AHEAD_BYTES = 4 << 20


class Hdf5Source(Source):
    """Rows of an HDF5 file: pixels, or encoded images. A process of its own reads them, as the library may hang on a damaged file.

    Parameters
    ----------
    path : Path
    dataset : str
    shape : (H, W, C) or None
        None where images are encoded.
    samples : tuple of Sample
        One a row, in the order of the rows.
    classes : tuple of ClassRecord
    """

    scheme = "hdf5"

    def __init__(
        self, path: Path, dataset: str, shape: tuple[int, int, int] | None, samples: tuple[Sample, ...], classes: tuple[ClassRecord, ...]
    ) -> None:
        self.path = path
        self.dataset = dataset
        self.shape = shape
        self.rows = len(samples)
        self.samples = samples
        self.classes = classes

    def load(self, sample: Sample) -> Loaded:
        stored = self._read(sample)
        return Loaded(decode(stored.tobytes()) if self.shape is None else stored, sha256_bytes(stored.data))

    def fingerprint(self, sample: Sample) -> str:
        return sha256_bytes(self._read(sample).data)

    def _read(self, sample: Sample) -> NDArray[np.uint8]:
        window = _window(self, sample.index)
        row = window.rows[sample.index - window.first]
        if row is None:
            raise BadSample(f"has more than the {MAX_FILE_BYTES:,} bytes that one image may have: leave it out")
        return row.copy()  # a view would keep all rows of the window in memory


@dataclass
class _Window:
    """Rows that were read together."""

    key: tuple[Path, str, Stamp]
    """Which dataset, of which file: a file that has changed is read again."""
    first: int
    rows: list[NDArray[np.uint8] | None]
    """None for one that has too many bytes."""
    alone: bool = False
    """Whether rows of this file are read one by one: reading ahead got no answer."""


_last: _Window | None = None


def _window(source: Hdf5Source, row: int) -> _Window:
    """Return rows of which this is one. Rows that are asked for in order are read ahead, twice as many each time."""
    global _last
    key = (source.path, source.dataset, stamp(source.path))
    last, _last = (_last if _last is not None and _last.key == key else None), None
    if last is None or not last.first <= row < last.first + len(last.rows):
        ahead = 2 * len(last.rows) if last is not None and not last.alone and row == last.first + len(last.rows) else 1
        last = _read_window(source, key, row, ahead, alone=last is not None and last.alone)
    _last = last
    return last


def _read_window(source: Hdf5Source, key: tuple[Path, str, Stamp], first: int, count: int, *, alone: bool) -> _Window:
    size = int(np.prod(source.shape)) if source.shape is not None else 0
    count = max(1, min(count, MOST_AHEAD, AHEAD_BYTES // max(size, 1), source.rows - first))
    try:
        return _Window(key, first, _rows(source, first, count), alone)
    except Refused as e:
        raise BadSample(f"cannot be read from {source.path.name} ({e}): copy the file again") from None
    except NoAnswer as e:
        # What is wrong may be with another row, which nobody may ever ask for.
        if count > 1:
            return _read_window(source, key, first, 1, alone=True)
        raise SourceError(no_answer(source.path, f"row {first} of {source.dataset}", e)) from None


def _rows(source: Hdf5Source, first: int, count: int) -> list[NDArray[np.uint8] | None]:
    if source.shape is not None:
        answer, data = GUARD.ask("rows", source.path, dataset=source.dataset, first=first, count=count)
        if tuple(answer["shape"][1:3]) != source.shape[:2] or not answer["shape"][0]:
            raise Refused("its images have another shape than before")
        return list(data.reshape(-1, *source.shape))
    answer, data = GUARD.ask("encoded", source.path, dataset=source.dataset, first=first, count=count, most=MAX_FILE_BYTES)
    if not len(data) and any(answer["sizes"]):
        return [None]
    return list(np.split(data, np.cumsum(answer["sizes"])[:-1]))


def no_answer(path: Path, what: str, e: NoAnswer) -> str:
    """Return the error for a file that hangs or crashes the library."""
    return (
        f"{path}: {what} cannot be read: {e}. The file is damaged, or its disk does not answer: compare the file with its published "
        f"checksum and copy it again. {SECONDS_VARIABLE}=600 in the environment waits longer."
    )


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
    problem = f": {path} {file_problem(path)}" if rest else " needs a path: hdf5:FILE"
    if not rest or file_problem(path) is not None:
        raise SourceError(f"The source hdf5{problem}. Expected one HDF5 file with datasets of images and labels.")
    path = path.resolve()
    try:
        return _listed(path, images, labels.as_posix() if labels is not None else None)
    except Refused as e:
        raise SourceError(f"{path} is not an HDF5 file, or a damaged one ({e}). Copy it again.") from None
    except NoAnswer as e:
        raise SourceError(no_answer(path, "its contents", e)) from None


def _listed(path: Path, images: str | None, labels: str | None) -> Hdf5Source:
    contents, _ = GUARD.ask("look", path, images=images, labels=labels)
    stored, given = _dataset(contents["images"], path, "--images"), _dataset(contents["labels"], path, "--labels")
    dtype, size = np.dtype(stored["dtype"]), os.stat(path).st_size
    name, count = stored["name"], stored["shape"][0] if stored["shape"] else 0
    if dtype.kind == "O" and not stored["encoded"]:
        raise SourceError(f"{path}: {name} holds objects ({dtype}); expected uint8, or encoded images as vlen uint8.")
    shape = None if stored["encoded"] else image_shape(dtype, tuple(stored["shape"]), f"{path}: {name}")
    if stored["outside"]:
        raise SourceError(f"{path}: {name} is stored in other files. Give one file that holds its own data.")
    for dataset in (stored, given):
        if dataset["size"] > MOST_RATIO * size:
            raise SourceError(f"{path}: {dataset['name']} claims {dataset['size']:,} bytes, more than its file can hold. Copy it again.")
    values = whole_labels(_numbers(path, given), count, f"{path}: {given['name']}")
    if contents["own"]:
        index = _numbers(path, _dataset(contents["index"], path, "--images"))
        samples, classes = _of_build(path, contents["set"].count("/"), index, values)
    else:
        samples = tuple(Sample(i, f"data/{i}", label) for i, label in enumerate(values.tolist()))
        classes = numbered_classes(int(values.max()))
    return Hdf5Source(path, name, shape, samples, classes)


def _dataset(dataset: dict[str, Any], path: Path, option: str) -> dict[str, Any]:
    if "others" in dataset:
        others = ", ".join(dataset["others"]) or "none"
        raise SourceError(f"{path} has no dataset {dataset['name']!r} of its own. It has {others}: name one with {option}.")
    return dataset


def _numbers(path: Path, dataset: dict[str, Any]) -> NDArray[Any]:
    """Return a dataset of whole numbers; of another kind an empty stand-in of its type and shape, which `whole_labels` refuses."""
    dtype = np.dtype(dataset["dtype"])
    if dtype.kind not in "iu" or len(dataset["shape"]) != 1:
        return np.broadcast_to(np.empty((), dtype), dataset["shape"])
    answer, data = GUARD.ask("column", path, dataset=dataset["name"])
    values: NDArray[Any] = data.view(answer["dtype"]).reshape(answer["shape"])
    return values


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
        rows = [data.samples[int(i)] for i in index]
    except (CorruptsetError, IndexError) as e:
        raise SourceError(f"{path} does not belong to the build in {build}: {e}") from None
    if [r.label for r in rows] != labels.tolist() or [r.index for r in rows] != index.tolist():
        raise SourceError(f"{path} does not belong to the build in {build}: its labels are others. Fetch the shard again.")
    samples = tuple(Sample(i, r.id, r.label, None, r.split) for i, r in enumerate(rows))
    return samples, tuple(data.classes)
