"""Check one set of a data set: its rows, then every image that they name.

A task is self-contained and picklable, so that sets, or slices of a large one, can be checked by several processes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...pixels import pixel_digest
from ..disk.jsonl import BadLine, scan_jsonl
from ..disk.listing import Listing, empty_folders, list_files, plain_file, printable
from ..images.arrays import ArrayFile, NotAShard
from ..images.pictures import FORMATS, NotAPicture, decode
from ..images.shards import INDEX, LABELS, PIXELS, Shard, open_rows, shard_attributes
from ..layout import set_of_shard, set_path
from ..records.digests import set_digest, sha256_bytes
from ..records.models import ImageRecord, SetRecord, StoredRecord
from ..records.report import Problem

MOST_BAD_LINES = 20
"""A file of garbage is named by its first bad lines, not by all."""


@dataclass(frozen=True)
class SetTask:
    """What a process needs to check a set.

    Attributes
    ----------
    directory : Path
    record : SetRecord
    encoding : str
        "jpeg" or "png".
    build : str
        What shards call the build: its name and version.
    folder : str
        Where the set's single images are.
    arrays : frozenset of str
        The arrays (.npy) that hold rows of this set, where they do.
    containers : tuple of str
    labels : (N,) ndarray of int64, or None
        By sample; None where samples.jsonl cannot be trusted, and labels are not checked.
    folders : tuple of str
        Class folders by label.
    numbered : bool
        Whether single images are called by their index, in no class folder.
    prune : frozenset of str
        Image folders of other sets.
    shards : frozenset of str
        The manifest's shards of this set.
    sound : frozenset of str
        Those whose bytes are as recorded: only these are opened, as the HDF5 library may crash on damaged ones.
    sizes, hashes, pixels : bool
        How far up the ladder to go.
    part, parts : int
        Which slice of the rows; slice 0 also checks the records.
    """

    directory: Path
    record: SetRecord
    encoding: str
    build: str
    folder: str
    arrays: frozenset[str]
    containers: tuple[str, ...]
    labels: NDArray[np.int64] | None
    folders: tuple[str, ...]
    numbered: bool = False
    prune: frozenset[str] = frozenset()
    shards: frozenset[str] = frozenset()
    sound: frozenset[str] = frozenset()
    sizes: bool = True
    hashes: bool = True
    pixels: bool = True
    part: int = 0
    parts: int = 1


@dataclass
class Found:
    """What checking a task found."""

    problems: list[Problem] = field(default_factory=list)
    checked: Counter[str] = field(default_factory=Counter)

    def add(self, path: str, kind: str, detail: str) -> None:
        """Note a problem."""
        self.problems.append(Problem(printable(path), kind, detail))


def check_set(task: SetTask) -> Found:
    """Check a set as far as the task asks."""
    found = Found()
    rows, whole = _rows(task, found if task.part == 0 else Found())
    if rows is None:
        return found
    listing = Listing() if task.arrays else list_files(task.directory, task.folder, task.prune - {task.folder})
    good = _stored(task, rows, listing, found if task.part == 0 else Found(), whole=whole)
    if task.hashes:
        start, stop = (len(rows) * k // task.parts for k in (task.part, task.part + 1))
        seen: set[str] = set()
        by_shard: dict[str, list[tuple[ImageRecord, StoredRecord]]] = defaultdict(list)
        for row in rows[start:stop]:
            for stored in row.files:
                if stored.row is not None:
                    by_shard[stored.path].append((row, stored))
                elif stored.path in good:
                    seen |= _check_file(task, row, stored, found)
        recorded = Counter(f.path for row in rows for f in row.files if f.row is not None)
        for path, entries in by_shard.items():
            if path in task.sound:
                alone = whole and path not in task.arrays
                _check_shard(task, path, entries, recorded[path] if alone else None, seen, found)
    return found


def _rows(task: SetTask, found: Found) -> tuple[list[ImageRecord] | None, bool]:
    """Check the set's rows, totals and digest; return the rows that are records (None: no file) and whether that is all of them."""
    path = set_path(task.record.id)
    rows: list[ImageRecord] = []
    bad = 0
    # a link in the way is named by the listing of the whole directory
    if not plain_file(task.directory, path):
        return None, False
    try:
        for row in scan_jsonl(task.directory / path, ImageRecord):
            if isinstance(row, BadLine):
                bad += 1
                if bad <= MOST_BAD_LINES:
                    found.add(path, "schema", str(row))
            else:
                if not bad and row.index != len(rows):
                    found.add(path, "records", f"row {len(rows)} has index {row.index}")
                rows.append(row)
    except OSError as e:
        found.add(path, "unreadable", f"{e.strerror}")
        return None, False
    if bad > MOST_BAD_LINES:
        found.add(path, "schema", f"{bad - MOST_BAD_LINES} more lines are not records")
    if bad:
        return rows, False
    record = task.record
    totals = (len(rows), sum(len(r.files) for r in rows), sum(f.bytes for r in rows for f in r.files))
    for name, stated, real in zip(("count", "files", "bytes"), (record.count, record.files, record.bytes), totals, strict=True):
        if stated != real:
            found.add(path, "records", f"the manifest's {name} of this set is {stated}, the rows give {real}")
    if (real_digest := set_digest(r.pixels for r in rows)) != record.pixel_digest:
        found.add(path, "digest", f"the manifest's pixel_digest of this set is {record.pixel_digest}, the rows give {real_digest}")
    return rows, True


