"""The source ``parquet:PATH``: images and labels in Parquet files, the form in which Hugging Face shares datasets.

The image column is a struct with the fields ``bytes``, the content of an image file, and ``path``, the name of this
file. The schema's ``huggingface`` metadata states which columns contain images and labels, and names the classes.
Labels and file names are read when the source is opened. Images are read in batches when they are needed.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ...errors import SourceError, format_list, install_extra
from ...files import file_problem
from ...manifests.records.models import ClassRecord
from .decoding import BadSample, decode
from .image_listing import IMAGE_SUFFIXES
from .labels import (
    MAX_LABEL,
    class_problems,
    find_collisions,
    folder_classes,
    name_problem,
    named_classes,
    nfc,
    numbered_classes,
    printable_path,
)
from .parquet_columns import Columns, find_columns, open_parquet
from .parquet_rows import BATCH_BYTES, image_rows
from .shard_names import parquet_shards
from .source import Note, Sample, Source
from .tar_archives import FileVersion, file_version

PNG = b"\x89PNG\r\n\x1a\n"
LABEL_ROWS = 1 << 16
"""Number of rows per batch of labels and names."""
EMPTY = "contains no rows: download it again, or remove it"


class RowLocation(NamedTuple):
    """Location of an image in one of several files."""

    file: int
    row: int


class _Row(NamedTuple):
    split: str | None
    location: RowLocation
    label: int | str | None
    name: str | None
    """The field ``path`` of the image's struct."""


def open(path: Path, *, labels: str | None = None, images: str | None = None, split: str | None = None) -> Source:
    """Open a Parquet file or a folder of Parquet files. Labels and names are read, but no images.

    Parameters
    ----------
    path : Path
        A file, or a folder of files.
    labels, images : str, optional
        Names of the columns. By default, columns are found by the Hugging Face metadata or by their usual names.
    split : {"test", "val", "train", "all"}, optional
        The split, if a folder has several.

    Raises
    ------
    SourceError
        pyarrow is not installed, a file is damaged or is not a Parquet file, or a file does not have these columns.
    """
    if importlib.util.find_spec("pyarrow") is None:
        raise SourceError(f"The source parquet needs pyarrow, which is not installed. {install_extra('parquet')}")
    splits = parquet_shards(path, split)
    files = [file for _, group in splits for file in group]
    for file in files:
        if (problem := file_problem(file)) is not None:
            raise SourceError(f"The source parquet cannot be read: {file} {problem}. Expected Parquet files.")
    columns = find_columns(files[0], images, labels)
    notes: list[Note] = []
    rows: list[_Row] = []
    for name, group in splits:
        for file in group:
            if (other := find_columns(file, columns.image, columns.label)) != columns:
                raise SourceError(
                    f"{file} has different columns or classes than {files[0]} ({other.described}; "
                    f"{columns.described}). Check that both files belong to the same dataset, or download them again."
                )
            before = len(rows)
            number = files.index(file)
            rows += (_Row(name, RowLocation(number, row), *values) for row, values in enumerate(_values(file, columns)))
            notes += [(file.name, EMPTY)] * (len(rows) == before)
    return _source(path, files, columns, rows, notes)


def _values(file: Path, columns: Columns) -> Iterator[tuple[int | str | None, str | None]]:
    """Yield the label and the name of every row."""
    wanted = [columns.label, *([f"{columns.image}.path"] if columns.has_path else [])]
    with open_parquet(file) as parquet:
        for batch in parquet.iter_batches(LABEL_ROWS, columns=wanted, use_threads=False):
            labels = batch.column(columns.label).to_pylist()
            names: Sequence[str | None] = [None] * len(labels)
            if columns.has_path:
                names = batch.column(columns.image).field("path").to_pylist()
            yield from zip(labels, names, strict=True)


