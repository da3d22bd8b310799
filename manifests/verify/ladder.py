"""Verify a data set against its manifest: the ladder, climbed whole and reported once.

Structure (records, nothing missing, nothing unexpected, digests that follow from records) -> sizes -> hashes -> pixels (decodes, shapes,
pixel digests where the encoding is lossless) -> samples made again from the source, which a caller supplies. No path leads out of the
directory: what is read was first found by listing it without following links, and a record's path is only ever looked up in that listing.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

import numpy as np

from ...errors import VerificationError
from ...processes import loky_workers_starting
from ..checksums import SUMS_CAP
from ..disk.jsonl import BadLine, scan_jsonl
from ..disk.listing import Listing, empty_folders, list_files, printable
from ..images.shards import shard_pattern
from ..layout import FINISH, MANIFEST, SAMPLES, SHA256SUMS, WORK_FOLDER, set_path, set_places
from ..manifest_file import MANIFEST_CAP, incomplete
from ..partial import PARTIAL, Partial, load_partial, may_be_absent
from ..reader import DataSet
from ..records.digests import sha256_bytes, sha256_file
from ..records.models import FileRecord, Manifest, SampleRecord, SetRecord
from ..records.parsing import manifest_or_mistakes
from ..records.report import Problem, VerificationReport
from ..unfinished import Own, extension
from .rules import manifest_problems, sample_problems, sums_problems
from .sets import MOST_BAD_LINES, Found, SetTask, check_set

LEVELS = ("structure", "sizes", "hashes", "pixels")

SLICE_BYTES = 1 << 20
"""Rows of a set are shared between processes where there are more than so many bytes of them."""

Level = Literal["structure", "sizes", "hashes", "pixels"]
Rederive = Callable[[DataSet, "int | None"], Iterable[Problem]]
"""Makes `count` (None: all) samples again from the source and yields what comes out otherwise, as problems of kind ``rederive``."""
Progress = Callable[[str, int, int], None]
"""Called with the step ("files", "sets", "rederive"), what is done and the total."""


def verify_directory(
    directory: Path | str,
    *,
    level: Level = "pixels",
    rederive: Rederive | None = None,
    rederive_count: int | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> VerificationReport:
    """Check that a data set is what its manifest says, and find everything that is not.

    Parameters
    ----------
    directory : path
        The one that holds manifest.json.
    level : {"structure", "sizes", "hashes", "pixels"}
        How far to climb. "pixels" reads and decodes every image; "sizes" reads records only.
    rederive : callable, optional
        Makes samples again from the source; called with the open data set and `rederive_count` if the records can be trusted.
    rederive_count : int, optional
        How many samples; None is all.
    jobs : int
        Processes.
    progress : callable, optional

    Returns
    -------
    VerificationReport
        Never raised for what is wrong with the data set, whatever its bytes; ``report.raise_for_problems()`` does.

    Raises
    ------
    ValueError
        An unknown level, or jobs below 1.
    CorruptsetError
        What `rederive` raises: a source that cannot be read is a user's mistake, not the data set's.

    Notes
    -----
    manifest.json is covered by SHA256SUMS alone (environment, licence and metrics follow from nothing else). SHA256SUMS is covered by the
    manifest. Where PARTIAL.json stands, `report.absent` names the sets that it says are in archives which were not unpacked: they are not
    looked for. Whoever changes both consistently, images included, makes another data set: it has another digest.
    """
    if level not in LEVELS:
        raise ValueError(f"level {level!r} is not one of {', '.join(LEVELS)}.")
    if jobs < 1:
        raise ValueError(f"jobs is {jobs}; at least 1 is needed.")
    root = Path(directory)
    report = VerificationReport(printable(str(directory)), level)
    manifest, sha256 = _manifest(root, report)
    if manifest is not None:
        report.digest = manifest.digest
        _climb(root, manifest, sha256, report, level=LEVELS.index(level), jobs=jobs, progress=progress or (lambda *_: None))
        if rederive is not None:
            _rederive(root, rederive, rederive_count, report)
        if report.problems and _replaced(root, sha256):
            again = "was replaced meanwhile: a build has extended the data set. Verify again"
            report.problems = [Problem(MANIFEST, "incomplete", again)]
    report.problems = sorted(set(report.problems))
    return report


def _manifest(root: Path, report: VerificationReport) -> tuple[Manifest | None, str]:
    path = root / MANIFEST
    try:
        info = os.lstat(path)
        if not stat.S_ISREG(info.st_mode):
            kind = "symlink" if stat.S_ISLNK(info.st_mode) else "special"
            report.add([Problem(MANIFEST, kind, "is not a regular file")])
            return None, ""
        if info.st_size > MANIFEST_CAP:
            report.add([Problem(MANIFEST, "size", f"has {info.st_size} bytes; a manifest has at most {MANIFEST_CAP}")])
            return None, ""
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        report.add([Problem(MANIFEST, "incomplete", incomplete(root))])
        return None, ""
    except OSError as e:
        report.add([Problem(MANIFEST, "unreadable", f"{e.strerror}")])
        return None, ""
    manifest, mistakes = manifest_or_mistakes(data)
    report.add(Problem(MANIFEST, "schema", mistake) for mistake in mistakes)
    return manifest, sha256_bytes(data)


def _replaced(root: Path, sha256: str) -> bool:
    """Return whether another manifest stands there than the one that was read."""
    try:
        return sha256_file(root / MANIFEST) != sha256
    except OSError:
        return False


def _climb(root: Path, manifest: Manifest, sha256: str, report: VerificationReport, *, level: int, jobs: int, progress: Progress) -> None:
    report.add(manifest_problems(manifest))
    partial = _partial(root, manifest, sha256, report)
    absent = frozenset() if partial is None else may_be_absent(manifest, partial.sets)
    laid_out = set_places(manifest)
    own = extension(root, manifest, sha256)
    images = frozenset(p for places in laid_out.values() for p in places if not p.endswith(".npy"))
    apart = images if own is None else images | own.places
    listing = list_files(root, prune=apart | {WORK_FOLDER})
    report.add(listing.problems)
    whole = _whole_files(root, manifest, listing, report, absent, own, sizes=level >= 1)
    if (root / WORK_FOLDER).is_dir() and not listing.hides(WORK_FOLDER):
        _unfinished(root, own, report)
    if SHA256SUMS in listing.files:
        report.add(_sums(root, manifest, sha256, listing.files[SHA256SUMS]))
    samples = _samples(root, listing, report)
    if samples is not None:
        report.add(sample_problems(manifest, samples), Counter(samples=len(samples)))
    labelled = samples is not None and all(s.label < len(manifest.classes) for s in samples)
    labels = np.array([s.label for s in samples], dtype=np.int64) if samples is not None and labelled else None
    sound = _hash_files(root, whole, report, jobs, progress) if level >= 2 else set()
    there = frozenset(f.path for f in manifest.files)
    tasks = [
        SetTask(
            directory=root.absolute(),  # workers from an earlier call keep the current directory of then
            record=record,
            encoding=manifest.encoding["format"],
            build=f"{manifest.name} {manifest.version}",
            folder=laid_out[record.id][0],
            arrays=frozenset(p for p in laid_out[record.id] if p.endswith(".npy")),
            containers=_containers(manifest, laid_out[record.id]),
            labels=labels,
            folders=tuple(c.folder for c in manifest.classes),
            numbered=any(view.get("numbered") is True for view in manifest.views),
            prune=apart,
            shards=shards | (frozenset(laid_out[record.id]) & there),
            sound=(shards | frozenset(laid_out[record.id])) & sound,
            sizes=level >= 1,
            hashes=level >= 2,
            pixels=level >= 3,
        )
        for record, shards in _with_shards(manifest, report)
        if record.id not in report.absent
    ]
    for done, found in enumerate(_run(tasks, listing, jobs), 1):
        report.add(found.problems, found.checked)
        progress("sets", done, len(tasks))
    report.add([], Counter(sets=len(tasks)))


def _unfinished(root: Path, own: Own | None, report: VerificationReport) -> None:
    """Say what the folder of a build means beside a manifest."""
    if (root / FINISH).exists():
        detail = "an extension was stopped while its last files took their places; run the same `corruptset build` command again"
        report.add([Problem(WORK_FOLDER, "incomplete", detail)])
    elif own is None:
        report.add([Problem(WORK_FOLDER, "unexpected", "a build has not cleaned up; run the same `corruptset build` command again")])
    else:
        report.notes.append(
            f"An extension by {len(own.sets)} sets is under way, or was stopped; they are not looked at. Run the same `corruptset build` "
            "command again to finish it, or with --abandon to take it back."
        )


def _partial(root: Path, manifest: Manifest, sha256: str, report: VerificationReport) -> Partial | None:
    """Return what PARTIAL.json says, which then says which sets to look for."""
    try:
        partial = load_partial(root)
    except (VerificationError, OSError) as e:
        report.add([Problem(PARTIAL, "schema", printable(str(e)))])
        return None
    if partial is None:
        return None
    ids = {s.id for s in manifest.sets}
    if partial.manifest != sha256 or partial.digest != manifest.digest or not ids >= set(partial.sets):
        report.add([Problem(PARTIAL, "records", "is of another data set than manifest.json")])
        return None
    report.partial = True
    report.absent = sorted(ids - set(partial.sets))
    return partial


def _containers(manifest: Manifest, places: list[str]) -> tuple[str, ...]:
    """Return the containers of a set as its rows show them: a view's images are single files or rows."""
    if manifest.encoding["containers"] != ["view"]:
        return tuple(manifest.encoding["containers"])
    return ("hdf5",) if places[0].endswith(".npy") else ("folder",)


