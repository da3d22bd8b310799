"""Verify a dataset against its manifest, and report all problems together.

There are four levels, and each includes the earlier ones. ``structure`` checks the records and their digests, and finds
missing and unexpected files. ``sizes`` compares the sizes of files, and ``hashes`` compares their hashes. ``pixels``
decodes the images and, if the encoding is lossless, compares the digests of the pixels. A caller can also supply a
function that regenerates samples from the source.

No file outside the directory is read. Only files in a listing that does not follow links are opened, and paths in
records are only looked up in this listing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from ...arguments import check_choice
from ...errors import VerificationError
from ..checksums import SUMS_CAP, hash_problem
from ..disk.listing import file_problems, list_files, read_small
from ..disk.remote import data_folder
from ..images.image_formats import preserved_path
from ..manifest_file import read_manifest
from ..partial import load_partial, optional_files
from ..paths import (
    IMAGES,
    MANIFEST,
    PARTIAL,
    REGIONS,
    SAMPLES,
    SETS,
    SHA256SUMS,
    SHARDS,
    UNFINISHED,
    UNPACK_STATE,
    WORK_FOLDER,
    image_folder,
    keeps_source_names,
    set_of_shard,
)
from ..reader import Dataset
from ..records.digests import sha256_bytes
from ..records.models import FileRecord, Manifest, RegionRow, SampleRecord
from ..records.parsing import parse_record
from ..records.report import VERIFY_LEVELS, Problem, ProgressCallback, VerificationReport, VerifyLevel, printable
from .rules import manifest_problems, region_problems, sample_problems, sums_problems
from .sets import Findings, SetCheck, read_rows, run_checks

Rederive = Callable[[Dataset], Iterable[Problem]]
"""A function that regenerates samples from the source, and yields differences as problems of the kind ``rederive``."""


def verify_directory(
    directory: Path | str,
    *,
    level: VerifyLevel = "pixels",
    rederive: Rederive | None = None,
    jobs: int = 1,
    progress: ProgressCallback | None = None,
) -> VerificationReport:
    """Check a dataset against its manifest, and return a report of all differences.

    Differences and damaged files never raise an error.

    Parameters
    ----------
    directory : path
        The directory of the dataset.
    level : {"structure", "sizes", "hashes", "pixels"}
        The level of the verification, as `corruptset.verify` describes it.
    rederive : callable, optional
        A function that takes the dataset, regenerates samples from the source and yields differences. It is called if
        the records can be trusted. Its errors are not caught.
    jobs : int
        The number of processes.
    progress : callable, optional
        Called with the step ("files", "sets" or "rederive"), the number of completed items and their total.

    Raises
    ------
    ParameterError
        The level does not exist.

    Notes
    -----
    The environment, the licence and the metrics in manifest.json are protected only by its hash in SHA256SUMS. If
    somebody changes all files consistently, the result is a different valid dataset, which has a different digest.
    """
    check_choice("level", level, VERIFY_LEVELS)
    root = data_folder(directory)
    report = VerificationReport(printable(str(root)), level)
    data = read_manifest(root, follow_links=False)
    if isinstance(data, Problem):
        report.add([data])
        return report
    manifest, errors = parse_record(Manifest, data)
    report.add(Problem(MANIFEST, "schema", error) for error in errors)
    if manifest is not None:
        verification = _Verification(root, manifest, sha256_bytes(data), level, report)
        verification.check_files(jobs, progress or (lambda *_: None))
        verification.check_sets(jobs, progress or (lambda *_: None))
        if rederive is not None and verification.can_rederive():
            report.add(rederive(Dataset(root)))
    report.finish()
    return report


class _Verification:
    """A verification in progress. Its steps add to one report."""

    def __init__(
        self, root: Path, manifest: Manifest, sha256: str, level: VerifyLevel, report: VerificationReport
    ) -> None:
        self.root, self.manifest, self.sha256, self.level, self.report = root, manifest, sha256, level, report
        report.digest, report.containers = manifest.digest, manifest.storage.containers
        self.folders = frozenset(image_folder(s.id) for s in manifest.sets)
        """Folders of images, which are listed separately for each set."""
        self.samples: list[SampleRecord] | None = None
        """The rows of samples.jsonl, or None if some of them are invalid."""
        self.intact: set[str] = set()
        """Files whose hash matches their record."""

    def _note(self, path: str, kind: str, detail: str) -> None:
        self.report.add([Problem(path, kind, detail)])

    def check_files(self, jobs: int, progress: ProgressCallback) -> None:
        """Check everything except the sets."""
        root, manifest, report = self.root, self.manifest, self.report
        report.add(manifest_problems(manifest))
        absent = self._absent()
        listing = list_files(root, prune=self.folders | {WORK_FOLDER})
        report.add(listing.problems, Counter(files=len(listing.files)))
        if (root / WORK_FOLDER).is_dir() and not listing.hides(WORK_FOLDER):
            self._check_work_folder()
        recorded: dict[str, int | None] = {f.path: f.bytes for f in manifest.files if not f.path.startswith(IMAGES)}
        recorded |= {MANIFEST: None, SHA256SUMS: None, **({PARTIAL: None} if report.partial else {})}
        for path in absent - listing.files.keys():
            recorded.pop(path, None)
        report.add(file_problems(listing, recorded, sizes=self.level != "structure"))
        if SHA256SUMS in listing.files:
            sums = read_small(root, SHA256SUMS, SUMS_CAP)
            report.add([sums] if isinstance(sums, Problem) else sums_problems(manifest, self.sha256, sums))
        self._check_samples(listing.files)
        if self.level in ("hashes", "pixels"):
            existing = [record for record in manifest.files if listing.files.get(record.path) == record.bytes]
            self._check_hashes(existing, jobs, progress)
            report.add([], Counter(bytes=sum(listing.files.get(path, 0) for path in (MANIFEST, SHA256SUMS))))

    def _absent(self) -> frozenset[str]:
        """Return the files that may be missing, and report the sets that are absent according to PARTIAL.json."""
        try:
            partial = load_partial(self.root)
        except (VerificationError, OSError) as e:
            self._note(PARTIAL, "schema", str(e))
            return frozenset()
        if partial is None:
            return frozenset()
        ids, sets = {s.id for s in self.manifest.sets}, set(partial.sets)
        if (partial.manifest, partial.digest) != (self.sha256, self.manifest.digest) or not ids >= sets:
            self._note(PARTIAL, "records", "belongs to a different dataset than manifest.json")
            return frozenset()
        self.report.partial, self.report.absent = True, sorted(ids - sets)
        return optional_files(self.manifest, sets)

    def _check_work_folder(self) -> None:
        """Report a work folder, which a finished dataset does not have."""
        if self.root.name.endswith(UNFINISHED):
            what = "the build is complete but not renamed; run the same `corruptset build` command again"
            self._note(WORK_FOLDER, "incomplete", what)
        elif (self.root / UNPACK_STATE).exists():
            what = "unpacking was interrupted; run the same `corruptset unpack` command again"
            self._note(WORK_FOLDER, "incomplete", what)
        else:
            what = "left by a repair that was killed; run `corruptset verify --repair` again"
            self._note(WORK_FOLDER, "unexpected", what)

    def _check_samples(self, files: dict[str, int]) -> None:
        """Check samples.jsonl and regions.jsonl, and compare them with the manifest and each other."""
        samples, problems = read_rows(self.root, SAMPLES, SampleRecord) if SAMPLES in files else (None, [])
        self.report.add(problems)
        if samples is None or problems:
            return
        self.samples = samples
        self.report.add(sample_problems(self.manifest, samples), Counter(samples=len(samples)))
        rows, problems = read_rows(self.root, REGIONS, RegionRow) if REGIONS in files else (None, [])
        self.report.add(problems or region_problems(self.manifest, samples, rows))

    def _check_hashes(self, records: list[FileRecord], jobs: int, progress: ProgressCallback) -> None:
        """Compare the hashes of files in several threads, because hashing releases the interpreter lock."""
        with ThreadPoolExecutor(jobs) as pool:
            problems = pool.map(lambda record: hash_problem(self.root, record), records)
            for done, (record, problem) in enumerate(zip(records, problems, strict=True), 1):
                self.intact |= {record.path} if problem is None else set()
                self.report.add([] if problem is None else [problem], Counter(bytes=record.bytes))
                progress("files", done, len(records))

    def check_sets(self, jobs: int, progress: ProgressCallback) -> None:
        """Check every set that is not absent."""
        checks = self._set_checks()
        slices = Counter[str]()
        done = 0

        def on_result(check: SetCheck, findings: Findings) -> None:
            nonlocal done
            self.report.add(*findings)
            slices[check.record.id] += 1
            if slices[check.record.id] == check.slice_count:
                done += 1
                progress("sets", done, len(checks))

        run_checks(checks, jobs, on_result)
        self.report.add([], Counter(sets=len(checks)))

    def _set_checks(self) -> list[SetCheck]:
        """Return the check of each set, and report shards that belong to no set."""
        manifest, samples = self.manifest, self.samples
        labels = image_paths = None
        if samples is not None and manifest.classes and all(s.label in range(len(manifest.classes)) for s in samples):
            labels = np.array([s.label for s in samples], np.int64)
        if samples is not None and keeps_source_names(manifest):
            image_paths = [preserved_path(s.path, s.id, manifest.encoding["format"]) for s in samples]
        shards: dict[str | None, set[str]] = defaultdict(set)
        for path in (f.path for f in manifest.files if f.path.startswith(SHARDS)):
            shards[set_of_shard(path)].add(path)
        bare_manifest = manifest.model_copy(
            update={"recipe": {}, "sets": [], "files": [], "excluded": [], "selection": {}}
        )
        checks = []
        for record in manifest.sets:
            own = shards.pop(record.id, set())
            if record.id not in self.report.absent:
                checks.append(
                    SetCheck(
                        # absolute, because reused workers keep their current directory
                        directory=self.root.absolute(),
                        manifest=bare_manifest,
                        record=record,
                        labels=labels,
                        image_paths=image_paths,
                        prune=self.folders,
                        shards=frozenset(own),
                        intact_shards=frozenset(own & self.intact),
                        level=self.level,
                    )
                )
        for path in sorted(path for remaining in shards.values() for path in remaining):
            self._note(path, "unexpected", "a shard that belongs to no set")
        return checks

    def can_rederive(self) -> bool:
        """Return whether the records are sound enough to regenerate samples from them."""
        blocking = {"schema", "records", "digest", "missing", "symlink", "special", "unreadable"}
        return not any(
            p.kind in blocking and (p.path in (MANIFEST, SAMPLES) or p.path.startswith(SETS))
            for p in self.report.problems
        )