def _source(path: Path, files: Sequence[Path], columns: Columns, rows: Sequence[_Row], notes: list[Note]) -> Source:
    classes, label_of = _classes(columns, rows, str(path))
    ids = _names(rows)
    named = ids is not None
    if ids is None:
        ids = _row_numbers(rows)
    samples = []
    names = [file.name for file in files]
    for row, identity in zip(rows, ids, strict=True):
        where = f"{names[row.location.file]}, row {row.location.row}"
        label = label_of.get(row.label)
        if label is None:
            notes.append((where, f"has {columns.label} {row.label!r}; expected {columns.expected}: leave it out"))
        else:
            samples.append((identity, row.split, row.location, label, where))
    if named:
        samples.sort()
    if not samples:
        problems = format_list([f"{where}: {problem}" for where, problem in notes], 10)
        raise SourceError(f"The source parquet:{path} has no row that can be used:\n{problems}")
    return Source(
        "parquet",
        tuple(
            Sample(index, identity, label, where, split, location=location)
            for index, (identity, split, location, label, where) in enumerate(samples)
        ),
        classes,
        partial(_read, tuple((str(file), file_version(file)) for file in files), columns.image, named),
        tuple(notes),
        memory_bytes=2 * BATCH_BYTES,
    )


def _classes(
    columns: Columns, rows: Sequence[_Row], where: str
) -> tuple[tuple[ClassRecord, ...], dict[int | str | None, int]]:
    """Return the classes, and a mapping from the valid values of the label column to labels."""
    values = {row.label for row in rows}
    if columns.names:
        return _name_classes(columns.names, where), {number: number for number in range(len(columns.names))}
    if columns.numeric:
        good = sorted(v for v in values if isinstance(v, int) and 0 <= v <= MAX_LABEL)
        return numbered_classes(good[-1]) if good else (), {v: v for v in good}
    texts = {v: nfc(v) for v in values if isinstance(v, str) and v}
    names = sorted(set(texts.values()))
    if problems := class_problems(names):
        raise SourceError(f"{where} has labels that are not names of classes: {problems[0]}.")
    index_of = {name: i for i, name in enumerate(names)}
    return folder_classes(names), {value: index_of[text] for value, text in texts.items()}


def _name_classes(names: Sequence[str], where: str) -> tuple[ClassRecord, ...]:
    """Return classes with the given names. If a name cannot be the name of a folder, all folders are numbered."""
    if len(set(names)) == len(names) and not class_problems(names):
        return named_classes(names, where)
    width = len(str(len(names) - 1))
    return tuple(
        ClassRecord(
            index=i, name=printable_path(nfc(name)), folder=f"{i:0{width}d}_{re.sub(r'[^A-Za-z0-9]+', '_', name)[:60]}"
        )
        for i, name in enumerate(names)
    )


def _names(rows: Sequence[_Row]) -> list[str] | None:
    """Return ids from the names of the images, or None if a name cannot be an id or if two rows have the same name."""
    ids = []
    for row in rows:
        name = row.name or ""
        if not name or name_problem(name) is not None or not all(p.strip(".") for p in name.split("/")):
            return None
        stem, _, suffix = name.rpartition(".")
        ids.append(nfc(stem if stem and suffix.lower() in IMAGE_SUFFIXES else name))
    return None if find_collisions({str(number): text for number, text in enumerate(ids)}) else ids


def _row_numbers(rows: Sequence[_Row]) -> list[str]:
    """Return ids that consist of a split and a row number, like the ids of CIFAR."""
    counts: dict[str | None, int] = {}
    ids = []
    for row in rows:
        number = counts.get(row.split, 0)
        counts[row.split] = number + 1
        ids.append(f"{row.split or 'data'}/{number:05d}")
    return ids


def _read(
    files: Sequence[tuple[str, FileVersion]], column: str, named: bool, sample: Sample
) -> bytes | NDArray[np.uint8]:
    """Return the bytes of an image file, or the pixels of a PNG without a name, which was made from an array."""
    file, row = cast(RowLocation, sample.location)
    try:
        data = image_rows(*files[file], column)[row]
    except SourceError as e:
        raise BadSample(f"cannot be read any more: {e}") from None
    return decode(data) if not named and data.startswith(PNG) else data
