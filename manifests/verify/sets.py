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

from ...digests import digits
from ...pixels import pixel_digest
from ..disk.jsonl import BadLine, R, scan_jsonl
from ..disk.listing import Listing, empty_folders, list_files, plain_file
from ..images.arrays import ArrayFile, NotAShard
from ..images.pictures import FORMATS, NotAPicture, decode, stored_format
from ..images.shards import INDEX, LABELS, PIXELS, Shard, open_rows, shard_attributes
from ..layout import set_of_shard, set_path
from ..records.digests import set_digest, sha256_bytes
from ..records.models import ImageRecord, SetRecord, StoredRecord
from ..records.report import Problem

MOST_BAD_LINES = 20
"""Of a file of garbage, only the first bad lines are named."""
_UNREADABLE = (NotAShard, OSError, KeyError, ValueError, RuntimeError, TypeError)
"""What opening or reading a damaged shard raises."""


@dataclass(frozen=True)
class SetTask:
    """What a process needs to check a set."""

    directory: Path
    record: SetRecord
    encoding: str
    """"jpeg" or "png"."""
    build: str
    """What shards call the build: its name and version."""
    folder: str
    """Where the set's single images are."""
    arrays: frozenset[str]
    """The arrays (.npy) that hold rows of this set."""
    containers: tuple[str, ...]
    labels: NDArray[np.int64] | None
    """(N,), by sample; None where samples.jsonl cannot be trusted, and labels are not checked."""
    folders: tuple[str, ...]
    """Class folders by label."""
    numbered: bool = False
    """Whether the names of single images are their indices, in no class folder."""
    names: tuple[str, ...] | None = None
    """The path of each sample, where images keep their names; None where they do not, or samples.jsonl cannot be trusted."""
    prune: frozenset[str] = frozenset()
    """Image folders of other sets."""
    shards: frozenset[str] = frozenset()
    """The manifest's shards of this set."""
    sound: frozenset[str] = frozenset()
    """Those whose bytes are as recorded: only these are opened, as the HDF5 library may crash on damaged ones."""
    sizes: bool = True
    hashes: bool = True
    pixels: bool = True
    part: int = 0
    """Which of the `parts` slices of the rows; slice 0 also checks the records."""
    parts: int = 1

    def label(self, index: int) -> int | None:
        """Return the label of a sample, where it is known."""
        return int(self.labels[index]) if self.labels is not None and index < len(self.labels) else None


@dataclass
class Findings:
    """The problems of a task, and what it checked."""

    problems: list[Problem] = field(default_factory=list)
    checked: Counter[str] = field(default_factory=Counter)

    def add(self, path: str, kind: str, detail: str) -> None:
        """Note a problem."""
        self.problems.append(Problem(path, kind, detail))


Places = list[tuple[ImageRecord, StoredRecord]]
"""Images and their places in one shard or array."""


