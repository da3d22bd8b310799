"""Repair a dataset (`verify --repair`): regenerate damaged and missing files.

Files are regenerated in `.corruptset/repair`, and replace damaged ones only if their bytes are the recorded ones.
manifest.json is never rewritten, because all other files are compared with it. Files that no record names are not
touched.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
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
from ..commit.locks import locked
from ..page.build_page import build_page
from ..pixels.preprocessing import parse_preprocessing, preprocess
from ..plan.job import CheckedSample
from ..regions.region_source import RegionSource
from ..sources.source import BadSample, Sample
from ..work.sidecars import sidecars
from .inputs import RemakeOptions
from .mending import ENCODERS, Mending
from .page import clean_images
from .recorded_build import selected_again


def repair(directory: Path, before: VerificationReport, options: RemakeOptions, progress: ProgressCallback) -> Mending:
    """Regenerate the files that a verification found damaged or missing, as far as possible.

    Parameters
    ----------
    directory : Path
        Directory of the dataset.
    before : VerificationReport
        The report of `verify_directory` at its highest level.
    options : RemakeOptions
        The source and its options.
    progress : callable
        Called with the step, the amount done and the total.

    Raises
    ------
    SourceError
        Images must be regenerated, but the source is missing, cannot be read, or differs from the recorded one.
    VerificationError
        Images must be regenerated, but corruptions or textures have other revisions here.
    BuildError
        A build or another repair uses this directory.
    MachineError, Interrupted
        Repaired files are kept, and the same call resumes.
    """
    m = Mending(directory, options, progress)
    if not _trusted(m):
        return m
    if (m.root / WORK_FOLDER).is_symlink():
        m.leave(WORK_FOLDER, "is a link; take it away and repair again")
        return m
    with resumable(m.root), locked(m.root), _clean_work_folder(m):
        sets = [s.id for s in m.manifest.sets if m.wrong(set_path(s.id))]
        # samples first, because everything else refers to these records
        if m.sound(SAMPLES) or _samples(m):
            if sets:  # the rows of a set need all of its images
                folder = m.make(["files", "shards"], m.whole_parts(product(range(len(m.build.chunks)), sets)), {})
                parts = [part for _, part in sidecars(folder) if part is not None]
                for set_id in sets:
                    of_set = sorted((part.run, part.sets[set_id].lines) for part in parts if set_id in part.sets)
                    m.put(set_path(set_id), b"".join(lines for _, lines in of_set), *ENCODERS)
            if {SAMPLES, *map(set_path, sets)} & set(m.mended):
                before = verify_directory(m.root, jobs=options.workers, progress=progress)
            _images(m, {p.path for p in before.problems})
            _texts(m)
        _checksums(m)
    return m


@contextmanager
def _clean_work_folder(m: Mending) -> Iterator[None]:
    """Remove the work folder before and after a repair. Before it, a repair that was killed may have left one."""
    if (m.root / WORK_FOLDER).exists():
        shutil.rmtree(m.root / WORK_FOLDER)
        m.mended.append(WORK_FOLDER)
    try:
        yield
    finally:
        shutil.rmtree(m.root / WORK_FOLDER, ignore_errors=True)


def _trusted(m: Mending) -> bool:
    """Return whether there is a manifest that other files can be compared with."""
    if not plain_file(m.root, MANIFEST):
        return False  # the verification says how to come to one
    data = (m.root / MANIFEST).read_bytes()
    manifest, wrong = parse_record(Manifest, data)
    if manifest is not None:
        m.manifest, problems = manifest, list(manifest_problems(manifest))
        if sound := not problems and m.sound(SAMPLES):
            problems = list(sample_problems(manifest, list(read_jsonl(m.root / SAMPLES, SampleRecord))))
        wrong = [problem.detail for problem in problems]
        if not wrong and contradicts_manifest(sha256_bytes(data), _sums(m.root)):
            m.leave(
                MANIFEST,
                "SHA256SUMS has another hash of it. One of the two files was changed, and nothing says which. Fetch "
                "both again",
            )
            wrong = [] if sound else ["samples.jsonl, which could speak for it, is not whole"]
    if wrong or manifest is None:
        m.leave(
            MANIFEST,
            f"it is no manifest, or contradicts itself ({wrong[0]}); nothing is made from it: fetch it again",
        )
        return False
    try:
        part = load_partial(m.root)
        if part is not None and (part.digest, part.manifest) != (manifest.digest, sha256_bytes(data)):
            raise VerificationError("PARTIAL.json is another data set's.")
    except (VerificationError, OSError):
        m.leave(
            PARTIAL,
            "it does not say what of this data set is here, so nothing is made; unpack the archives again, or take it "
            "away",
        )
        return False
    if part is not None:
        m.absent = frozenset(path for path in optional_files(manifest, part.sets) if not os.path.lexists(m.root / path))
    return True


def _sums(root: Path) -> bytes | None:
    if not plain_file(root, SHA256SUMS) or (root / SHA256SUMS).stat().st_size > SUMS_CAP:
        return None
    return (root / SHA256SUMS).read_bytes()


def _samples(m: Mending) -> bool:
    """Make samples.jsonl again, if its samples are known, and return whether it stands."""
    for candidate in _candidates(m):
        try:
            checked = [(s, m.source.fingerprint(s)) for s in candidate]
        except BadSample:
            continue
        if source_digest([(s.id, s.label, sha256) for s, sha256 in checked]) == m.manifest.source.digest:
            rows = []
            for index, (sample, sha256) in enumerate(checked):
                m.progress("samples", index, len(checked))
                rows.append(_sample_row(m, index, sample, sha256))
            m.put(SAMPLES, b"".join(rows), "pillow")
            return SAMPLES in m.mended
    m.leave(
        SAMPLES,
        "which samples of the source it lists is not known: it was a list of ids, their groups are not known "
        "(--groups), or the source is another one; fetch it again",
    )
    return False


def _candidates(m: Mending) -> Iterator[list[Sample]]:
    """Yield the samples that are left of samples.jsonl, and those that the manifest's selection chooses."""
    by_id = {s.id: s for s in m.source.samples}
    if plain_file(m.root, SAMPLES):
        rows = list(scan_jsonl(m.root / SAMPLES, SampleRecord))
        groups = {r.id: r.group for r in rows if not isinstance(r, BadLine) and r.id in by_id}
        if len(groups) == len(rows):
            yield [replace(by_id[i], group=by_id[i].group or group) for i, group in groups.items()]
    # of regions, the selection was made over the images
    yield list(m.source.samples) if isinstance(m.source, RegionSource) else selected_again(m.manifest, m.source)


