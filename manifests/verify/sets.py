"""Check one set of a dataset: its records, and then every image that the records list.

A check is self-contained and can be pickled, so that several processes can check sets, or slices of a large set.
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
from ..images.image_formats import IMAGE_FORMATS, InvalidImage, decode, stored_format
from ..images.shards import INDEX, LABELS, PIXEL_DIGEST, Shard
from ..paths import image_folder, set_path
from ..records.digests import set_digest, sha256_bytes
from ..records.models import ImageRecord, Manifest, SetRecord, StoredRecord
from ..records.report import VERIFY_LEVELS, Problem, VerifyLevel

MAX_BAD_LINES = 20
"""The largest number of invalid lines that are reported for one file."""
SLICE_ROWS = 3000
"""Sets with more rows are divided between several processes."""
_UNREADABLE = (NotAShard, OSError, KeyError, ValueError, RuntimeError, TypeError)
"""Errors that are raised when a damaged shard is opened or read."""

Findings = tuple[list[Problem], Counter[str]]
"""The problems of a set, and the numbers of checked images and bytes."""
Stored = list[tuple[ImageRecord, StoredRecord]]
"""Records of images, each with the record of one stored copy of the image."""


def read_rows(root: Path, path: str, model: type[R]) -> tuple[list[R], list[Problem]]:
    """Return the valid rows of a JSON Lines file, and the problems found in the other rows."""
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
    if (further := len(problems) - MAX_BAD_LINES) > 0:
        problems[MAX_BAD_LINES:] = [Problem(path, "schema", f"{further} more lines are not valid records")]
    return rows, problems


@dataclass
class SetCheck:
    """The check of a set, or of a slice of its rows."""

    directory: Path
    manifest: Manifest
    """The manifest without its sets and files, which need not be sent to every process."""
    record: SetRecord
    labels: NDArray[np.int64] | None = None
    """The label of each sample, (N,), or None if samples.jsonl is invalid. In that case, labels are not checked."""
    image_paths: list[str] | None = None
    """The path of each sample's image, if images keep their names from the source. None if images do not keep their
    names, or if samples.jsonl is invalid.
    """
    prune: frozenset[str] = frozenset()
    """The image folders of all sets. The folders of other sets are not listed."""
    shards: frozenset[str] = frozenset()
    """The shards of this set according to the manifest."""
    intact_shards: frozenset[str] = frozenset()
    """The shards whose hash matches their record. Only these are opened, because HDF5 may crash on damaged files."""
    level: VerifyLevel = "pixels"
    slice_index: int = 0
    """The index of this slice among `slice_count` slices of the rows. Slice 0 also reports the problems of the records.
    """
    slice_count: int = 1

    problems: list[Problem] = field(init=False, default_factory=list)
    checked: Counter[str] = field(init=False, default_factory=Counter)

    def __post_init__(self) -> None:
        self.rows_path = set_path(self.record.id)
        self.folder = image_folder(self.record.id)
        self.format: str = self.manifest.encoding["format"]
        self.decoded: set[str] = set()
        """Hashes of JPEGs that were decoded. A file and a row of a shard may have the same bytes."""

    def run(self) -> Findings:
        """Run the checks of the level, and return their findings."""
        rows, complete = self._rows()
        readable = self._check_places(rows, complete=complete)
        if self.slice_index:
            self.problems, self.checked = [], Counter()
        if self._includes("hashes"):
            start, stop = (len(rows) * k // self.slice_count for k in (self.slice_index, self.slice_index + 1))
            by_shard: dict[str, Stored] = defaultdict(list)
            for row in rows[start:stop]:
                for stored in row.files:
                    if stored.row is not None:
                        by_shard[stored.path].append((row, stored))
                    elif stored.path in readable:
                        self._check_file(row, stored)
            recorded = Counter(f.path for row in rows for f in row.files if f.row is not None)
            for path in by_shard.keys() & self.intact_shards:
                self._check_shard(path, by_shard[path], recorded[path] if complete else None)
        return self.problems, self.checked

    def _includes(self, level: VerifyLevel) -> bool:
        return VERIFY_LEVELS.index(self.level) >= VERIFY_LEVELS.index(level)

    def _note(self, path: str, kind: str, detail: str) -> None:
        self.problems.append(Problem(path, kind, detail))

    def _add_row_problem(self, row: ImageRecord, detail: str) -> None:
        self._note(self.rows_path, "records", f"row {row.index} {detail}")

    def _rows(self) -> tuple[list[ImageRecord], bool]:
        """Check the records, totals and digest of the set.

        Return the valid rows, and whether all rows are valid.
        """
        # the listing of the complete directory reports a missing file or a link
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
        for name, actual in {**totals, "pixel_digest": set_digest(row.pixels for row in rows)}.items():
            if (stated := getattr(self.record, name)) != actual:
                kind = "digest" if name == "pixel_digest" else "records"
                self._note(self.rows_path, kind, f"{name} in the manifest is {stated}, but the rows have {actual}")
        return rows, True

    def _check_places(self, rows: list[ImageRecord], *, complete: bool) -> set[str]:
        """Compare the locations in the records with the existing files, and return the image files that can be read.

        If some rows are invalid, no file is reported as unexpected, because an invalid row may refer to it.
        """
        listing = list_files(self.directory, self.folder, self.prune - {self.folder})
        self.problems += listing.problems
        containers = self.manifest.storage.containers
        files: dict[str, int] = {}
        taken: dict[str, set[int]] = {path: set() for path in self.shards}
        for row in rows:
            if sorted("folder" if f.row is None else "hdf5" for f in row.files) != sorted(containers):
                self._add_row_problem(row, f"is not stored exactly once per container ({', '.join(containers)})")
            if self.format == "jpeg" and len({f.sha256 for f in row.files}) > 1:
                self._note(self.rows_path, "records", f"row {row.index} has different bytes in its two containers")
            for f in row.files:
                if f.row is None:
                    if expected := self._misplaced(f.path, row.index):
                        self._add_row_problem(row, f"is stored in {f.path}, but {expected} is expected")
                    if f.path in files:
                        self._add_row_problem(row, f"is stored in {f.path}, like another row")
                    files.setdefault(f.path, f.bytes)
                elif f.path not in taken:
                    problem = f"is stored in {f.path}, which the manifest does not list as a shard of this set"
                    self._add_row_problem(row, problem)
                elif f.row in taken[f.path]:
                    self._add_row_problem(row, f"is stored in row {f.row} of {f.path}, like another row")
                else:
                    taken[f.path].add(f.row)
        sizes = self._includes("sizes")
        below = {path: size for path, size in files.items() if path.startswith(f"{self.folder}/")}
        known = () if complete else listing.files
        self.problems += file_problems(listing, below, sizes=sizes, known=known, folders=complete)
        for path, numbers in taken.items():
            self.checked["images"] += len(numbers)
            if complete and not numbers:
                self._note(path, "unexpected", f"no record of set {self.record.id} refers to this shard")
            elif complete and numbers != set(range(len(numbers))):
                self._note(self.rows_path, "records", f"the recorded rows of {path} are not 0 to {len(numbers) - 1}")
        self.checked["images"] += len(files.keys() & listing.files.keys())
        return {path for path, size in files.items() if listing.files.get(path) == size}

    def _label(self, index: int) -> int | None:
        return int(self.labels[index]) if self.labels is not None and index < len(self.labels) else None

    def _misplaced(self, path: str, index: int) -> str | None:
        """Return the expected path of an image if it differs from the recorded path, or None."""
        if self.image_paths is not None and index < len(self.image_paths):
            return None if path == (right := f"{self.folder}/{self.image_paths[index]}") else right
        suffix, label = "." + IMAGE_FORMATS[self.format][1], self._label(index)
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
        """Check a stored image, which is given as (H, W, C) pixels or as encoded bytes."""
        image = np.ascontiguousarray(data)
        sha256, form = sha256_bytes(image.data), stored_format(stored.path, self.format)
        if image.nbytes != stored.bytes:
            self._note(name, "size", f"has {image.nbytes} bytes, but {stored.bytes} are recorded")
        elif sha256 != stored.sha256:
            self._note(name, "hash", f"has {sha256}, but {stored.sha256} is recorded")
        elif self._includes("pixels") and not (form == "jpeg" and sha256 in self.decoded):
            try:
                pixels = image if image.ndim == 3 else decode(image.data, form)
            except InvalidImage as e:
                self._note(name, "decode", str(e))
                return
            if form == "jpeg":
                self.decoded.add(sha256)
            elif (digest := pixel_digest(pixels)) != row.pixels:
                self._note(name, "pixels", f"the pixels have {digest}, but {row.pixels} is recorded")

    def _check_shard(self, path: str, rows: Stored, recorded: int | None) -> None:
        """Check rows of a shard. The hash of the shard is already known to match its record.

        `recorded` is the number of rows that the shard should have, or None if it is not known.
        """
        try:
            with closing(Shard(self.directory / path)) as shard:
                if shard.encoded != (self.format == "jpeg"):
                    kind = "encoded" if shard.encoded else "raw"
                    detail = f"contains {kind} images, but the encoding in the manifest is {self.format}"
                    self._note(path, "shape", detail)
                    return
                if recorded is not None and shard.rows != recorded:
                    self._note(path, "shape", f"has {shard.rows} rows, but {recorded} are recorded")
                existing = [
                    (row, stored, stored.row)
                    for row, stored in rows
                    if stored.row is not None and stored.row < shard.rows
                ]
                if len(existing) < len(rows):
                    detail = f"the shard has {shard.rows} rows, but records of set {self.record.id} refer to later ones"
                    self._note(path, "missing", detail)
                numbers = [number for _, _, number in existing]
                self._check_columns(shard, path, [(row, number) for row, _, number in existing])
                # consecutive rows are read together
                span = range(numbers[0], numbers[0] + len(numbers)) if numbers else range(0)
                consecutive = numbers == list(span)
                images = (
                    shard.stream(span.start, span.stop)
                    if consecutive
                    else (shard.block(number, number + 1)[0] for number in numbers)
                )
                for (row, stored, number), data in zip(existing, images, strict=True):
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
                    detail = f"the {name} in the shard is {stated}, but {right} is recorded"
                    self._note(f"{path}#{number}", "records", detail)


def run_checks(checks: list[SetCheck], jobs: int, on_result: Callable[[SetCheck, Findings], object]) -> None:
    """Run checks, and call a function with each check (or slice of a check) and its findings.

    Several processes are used only if joblib is installed, which is one of the packages of ``corruptset[build]``.
    """
    if find_spec("joblib") is None:
        jobs = 1
    slices = []
    for check in checks:
        count = max(1, min(jobs, 2 * jobs // len(checks), check.record.count // SLICE_ROWS))
        slices += [replace(check, slice_index=index, slice_count=count) for index in range(count)]
    with Workers(jobs) as workers:
        workers.run(SetCheck.run, slices, on_result, describe=lambda check: f"the set {check.record.id}")
