"""Streams: stream.json, and whether what lies beside it is what it says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ...canonical import canonical_sha256
from ..checksums import SUMS_CAP, parse_sha256sums, sha256sums_bytes
from ..disk.listing import empty_folders, list_files, read_small
from ..layout import MANIFEST, SAMPLES, SHA256SUMS, STREAM, WORK_FOLDER
from ..manifest_file import MANIFEST_CAP
from ..records.digests import sha256_bytes, source_digest
from ..records.fields import Blake3, Count, Sha256
from ..records.models import ClassRecord, ExcludedRecord, FileRecord, Record, SourceRecord, TextureRecord
from ..records.parsing import record_or_mistakes
from ..records.report import LEVELS, Level, Problem, Progress, VerificationReport, printable
from .ladder import hash_files
from .sets import read_rows


class StreamSettings(Record):
    """How a stream changes: its recipe's table."""

    corruptions: list[str]
    baseline: float
    step: float
    speed: Count
    length: Count
    crops: str
    tar: Count


class StreamRecord(Record):
    """stream.json."""

    schema_version: Count
    name: str
    version: str
    seed: Count
    calibration: str
    scale: str
    preprocessing: dict[str, Any]
    encoding: dict[str, Any]
    stream: StreamSettings
    source: SourceRecord
    classes: list[ClassRecord]
    textures: list[TextureRecord]
    stages: dict[str, list[dict[str, Any]]]
    walk: list[tuple[str, Count, Count]]
    """Set, place of the first image, images."""
    excluded: list[ExcludedRecord]
    selection: Any
    accuracies: Sha256
    images: Count
    pixel_digest: Blake3
    digest: Sha256
    files: list[FileRecord]
    environment: dict[str, Any]


class StreamSample(Record):
    """A row of a stream's samples.jsonl."""

    id: str
    label: Count | None
    sha256: Sha256


def stream_digest(record: Mapping[str, Any], samples: Iterable[tuple[str, int | None, str]]) -> str:
    """Return the digest that names a stream, of what stream.json says and of its samples' ids, labels and hashes."""
    named = {key: record[key] for key in ("schema_version", "seed", "preprocessing", "stages", "walk", "pixel_digest")}
    classes = [[c["index"], c["name"], c["folder"]] for c in record["classes"]]
    return canonical_sha256(named | {"classes": classes, "samples": [list(s) for s in samples], "count": record["images"]})


def is_stream(directory: Path) -> bool:
    """Return whether a directory holds stream.json, and no manifest beside it."""
    return (directory / STREAM).is_file() and not (directory / MANIFEST).exists()


def load_stream_record(directory: Path) -> tuple[StreamRecord, str] | list[Problem]:
    """Return what stream.json says and its sha256, or what is wrong with it."""
    data = read_small(directory, STREAM, MANIFEST_CAP)
    if isinstance(data, Problem):
        return [data]
    record, mistakes = record_or_mistakes(StreamRecord, data)
    return [Problem(STREAM, "schema", mistake) for mistake in mistakes] if record is None else (record, sha256_bytes(data))


def verify_stream(root: Path, *, level: Level = "pixels", jobs: int = 1, progress: Progress | None = None) -> VerificationReport:
    """Check a stream: nothing missing or unexpected, sizes, hashes, and that its digest follows from its records.

    Parameters
    ----------
    root : path
        The one that holds stream.json.
    level : {"structure", "sizes", "hashes", "pixels"}
        How far to climb. Images are JPEG inside hashed tars: nothing is above "hashes".
    jobs : int
        Files that are hashed at once.
    progress : callable, optional
        The step is "files".

    Returns
    -------
    VerificationReport
    """
    step = min(LEVELS.index(level), LEVELS.index("hashes"))
    report = VerificationReport(printable(str(root)), LEVELS[step])
    loaded = load_stream_record(root)
    if isinstance(loaded, list):
        report.add(loaded)
        return report
    record, sha256 = loaded
    report.digest = record.digest
    listing = list_files(root, prune={WORK_FOLDER})
    report.add(listing.problems, Counter(files=len(listing.files)))
    if (root / WORK_FOLDER).exists():
        report.add([Problem(WORK_FOLDER, "unexpected", "a stream has not cleaned up; run the same `corruptset stream` command again")])
    present = []
    for file in record.files:
        there = listing.files.get(file.path)
        if there is None:
            report.add([] if listing.hides(file.path) else [Problem(file.path, "missing", f"{STREAM} names this file")])
        elif step and there != file.bytes:
            report.add([Problem(file.path, "size", f"has {there} bytes, recorded are {file.bytes}")])
        else:
            present.append(file)
    known = {STREAM, SHA256SUMS, *(file.path for file in record.files)}
    report.add(Problem(path, "unexpected", f"{STREAM} names no such file") for path in listing.files.keys() - known)
    report.add(empty_folders(listing, known))
    report.add(_sums_problems(root, record, sha256))
    if SAMPLES in listing.files:
        report.add(_record_problems(root, record, report))
    if step == LEVELS.index("hashes"):
        hash_files(root, present, report, jobs, progress or (lambda *_: None))
    if report.ok:
        report.add([], Counter(images=record.images))
    report.problems = sorted(set(report.problems))
    return report


def _sums_problems(root: Path, record: StreamRecord, sha256: str) -> list[Problem]:
    """Return where SHA256SUMS and stream.json disagree."""
    data = read_small(root, SHA256SUMS, SUMS_CAP)
    if isinstance(data, Problem):
        return [data]
    said = parse_sha256sums(data)[0].get(STREAM)
    if said is not None and said != sha256:
        return [Problem(STREAM, "hash", f"has {sha256}, {SHA256SUMS} says {said}: one of the two files was changed")]
    right = sha256sums_bytes([*record.files, FileRecord(path=STREAM, bytes=0, sha256=sha256)])
    return [] if data == right else [Problem(SHA256SUMS, "records", f"is not what {STREAM} says of the files")]


def _record_problems(root: Path, record: StreamRecord, report: VerificationReport) -> list[Problem]:
    """Return where digests do not follow from samples.jsonl and stream.json."""
    rows, problems = read_rows(root, SAMPLES, StreamSample)
    if rows is None or problems:
        return problems
    report.add([], Counter(samples=len(rows)))
    samples = [(row.id, row.label, row.sha256) for row in rows]
    made = {"digest": (record.digest, stream_digest(record.as_json(), samples))}
    made["source.digest"] = (record.source.digest, source_digest(samples))
    return [
        Problem(STREAM, "digest", f"{name} is {said}, of the records it is {right}")
        for name, (said, right) in made.items()
        if said != right
    ]
