"""Repair a dataset (`verify --repair`): regenerate damaged and missing files.

Files are regenerated in the folder `.corruptset/repair`. A regenerated file replaces a damaged one only if it has the
recorded hash. manifest.json is never rewritten, because all other files are compared with it. Files that are not
recorded are left unchanged.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path

from ...errors import SourceError, VerificationError
from ...manifests.checksums import SUMS_CAP, sha256sums_bytes
from ...manifests.disk.jsonl import BadLine, json_line, read_jsonl, scan_jsonl
from ...manifests.disk.listing import plain_file
from ...manifests.partial import load_partial, optional_files
from ...manifests.paths import (
    CONTACT,
    LICENSE,
    MANIFEST,
    PAGE,
    PARTIAL,
    README,
    REGIONS,
    SAMPLES,
    SHA256SUMS,
    SHARDS,
    WORK_FOLDER,
    image_folder,
    keeps_source_names,
    set_path,
)  # fmt: skip
from ...manifests.records.digests import sha256_bytes, source_digest
from ...manifests.records.models import FileRecord, ImageRecord, Manifest, SampleRecord
from ...manifests.records.parsing import parse_record
from ...manifests.records.report import ProgressCallback, VerificationReport, printable
from ...manifests.verify.directory import verify_directory
from ...manifests.verify.rules import contradicts_manifest, manifest_problems, sample_problems
from ...pixels import pixel_digest
from ..commit.data_card import data_card, license_text
from ..commit.finish import contact_of, sample_record
from ..commit.interruption import resumable
from ..commit.locks import lock_dataset
from ..page.build_page import build_page
from ..pixels.preprocessing import parse_preprocessing, preprocess
from ..plan.job import CheckedSample
from ..regions.region_source import RegionSource
from ..sources.source import BadSample, Sample
from ..work.sidecars import sidecars
from .inputs import RemakeOptions
from .page import clean_images
from .recorded_build import recorded_selection
from .repair_state import ENCODERS, RepairState


def repair(
    directory: Path, before: VerificationReport, options: RemakeOptions, progress: ProgressCallback
) -> RepairState:
    """Regenerate files that a verification found to be damaged or missing, as far as possible.

    Parameters
    ----------
    directory : Path
        The directory of the dataset.
    before : VerificationReport
        The report that `verify_directory` returned at its highest level.
    options : RemakeOptions
        The source and its options.
    progress : callable
        Called with the step, the amount done and the total.

    Raises
    ------
    SourceError
        Images must be regenerated, but the source is missing, cannot be read, or differs from the recorded one.
    VerificationError
        Images must be regenerated, but the installed corruptions or the textures differ from the recorded ones.
    BuildError
        A build or another repair is using the directory.
    MachineError, Interrupted
        The machine failed, or the call was interrupted. To resume, make the same call again.
    """
    state = RepairState(directory, options, progress)
    if not _read_manifest(state):
        return state
    if (state.root / WORK_FOLDER).is_symlink():
        state.record_failure(WORK_FOLDER, "is a link; remove it, and repair again")
        return state
    with resumable(state.root), lock_dataset(state.root), _clean_work_folder(state):
        sets = [s.id for s in state.manifest.sets if state.needs_repair(set_path(s.id))]
        # samples.jsonl is repaired first, because other files refer to its rows.
        if state.is_intact(SAMPLES) or _repair_samples(state):
            if sets:
                _repair_rows(state, sets)
            if {SAMPLES, *map(set_path, sets)} & set(state.repaired):
                before = verify_directory(state.root, jobs=options.workers, progress=progress)
            _repair_images(state, {p.path for p in before.problems})
            _repair_other_files(state)
        _repair_checksums(state)
    return state


@contextmanager
def _clean_work_folder(state: RepairState) -> Iterator[None]:
    """Remove the work folder before and after a repair. A killed build or repair may have left one behind."""
    if (state.root / WORK_FOLDER).exists():
        shutil.rmtree(state.root / WORK_FOLDER)
        state.repaired.append(WORK_FOLDER)
    try:
        yield
    finally:
        shutil.rmtree(state.root / WORK_FOLDER, ignore_errors=True)


def _read_manifest(state: RepairState) -> bool:
    """Read the manifest into the state, and return whether the dataset can be repaired with it.

    If the manifest is unusable, record a failure.
    """
    if not plain_file(state.root, MANIFEST):
        return False  # the verification report says what to do
    data = (state.root / MANIFEST).read_bytes()
    manifest, errors = parse_record(Manifest, data)
    if manifest is not None:
        state.manifest, problems = manifest, list(manifest_problems(manifest))
        if samples_intact := not problems and state.is_intact(SAMPLES):
            problems = list(sample_problems(manifest, list(read_jsonl(state.root / SAMPLES, SampleRecord))))
        errors = [problem.detail for problem in problems]
        if not errors and contradicts_manifest(sha256_bytes(data), _sums(state.root)):
            state.record_failure(
                MANIFEST,
                "its hash differs from the one in SHA256SUMS, so one of the two files was changed. Fetch both again",
            )
            errors = [] if samples_intact else ["samples.jsonl, which could confirm it, is damaged too"]
    if errors or manifest is None:
        state.record_failure(
            MANIFEST,
            f"it is not a valid manifest ({errors[0]}), so nothing can be regenerated from it; fetch it again",
        )
        return False
    try:
        part = load_partial(state.root)
        if part is not None and (part.digest, part.manifest) != (manifest.digest, sha256_bytes(data)):
            raise VerificationError("PARTIAL.json belongs to a different dataset.")
    except (VerificationError, OSError):
        state.record_failure(
            PARTIAL,
            "it does not describe which archives of this dataset were unpacked, so nothing is repaired; unpack the "
            "archives again, or remove it",
        )
        return False
    if part is not None:
        paths = optional_files(manifest, part.sets)
        state.absent = frozenset(path for path in paths if not os.path.lexists(state.root / path))
    return True


def _sums(root: Path) -> bytes | None:
    """Return the contents of SHA256SUMS, or None if the file is missing or too large."""
    if not plain_file(root, SHA256SUMS) or (root / SHA256SUMS).stat().st_size > SUMS_CAP:
        return None
    return (root / SHA256SUMS).read_bytes()


def _repair_rows(state: RepairState, sets: Sequence[str]) -> None:
    """Regenerate the rows of some sets (sets/*.jsonl), which requires regenerating all images of these sets."""
    needed = product(range(len(state.build.chunks)), sets)
    folder = state.make(["files", "shards"], state.parts_of_chunks(needed), {})
    parts = [part for _, part in sidecars(folder) if part is not None]
    for set_id in sets:
        lines = sorted((part.run, part.sets[set_id].lines) for part in parts if set_id in part.sets)
        state.replace_file(set_path(set_id), b"".join(text for _, text in lines), *ENCODERS)


def _repair_samples(state: RepairState) -> bool:
    """Regenerate samples.jsonl if its samples can be determined, and return whether the file was repaired."""
    for candidate in _candidates(state):
        try:
            checked = [(s, state.source.fingerprint(s)) for s in candidate]
        except BadSample:
            continue
        if source_digest([(s.id, s.label, sha256) for s, sha256 in checked]) == state.manifest.source.digest:
            rows = []
            for index, (sample, sha256) in enumerate(checked):
                state.progress("samples", index, len(checked))
                rows.append(_sample_row(state, index, sample, sha256))
            state.replace_file(SAMPLES, b"".join(rows), "pillow")
            return SAMPLES in state.repaired
    state.record_failure(
        SAMPLES,
        "its samples cannot be determined. Either the build selected them with a list of ids, or their groups are not "
        "known (--groups), or this is not the source of the build; fetch it again",
    )
    return False


def _candidates(state: RepairState) -> Iterator[list[Sample]]:
    """Yield possible lists of the dataset's samples.

    The first one comes from samples.jsonl, if all its ids can be read. The last one comes from the recorded selection.
    """
    by_id = {s.id: s for s in state.source.samples}
    if plain_file(state.root, SAMPLES):
        rows = list(scan_jsonl(state.root / SAMPLES, SampleRecord))
        groups = {r.id: r.group for r in rows if not isinstance(r, BadLine) and r.id in by_id}
        if len(groups) == len(rows):
            yield [replace(by_id[i], group=by_id[i].group or group) for i, group in groups.items()]
    if isinstance(state.source, RegionSource):  # its regions were drawn only in selected images
        yield list(state.source.samples)
    else:
        yield recorded_selection(state.manifest, state.source)


def _sample_row(state: RepairState, index: int, sample: Sample, sha256: str) -> bytes:
    try:
        image = state.source.load(sample).image
    except BadSample as e:
        raise SourceError(f"{sample.path or sample.id} can no longer be read: {e}.") from e
    checked = CheckedSample(sample, sha256, image.shape[1], image.shape[0])
    clean = preprocess(image, parse_preprocessing(state.manifest.preprocessing))
    return json_line(sample_record(state.manifest.classes, index, checked, pixel_digest(clean)))


def _repair_images(state: RepairState, problem_paths: Collection[str]) -> None:
    """Regenerate the image files and shards for which problems were reported."""
    paths = {path.partition("#")[0] for path in problem_paths} | set(problem_paths)
    files: dict[tuple[str, int], tuple[str, str]] = {}
    shards: dict[tuple[str, int], tuple[str, str]] = {}
    for record in state.manifest.sets:
        rows = read_jsonl(state.root / set_path(record.id), ImageRecord)
        for row in rows if state.is_intact(set_path(record.id)) else ():
            for stored in (file for file in row.files if printable(file.path) in paths):
                if stored.row is None and stored.path.startswith(f"{image_folder(record.id)}/"):
                    files[record.id, row.index] = stored.path, stored.sha256
                elif stored.row is not None and stored.path in state.sha256s:
                    shards[record.id, row.index] = stored.path, state.sha256s[stored.path]
    if files:
        state.make(["files"], state.parts_of_samples(files), files)
    if shards:
        length = state.build.chunks[0].count
        state.make(["shards"], state.parts_of_chunks((index // length, s) for s, index in shards), shards)


def _repair_other_files(state: RepairState) -> None:
    """Regenerate README.md, LICENSE, regions.jsonl, contact.png and index.html, and copy other files from the source.

    Only damaged or missing files are regenerated.
    """
    manifest, data = state.manifest, state.data
    covered = {SAMPLES, *(set_path(s.id) for s in manifest.sets)}
    damaged = [
        path
        for path in state.sha256s
        if path not in covered and not path.startswith(SHARDS) and state.needs_repair(path)
    ]

    def page() -> bytes:
        options = state.options if "clean" in data else replace(state.options, source=state.source)
        return build_page(data, clean_images(data, options))

    makers: dict[str, Callable[[], bytes]] = {
        README: lambda: data_card(manifest, [s.label for s in data.samples]).encode(),
        LICENSE: lambda: license_text(manifest.source).encode(),
        REGIONS: lambda: state.build.region_rows or b"",
        CONTACT: lambda: contact_of(state.job, data),
        PAGE: page,
    }
    sources: Mapping[str, Path] = {}
    if not makers.keys() >= set(damaged):
        sources = state.source.other_files if keeps_source_names(manifest) else {}
        makers |= {path: file.read_bytes for path, file in sources.items()}
    for path in damaged:
        if path in makers:
            try:
                state.replace_file(path, makers[path](), *(() if path in sources else ("pillow", "corruptset")))
            except VerificationError as e:  # one of the images displayed in the file could not be repaired
                state.record_failure(path, str(e))
        else:
            state.record_failure(path, "it cannot be regenerated; fetch it again")


def _repair_checksums(state: RepairState) -> None:
    """Rewrite SHA256SUMS if it is damaged or missing.

    If it lists a different hash for the manifest, it is left unchanged, because either of the two files may be wrong.
    """
    data = (state.root / MANIFEST).read_bytes()
    record = FileRecord(path=MANIFEST, bytes=len(data), sha256=sha256_bytes(data))
    correct, present = sha256sums_bytes([*state.manifest.files, record]), _sums(state.root)
    if present != correct and not contradicts_manifest(record.sha256, present):
        state.replace_file(SHA256SUMS, correct, sha256=sha256_bytes(correct))