def _stored(task: SetTask, rows: list[ImageRecord], listing: Listing, found: Found, *, whole: bool) -> set[str]:
    """Check where rows say that images are against what is there; return the single files worth reading.

    Where rows are not the whole, nothing is called unexpected: it may be what an unreadable row names.
    """
    found.problems += listing.problems
    left = dict(listing.files)
    good: set[str] = set()
    taken: dict[str, set[int]] = defaultdict(set)
    rows_path = set_path(task.record.id)
    for row in rows:
        if sorted("folder" if f.row is None else "hdf5" for f in row.files) != sorted(task.containers):
            found.add(rows_path, "records", f"row {row.index} is not stored once in each of {', '.join(task.containers)}")
        if task.encoding == "jpeg" and len({f.sha256 for f in row.files}) > 1:
            found.add(rows_path, "records", f"the containers of row {row.index} hold different bytes")
        for f in row.files:
            if f.row is not None:
                if not (f.path in task.arrays or set_of_shard(f.path) == task.record.id) or f.path not in task.shards:
                    found.add(rows_path, "records", f"row {row.index} is in {f.path}, which is not a shard of this set in the manifest")
                    continue
                if f.row in taken[f.path]:
                    found.add(rows_path, "records", f"row {row.index} is in {f.path} at row {f.row}, as is another")
                taken[f.path].add(f.row)
                continue
            known = task.labels is not None and row.index < len(task.labels)
            folder = task.folders[task.labels[row.index]] if task.labels is not None and known else None
            if mistake := _misplaced(task, f.path, row.index, folder):
                found.add(rows_path, "records", f"row {row.index} is in {f.path}; {mistake}")
            size = left.pop(f.path, None)
            found.checked["images"] += int(size is not None)
            if size is None and f.path in listing.files:
                found.add(rows_path, "records", f"row {row.index} is in {f.path}, as is another")
            elif size is None and f.path.startswith(f"{task.folder}/"):
                if not listing.hides(f.path):
                    found.add(f.path, "missing", f"image {row.index} of set {task.record.id}")
            elif task.sizes and size is not None and size != f.bytes:
                found.add(f.path, "size", f"has {size} bytes, recorded are {f.bytes}")
            elif size is not None:
                good.add(f.path)
    if whole:
        for path in sorted(left):
            found.add(path, "unexpected", f"no row of set {task.record.id} names this file")
        found.problems += empty_folders(listing, (f.path for row in rows for f in row.files if f.row is None))
        for path in sorted(task.shards - taken.keys()):
            found.add(path, "unexpected", f"no row of set {task.record.id} is in this shard")
    for path, numbers in sorted(taken.items()):
        found.checked["images"] += len(numbers)
        # an array holds several sets one after the other
        start = min(numbers) if path in task.arrays else 0
        if whole and numbers != set(range(start, start + len(numbers))):
            found.add(rows_path, "records", f"the rows in {path} are not {start} to {start + len(numbers) - 1}")
    return good


def _misplaced(task: SetTask, path: str, index: int, folder: str | None) -> str | None:
    suffix = "." + FORMATS[task.encoding][1]
    start = f"{task.folder}/" + (f"{folder}/" if folder is not None and not task.numbered else "")
    name = path.removeprefix(start).removesuffix(suffix)
    if len(name) != len(path) - len(start) - len(suffix):
        return f"expected is {start}...{suffix}"
    if task.numbered and name != f"{index:0{len(name)}d}":
        return f"expected is the number {index} as its name"
    return None


