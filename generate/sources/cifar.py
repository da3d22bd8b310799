"""The sources ``cifar10:PATH`` and ``cifar100:PATH``: the python or the binary version, the tar.gz or the folder.

Rows keep the order of the files. Every form gives the same samples: ids, labels, and the sha256 of the pixels.

References
----------
Krizhevsky, Learning Multiple Layers of Features from Tiny Images (2009); https://www.cs.toronto.edu/~kriz/cifar.html
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import SourceError, first_few, listed
from .labels import check_labels, named_classes
from .pickles import MOST_BYTES, Refused, load_fields, pixels, texts, whole_numbers
from .places import read_whole
from .rows import Rows, RowSource, Table, wanted_splits
from .tarred import list_tar

PIXELS = 3 * 32 * 32
PUBLISHED_BATCH = 10_000
"""Rows of a batch of CIFAR-10 as it is published; there are then five batches to train on."""
Batch = tuple[NDArray[np.uint8], NDArray[np.int64]]
"""Rows of `PIXELS`, and their labels."""


@dataclass(frozen=True)
class DataSet:
    """One of the two data sets: the names of its files."""

    title: str
    places: tuple[str, ...]
    """Its folders and archives, as they lie in the folder that they were downloaded to."""
    meta: Mapping[str, str]
    """form -> file of the class names"""
    names: Mapping[str, str]
    """Which labels -> their key in the pickled meta."""
    batches: Mapping[str, str]
    """split -> file, with ``{}`` where batches are numbered."""


SETS = {
    "cifar10": DataSet(
        "CIFAR-10",
        ("cifar-10-python.tar.gz", "cifar-10-binary.tar.gz", "cifar-10-batches-py", "cifar-10-batches-bin"),
        {"python": "batches.meta", "binary": "batches.meta.txt"},
        {"labels": "label_names"},
        {"test": "test_batch", "train": "data_batch_{}"},
    ),
    "cifar100": DataSet(
        "CIFAR-100",
        ("cifar-100-python.tar.gz", "cifar-100-binary.tar.gz", "cifar-100-python", "cifar-100-binary"),
        {"python": "meta", "binary": "fine_label_names.txt"},
        {"fine": "fine_label_names", "coarse": "coarse_label_names"},
        {"test": "test", "train": "train"},
    ),
}


def open_ten(rest: str, *, labels: Path | None = None, split: str | None = None) -> RowSource:
    """Open CIFAR-10; see `open_source`."""
    if labels is not None:
        raise SourceError("The source cifar10 takes no --labels: its batches hold them.")
    return _open("cifar10", rest, "labels", split)


def open_hundred(rest: str, *, labels: Path | None = None, split: str | None = None) -> RowSource:
    """Open CIFAR-100; `labels` is ``fine`` (the default) or ``coarse``."""
    which = "fine" if labels is None else str(labels)
    if which not in SETS["cifar100"].names:
        raise SourceError(f"--labels is {which!r}; for cifar100 expected one of {', '.join(SETS['cifar100'].names)}.")
    return _open("cifar100", rest, which, split)


def _open(scheme: str, rest: str, which: str, split: str | None) -> RowSource:
    splits, data_set = wanted_splits(split), SETS[scheme]
    expected = f"{data_set.places[0]} or its extracted folder"
    if not rest:
        raise SourceError(f"The source {scheme} needs a path: {scheme}:PATH, of {expected}.")
    path = Path(rest).expanduser().resolve()
    if path.is_dir() and not any((path / meta).exists() for meta in data_set.meta.values()):
        path = next((path / name for name in reversed(data_set.places) if (path / name).exists()), path)
    if not path.exists():
        raise SourceError(f"The source {scheme}:{rest}: {path} is not there. Expected {expected}.")
    files = sorted(path.iterdir()) if path.is_dir() else []
    return RowSource(scheme, files or [path], _read, scheme, path, splits, which)


def _read(scheme: str, path: Path, splits: tuple[str, ...], which: str) -> Rows:
    data_set = SETS[scheme]
    names, files = _files(data_set, path, splits)
    form = next((form for form, meta in data_set.meta.items() if meta in names), None)
    if form is None:
        raise SourceError(
            f"The source {scheme}: {path} has no {' or '.join(data_set.meta.values())}, which hold the class names; it "
            f"holds {first_few(sorted(names), 8) or 'nothing'}. Expected {data_set.title} as it was downloaded, or its extracted folder."
        )
    name = data_set.meta[form]
    tables = []
    try:
        classes = named_classes(_class_names(data_set, files, which, form), f"{path}: {name}")
        for split in splits:
            for name in _batch_names(data_set.batches[split] + (".bin" if form == "binary" else ""), names, path, split):
                rows, labels = _binary(files[name], which) if form == "binary" else _pickled(data_set, files[name], which)
                check_labels(labels, 0, len(classes) - 1, f"{path}: {name}")
                tables.append(Table(split, rows.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), labels))
    except Refused as e:
        raise SourceError(f"{path}: {name} {e}. Download it again from where it is published.") from None
    train = [len(table.labels) for table in tables if table.split == "train"]
    if scheme == "cifar10" and PUBLISHED_BATCH in train and len(train) != 5:
        raise SourceError(f"{path} has {len(train)} of the five batches to train on. Download the archive again.")
    return classes, tables


def _files(data_set: DataSet, path: Path, splits: tuple[str, ...]) -> tuple[Collection[str], dict[str, bytes | bytearray]]:
    """Return the names of all files, and the contents of those that are needed, by name."""
    batches = [data_set.batches[split].replace("{}", "[1-9][0-9]?") for split in splits]
    wanted = re.compile(rf".*label_names\.txt|.*meta(\.txt)?|({'|'.join(batches)})(\.bin)?")
    if path.is_dir():
        found = {p.name: p for p in sorted(path.iterdir()) if p.is_file()}
        return found, {name: read_whole(file, MOST_BYTES) for name, file in found.items() if wanted.fullmatch(name)}
    tar = list_tar(path, lambda member: wanted.fullmatch(member.rpartition("/")[2]) is not None)
    names = [member.rpartition("/")[2] for member in tar.files]
    notes = [*tar.notes, *((name, "is there in several folders") for name, count in Counter(names).items() if count > 1)]
    if notes:
        raise SourceError(
            f"{path} is not {data_set.title} as it is published; it has:\n{listed([f'{p}: {r}' for p, r in notes])}\nDownload it again."
        )
    return names, {member.rpartition("/")[2]: data for member, data in tar.contents.items()}


def _batch_names(pattern: str, names: Collection[str], path: Path, split: str) -> list[str]:
    known = list(dict.fromkeys(pattern.format(i) for i in range(1, 100)))
    found = [name for name in known if name in names]
    if not found:
        raise SourceError(
            f"{path} has no {known[0]}, which the split {split} is in; it holds {first_few(sorted(names), 12)}. "
            "Download the archive again, or choose another --split."
        )
    if found != known[: len(found)]:
        raise SourceError(f"{path} lacks a batch: it has {', '.join(found)}. Download the archive again.")
    return found


def _class_names(data_set: DataSet, files: Mapping[str, bytes | bytearray], which: str, form: str) -> list[str]:
    key = data_set.names[which]
    if form == "binary":
        lines = files.get(f"{key}.txt", files[data_set.meta[form]]).decode("utf-8", "replace").splitlines()
        return [line.strip() for line in lines if line.strip()]
    fields = load_fields(files[data_set.meta[form]])
    if key not in fields:
        raise Refused(f"holds no {key}; it is the meta of another data set")
    return texts(fields[key])


def _pickled(data_set: DataSet, data: bytes | bytearray, which: str) -> Batch:
    key = "labels" if which == "labels" else f"{which}_labels"
    fields = load_fields(data)
    missing = [k for k in ("data", key) if k not in fields]
    if missing:
        raise Refused(
            f"holds no {' and no '.join(missing)} (it holds {', '.join(sorted(fields)[:8])}), so it is no batch of {data_set.title}"
        )
    rows, labels = pixels(fields["data"], "data"), whole_numbers(fields[key])
    if rows.shape[1:] != (PIXELS,):
        raise Refused(f"has data of {rows.dtype} {rows.shape}; expected rows of {PIXELS} bytes")
    if len(labels) != len(rows):
        raise Refused(f"has {len(rows)} rows and {len(labels)} {key}")
    return rows, labels


def _binary(data: bytes | bytearray, which: str) -> Batch:
    label_bytes = 1 if which == "labels" else 2  # the coarse label comes first
    rows, over = divmod(len(data), label_bytes + PIXELS)
    if over or not rows:
        raise Refused(f"has {len(data):,} bytes, which are no whole rows of {label_bytes + PIXELS}: it is cut, or of another data set")
    table = np.frombuffer(data, np.uint8).reshape(rows, -1)
    return table[:, label_bytes:], table[:, 0 if which == "coarse" else label_bytes - 1].astype(np.int64)