def _whole_files(
    root: Path, manifest: Manifest, listing: Listing, report: VerificationReport, absent: frozenset[str], own: Own | None, *, sizes: bool
) -> list[FileRecord]:
    """Compare the listing with the manifest's files; return those that are there with the recorded size.

    Those that are `absent` need not be there, and an extension's `own` may be.
    """
    wanted = {f.path: f for f in manifest.files}
    there: list[FileRecord] = []
    for path in sorted({*wanted, SHA256SUMS}):
        if path not in listing.files:
            if not listing.hides(path) and not path.startswith("images/") and path not in absent:
                report.add([Problem(printable(path), "missing", "the manifest names this file")])
        elif path in wanted:
            size, record = listing.files[path], wanted[path]
            if sizes and size != record.bytes:
                report.add([Problem(printable(path), "size", f"has {size} bytes, recorded are {record.bytes}")])
            else:
                there.append(record)
    for path in sorted(listing.files.keys() - wanted.keys() - {MANIFEST, SHA256SUMS} - ({PARTIAL} if report.partial else set())):
        if own is None or path not in own:
            report.add([Problem(printable(path), "unexpected", "no record names this file")])
    if own is None:  # an extension makes folders before the files in them
        report.add(empty_folders(listing, wanted))
    report.add([], Counter(files=len(listing.files)))
    return there