def _check_file(task: SetTask, row: ImageRecord, stored: StoredRecord, found: Found) -> set[str]:
    """Check the bytes and pixels of a single file; return the hash of bytes that were found to decode."""
    try:
        data = (task.directory / stored.path).read_bytes()
    except OSError as e:
        found.add(stored.path, "unreadable", f"{e.strerror}")
        return set()
    found.checked["bytes"] += len(data)
    if (sha256 := sha256_bytes(data)) != stored.sha256:
        found.add(stored.path, "hash", f"has {sha256}, recorded is {stored.sha256}")
        return set()
    if not task.pixels:
        return set()
    try:
        image = decode(data, task.encoding)
    except NotAPicture as e:
        found.add(stored.path, "decode", str(e))
        return set()
    if task.encoding == "png":
        _check_pixels(stored.path, image, row, found)
    return {sha256}


def _check_pixels(path: str, image: NDArray[np.uint8], row: ImageRecord, found: Found) -> None:
    if (digest := pixel_digest(image)) != row.pixels:
        found.add(path, "pixels", f"the pixels have {digest}, recorded is {row.pixels}")


def _check_shard(
    task: SetTask, path: str, entries: list[tuple[ImageRecord, StoredRecord]], recorded: int | None, seen: set[str], found: Found
) -> None:
    """Check rows of a shard whose bytes are as recorded; `recorded` is how many it should have, where that is known."""
    try:
        shard = open_rows(task.directory / path)
    except (NotAShard, OSError, KeyError, ValueError, RuntimeError, TypeError) as e:
        found.add(path, "decode", f"is not a shard: {e}")
        return
    try:
        if shard.encoded != (task.encoding == "jpeg"):
            found.add(path, "shape", f"holds {'encoded' if shard.encoded else 'raw'} images; the manifest's encoding is {task.encoding}")
            return
        if isinstance(shard, Shard):
            attributes = shard_attributes(task.record.id, task.build, task.encoding if shard.encoded else "raw")
            for stranger in shard.strangers(attributes):
                found.add(path, "records", stranger)
        if recorded is not None and shard.rows != recorded:
            found.add(path, "shape", f"has {shard.rows} rows, recorded are {recorded}")
        inside = [(row, stored) for row, stored in entries if stored.row is not None and stored.row < shard.rows]
        for _row, stored in entries:
            if stored.row is not None and stored.row >= shard.rows:
                found.add(f"{path}#{stored.row}", "missing", f"the shard has {shard.rows} rows")
        if isinstance(shard, Shard):
            _check_columns(task, shard, path, inside, found)
        for (row, stored), data in zip(inside, _in_order(shard, [stored.row or 0 for _, stored in inside]), strict=True):
            _check_row(task, f"{path}#{stored.row}", data, row, stored, seen, found)
    except (NotAShard, OSError, KeyError, ValueError, RuntimeError, TypeError) as e:
        found.add(path, "decode", f"cannot be read: {e}")
    finally:
        shard.close()


def _in_order(shard: Shard | ArrayFile, numbers: list[int]) -> Iterator[NDArray[np.uint8]]:
    if numbers == list(range(numbers[0], numbers[0] + len(numbers))) if numbers else False:
        yield from shard.stream(numbers[0], numbers[0] + len(numbers))
    else:
        yield from (shard.row(n) for n in numbers)


def _check_columns(task: SetTask, shard: Shard, path: str, entries: list[tuple[ImageRecord, StoredRecord]], found: Found) -> None:
    index, pixels, labels = shard.column(INDEX), shard.column(PIXELS), shard.column(LABELS)
    for row, stored in entries:
        name = f"{path}#{stored.row}"
        if index[stored.row] != row.index:
            found.add(name, "records", f"the shard's index is {index[stored.row]}, recorded is {row.index}")
        if pixels[stored.row].tobytes().hex() != row.pixels.removeprefix("blake3:"):
            found.add(name, "records", "the shard's pixel digest is not the recorded one")
        known = task.labels
        if known is not None and row.index < len(known) and labels[stored.row] != known[row.index]:
            found.add(name, "records", f"the shard's label is {labels[stored.row]}, the sample's is {known[row.index]}")


def _check_row(
    task: SetTask, name: str, data: NDArray[np.uint8], row: ImageRecord, stored: StoredRecord, seen: set[str], found: Found
) -> None:
    found.checked["bytes"] += data.nbytes
    if data.nbytes != stored.bytes:
        found.add(name, "size", f"has {data.nbytes} bytes, recorded are {stored.bytes}")
        return
    plain = np.ascontiguousarray(data)
    if (sha256 := sha256_bytes(plain.data)) != stored.sha256:
        found.add(name, "hash", f"has {sha256}, recorded is {stored.sha256}")
    elif task.pixels and task.encoding == "png":
        _check_pixels(name, plain, row, found)
    # the very same bytes were decoded when the file was checked
    elif task.pixels and sha256 not in seen:
        try:
            decode(plain.data, task.encoding)
        except NotAPicture as e:
            found.add(name, "decode", str(e))