def check_set(task: SetTask) -> Findings:
    """Check a set as far as the task asks."""
    findings = Findings()
    on_records = findings if task.part == 0 else Findings()
    rows, whole = _rows(task, on_records)
    if rows is None:
        return findings
    listing = Listing() if task.arrays else list_files(task.directory, task.folder, task.prune - {task.folder})
    readable = _check_places(task, rows, listing, on_records, whole=whole)
    if not task.hashes:
        return findings
    decoded: set[str] = set()
    by_shard: dict[str, Places] = defaultdict(list)
    start, stop = (len(rows) * k // task.parts for k in (task.part, task.part + 1))
    files: Places = []
    for row in rows[start:stop]:
        for stored in row.files:
            if stored.row is not None:
                by_shard[stored.path].append((row, stored))
            elif stored.path in readable:
                files.append((row, stored))
    for row, stored in files:
        _check_file(task, row, stored, decoded, findings)
    recorded = Counter(f.path for row in rows for f in row.files if f.row is not None)
    for path, places in by_shard.items():
        if path in task.sound:
            alone = whole and path not in task.arrays
            _check_shard(task, path, places, recorded[path] if alone else None, decoded, findings)
    return findings


def read_rows(root: Path, path: str, model: type[R]) -> tuple[list[R] | None, list[Problem]]:
    """Return the rows of a JSON lines file that are records (None: it cannot be read), and the problems of the others."""
    rows: list[R] = []
    problems: list[Problem] = []
    bad = 0
    try:
        for row in scan_jsonl(root / path, model):
            if isinstance(row, BadLine):
                bad += 1
                if bad <= MOST_BAD_LINES:
                    problems.append(Problem(path, "schema", str(row)))
            else:
                rows.append(row)
    except OSError as e:
        return None, [*problems, Problem(path, "unreadable", f"{e.strerror}")]
    if bad > MOST_BAD_LINES:
        problems.append(Problem(path, "schema", f"{bad - MOST_BAD_LINES} more lines are not records"))
    return rows, problems


def _rows(task: SetTask, findings: Findings) -> tuple[list[ImageRecord] | None, bool]:
    """Check the set's rows, totals and digest; return the rows that are records (None: no file) and whether that is all of them."""
    record, path = task.record, set_path(task.record.id)
    # the listing of the whole directory names a link on the way
    if not plain_file(task.directory, path):
        return None, False
    rows, problems = read_rows(task.directory, path, ImageRecord)
    findings.problems += problems
    if rows is None or problems:
        return rows, False
    for number, row in enumerate(rows):
        if row.index != number:
            findings.add(path, "records", f"row {number} has index {row.index}")
    totals = (len(rows), sum(len(r.files) for r in rows), sum(f.bytes for r in rows for f in r.files))
    for name, stated, real in zip(("count", "files", "bytes"), (record.count, record.files, record.bytes), totals, strict=True):
        if stated != real:
            findings.add(path, "records", f"the manifest's {name} of this set is {stated}, the rows give {real}")
    if (digest := set_digest(r.pixels for r in rows)) != record.pixel_digest:
        findings.add(path, "digest", f"the manifest's pixel_digest of this set is {record.pixel_digest}, the rows give {digest}")
    return rows, True


def _check_places(task: SetTask, rows: list[ImageRecord], listing: Listing, findings: Findings, *, whole: bool) -> set[str]:
    """Check the places that rows name against the files that are there; return the single files worth reading.

    Where rows are not the whole, no file is called unexpected: a row that is no record may name it.
    """
    findings.problems += listing.problems
    remaining = dict(listing.files)
    readable: set[str] = set()
    taken: dict[str, set[int]] = defaultdict(set)
    rows_path = set_path(task.record.id)
    shards = {path for path in task.shards if path in task.arrays or set_of_shard(path) == task.record.id}
    for row in rows:
        if sorted("folder" if f.row is None else "hdf5" for f in row.files) != sorted(task.containers):
            findings.add(rows_path, "records", f"row {row.index} is not stored once in each of {', '.join(task.containers)}")
        if task.encoding == "jpeg" and len({f.sha256 for f in row.files}) > 1:
            findings.add(rows_path, "records", f"the containers of row {row.index} hold different bytes")
        for f in row.files:
            if f.row is None:
                if _check_file_place(task, row, f, listing, remaining, findings):
                    readable.add(f.path)
            elif f.path not in shards:
                findings.add(rows_path, "records", f"row {row.index} is in {f.path}, which is not a shard of this set in the manifest")
            else:
                if f.row in taken[f.path]:
                    findings.add(rows_path, "records", f"row {row.index} is in {f.path} at row {f.row}, as is another")
                taken[f.path].add(f.row)
    if whole:
        for path in sorted(remaining):
            findings.add(path, "unexpected", f"no row of set {task.record.id} names this file")
        findings.problems += empty_folders(listing, (f.path for row in rows for f in row.files if f.row is None))
        for path in sorted(task.shards - taken.keys()):
            findings.add(path, "unexpected", f"no row of set {task.record.id} is in this shard")
    for path, numbers in sorted(taken.items()):
        findings.checked["images"] += len(numbers)
        # an array holds several sets one after the other
        start = min(numbers) if path in task.arrays else 0
        if whole and numbers != set(range(start, start + len(numbers))):
            findings.add(rows_path, "records", f"the rows in {path} are not {start} to {start + len(numbers) - 1}")
    return readable


def _check_file_place(
    task: SetTask, row: ImageRecord, stored: StoredRecord, listing: Listing, remaining: dict[str, int], findings: Findings
) -> bool:
    """Check where a single file is; return whether it is there with the recorded size, and take it from the remaining files."""
    rows_path, path = set_path(task.record.id), stored.path
    if mistake := _misplaced(task, path, row.index):
        findings.add(rows_path, "records", f"row {row.index} is in {path}; {mistake}")
    size = remaining.pop(path, None)
    if size is None:
        if path in listing.files:
            findings.add(rows_path, "records", f"row {row.index} is in {path}, as is another")
        elif path.startswith(f"{task.folder}/") and not listing.hides(path):
            findings.add(path, "missing", f"image {row.index} of set {task.record.id}")
        return False
    findings.checked["images"] += 1
    if task.sizes and size != stored.bytes:
        findings.add(path, "size", f"has {size} bytes, recorded are {stored.bytes}")
        return False
    return True


def _misplaced(task: SetTask, path: str, index: int) -> str | None:
    if task.names is not None:
        return None if path == (right := f"{task.folder}/{task.names[index]}") else f"expected is {right}"
    suffix = "." + FORMATS[task.encoding][1]
    label = task.label(index)
    folder = None if label is None else task.folders[label]
    start = f"{task.folder}/" + (f"{folder}/" if folder is not None and not task.numbered else "")
    name = path.removeprefix(start).removesuffix(suffix)
    if len(name) != len(path) - len(start) - len(suffix):
        return f"expected is {start}...{suffix}"
    if task.numbered and name != f"{index:0{len(name)}d}":
        return f"expected is the number {index} as its name"
    return None


def _check_file(task: SetTask, row: ImageRecord, stored: StoredRecord, decoded: set[str], findings: Findings) -> None:
    try:
        data = (task.directory / stored.path).read_bytes()
    except OSError as e:
        findings.add(stored.path, "unreadable", f"{e.strerror}")
        return
    findings.checked["bytes"] += len(data)
    _check_image(task, stored.path, np.frombuffer(data, np.uint8), row, stored, decoded, findings)


def _check_image(
    task: SetTask, name: str, data: NDArray[np.uint8], row: ImageRecord, stored: StoredRecord, decoded: set[str], findings: Findings
) -> None:
    """Check an image as it is stored, (H, W, C) pixels or encoded bytes; `decoded` has the hashes of bytes that decode."""
    if data.nbytes != stored.bytes:
        findings.add(name, "size", f"has {data.nbytes} bytes, recorded are {stored.bytes}")
        return
    image = np.ascontiguousarray(data)
    if (sha256 := sha256_bytes(image.data)) != stored.sha256:
        findings.add(name, "hash", f"has {sha256}, recorded is {stored.sha256}")
        return
    # a file and a row of a shard may be the same bytes: a JPEG is decoded once
    form = stored_format(stored.path, task.encoding)
    if not task.pixels or (form == "jpeg" and sha256 in decoded):
        return
    if data.ndim == 1:
        try:
            image = decode(image.data, form)
        except NotAPicture as e:
            findings.add(name, "decode", str(e))
            return
        decoded.add(sha256)
    if form == "png" and (digest := pixel_digest(image)) != row.pixels:
        findings.add(name, "pixels", f"the pixels have {digest}, recorded is {row.pixels}")


def _check_shard(task: SetTask, path: str, places: Places, recorded: int | None, decoded: set[str], findings: Findings) -> None:
    """Check rows of a shard whose bytes are as recorded; `recorded` is how many it should have, where that is known."""
    try:
        shard = open_rows(task.directory / path)
    except _UNREADABLE as e:
        findings.add(path, "decode", f"is not a shard: {e}")
        return
    try:
        if shard.encoded != (task.encoding == "jpeg"):
            kind = "encoded" if shard.encoded else "raw"
            findings.add(path, "shape", f"holds {kind} images; the manifest's encoding is {task.encoding}")
            return
        if isinstance(shard, Shard):
            attributes = shard_attributes(task.record.id, task.build, task.encoding if shard.encoded else "raw")
            for stranger in shard.strangers(attributes):
                findings.add(path, "records", stranger)
        if recorded is not None and shard.rows != recorded:
            findings.add(path, "shape", f"has {shard.rows} rows, recorded are {recorded}")
        inside = [(row, stored) for row, stored in places if (stored.row or 0) < shard.rows]
        for _, stored in places:
            if (stored.row or 0) >= shard.rows:
                findings.add(f"{path}#{stored.row}", "missing", f"the shard has {shard.rows} rows")
        if isinstance(shard, Shard):
            _check_columns(task, shard, path, inside, findings)
        for (row, stored), data in zip(inside, _in_order(shard, [stored.row or 0 for _, stored in inside]), strict=True):
            _check_image(task, f"{path}#{stored.row}", data, row, stored, decoded, findings)
    except _UNREADABLE as e:
        findings.add(path, "decode", f"cannot be read: {e}")
    finally:
        shard.close()


def _in_order(shard: Shard | ArrayFile, numbers: list[int]) -> Iterator[NDArray[np.uint8]]:
    """Yield rows of a shard; rows that follow each other are read together."""
    if numbers and numbers == list(range(numbers[0], numbers[0] + len(numbers))):
        yield from shard.stream(numbers[0], numbers[0] + len(numbers))
    else:
        yield from (shard.row(n) for n in numbers)


def _check_columns(task: SetTask, shard: Shard, path: str, places: Places, findings: Findings) -> None:
    index, pixels, labels = shard.column(INDEX), shard.column(PIXELS), shard.column(LABELS)
    for row, stored in places:
        name = f"{path}#{stored.row}"
        if index[stored.row] != row.index:
            findings.add(name, "records", f"the shard's index is {index[stored.row]}, recorded is {row.index}")
        if pixels[stored.row].tobytes().hex() != digits(row.pixels):
            findings.add(name, "records", "the shard's pixel digest is not the recorded one")
        label = task.label(row.index)
        if label is not None and labels[stored.row] != label:
            findings.add(name, "records", f"the shard's label is {labels[stored.row]}, the sample's is {label}")
