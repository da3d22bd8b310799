"""Verify a data set against its manifest: climb the whole ladder, report everything at once.

Structure (records, nothing missing, nothing unexpected, digests that follow from records) -> sizes -> hashes -> pixels
(decodes, shapes, pixel digests where the encoding is lossless) -> samples made again from the source, which a caller
supplies. No path leads out of the directory: only files are read that a listing found which follows no link, and the
path of a record is only looked up in that listing.
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
from ..images.pictures import own_path
from ..manifest_file import read_manifest
from ..partial import load_partial, may_be_absent
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
    WORK_FOLDER,
    image_folder,
    keeps_source_names,
    set_of_shard,
)
from ..reader import Dataset
from ..records.digests import sha256_bytes
from ..records.models import FileRecord, Manifest, RegionRow, SampleRecord
from ..records.parsing import record_or_mistakes
from ..records.report import LEVELS, Level, Problem, Progress, VerificationReport, printable
from .rules import manifest_problems, region_problems, sample_problems, sums_problems
from .sets import Findings, SetCheck, read_rows, run_checks

Rederive = Callable[[Dataset], Iterable[Problem]]
"""Makes samples again from the source, and yields the differences as problems of kind ``rederive``."""


def verify_directory(
    directory: Path | str,
    *,
    level: Level = "pixels",
    rederive: Rederive | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> VerificationReport:
    """Check a data set against its manifest, and find everything that is not as recorded.

    It never raises for that, whatever the bytes.

    `corruptset.verify` describes the levels and the report. `rederive` makes samples again from the source; it is
    called with the open data set if the records can be trusted, and what it raises is a user's mistake, not the data
    set's. The steps of `progress` are "files", "sets" and "rederive". ParameterError: no such level.

    manifest.json is covered by SHA256SUMS alone (environment, licence and metrics follow from nothing else), and
    SHA256SUMS by the manifest. Whoever changes both consistently, images included, makes another data set: it has
    another digest.
    """
    check_choice("level", level, LEVELS)
    root = data_folder(directory)
    report = VerificationReport(printable(str(root)), level)
    data = read_manifest(root, follow_links=False)
    if isinstance(data, Problem):
        report.add([data])
        return report
    manifest, mistakes = record_or_mistakes(Manifest, data)
    report.add(Problem(MANIFEST, "schema", mistake) for mistake in mistakes)
    if manifest is not None:
        ladder = _Ladder(root, manifest, sha256_bytes(data), level, report)
        ladder.check_files(jobs, progress or (lambda *_: None))
        ladder.check_sets(jobs, progress or (lambda *_: None))
        if rederive is not None and ladder.can_rederive():
            report.add(rederive(Dataset(root)))
    report.finish()
    return report


class _Ladder:
    """The steps of a verification, and the report that they add to."""

    def __init__(self, root: Path, manifest: Manifest, sha256: str, level: Level, report: VerificationReport) -> None:
        self.root, self.manifest, self.sha256, self.level, self.report = root, manifest, sha256, level, report
        report.digest, report.containers = manifest.digest, manifest.storage.containers
        self.folders = frozenset(image_folder(s.id) for s in manifest.sets)
        """Folders of images, with listings of their own."""
        self.samples: list[SampleRecord] | None = None
        """Where all rows are records."""
        self.sound: set[str] = set()
        """Files that have the recorded hash."""

    def _note(self, path: str, kind: str, detail: str) -> None:
        self.report.add([Problem(path, kind, detail)])

    def check_files(self, jobs: int, progress: Progress) -> None:
        """Check everything but the sets."""
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
            whole = [record for record in manifest.files if listing.files.get(record.path) == record.bytes]
            self._check_hashes(whole, jobs, progress)
            report.add([], Counter(bytes=sum(listing.files.get(path, 0) for path in (MANIFEST, SHA256SUMS))))

    def _absent(self) -> frozenset[str]:
        """Return the files that may be missing, and note the sets that PARTIAL.json calls absent."""
        try:
            partial = load_partial(self.root)
        except (VerificationError, OSError) as e:
            self._note(PARTIAL, "schema", str(e))
            return frozenset()
        if partial is None:
            return frozenset()
        ids, sets = {s.id for s in self.manifest.sets}, set(partial.sets)
        if (partial.manifest, partial.digest) != (self.sha256, self.manifest.digest) or not ids >= sets:
            self._note(PARTIAL, "records", "is of another data set than manifest.json")
            return frozenset()
        self.report.partial, self.report.absent = True, sorted(ids - sets)
        return may_be_absent(self.manifest, sets)

    def _check_work_folder(self) -> None:
        """Report a work folder, which a finished dataset does not have."""
        if self.root.name.endswith(UNFINISHED):
            what = "the build is complete but not renamed; run the same `corruptset build` command again"
            self._note(WORK_FOLDER, "incomplete", what)
        else:
            what = "left by a repair that was killed; run `corruptset verify --repair` again"
            self._note(WORK_FOLDER, "unexpected", what)

    def _check_samples(self, files: dict[str, int]) -> None:
        """Check samples.jsonl and regions.jsonl, with the manifest and each other."""
        samples, problems = read_rows(self.root, SAMPLES, SampleRecord) if SAMPLES in files else (None, [])
        self.report.add(problems)
        if samples is None or problems:
            return
        self.samples = samples
        self.report.add(sample_problems(self.manifest, samples), Counter(samples=len(samples)))
        rows, problems = read_rows(self.root, REGIONS, RegionRow) if REGIONS in files else (None, [])
        self.report.add(problems or region_problems(self.manifest, samples, rows))

    def _check_hashes(self, records: list[FileRecord], jobs: int, progress: Progress) -> None:
        """Hash whole files, several at once: hashing releases the interpreter's lock."""
        with ThreadPoolExecutor(jobs) as pool:
            problems = pool.map(lambda record: hash_problem(self.root, record), records)
            for done, (record, problem) in enumerate(zip(records, problems, strict=True), 1):
                self.sound |= {record.path} if problem is None else set()
                self.report.add([] if problem is None else [problem], Counter(bytes=record.bytes))
                progress("files", done, len(records))

    def check_sets(self, jobs: int, progress: Progress) -> None:
        """Check every set that is there."""
        checks = self._set_checks()
        slices = Counter[str]()
        done = 0

        def on_result(check: SetCheck, findings: Findings) -> None:
            nonlocal done
            self.report.add(*findings)
            slices[check.record.id] += 1
            if slices[check.record.id] == check.parts:
                done += 1
                progress("sets", done, len(checks))

        run_checks(checks, jobs, on_result)
        self.report.add([], Counter(sets=len(checks)))

    def _set_checks(self) -> list[SetCheck]:
        """Return the check of each set; shards of no set go to the report."""
        manifest, samples = self.manifest, self.samples
        labels = names = None
        if samples is not None and manifest.classes and all(s.label in range(len(manifest.classes)) for s in samples):
            labels = np.array([s.label for s in samples], np.int64)
        if samples is not None and keeps_source_names(manifest):
            names = [own_path(s.path, s.id, manifest.encoding["format"]) for s in samples]
        shards: dict[str | None, set[str]] = defaultdict(set)
        for path in (f.path for f in manifest.files if f.path.startswith(SHARDS)):
            shards[set_of_shard(path)].add(path)
        lean = manifest.model_copy(update={"recipe": {}, "sets": [], "files": [], "excluded": [], "selection": {}})
        checks = []
        for record in manifest.sets:
            own = shards.pop(record.id, set())
            if record.id not in self.report.absent:
                checks.append(
                    SetCheck(
                        # workers of an earlier call keep the current directory of that time
                        directory=self.root.absolute(),
                        manifest=lean,
                        record=record,
                        labels=labels,
                        names=names,
                        prune=self.folders,
                        shards=frozenset(own),
                        sound=frozenset(own & self.sound),
                        level=self.level,
                    )
                )
        for path in sorted(path for strange in shards.values() for path in strange):
            self._note(path, "unexpected", "a shard of no set")
        return checks

    def can_rederive(self) -> bool:
        """Return whether the records can be trusted to make samples again by them."""
        blocking = {"schema", "records", "digest", "missing", "symlink", "special", "unreadable"}
        return not any(
            p.kind in blocking and (p.path in (MANIFEST, SAMPLES) or p.path.startswith(SETS))
            for p in self.report.problems
        )
