"""Verify a data set against its manifest: climb the whole ladder, and report everything at once.

Structure (records, nothing missing, nothing unexpected, digests that follow from records) -> sizes -> hashes -> pixels (decodes, shapes,
pixel digests where the encoding is lossless) -> samples made again from the source, which a caller supplies. No path leads out of the
directory: only files are read that a listing found which follows no link, and the path of a record is only looked up in that listing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ...errors import VerificationError
from ..checksums import SUMS_CAP, hash_problem
from ..disk.listing import Listing, empty_folders, list_files, read_small
from ..disk.remote import data_folder
from ..layout import FINISH, IMAGES, MANIFEST, PARTIAL, REGIONS, SAMPLES, SETS, SHA256SUMS, WORK_FOLDER, set_places
from ..manifest_file import read_manifest
from ..partial import Partial, load_partial, may_be_absent
from ..reader import DataSet
from ..records.digests import sha256_bytes, sha256_file
from ..records.models import FileRecord, Manifest, RegionRow, SampleRecord
from ..records.parsing import record_or_mistakes
from ..records.report import LEVELS, Level, Problem, Progress, VerificationReport, printable
from ..unfinished import SetFiles, extension_files
from .rules import manifest_problems, region_problems, sample_problems, sums_problems
from .set_tasks import check_sets, set_tasks
from .sets import SetTask, read_rows

Rederive = Callable[[DataSet], Iterable[Problem]]
"""Makes samples again from the source, and yields the differences as problems of kind ``rederive``."""


def verify_directory(
    directory: Path | str,
    *,
    level: Level = "pixels",
    rederive: Rederive | None = None,
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
        Makes samples again from the source; called with the open data set if the records can be trusted.
    jobs : int
        Processes.
    progress : callable, optional
        The steps are "files", "sets" and "rederive".

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
    checked. Whoever changes both consistently, images included, makes another data set: it has another digest.
    """
    if level not in LEVELS:
        raise ValueError(f"level {level!r} is not one of {', '.join(LEVELS)}.")
    if jobs < 1:
        raise ValueError(f"jobs is {jobs}; at least 1 is needed.")
    root = data_folder(directory)
    report = VerificationReport(printable(str(root)), level)
    data = read_manifest(root, follow_links=False)
    if isinstance(data, Problem):
        report.add([data])
        return report
    sha256 = sha256_bytes(data)
    manifest, mistakes = record_or_mistakes(Manifest, data)
    report.add(Problem(MANIFEST, "schema", mistake) for mistake in mistakes)
    if manifest is not None:
        report.digest, report.containers = manifest.digest, tuple(manifest.encoding["containers"])
        tasks, listing = _check_files(root, manifest, sha256, report, LEVELS.index(level), jobs, progress or (lambda *_: None))
        for done, findings in enumerate(check_sets(tasks, listing, jobs), 1):
            report.add(findings.problems, findings.checked)
            if progress is not None:
                progress("sets", done, len(tasks))
        report.add([], Counter(sets=len(tasks)))
        if rederive is not None:
            _rederive(root, rederive, report)
        if report.problems and _replaced(root, sha256):
            again = "was replaced meanwhile: a build has extended the data set. Verify again"
            report.problems = [Problem(MANIFEST, "incomplete", again)]
    report.problems = sorted(set(report.problems))
    return report


def _replaced(root: Path, sha256: str) -> bool:
    """Return whether the manifest is another one than the one that was read."""
    try:
        return sha256_file(root / MANIFEST) != sha256
    except OSError:
        return False


