"""Check one set of a data set: its rows, then every image that they name.

A check is self-contained and picklable, so that sets, or slices of a large one, can be checked by several processes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...digests import digits
from ...pixels import pixel_digest
from ...workers import Workers
from ..disk.jsonl import BadLine, R, scan_jsonl
from ..disk.listing import file_problems, list_files, plain_file
from ..images.arrays import NotAShard
from ..images.pictures import FORMATS, NotAPicture, decode, stored_format
from ..images.shards import INDEX, LABELS, PIXEL_DIGEST, Shard
from ..paths import image_folder, set_path
from ..records.digests import set_digest, sha256_bytes
from ..records.models import ImageRecord, Manifest, SetRecord, StoredRecord
from ..records.report import LEVELS, Level, Problem

MOST_BAD_LINES = 20
"""Of a file of garbage, only the first bad lines are named."""
SLICE_ROWS = 3000
"""Several processes share a set that has more rows."""
_UNREADABLE = (NotAShard, OSError, KeyError, ValueError, RuntimeError, TypeError)
"""What opening or reading a damaged shard raises."""

Findings = tuple[list[Problem], Counter[str]]
"""The problems of a set, and what was checked."""
Stored = list[tuple[ImageRecord, StoredRecord]]
"""Images and where they are stored."""


def read_rows(root: Path, path: str, model: type[R]) -> tuple[list[R], list[Problem]]:
    """Return the rows of a JSON lines file that are records, and all problems."""
    rows: list[R] = []
    problems: list[Problem] = []
    try:
        for row in scan_jsonl(root / path, model):
            if isinstance(row, BadLine):
                problems.append(Problem(path, "schema", str(row)))
            else:
                rows.append(row)
    except OSError as e:
        problems.append(Problem(path, "unreadable", f"{e.strerror}"))
    if (more := len(problems) - MOST_BAD_LINES) > 0:
        problems[MOST_BAD_LINES:] = [Problem(path, "schema", f"{more} more lines are not records")]
    return rows, problems


@dataclass
class SetCheck:
    """The check of a set, or of a slice of its rows."""

    directory: Path
    manifest: Manifest
    """Without sets and files, which would travel to every process."""
    record: SetRecord
    labels: NDArray[np.int64] | None = None
    """(N,), by sample; None where samples.jsonl cannot be trusted, and labels are not checked."""
    names: list[str] | None = None
    """The path of each sample, where images keep their names; None where they do not, or samples.jsonl cannot be
    trusted.
    """
    prune: frozenset[str] = frozenset()
    """Image folders of other sets."""
    shards: frozenset[str] = frozenset()
    """The shards of this set in the manifest."""
    sound: frozenset[str] = frozenset()
    """Those whose bytes are as recorded: only these are opened, as the HDF5 library may crash on damaged ones."""
    level: Level = "pixels"
    part: int = 0
    """Which of the `parts` slices of the rows; slice 0 also checks the records."""
    parts: int = 1

    problems: list[Problem] = field(init=False, default_factory=list)
    checked: Counter[str] = field(init=False, default_factory=Counter)

    def __post_init__(self) -> None:
        self.rows_path = set_path(self.record.id)
        self.folder = image_folder(self.record.id)
        self.form: str = self.manifest.encoding["format"]
        self.decoded: set[str] = set()
        """The hashes of bytes that decode: a file and a row of a shard may be the same."""

    def run(self) -> Findings:
        """Check as far as `level`."""
        rows, whole = self._rows()
        readable = self._check_places(rows, whole=whole)
        if self.part:
            self.problems, self.checked = [], Counter()
        if self._climbs("hashes"):
            start, stop = (len(rows) * k // self.parts for k in (self.part, self.part + 1))
            by_shard: dict[str, Stored] = defaultdict(list)
            for row in rows[start:stop]:
                for stored in row.files:
                    if stored.row is not None:
                        by_shard[stored.path].append((row, stored))
                    elif stored.path in readable:
                        self._check_file(row, stored)
            recorded = Counter(f.path for row in rows for f in row.files if f.row is not None)
            for path in by_shard.keys() & self.sound:
                self._check_shard(path, by_shard[path], recorded[path] if whole else None)
        return self.problems, self.checked

    def _climbs(self, level: Level) -> bool:
        return LEVELS.index(self.level) >= LEVELS.index(level)

    def _note(self, path: str, kind: str, detail: str) -> None:
        self.problems.append(Problem(path, kind, detail))

    def _wrong(self, row: ImageRecord, detail: str) -> None:
        self._note(self.rows_path, "records", f"row {row.index} {detail}")

    def _rows(self) -> tuple[list[ImageRecord], bool]:
        """Check the set's rows, totals and digest.

        Return the rows that are records, and whether that is all of them.
        """
        # the listing of the whole directory names a link on the way
        if not plain_file(self.directory, self.rows_path):
            return [], False
        rows, self.problems = read_rows(self.directory, self.rows_path, ImageRecord)
        if self.problems:
            return rows, False
        for number, row in enumerate(rows):
            if row.index != number:
                self._note(self.rows_path, "records", f"row {number} has index {row.index}")
        stored = [f for row in rows for f in row.files]
        totals = {"count": len(rows), "files": len(stored), "bytes": sum(f.bytes for f in stored)}
        for name, real in {**totals, "pixel_digest": set_digest(row.pixels for row in rows)}.items():
            if (stated := getattr(self.record, name)) != real:
                kind = "digest" if name == "pixel_digest" else "records"
                self._note(self.rows_path, kind, f"the manifest's {name} of this set is {stated}, the rows give {real}")
        return rows, True

    def _check_places(self, rows: list[ImageRecord], *, whole: bool) -> set[str]:
        """Check the places that rows name against the files that are there.

        Return the single files worth reading.

        Where rows are not the whole, no file is called unexpected: a row that is no record may name it.
        """
        listing = list_files(self.directory, self.folder, self.prune - {self.folder})
        self.problems += listing.problems
        containers = self.manifest.storage.containers
        files: dict[str, int] = {}
        taken: dict[str, set[int]] = {path: set() for path in self.shards}
        for row in rows:
            if sorted("folder" if f.row is None else "hdf5" for f in row.files) != sorted(containers):
                self._wrong(row, f"is not stored once in each of {', '.join(containers)}")
            if self.form == "jpeg" and len({f.sha256 for f in row.files}) > 1:
                self._note(self.rows_path, "records", f"the containers of row {row.index} hold different bytes")
            for f in row.files:
                if f.row is None:
                    if expected := self._misplaced(f.path, row.index):
                        self._wrong(row, f"is in {f.path}; expected is {expected}")
                    if f.path in files:
                        self._wrong(row, f"is in {f.path}, as is another")
                    files.setdefault(f.path, f.bytes)
                elif f.path not in taken:
                    self._wrong(row, f"is in {f.path}, which is not a shard of this set in the manifest")
                elif f.row in taken[f.path]:
                    self._wrong(row, f"is in {f.path} at row {f.row}, as is another")
                else:
                    taken[f.path].add(f.row)
        sizes = self._climbs("sizes")
        below = {path: size for path, size in files.items() if path.startswith(f"{self.folder}/")}
        self.problems += file_problems(listing, below, sizes=sizes, known=() if whole else listing.files, folders=whole)
        for path, numbers in taken.items():
            self.checked["images"] += len(numbers)
            if whole and not numbers:
                self._note(path, "unexpected", f"no row of set {self.record.id} is in this shard")
            elif whole and numbers != set(range(len(numbers))):
                self._note(self.rows_path, "records", f"the rows in {path} are not 0 to {len(numbers) - 1}")
        self.checked["images"] += len(files.keys() & listing.files.keys())
        return {path for path, size in files.items() if listing.files.get(path) == size}

    def _label(self, index: int) -> int | None:
        return int(self.labels[index]) if self.labels is not None and index < len(self.labels) else None

    def _misplaced(self, path: str, index: int) -> str | None:
        """Return where an image should be, where it is elsewhere."""
        if self.names is not None and index < len(self.names):
            return None if path == (right := f"{self.folder}/{self.names[index]}") else right
        suffix, label = "." + FORMATS[self.form][1], self._label(index)
        start = f"{self.folder}/" + ("" if label is None else f"{self.manifest.classes[label].folder}/")
        name = path[len(start) : -len(suffix)]
        return None if path == f"{start}{name}{suffix}" else f"{start}...{suffix}"

    def _check_file(self, row: ImageRecord, stored: StoredRecord) -> None:
        try:
            data = (self.directory / stored.path).read_bytes()
        except OSError as e:
            self._note(stored.path, "unreadable", f"{e.strerror}")
            return
        self.checked["bytes"] += len(data)
        self._check_image(stored.path, np.frombuffer(data, np.uint8), row, stored)

    def _check_image(self, name: str, data: NDArray[np.uint8], row: ImageRecord, stored: StoredRecord) -> None:
        """Check an image as it is stored, (H, W, C) pixels or encoded bytes."""
        image = np.ascontiguousarray(data)
        sha256, form = sha256_bytes(image.data), stored_format(stored.path, self.form)
        if image.nbytes != stored.bytes:
            self._note(name, "size", f"has {image.nbytes} bytes, recorded are {stored.bytes}")
        elif sha256 != stored.sha256:
            self._note(name, "hash", f"has {sha256}, recorded is {stored.sha256}")
        elif self._climbs("pixels") and not (form == "jpeg" and sha256 in self.decoded):
            try:
                pixels = image if image.ndim == 3 else decode(image.data, form)
            except NotAPicture as e:
                self._note(name, "decode", str(e))
                return
            if form == "jpeg":
                self.decoded.add(sha256)
            elif (digest := pixel_digest(pixels)) != row.pixels:
                self._note(name, "pixels", f"the pixels have {digest}, recorded is {row.pixels}")

    def _check_shard(self, path: str, rows: Stored, recorded: int | None) -> None:
        """Check rows of a shard whose bytes are as recorded.

        `recorded` is how many it should have, where that is known.
        """
        try:
            with closing(Shard(self.directory / path)) as shard:
                if shard.encoded != (self.form == "jpeg"):
                    kind = "encoded" if shard.encoded else "raw"
                    self._note(path, "shape", f"holds {kind} images; the manifest's encoding is {self.form}")
                    return
                if recorded is not None and shard.rows != recorded:
                    self._note(path, "shape", f"has {shard.rows} rows, recorded are {recorded}")
                there = [
                    (row, stored, stored.row)
                    for row, stored in rows
                    if stored.row is not None and stored.row < shard.rows
                ]
                if len(there) < len(rows):
                    self._note(
                        path,
                        "missing",
                        f"the shard has {shard.rows} rows; rows of set {self.record.id} are behind its end",
                    )
                numbers = [number for _, _, number in there]
                self._check_columns(shard, path, [(row, number) for row, _, number in there])
                # rows that follow each other are read together
                run = range(numbers[0], numbers[0] + len(numbers)) if numbers else range(0)
                follows = numbers == list(run)
                images = shard.stream(run.start, run.stop) if follows else (shard.block(n, n + 1)[0] for n in numbers)
                for (row, stored, number), data in zip(there, images, strict=True):
                    self._check_image(f"{path}#{number}", data, row, stored)
        except _UNREADABLE as e:
            self._note(path, "decode", f"cannot be read as a shard: {e}")

    def _check_columns(self, shard: Shard, path: str, rows: list[tuple[ImageRecord, int]]) -> None:
        """Compare the index, the digest and the label of each row of a shard with the records."""
        index, pixels, labels = map(shard.column, (INDEX, PIXEL_DIGEST, LABELS))
        for row, number in rows:
            label = self._label(row.index)
            for name, stated, right in (
                ("index", index[number], row.index),
                ("pixel digest", pixels[number].tobytes().hex(), digits(row.pixels)),
                ("label", labels[number], labels[number] if label is None else label),
            ):
                if stated != right:
                    self._note(f"{path}#{number}", "records", f"the shard's {name} is {stated}, recorded is {right}")


def run_checks(checks: list[SetCheck], jobs: int, on_result: Callable[[SetCheck, Findings], object]) -> None:
    """Run checks, and call a function with each check, or slice of one, and its findings.

    Several processes need joblib, which comes with the extra ``build``.
    """
    if find_spec("joblib") is None:
        jobs = 1
    slices = []
    for check in checks:
        parts = max(1, min(jobs, 2 * jobs // len(checks), check.record.count // SLICE_ROWS))
        slices += [replace(check, part=part, parts=parts) for part in range(parts)]
    with Workers(jobs) as workers:
        workers.run(SetCheck.run, slices, on_result, describe=lambda check: f"the set {check.record.id}")