def _sums(root: Path, manifest: Manifest, sha256: str, size: int) -> Iterator[Problem]:
    if size > SUMS_CAP:
        yield Problem(SHA256SUMS, "size", f"has {size} bytes; it has at most {SUMS_CAP}")
        return
    try:
        data = (root / SHA256SUMS).read_bytes()
    except OSError as e:
        yield Problem(SHA256SUMS, "unreadable", f"{e.strerror}")
        return
    yield from sums_problems(manifest, sha256, data)


def _samples(root: Path, listing: Listing, report: VerificationReport) -> list[SampleRecord] | None:
    if SAMPLES not in listing.files:
        return None
    samples: list[SampleRecord] = []
    bad: list[Problem] = []
    try:
        for row in scan_jsonl(root / SAMPLES, SampleRecord):
            if isinstance(row, BadLine):
                bad.append(Problem(SAMPLES, "schema", str(row)))
                if len(bad) >= MOST_BAD_LINES:
                    break
            else:
                samples.append(row)
    except OSError as e:
        bad.append(Problem(SAMPLES, "unreadable", f"{e.strerror}"))
    report.add(bad)
    return None if bad else samples


def _hash_files(root: Path, records: list[FileRecord], report: VerificationReport, jobs: int, progress: Progress) -> set[str]:
    """Hash whole files, several at once (hashing releases the interpreter's lock); return the paths that are as recorded."""

    def one(record: FileRecord) -> Problem | None:
        try:
            found = sha256_file(root / record.path)
        except OSError as e:
            return Problem(printable(record.path), "unreadable", f"{e.strerror}")
        return None if found == record.sha256 else Problem(printable(record.path), "hash", f"has {found}, recorded is {record.sha256}")

    sound: set[str] = set()
    with ThreadPoolExecutor(jobs) as pool:
        for done, (record, problem) in enumerate(zip(records, pool.map(one, records), strict=True), 1):
            if problem is None:
                sound.add(record.path)
            else:
                report.add([problem])
            report.add([], Counter(bytes=record.bytes))
            progress("files", done, len(records))
    return sound


