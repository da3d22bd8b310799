"""The sources ``cifar10:PATH`` and ``cifar100:PATH``: the python or the binary version, the tar.gz or the folder.

Rows keep the order of the files. Every form gives the same samples: ids, labels, and the sha256 of the pixels. A batch is
read for its labels and for where its rows lie. An archive is unpacked once for that, and once by each process that reads rows.

References
----------
Krizhevsky, Learning Multiple Layers of Features from Tiny Images (2009); https://www.cs.toronto.edu/~kriz/cifar.html
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from ...errors import SourceError, listed
from .labels import check_labels, named_classes
from .pickles import Array, Refused, load_fields, texts, whole_numbers
from .places import PIECE, Place, opened, read_place
from .rows import RowSource, Table, pickled_pixels, wanted_splits
from .tarred import Look, list_tar

SHAPE = (32, 32, 3)
PIXELS = 3 * 32 * 32
MOST_BATCH_BYTES = 512 << 20
"""A batch of 50,000 rows has 155 million, or 230 where its pixels were pickled as text, which is held in memory."""
MOST_META_BYTES = 1 << 20
PUBLISHED_BATCH = 10_000
"""Rows of a batch of CIFAR-10 as it is published; there are then five batches to train on."""


@dataclass(frozen=True)
class DataSet:
    """One of the two data sets: the names of its files."""

    scheme: str
    title: str
    folders: Mapping[str, str]
    """form -> folder"""
    archives: tuple[str, ...]
    meta: Mapping[str, str]
    test: str
    train: str
    """With ``{}`` where batches are numbered."""
    label_bytes: int
    """In front of a row of the binary version."""
    names: Mapping[str, str]
    """Which labels -> their key in the pickled meta."""

    def pattern(self, split: str) -> str:
        """Return what the names of a split's batches match, in both versions."""
        stem = self.test if split == "test" else self.train.replace("{}", "[1-9][0-9]?")
        return stem + r"(\.bin)?"


