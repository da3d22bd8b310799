"""The sources ``cifar10:PATH`` and ``cifar100:PATH``: the python or the binary version, the tar.gz or the folder.

Rows keep the order of the files. Every form gives the same samples: ids, labels, and the sha256 of the pixels.

References
----------
Krizhevsky, Learning Multiple Layers of Features from Tiny Images (2009); https://www.cs.toronto.edu/~kriz/cifar.html
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import SourceError, first_few
from .labels import check_labels, named_classes
from .pickles import Refused, load_fields, pixels, texts, whole_numbers
from .rows import Rows, Table, row_source, wanted_splits
from .source import Source
from .tarred import named_files, reading

PIXELS = 3 * 32 * 32
MOST_NAMES = 1000
"""Classes that a file may name: it has a hundred at most."""


@dataclass(frozen=True)
class Published:
    """One of the two data sets: the names of its files."""

    title: str
    places: tuple[str, ...]
    """Its folders and archives, as they lie in the folder that they were downloaded to; those that are preferred first.
    """
    meta: str
    """The file of the class names of the python version."""
    names: Mapping[str, tuple[str, str]]
    """Which labels -> the key of their names in meta, and the binary version's file of names."""
    batches: Mapping[str, tuple[str, ...]]
    """split -> files, with ``.bin`` at the end in the binary version."""


SETS = {
    "cifar10": Published(
        "CIFAR-10",
        ("cifar-10-batches-bin", "cifar-10-batches-py", "cifar-10-binary.tar.gz", "cifar-10-python.tar.gz"),
        "batches.meta",
        {"labels": ("label_names", "batches.meta.txt")},
        {"test": ("test_batch",), "train": tuple(f"data_batch_{i}" for i in range(1, 6))},
    ),
    "cifar100": Published(
        "CIFAR-100",
        ("cifar-100-binary", "cifar-100-python", "cifar-100-binary.tar.gz", "cifar-100-python.tar.gz"),
        "meta",
        {
            "fine_labels": ("fine_label_names", "fine_label_names.txt"),
            "coarse_labels": ("coarse_label_names", "coarse_label_names.txt"),
        },
        {"test": ("test",), "train": ("train",)},
    ),
}


def open_ten(path: Path, *, split: str | None = None) -> Source:
    """Open CIFAR-10; see `open_source`."""
    return _open("cifar10", path, "labels", split)


def open_hundred(path: Path, *, labels: str = "fine", split: str | None = None) -> Source:
    """Open CIFAR-100 with its ``fine`` or its ``coarse`` labels."""
    if labels not in ("fine", "coarse"):
        raise SourceError(f"--labels is {labels!r}; for cifar100 expected one of fine, coarse.")
    return _open("cifar100", path, f"{labels}_labels", split)


def _open(scheme: str, path: Path, which: str, split: str | None) -> Source:
    published = SETS[scheme]
    if path.is_dir() and not any((path / meta).exists() for meta in (published.meta, published.names[which][1])):
        path = next((path / name for name in published.places if (path / name).exists()), path)
    files = sorted(path.iterdir()) if path.is_dir() else []
    return row_source(scheme, files or [path], _read, scheme, path, wanted_splits(split), which)


def _read(scheme: str, path: Path, splits: tuple[str, ...], which: str) -> Rows:
    published = SETS[scheme]
    key, names_file = published.names[which]
    batches = [(split, batch) for split in splits for batch in published.batches[split]]
    wanted = {published.meta, names_file, *(name for _, batch in batches for name in (batch, f"{batch}.bin"))}
    paths, contents = named_files(path, wanted, "*")
    files = {name.rpartition("/")[2]: data for name, data in contents.items()}
    held = first_few(sorted(name.rpartition("/")[2] for name in paths), 12) or "nothing"
    if len(files) < len(contents):
        raise SourceError(
            f"{path} has files of {published.title} in several folders. Expected the archive as it was downloaded."
        )
    binary = published.meta not in files
    meta = names_file if binary else published.meta
    if meta not in files:
        raise SourceError(
            f"The source {scheme}: {path} has no {published.meta} or {names_file}, which hold the class names; it "
            f"holds {held}. Expected {published.title} as it was downloaded, or its extracted folder."
        )
    with reading(path / meta):
        if binary:
            names = [line.strip() for line in files[meta].decode("utf-8", "replace").splitlines() if line.strip()]
        else:
            names = texts(load_fields(files[meta])[key], MOST_NAMES)
    classes, tables = named_classes(names, f"{path}: {meta}"), []
    for split, batch in batches:
        name = f"{batch}.bin" if binary else batch
        if name not in files:
            raise SourceError(
                f"{path} has no {name} of the split {split}; it holds {held}. Download the archive again, or choose "
                "another --split."
            )
        with reading(path / name):
            rows, labels = _binary(files[name], which) if binary else _pickled(files[name], which)
        check_labels(labels, len(classes) - 1, f"{path}: {name}")
        tables.append(Table(split, rows.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), labels))
    return classes, tables


def _pickled(data: bytes | bytearray, which: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    fields = load_fields(data)
    rows = pixels(fields["data"])
    labels = whole_numbers(fields[which], len(rows))
    if rows.shape != (len(labels), PIXELS):
        raise Refused(
            f"it has data of shape {rows.shape} and {len(labels)} labels; expected a label for each row of "
            f"{PIXELS} bytes"
        )
    return rows, labels


def _binary(data: bytes | bytearray, which: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    label_bytes = 1 if which == "labels" else 2  # the coarse label comes first
    rows, over = divmod(len(data), label_bytes + PIXELS)
    if over or not rows:
        raise Refused(
            f"it has {len(data):,} bytes, which are no whole rows of {label_bytes + PIXELS}: it is cut, or of another "
            "data set"
        )
    table = np.frombuffer(data, np.uint8).reshape(rows, -1)
    return table[:, label_bytes:], table[:, 0 if which == "coarse_labels" else label_bytes - 1].astype(np.int64)