def _with_shards(manifest: Manifest, report: VerificationReport) -> Iterator[tuple[SetRecord, frozenset[str]]]:
    """Yield every set with its shards."""
    left = {f.path for f in manifest.files if f.path.startswith("hdf5/")}
    by_start: dict[str, set[str]] = {}
    for path in left:
        by_start.setdefault(path.removeprefix("hdf5/").rpartition("-")[0], set()).add(path)
    for record in manifest.sets:
        pattern = shard_pattern(record.id)
        shards = frozenset(path for path in by_start.get(record.id, ()) if pattern.fullmatch(path))
        left -= shards
        yield record, shards
    report.add(Problem(printable(path), "unexpected", "a shard of no set") for path in sorted(left))


def _run(tasks: list[SetTask], listing: Listing, jobs: int) -> Iterator[Found]:
    if jobs == 1 or not tasks:
        yield from map(check_set, tasks)
        return
    from dataclasses import replace

    # imported here: one process needs no joblib
    from joblib import Parallel, delayed

    sliced = []
    for task in tasks:
        size = listing.files.get(set_path(task.record.id), 0)
        parts = max(1, min(jobs, 2 * jobs // len(tasks), size // SLICE_BYTES))
        sliced += [replace(task, part=part, parts=parts) for part in range(parts)]
    found: Found | None = None
    with loky_workers_starting():  # it comes back when the workers are started
        results = Parallel(n_jobs=jobs, return_as="generator")(delayed(check_set)(t) for t in sliced)
    for task, one in zip(sliced, results, strict=True):
        if task.part == 0 and found is not None:
            yield found
            found = None
        if found is None:
            found = one
        else:
            found.problems += one.problems
            found.checked += one.checked
    if found is not None:
        yield found


def _rederive(root: Path, rederive: Rederive, count: int | None, report: VerificationReport) -> None:
    blocking = {"schema", "records", "digest", "missing", "symlink", "special", "unreadable"}
    if any(p.kind in blocking and (p.path in (MANIFEST, SAMPLES) or p.path.startswith("sets/")) for p in report.problems):
        return
    if report.partial:
        report.add([Problem(PARTIAL, "rederive", "samples of a part of a data set cannot be made again; unpack all of its archives first")])
        return
    report.add(rederive(DataSet(root), count))
