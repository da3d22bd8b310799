"""The sources ``cifar10:PATH`` and ``cifar100:PATH``: the python or the binary version, the tar.gz or the folder.

Rows keep the order of the files. Every form gives the same samples: ids, labels, and the sha256 of the pixels. A batch is
read for its labels and for where its rows lie, while an archive is listed; each process reads the rows that it needs.

References
----------
Krizhevsky, Learning Multiple Layers of Features from Tiny Images (2009); https://www.cs.toronto.edu/~kriz/cifar.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from ...errors import SourceError, listed
from .labels import check_labels, named_classes
from .pickles import MOST_BYTES, Array, Refused, load_fields, texts, whole_numbers
from .places import PIECE, Place, opened
from .rows import RowSource, Table, pickled_table, wanted_splits
from .tarred import Look, list_tar

SHAPE = (32, 32, 3)
PIXELS = 3 * 32 * 32
MOST_META_BYTES = 1 << 20
PUBLISHED_BATCH = 10_000
"""Rows of a batch of CIFAR-10 as it is published; there are then five batches to train on."""


@dataclass(frozen=True)
class DataSet:
    """One of the two data sets: the names of its files."""

    scheme: str
    title: str
    folders: tuple[str, ...]
    archives: tuple[str, ...]
    meta: Mapping[str, str]
    """form -> file of the class names"""
    test: str
    train: str
    """With ``{}`` where batches are numbered."""
    label_bytes: int
    """In front of a row of the binary version."""
    names: Mapping[str, str]
    """Which labels -> their key in the pickled meta."""

    def pattern(self, split: str) -> str:
        """Return what the names of a split's batches match, in both versions."""
        return (self.test if split == "test" else self.train.replace("{}", "[1-9][0-9]?")) + r"(\.bin)?"


TEN = DataSet(
    "cifar10",
    "CIFAR-10",
    ("cifar-10-batches-py", "cifar-10-batches-bin"),
    ("cifar-10-python.tar.gz", "cifar-10-binary.tar.gz", "cifar-10-python.tar", "cifar-10-binary.tar"),
    {"python": "batches.meta", "binary": "batches.meta.txt"},
    "test_batch",
    "data_batch_{}",
    1,
    {"labels": "label_names"},
)
HUNDRED = DataSet(
    "cifar100",
    "CIFAR-100",
    ("cifar-100-python", "cifar-100-binary"),
    ("cifar-100-python.tar.gz", "cifar-100-binary.tar.gz", "cifar-100-python.tar", "cifar-100-binary.tar"),
    {"python": "meta", "binary": "fine_label_names.txt"},
    "test",
    "train",
    2,
    {"fine": "fine_label_names", "coarse": "coarse_label_names"},
)


Batch = tuple[Table, NDArray[np.int64]]
"""A file of rows: where they lie, and their labels."""


def open_ten(rest: str, *, labels: Path | None = None, split: str | None = None) -> RowSource:
    """Open CIFAR-10; see `open_source`."""
    if labels is not None:
        raise SourceError("The source cifar10 takes no --labels: its batches hold them.")
    return _open(TEN, rest, "labels", split)


def open_hundred(rest: str, *, labels: Path | None = None, split: str | None = None) -> RowSource:
    """Open CIFAR-100; `labels` is ``fine`` (the default) or ``coarse``."""
    which = "fine" if labels is None else str(labels)
    if which not in HUNDRED.names:
        raise SourceError(f"--labels is {which!r}; for cifar100 expected one of {', '.join(HUNDRED.names)}.")
    return _open(HUNDRED, rest, which, split)