TEN = DataSet(
    "cifar10",
    "CIFAR-10",
    {"python": "cifar-10-batches-py", "binary": "cifar-10-batches-bin"},
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
    {"python": "cifar-100-python", "binary": "cifar-100-binary"},
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
        wanted = next((one for one in splits if re.fullmatch(data_set.pattern(one), name)), None)
        if wanted is not None and name not in batches:
            try:
                batches[name] = _batch(data_set, name, place, file, wanted, which)
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
    wanted = {name: split for split in splits for name in _batch_names(data_set, form, files, split, path)}
    tables, labels = [], []
    for name, of in wanted.items():
        batch = batches.get(name)
        if batch is None:
            with opened(files[name]) as file:
                batch = _batch(data_set, name, files[name], file, of, which)
        if isinstance(batch, SourceError):
            raise batch
        table, values = batch
        if batch_rows is not None and table.rows != batch_rows:
            raise SourceError(f"{path}: {name} has {table.rows} rows, and {meta} says {batch_rows} a batch. Download the archive again.")
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
        inside = [path / name for name in (*data_set.folders.values(), *data_set.archives)]
        path = next((p for p in inside if p.exists()), path)
    path = path.resolve()
    if path.is_dir():
        return path, {p.name: Place(p, 0, p.stat().st_size) for p in sorted(path.iterdir()) if p.is_file()}
    if not path.exists():
        raise SourceError(f"The source {scheme}:{rest}: {path} is not there. Expected {data_set.archives[0]} or its extracted folder.")
    tar = list_tar(path, look)
    if tar.notes:
        raise SourceError(
            f"{path} is not {data_set.title} as it is published; it has:\n{listed([f'{p}: {r}' for p, r in tar.notes])}\nDownload it again."
        )
    names = Counter(member.rpartition("/")[2] for member in tar.files)
    doubled = sorted(name for name, count in names.items() if count > 1)
    if doubled:
        raise SourceError(
            f"{path} holds {', '.join(doubled[:5])} in several folders. Expected {data_set.archives[0]} as it was downloaded."
        )
    return path, {member.rpartition("/")[2]: place for member, place in tar.files.items()}


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
    place = files[name]
    if place.size > MOST_META_BYTES:
        raise SourceError(f"{place.path}: its list of class names has {place.size:,} bytes; expected a few hundred. Download it again.")
    data = read_place(place)
    if form == "binary":
        return [line.strip() for line in data.decode("utf-8", "replace").splitlines() if line.strip()], None
    try:
        fields = load_fields(io.BytesIO(data), len(data))
        rows, pixels = fields.get("num_cases_per_batch"), fields.get("num_vis", PIXELS)
        if pixels != PIXELS:
            raise Refused(f"says {pixels} values a row, and {data_set.title} has {PIXELS}")
        if data_set.names[which] not in fields:
            raise Refused(f"holds no {data_set.names[which]}; it is the meta of another data set")
        return texts(fields[data_set.names[which]]), rows if isinstance(rows, int) else None
    except Refused as e:
        raise _not_as_published(place, name, e) from None


def _batch(data_set: DataSet, name: str, place: Place, file: BinaryIO, split: str, which: str) -> Batch:
    """Return the batch that a file stands at."""
    read = _read_binary if name.endswith(".bin") else _read_pickle
    try:
        return read(data_set, place, file, split, which)
    except Refused as e:
        raise _not_as_published(place, f"the batch {name}", e) from None


def _not_as_published(place: Place, name: str, e: Refused) -> SourceError:
    return SourceError(f"{place.path}: {name} {e}. Download it again from where it is published.")


def _read_pickle(data_set: DataSet, place: Place, file: BinaryIO, split: str, which: str) -> Batch:
    if place.size > MOST_BATCH_BYTES:
        raise Refused(f"has {place.size:,} bytes, which no batch of {data_set.title}'s has")
    key = "labels" if which == "labels" else f"{which}_labels"
    fields = load_fields(file, place.size)
    missing = [k for k in ("data", key) if k not in fields]
    if missing:
        raise Refused(
            f"holds no {' and no '.join(missing)} (it holds {', '.join(sorted(fields)[:8])}), so it is no batch of {data_set.title}"
        )
    labels = whole_numbers(fields[key], lambda span: read_place(place.part(span.offset, span.size)))
    array = fields["data"]
    if not isinstance(array, Array):
        raise Refused("has data that is no array")
    rows = array.shape[0] if array.shape else 0
    if array.dtype != "u1" or array.shape != (rows, PIXELS) or not rows or (array.fortran and rows > 1):
        order = ", stored column by column" if array.fortran else ""
        raise Refused(f"has data of {array.dtype} {array.shape}{order}; expected rows of {PIXELS} bytes (u1)")
    if len(labels) != rows:
        raise Refused(f"has {rows} rows and {len(labels)} {key}")
    pixels, latin = pickled_pixels(array, place, rows * PIXELS, f"{rows} rows")
    return Table(split, pixels, rows, SHAPE, planes=True, latin=latin), labels


def _read_binary(data_set: DataSet, place: Place, file: BinaryIO, split: str, which: str) -> Batch:
    stride = data_set.label_bytes + PIXELS
    rows, over = divmod(place.size, stride)
    if over or not rows:
        raise Refused(f"has {place.size:,} bytes, which are no whole rows of {stride}: it is cut, or of another data set")
    columns = []
    for first in range(0, rows, PIECE // stride):
        count = min(PIECE // stride, rows - first)
        data = file.read(count * stride)
        if len(data) < count * stride:
            raise Refused("is cut")
        labels = np.frombuffer(data, np.uint8).reshape(-1, stride)[:, 0 if which == "coarse" else data_set.label_bytes - 1]
        columns.append(labels.astype(np.int64))
    return Table(split, place, rows, SHAPE, skip=data_set.label_bytes, planes=True), np.concatenate(columns)