def _sample_row(m: Mending, index: int, sample: Sample, sha256: str) -> bytes:
    try:
        image = m.source.load(sample).image
    except BadSample as e:
        raise SourceError(f"{sample.path or sample.id} cannot be read any more: {e}.") from e
    checked = CheckedSample(sample, sha256, image.shape[1], image.shape[0])
    clean = preprocess(image, parse_preprocessing(m.manifest.preprocessing))
    return json_line(sample_record(m.manifest.classes, index, checked, pixel_digest(clean)))


def _images(m: Mending, wrong: Collection[str]) -> None:
    """Regenerate the images and shards among the paths of problems."""
    paths = {path.partition("#")[0] for path in wrong} | set(wrong)
    single: dict[tuple[str, int], tuple[str, str]] = {}
    shared: dict[tuple[str, int], tuple[str, str]] = {}
    for record in m.manifest.sets:
        for row in read_jsonl(m.root / set_path(record.id), ImageRecord) if m.sound(set_path(record.id)) else ():
            for stored in (file for file in row.files if printable(file.path) in paths):
                if stored.row is None and stored.path.startswith(f"{image_folder(record.id)}/"):
                    single[record.id, row.index] = stored.path, stored.sha256
                elif stored.row is not None and stored.path in m.sha256s:
                    shared[record.id, row.index] = stored.path, m.sha256s[stored.path]
    if single:
        m.make(["files"], m.narrow_parts(single), single)
    if shared:
        length = m.build.chunks[0].count
        m.make(["shards"], m.whole_parts((index // length, s) for s, index in shared), shared)


def _texts(m: Mending) -> None:
    """Regenerate text files: those that follow from the records, and those of the source."""
    covered = {SAMPLES, *(set_path(s.id) for s in m.manifest.sets)}
    wrong = [path for path in m.sha256s if path not in covered and not path.startswith(SHARDS) and m.wrong(path)]
    makers: dict[str, Callable[[], bytes]] = {
        README: lambda: data_card(m.manifest, [s.label for s in m.data.samples]).encode(),
        LICENSE: lambda: license_text(m.manifest.source).encode(),
        REGIONS: lambda: m.build.region_rows or b"",
        CONTACT: lambda: contact_of(m.job, m.data),
        PAGE: lambda: build_page(
            m.data, clean_images(m.data, m.options if "clean" in m.data else replace(m.options, source=m.source))
        ),
    }
    sources: Mapping[str, Path] = {}
    if not makers.keys() >= set(wrong):
        sources = m.source.other_files if keeps_source_names(m.manifest) else {}
        makers |= {path: file.read_bytes for path, file in sources.items()}
    for path in wrong:
        if path in makers:
            try:
                m.put(path, makers[path](), *(() if path in sources else ("pillow", "corruptset")))
            except VerificationError as e:  # images that it shows could not be mended
                m.leave(path, str(e))
        else:
            m.leave(path, "nothing says how it is made; fetch it again")


def _checksums(m: Mending) -> None:
    """Write SHA256SUMS again, unless it is the only witness against the manifest."""
    data = (m.root / MANIFEST).read_bytes()
    record = FileRecord(path=MANIFEST, bytes=len(data), sha256=sha256_bytes(data))
    right, present = sha256sums_bytes([*m.manifest.files, record]), _sums(m.root)
    if present != right and not contradicts_manifest(record.sha256, present):
        m.put(SHA256SUMS, right, sha256=sha256_bytes(right))
