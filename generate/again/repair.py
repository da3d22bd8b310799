"""`verify --repair`: what is wrong or missing is made again, file by file; what is right is not touched.

Everything is made aside, in `.corruptset/repair`, and takes the place of what is wrong only where its bytes are those that the records
list. manifest.json is never rewritten: all other files are compared with it. Files that no record names are left for their owner.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...errors import VerificationError
from ...manifests.checksums import SUMS_CAP, sha256sums_bytes
from ...manifests.disk.jsonl import read_jsonl
from ...manifests.disk.listing import plain_file
from ...manifests.layout import (
    CONTACT,
    LICENSE,
    MANIFEST,
    PAGE,
    PARTIAL,
    README,
    REGIONS,
    SAMPLES,
    SCRATCH,
    SHA256SUMS,
    SHARDS,
    WORK_FOLDER,
    own_names,
    set_path,
)
from ...manifests.partial import load_partial, may_be_absent
from ...manifests.records.digests import sha256_bytes, sha256_file
from ...manifests.records.models import FileRecord, Manifest, SampleRecord
from ...manifests.records.parsing import record_or_mistakes
from ...manifests.records.report import Progress, VerificationReport
from ...manifests.verify.ladder import verify_directory
from ...manifests.verify.rules import manifest_problems, manifest_witness, sample_problems
from ..commit.data_card import data_card, license_text
from ..commit.finish import contact_of
from ..commit.interruption import resumable
from ..commit.locks import extended, locked
from ..page.build_page import build_page
from .agreement import library_advice
from .page_again import clean_images
from .remake import Remake
from .remake_options import RemakeOptions
from .repaired_files import Repaired, RepairedFiles
from .repaired_images import repair_images, repair_rows, samples_text


def repair(directory: str | Path, before: VerificationReport, options: RemakeOptions, progress: Progress) -> Repaired:
    """Make again what a verification found wrong or missing.

    Parameters
    ----------
    directory : path
    before : VerificationReport
        What is wrong, as `verify_directory` says it at its highest level.
    options : RemakeOptions
    progress : callable
        Called with the step, what is done and the total.

    Returns
    -------
    Repaired

    Raises
    ------
    SourceError
        Images have to be made again, and the source is missing, cannot be read, or is another one.
    VerificationError
        Images have to be made again, and corruptions or textures have other revisions here.
    BuildError
        A build, or another repair, works in this directory.
    MachineError, Interrupted
        What was mended stands; the same call goes on.
    """
    root = Path(directory)
    outcome = Repaired()
    manifest = _trusted(root, outcome)
    if manifest is None:
        return outcome
    absent = _absent(root, manifest, outcome)
    if absent is None:
        return outcome
    if (root / WORK_FOLDER).is_symlink():
        outcome.leave(WORK_FOLDER, "is a link; take it away and repair again")
        return outcome
    if (root / WORK_FOLDER).exists() and extended(root) is None:
        outcome.mended.append(WORK_FOLDER)  # of a build or a repair that was killed: it is removed with the lock
    with resumable(root), locked(root):
        shutil.rmtree(root / SCRATCH, ignore_errors=True)
        files = RepairedFiles(root, manifest, outcome, absent)
        _Repair(files, Remake(root, manifest, options, progress, files.scratch), progress).all(before)
    return outcome


def _absent(root: Path, manifest: Manifest, outcome: Repaired) -> frozenset[str] | None:
    """Return the files of archives that were not unpacked, which are not to be made; None where PARTIAL.json cannot be trusted."""
    try:
        partial = load_partial(root)
    except (VerificationError, OSError):
        partial, known = None, False
    else:
        known = partial is None or (partial.digest, partial.manifest) == (manifest.digest, sha256_file(root / MANIFEST))
    if not known:
        reason = "it does not say what of this data set is here, so nothing is made; unpack the archives again, or take it away"
        outcome.leave(PARTIAL, reason)
        return None
    paths = frozenset() if partial is None else may_be_absent(manifest, partial.sets)
    return frozenset(path for path in paths if not os.path.lexists(root / path))


def _trusted(root: Path, outcome: Repaired) -> Manifest | None:
    """Return the manifest if other files can be compared with it; else say why not."""

    def refuse(reason: str) -> None:
        outcome.leave(MANIFEST, f"{reason}; nothing is made again from it: fetch it again")

    if not plain_file(root, MANIFEST):
        refuse("it is missing, or not a plain file")
        return None
    data = (root / MANIFEST).read_bytes()
    manifest, mistakes = record_or_mistakes(Manifest, data)
    if manifest is None:
        refuse(f"it does not follow the schema ({mistakes[0]})")
        return None
    if any(True for _ in manifest_problems(manifest)):
        refuse("its fields contradict each other")
        return None
    witness = manifest_witness(sha256_bytes(data), _sums(root))
    sha256s = {f.path: f.sha256 for f in manifest.files}
    sound = plain_file(root, SAMPLES) and sha256_file(root / SAMPLES) == sha256s[SAMPLES]
    if sound and any(True for _ in sample_problems(manifest, list(read_jsonl(root / SAMPLES, SampleRecord)))):
        refuse("its fields contradict the samples")
        return None
    if witness == "contradicts":
        if not sound:
            refuse("it is not the one that SHA256SUMS names, and samples.jsonl, which could speak for it, is not whole")
            return None
        reason = "it is not the one that SHA256SUMS names: one of the two was changed, and nothing says which; fetch both again"
        outcome.leave(MANIFEST, reason)
    return manifest


def _sums(root: Path) -> bytes | None:
    if not plain_file(root, SHA256SUMS) or (root / SHA256SUMS).stat().st_size > SUMS_CAP:
        return None
    return (root / SHA256SUMS).read_bytes()


@dataclass
class _Repair:
    """One repair, from the ground up: samples, rows, images and shards, texts, checksums. The lock is held."""

    files: RepairedFiles
    remake: Remake
    progress: Progress

    def all(self, before: VerificationReport) -> None:
        """Mend everything that can be mended."""
        files, report = self.files, before
        rows = [s.id for s in files.manifest.sets if not files.sound_or_absent(set_path(s.id))]
        # Samples first: all that follows names samples by these records.
        if not files.sound(SAMPLES) and not self._samples():
            self._checksums()
            return
        if rows:
            repair_rows(self.files, self.remake, rows)
        if {SAMPLES, *map(set_path, rows)} & set(files.outcome.mended):
            report = verify_directory(files.root, jobs=self.remake.options.workers, progress=self.progress)
        repair_images(files, self.remake, {p.path for p in report.problems})
        self._texts()
        self._checksums()

    def _samples(self) -> bool:
        """Make samples.jsonl again; return whether it stands."""
        text = samples_text(self.files, self.remake)
        if text is not None:
            self.files.put_bytes(SAMPLES, text, library_advice(self.files.manifest, "pillow"))
        return SAMPLES in self.files.outcome.mended

    def _texts(self) -> None:
        """Make again what follows from the records."""
        files, remake = self.files, self.remake
        makers: dict[str, Callable[[], bytes]] = {
            README: lambda: data_card(files.manifest, len(remake.data.samples)).encode(),
            LICENSE: lambda: license_text(files.manifest.source).encode(),
            REGIONS: lambda: remake.build.region_rows or b"",
            CONTACT: lambda: contact_of(remake.job, remake.data),
            PAGE: self._page,
        }
        for path, make in makers.items():
            if path in files.sha256s and not files.sound_or_absent(path):
                try:
                    data = make()
                except VerificationError as e:  # images that it shows could not be mended
                    files.outcome.leave(path, str(e))
                else:
                    files.put_bytes(path, data, library_advice(files.manifest, "pillow", "corruptset"))
        covered = {*makers, SAMPLES, *(set_path(s.id) for s in files.manifest.sets)}
        others = [p for p in files.sha256s if p not in covered and not p.startswith(SHARDS) and not files.sound_or_absent(p)]
        if others:
            self._beside_images(others)

    def _page(self) -> bytes:
        data = self.remake.data
        options = self.remake.options if "clean" in data else replace(self.remake.options, source=self.remake.source)
        return build_page(data, clean_images(data, options))

    def _beside_images(self, paths: Sequence[str]) -> None:
        """Make labels and lists of a view again."""
        files = self.files
        texts = {path: data for sink in self.remake.job.sinks for path, data in sink.texts(files.sha256s)}
        shared = {path for sink in self.remake.job.sinks for path in sink.shared_files()}
        # files that go with the images, which are in the source
        others = self.remake.source.other_files if own_names(files.manifest) else {}
        for path in paths:
            if path in others:
                files.put_bytes(path, others[path].read_bytes(), "It is another file in the source.")
            elif path in texts:
                files.put_bytes(path, texts[path], library_advice(files.manifest, "corruptset"))
            elif path not in shared:
                files.outcome.leave(path, "nothing says how it is made; fetch it again")

    def _checksums(self) -> None:
        """Write SHA256SUMS again, unless it is the only witness against the manifest."""
        files = self.files
        data = (files.root / MANIFEST).read_bytes()
        record = FileRecord(path=MANIFEST, bytes=len(data), sha256=sha256_bytes(data))
        right, present = sha256sums_bytes([*files.manifest.files, record]), _sums(files.root)
        if present != right and manifest_witness(record.sha256, present) != "contradicts":
            files.put_bytes(SHA256SUMS, right, "")