def _check_files(
    root: Path, manifest: Manifest, sha256: str, report: VerificationReport, level: int, jobs: int, progress: Progress
) -> tuple[list[SetTask], Listing]:
    """Check everything but the sets; return the tasks that check them, and the files outside their folders."""
    report.add(manifest_problems(manifest))
    partial = _partial(root, manifest, sha256, report)
    extension = extension_files(root, manifest, sha256)
    places = set_places(manifest)
    folders = frozenset(path for paths in places.values() for path in paths if not path.endswith(".npy"))
    apart = folders if extension is None else folders | extension.places
    listing = list_files(root, prune=apart | {WORK_FOLDER})
    report.add(listing.problems, Counter(files=len(listing.files)))
    if (root / WORK_FOLDER).is_dir() and not listing.hides(WORK_FOLDER):
        _note_extension(root, extension, report)
    absent = frozenset() if partial is None else may_be_absent(manifest, partial.sets)
    present = _present_files(manifest, listing, report, absent, extension, sizes=level >= LEVELS.index("sizes"))
    if SHA256SUMS in listing.files:
        sums = read_small(root, SHA256SUMS, SUMS_CAP)
        report.add([sums] if isinstance(sums, Problem) else sums_problems(manifest, sha256, sums))
    samples, problems = read_rows(root, SAMPLES, SampleRecord) if SAMPLES in listing.files else (None, [])
    report.add(problems)
    if problems:
        samples = None
    if samples is not None:
        report.add(sample_problems(manifest, samples), Counter(samples=len(samples)))
        rows, problems = read_rows(root, REGIONS, RegionRow) if REGIONS in listing.files else (None, [])
        report.add(problems or region_problems(manifest, samples, rows))
    sound = set()
    if level >= LEVELS.index("hashes"):
        sound = hash_files(root, present, report, jobs, progress)
        report.add([], Counter(bytes=sum(listing.files.get(path, 0) for path in (MANIFEST, SHA256SUMS))))
    return list(set_tasks(root, manifest, samples, places, apart, sound, level, report)), listing


def _note_extension(root: Path, extension: SetFiles | None, report: VerificationReport) -> None:
    """Say what the work folder of a build means beside a manifest."""
    if (root / FINISH).exists():
        detail = "an extension was stopped while its last files took their places; run the same `corruptset build` command again"
        report.add([Problem(WORK_FOLDER, "incomplete", detail)])
    elif extension is None:
        report.add([Problem(WORK_FOLDER, "unexpected", "a build has not cleaned up; run the same `corruptset build` command again")])
    else:
        report.notes.append(
            f"An extension by {len(extension.sets)} sets is under way, or was stopped; they are not looked at. Run the same "
            "`corruptset build` command again to finish it, or with --abandon to take it back."
        )


def _partial(root: Path, manifest: Manifest, sha256: str, report: VerificationReport) -> Partial | None:
    """Return what PARTIAL.json says, and note in the report which sets it calls absent."""
    try:
        partial = load_partial(root)
    except (VerificationError, OSError) as e:
        report.add([Problem(PARTIAL, "schema", str(e))])
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


def _present_files(
    manifest: Manifest, listing: Listing, report: VerificationReport, absent: frozenset[str], extension: SetFiles | None, *, sizes: bool
) -> list[FileRecord]:
    """Compare the listing with the manifest's files; return those that are there with the recorded size.

    Files that are `absent` need not be there, and those of an extension may be.
    """
    recorded = {f.path: f for f in manifest.files}
    present: list[FileRecord] = []
    for path in sorted({*recorded, SHA256SUMS}):
        if path not in listing.files:
            if not listing.hides(path) and not path.startswith(IMAGES) and path not in absent:
                report.add([Problem(path, "missing", "the manifest names this file")])
        elif path in recorded:
            size, record = listing.files[path], recorded[path]
            if sizes and size != record.bytes:
                report.add([Problem(path, "size", f"has {size} bytes, recorded are {record.bytes}")])
            else:
                present.append(record)
    known = recorded.keys() | {MANIFEST, SHA256SUMS} | ({PARTIAL} if report.partial else set())
    for path in sorted(listing.files.keys() - known):
        if extension is None or path not in extension:
            report.add([Problem(path, "unexpected", "no record names this file")])
    if extension is None:  # an extension makes folders before the files in them
        report.add(empty_folders(listing, recorded))
    return present


def hash_files(root: Path, records: list[FileRecord], report: VerificationReport, jobs: int, progress: Progress) -> set[str]:
    """Hash whole files, several at once (hashing releases the interpreter's lock); return the paths that are as recorded."""
    sound: set[str] = set()
    with ThreadPoolExecutor(jobs) as pool:
        problems = pool.map(lambda record: hash_problem(root, record), records)
        for done, (record, problem) in enumerate(zip(records, problems, strict=True), 1):
            if problem is None:
                sound.add(record.path)
            report.add([] if problem is None else [problem], Counter(bytes=record.bytes))
            progress("files", done, len(records))
    return sound


def _rederive(root: Path, rederive: Rederive, report: VerificationReport) -> None:
    blocking = {"schema", "records", "digest", "missing", "symlink", "special", "unreadable"}
    if any(p.kind in blocking and (p.path in (MANIFEST, SAMPLES) or p.path.startswith(SETS)) for p in report.problems):
        return
    report.add(rederive(DataSet(root)))