def _open(data_set: DataSet, rest: str, which: str, split: str | None) -> RowSource:
    splits = wanted_splits(split)
    batches: dict[str, Batch | SourceError] = {}

    def look(member: str, place: Place, file: BinaryIO) -> None:
        """Read a batch while an archive is listed: another pass over CIFAR-100's would be 6 % of a whole build."""
        name = member.rpartition("/")[2]
        of = next((one for one in splits if re.fullmatch(data_set.pattern(one), name)), None)
        if of is not None and name not in batches:
            try:
                batches[name] = _batch(data_set, name, place, file, of, which)
            except SourceError as e:
                batches[name] = e  # raised below, once the archive is known to be whole and this file to be wanted

    path, files = _files(data_set, rest, look)
    form = next((f for f in ("python", "binary") if data_set.meta[f] in files), None)
    if form is None:
        raise SourceError(
            f"The source {data_set.scheme}:{rest}: {path} has no {' or '.join(data_set.meta.values())}, which hold the class names; it "
            f"holds {', '.join(sorted(files)[:8]) or 'nothing'}. Expected {data_set.title} as it was downloaded, or its extracted "
            "folder."
        )
    meta = data_set.meta[form]
    names, batch_rows = _class_names(data_set, files, which, form)
    classes = named_classes(names, f"{path}: {meta}")
    tables, labels = [], []
    for one in splits:
        for name in _batch_names(data_set, form, files, one, path):
            if name not in batches:
                with opened(files[name]) as file:
                    batches[name] = _batch(data_set, name, files[name], file, one, which)
            batch = batches[name]
            if isinstance(batch, SourceError):
                raise batch
            table, values = batch
            if batch_rows is not None and table.rows != batch_rows:
                raise SourceError(
                    f"{path}: {name} has {table.rows} rows, and {meta} says {batch_rows} a batch. Download the archive again."
                )
            check_labels(values, 0, len(names) - 1, f"{path}: {name}")
            tables.append(table)
            labels.append(values)
    train = [table.rows for table in tables if table.split == "train"]
    if data_set is TEN and train and train[0] == PUBLISHED_BATCH and len(train) != 5:
        raise SourceError(f"{path} has {len(train)} of the five batches to train on. Download the archive again.")
    return RowSource(data_set.scheme, tables, labels, classes)


def _files(data_set: DataSet, rest: str, look: Look) -> tuple[Path, dict[str, Place]]:
    """Return where a source lies, and its files by name."""
    scheme = data_set.scheme
    if not rest:
        raise SourceError(f"The source {scheme} needs a path: {scheme}:PATH, of {data_set.archives[0]} or its extracted folder.")
    path = Path(rest).expanduser()
    if path.is_dir() and not any((path / meta).exists() for meta in data_set.meta.values()):
        inside = [path / name for name in (*data_set.folders, *data_set.archives)]
        path = next((p for p in inside if p.exists()), path)
    path = path.resolve()
    if path.is_dir():
        return path, {p.name: Place(p, 0, p.stat().st_size) for p in sorted(path.iterdir()) if p.is_file()}
    if not path.exists():
        raise SourceError(f"The source {scheme}:{rest}: {path} is not there. Expected {data_set.archives[0]} or its extracted folder.")
    tar = list_tar(path, look)
    files: dict[str, Place] = {}
    for member, place in tar.files.items():
        name = member.rpartition("/")[2]
        if name in files:
            tar.notes.append((name, "is there in several folders"))
        files[name] = place
    if tar.notes:
        raise SourceError(
            f"{path} is not {data_set.title} as it is published; it has:\n{listed([f'{p}: {r}' for p, r in tar.notes])}\nDownload it again."
        )
    return path, files


def _batch_names(data_set: DataSet, form: str, files: Mapping[str, Place], split: str, path: Path) -> list[str]:
    pattern = (data_set.test if split == "test" else data_set.train) + (".bin" if form == "binary" else "")
    numbers = [i for i in range(1, 100) if pattern.format(i) in files]
    if "{}" not in pattern:
        numbers = numbers[:1]
    elif numbers and numbers != list(range(1, len(numbers) + 1)):
        raise SourceError(f"{path} lacks a batch: it has those of the numbers {numbers}. Download the archive again.")
    if not numbers:
        raise SourceError(
            f"{path} has no {pattern.format(1)}, which the split {split} is in; it holds {', '.join(sorted(files)[:12])}. "
            "Download the archive again, or choose another --split."
        )
    return [pattern.format(i) for i in numbers]


