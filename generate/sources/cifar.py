"""The sources ``cifar10:PATH`` and ``cifar100:PATH``: the python or the binary version, the tar.gz or the folder.

Rows keep the order of the files. Every form gives the same samples: ids, labels, and the sha256 of the pixels. A batch is
looked through once, in pieces, its rows are digested on the way, and nothing of it is held but where they lie: an archive is
unpacked once to list it, and once more to build from it.

References
----------
Krizhevsky, Learning Multiple Layers of Features from Tiny Images (2009); https://www.cs.toronto.edu/~kriz/cifar.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...errors import SourceError, listed
from .blocks import Block
from .pickles import Array, Latin, Pickle, Refused, Span, Stored
from .rows import RowSource, check_labels, named_classes, wanted_splits
from .streams import Place, read_place
from .tarred import list_tar

PIXELS = 3 * 32 * 32
SHAPE = (32, 32, 3)
MOST_BATCH_BYTES = 1 << 30
MOST_META_BYTES = 1 << 20
MOST_METAS = 16
MOST_STRINGS = 16
"""Long strings of a pickle that are looked through in passing; one of them is the pixels."""
PUBLISHED_BATCH = 10_000
"""Rows of a batch of CIFAR-10 as it is published; there are then five batches to train on."""


@dataclass(frozen=True)
class Kind:
    """One of the two data sets: how its files are called."""

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


TEN = Kind(
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
HUNDRED = Kind(
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

T = TypeVar("T")


@dataclass(frozen=True)
class Batch:
    """A file of rows that was looked through."""

    block: Block
    labels: NDArray[np.int64]


@dataclass
class Files:
    """The files of a source."""

    places: dict[str, Place]
    """By name."""
    batches: dict[str, Batch | Refused] = field(default_factory=dict)
    """Those that were looked through on the way, and what is wrong with others."""
    metas: dict[str, bytes] = field(default_factory=dict)
    """Small files that were read on the way."""


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


def _open(kind: Kind, rest: str, which: str, split: str | None) -> RowSource:
    splits = wanted_splits(split)
    path, files = _files(kind, rest, which, splits)
    form = next((f for f in ("python", "binary") if kind.meta[f] in files.places), None)
    if form is None:
        raise SourceError(
            f"The source {kind.scheme}:{rest}: {path} has no {' or '.join(kind.meta.values())}, which hold the class names; it holds "
            f"{', '.join(sorted(files.places)[:8]) or 'nothing'}. Expected {kind.title} as it was downloaded, or its extracted folder."
        )
    names, rows_said = _meta(kind, form, files, which)
    classes = named_classes(names, f"{path}: {kind.meta[form]}")
    blocks, labels = [], []
    wanted = [(one, name) for one in splits for name in _batches(kind, form, files.places, one, path)]
    # In the order that they lie in, so that an archive is gone through once.
    found = {name: _batch(kind, files, name, one, which) for one, name in sorted(wanted, key=lambda w: files.places[w[1]].offset)}
    for one in splits:
        for name in (name for of, name in wanted if of == one):
            batch = found[name]
            where = f"{path}: {name}"
            if rows_said is not None and batch.block.rows != rows_said:
                raise SourceError(
                    f"{where} has {batch.block.rows} rows, and {kind.meta[form]} says {rows_said} a batch. Download the archive again."
                )
            check_labels(batch.labels, 0, len(names) - 1, where)
            blocks.append(batch.block)
            labels.append(batch.labels)
        _check_complete(kind, one, [b for b in blocks if b.split == one], path)
    return RowSource(kind.scheme, blocks, labels, classes)


def _files(kind: Kind, rest: str, which: str, splits: tuple[str, ...]) -> tuple[Path, Files]:
    """Return where a source lies, and its files; the batches of an archive are looked through while it is listed."""
    if not rest:
        raise SourceError(f"The source {kind.scheme} needs a path: {kind.scheme}:PATH, of {kind.archives[0]} or its extracted folder.")
    path = Path(rest).expanduser()
    if path.is_dir():
        inside = [path / name for name in (*kind.folders.values(), *kind.archives)]
        if not any((path / meta).exists() for meta in kind.meta.values()):
            path = next((p for p in inside if p.exists()), path)
    path = path.resolve()
    if path.is_dir():
        return path, Files({p.name: Place(p, 0, p.stat().st_size) for p in sorted(path.iterdir()) if p.is_file()})
    if not path.exists():
        raise SourceError(f"The source {kind.scheme}:{rest}: {path} is not there. Expected {kind.archives[0]} or its extracted folder.")
    files = Files({})

    def look(member: str, place: Place) -> None:
        name = member.rpartition("/")[2]
        split = _split_of(kind, name)
        if split in splits and name not in files.batches:
            try:
                files.batches[name] = _looked_through(kind, name, place, split, which)
            except Refused as e:
                files.batches[name] = e  # said when it is known that the archive is whole, and that this file is wanted
        elif name.endswith((".txt", "meta")) and place.size <= MOST_META_BYTES and len(files.metas) < MOST_METAS:
            files.metas.setdefault(name, read_place(place))

    tar = list_tar(path, look)
    if tar.notes:
        raise SourceError(
            f"{path} is not {kind.title} as it is published; it has:\n{listed([f'{p}: {r}' for p, r in tar.notes])}\nDownload it again."
        )
    names = [name.rpartition("/")[2] for name in tar.files]
    doubled = sorted({n for n in names if names.count(n) > 1})
    if doubled:
        raise SourceError(f"{path} holds {', '.join(doubled[:5])} in several folders. Expected {kind.archives[0]} as it was downloaded.")
    files.places = dict(zip(names, tar.files.values(), strict=True))
    return path, files


def _split_of(kind: Kind, name: str) -> str | None:
    """Return the split that a file would be a batch of, by its name."""
    stem = name.removesuffix(".bin")
    if stem == kind.test:
        return "test"
    return "train" if re.fullmatch(kind.train.replace("{}", "[1-9][0-9]?"), stem) else None


def _batches(kind: Kind, form: str, files: Mapping[str, Place], split: str, path: Path) -> list[str]:
    suffix = ".bin" if form == "binary" else ""
    pattern = (kind.test if split == "test" else kind.train) + suffix
    if "{}" not in pattern:
        found = [pattern] if pattern in files else []
    else:
        here = [i for i in range(1, 100) if pattern.format(i) in files]
        if here and here != list(range(1, len(here) + 1)):
            raise SourceError(f"{path} lacks a batch: it has those of the numbers {here}. Download the archive again.")
        found = [pattern.format(i) for i in here]
    if not found:
        raise SourceError(
            f"{path} has no {pattern.format(1)}, which the split {split} is in; it holds {', '.join(sorted(files)[:12])}. "
            "Download the archive again, or choose another --split."
        )
    return found


def _check_complete(kind: Kind, split: str, blocks: list[Block], path: Path) -> None:
    if kind is TEN and split == "train" and blocks[0].rows == PUBLISHED_BATCH and len(blocks) != 5:
        raise SourceError(f"{path} has {len(blocks)} of the five batches to train on. Download the archive again.")


def _meta(kind: Kind, form: str, files: Files, which: str) -> tuple[list[str], int | None]:
    """Return the class names, and the rows of a batch where the file says it."""
    if form == "binary":
        name = "coarse_label_names.txt" if which == "coarse" else kind.meta[form]
        if name not in files.places:
            raise SourceError(f"{kind.title} has no {name} beside its batches, which holds the class names. Download the archive again.")
        lines = _small(files, name).decode("utf-8", "replace").splitlines()
        return [line.strip() for line in lines if line.strip()], None

    def read(pickle: Pickle) -> tuple[list[str], int | None]:
        fields = pickle.fields()
        rows, pixels = fields.get("num_cases_per_batch"), fields.get("num_vis", PIXELS)
        if pixels != PIXELS:
            raise Refused(f"says {pixels} values a row, and {kind.title} has {PIXELS}")
        if kind.names[which] not in fields:
            raise Refused(f"holds no {kind.names[which]}; it is the meta of another data set")
        return pickle.texts(fields[kind.names[which]]), rows if isinstance(rows, int) else None

    name = kind.meta[form]
    return _said(files, name, lambda: read(Pickle(_small(files, name))), name)


def _small(files: Files, name: str) -> bytes:
    place = files.places[name]
    if place.size > MOST_META_BYTES:
        raise SourceError(f"{place.path}: its list of class names has {place.size:,} bytes; expected a few hundred. Download it again.")
    return files.metas[name] if name in files.metas else read_place(place)


def _said(files: Files, name: str, make: Callable[[], T], called: str) -> T:
    """Return what is made, or say of which file it is that something is wrong with."""
    try:
        return make()
    except Refused as e:
        raise SourceError(f"{files.places[name].path}: {called} {e}. Download it again from where it is published.") from None


def _batch(kind: Kind, files: Files, name: str, split: str, which: str) -> Batch:
    """Return a batch: as it was looked through, or looked through now."""
    place = files.places[name]

    def found() -> Batch:
        looked = files.batches.get(name)
        if isinstance(looked, Refused):
            raise looked
        return _looked_through(kind, name, place, split, which) if looked is None else looked

    return _said(files, name, found, f"the batch {name}")


def _looked_through(kind: Kind, name: str, place: Place, split: str, which: str) -> Batch:
    return (_binary if name.endswith(".bin") else _python)(kind, place, split, which)


def _python(kind: Kind, place: Place, split: str, which: str) -> Batch:
    if place.size > MOST_BATCH_BYTES:
        raise Refused(f"has {place.size:,} bytes, which no batch of {kind.title}'s has")
    key = "labels" if which == "labels" else f"{which}_labels"
    strings: dict[int, Block | None] = {}

    def look(span: Span) -> None:
        if len(strings) < MOST_STRINGS:
            strings[span.offset] = _rows(place, span, split)

    pickle = Pickle(Stored(place.size, lambda offset, size: read_place(place.part(offset, size))), look)
    fields: dict[str, Any] = pickle.fields()
    missing = [k for k in ("data", key) if k not in fields]
    if missing:
        raise Refused(f"holds no {' and no '.join(missing)} (it holds {', '.join(sorted(fields)[:8])}), so it is no batch of {kind.title}")
    labels = pickle.integers(fields[key])
    array = fields["data"]
    if not isinstance(array, Array):
        raise Refused("has data that is no array")
    rows = array.shape[0] if array.shape else 0
    if array.dtype != "u1" or array.shape != (rows, PIXELS) or not rows or (array.fortran and rows > 1):
        kept = ", stored column by column" if array.fortran else ""
        raise Refused(f"has data of {array.dtype} {array.shape}{kept}; expected rows of {PIXELS} bytes (u1)")
    if len(labels) != rows:
        raise Refused(f"has {rows} rows and {len(labels)} {key}")
    span = array.data.span if isinstance(array.data, Latin) else array.data
    if not isinstance(span, Span) or span.text != isinstance(array.data, Latin):
        raise Refused("was saved under pickle's protocol 0, whose pixels cannot be reached in place: save it under protocol 2")
    block = strings[span.offset] if span.offset in strings else _rows(place, span, split)
    if block is None or block.rows != rows:
        raise Refused(f"does not hold the bytes of {rows} rows of {PIXELS}: they take {span.size:,}")
    return Batch(block, labels)


def _rows(place: Place, span: Span, split: str) -> Block | None:
    """Return the rows of a string, digested, if it can be pixels."""
    rows, over = divmod(span.size, PIXELS)
    block = Block(split, place.part(span.offset, span.size), rows, PIXELS, 0, SHAPE, planes=True)
    if span.text:
        return block.digested_text()
    return None if over or not rows else block.digested()


def _binary(kind: Kind, place: Place, split: str, which: str) -> Batch:
    stride = kind.label_bytes + PIXELS
    rows, over = divmod(place.size, stride)
    if over or not rows:
        raise Refused(f"has {place.size:,} bytes, which are no whole rows of {stride}: it is cut, or of another data set")
    columns = np.empty((rows, kind.label_bytes), np.uint8)
    block = Block(split, place, rows, stride, kind.label_bytes, SHAPE, planes=True).digested(columns)
    return Batch(block, columns[:, 0 if which == "coarse" else -1].astype(np.int64))