def _class_names(data_set: DataSet, files: Mapping[str, Place], which: str, form: str) -> tuple[list[str], int | None]:
    """Return the class names, and the rows of a batch where the file says it."""
    name = "coarse_label_names.txt" if form == "binary" and which == "coarse" else data_set.meta[form]
    if name not in files:
        raise SourceError(f"{data_set.title} has no {name} beside its batches, which holds the class names. Download the archive again.")
    with _as_published(files[name], name), opened(files[name]) as file:
        if files[name].size > MOST_META_BYTES:
            raise Refused(f"has {files[name].size:,} bytes; expected a few hundred")
        if form == "binary":
            return [line.strip() for line in file.read(files[name].size).decode("utf-8", "replace").splitlines() if line.strip()], None
        fields = load_fields(files[name], file)
        rows, pixels = fields.get("num_cases_per_batch"), fields.get("num_vis", PIXELS)
        if pixels != PIXELS:
            raise Refused(f"says {pixels} values a row, and {data_set.title} has {PIXELS}")
        if data_set.names[which] not in fields:
            raise Refused(f"holds no {data_set.names[which]}; it is the meta of another data set")
        return texts(fields[data_set.names[which]]), rows if isinstance(rows, int) else None


@contextmanager
def _as_published(place: Place, name: str) -> Iterator[None]:
    """Say of a file that is not as it is published where it lies."""
    try:
        yield
    except Refused as e:
        raise SourceError(f"{place.path}: {name} {e}. Download it again from where it is published.") from None


def _batch(data_set: DataSet, name: str, place: Place, file: BinaryIO, split: str, which: str) -> Batch:
    """Return the batch that a file stands at."""
    with _as_published(place, f"the batch {name}"):
        return (_read_binary if name.endswith(".bin") else _read_pickle)(data_set, place, file, split, which)


def _read_pickle(data_set: DataSet, place: Place, file: BinaryIO, split: str, which: str) -> Batch:
    key = "labels" if which == "labels" else f"{which}_labels"
    fields = load_fields(place, file)
    missing = [k for k in ("data", key) if k not in fields]
    if missing:
        raise Refused(
            f"holds no {' and no '.join(missing)} (it holds {', '.join(sorted(fields)[:8])}), so it is no batch of {data_set.title}"
        )
    array, labels = fields["data"], whole_numbers(fields[key])
    if not isinstance(array, Array) or array.dtype != np.uint8 or array.shape[1:] != (PIXELS,) or not array.shape[0] or array.fortran:
        what = f"{array.dtype} {array.shape}{', stored column by column' * array.fortran}" if isinstance(array, Array) else "no array"
        raise Refused(f"has data of {what}; expected rows of {PIXELS} bytes (uint8)")
    if len(labels) != array.shape[0]:
        raise Refused(f"has {array.shape[0]} rows and {len(labels)} {key}")
    return pickled_table(split, array, SHAPE, planes=True), labels


def _read_binary(data_set: DataSet, place: Place, file: BinaryIO, split: str, which: str) -> Batch:
    stride = data_set.label_bytes + PIXELS
    rows, over = divmod(place.size, stride)
    if over or not rows or place.size > MOST_BYTES:
        raise Refused(f"has {place.size:,} bytes, which are no whole rows of {stride}: it is cut, or of another data set")
    labels = np.empty(rows, np.int64)
    for first in range(0, rows, PIECE // stride):
        part = labels[first : first + PIECE // stride]
        data = file.read(len(part) * stride)
        if len(data) < len(part) * stride:
            raise Refused("is cut")
        part[:] = np.frombuffer(data, np.uint8)[0 if which == "coarse" else data_set.label_bytes - 1 :: stride]
    return Table(split, place, rows, SHAPE, skip=data_set.label_bytes, planes=True), labels
