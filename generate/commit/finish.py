"""Finish a build: records from the sidecars, contact sheet, data card, checksums, and the manifest last."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blake3 import blake3

from ...digests import digest_of
from ...errors import BuildError
from ...manifests.checksums import sha256sums_bytes
from ...manifests.disk.atomic import fsync_folder
from ...manifests.disk.jsonl import json_line
from ...manifests.layout import CONTACT, LICENSE, MANIFEST, PAGE, README, REGIONS, SAMPLES, SETS, SHA256SUMS, SHARDS, set_path
from ...manifests.manifest_file import manifest_bytes
from ...manifests.records.digests import build_digest, sha256_bytes, sha256_file
from ...manifests.records.models import ClassRecord, FileRecord, Manifest, Metrics, SampleRecord, SetRecord
from ...workers import Workers
from ..pixels.metrics import mean_metrics
from ..plan.builds import Build
from ..plan.job import CheckedSample, Job, load_clean
from ..recipes.set_spec import SetSpec
from ..sinks.containers import Sink
from ..sinks.sink import Run
from ..work.environment import environment
from ..work.sidecars import PartSet, read_sidecar
from .data_card import data_card, license_text
from .last_files import LastFiles
from .state import BuildState

if TYPE_CHECKING:
    from ...manifests.reader import DataSet

MOST_SHOWN = 600
"""Sets on a contact sheet; of more, at most so many are shown, spread evenly."""


@dataclass
class _Tally:
    """What is counted of a set while its rows go by."""

    path: Path
    part: Path
    pixels: Any = field(default_factory=blake3)
    rows: int = 0
    files: int = 0
    bytes: int = 0
    shards: list[FileRecord] = field(default_factory=list)
    measured: list[Sequence[float | None]] = field(default_factory=list)


def finish(job: Job, state: BuildState, build: Build, page_of: Callable[[DataSet], bytes] | None, workers: Workers) -> Manifest:
    """Write everything but images and shards, and return the manifest, which takes its place last.

    Parameters
    ----------
    job : Job
        With all sets that are in the build.
    state : BuildState
        With the sidecars of all parts.
    build : Build
    page_of : callable or None
        Makes index.html; without it the data set has none, also where the one that is extended had one.
    workers : Workers
        One of those that are running makes the page.

    Raises
    ------
    BuildError
        Parts disagree on the clean pixels: the libraries changed between them.
    MachineError
        A sidecar is damaged.
    """
    directory = job.directory
    base_files = {r.path: r for r in state.base.files} if state.base is not None else {}
    new = sorted(state.new(job.sets))
    clean, tallies = _gather(directory, new, state.sidecars, build.runs)
    samples = _samples(job, clean)
    if SAMPLES in base_files and sha256_bytes(samples) != base_files[SAMPLES].sha256:
        raise _other_pixels(directory, "the sets that are there and those to be added")
    files = [r for path, r in base_files.items() if path.startswith((SETS, SHARDS))]
    sets = list(state.base.sets) if state.base is not None else []
    for set_id in new:
        record, set_files = _close(job.sets[set_id], tallies[set_id])
        sets.append(record)
        files += set_files
    sets.sort(key=lambda s: s.id)
    assert state.unfinished is not None
    manifest = _manifest(job, build.made_of, state.unfinished.identity, sets, files)
    last = LastFiles(directory)
    for sink in job.sinks:
        files += _beside_images(directory, sink, base_files, last)
    files += [base_files.get(path) or last.copy(path, file) for path, file in build.source.other_files.items()]
    files.append(last.add(SAMPLES, samples))
    if (rows := build.region_rows) is not None:
        files.append(last.add(REGIONS, rows))
    from .nearly_finished import NearlyFinished, made_of  # the reader is needed by nobody before

    manifest = _with_files(manifest, files)
    page = None if page_of is None else workers.later(made_of, page_of, directory, manifest, last.aside)
    files.append(last.add(CONTACT, contact_of(job, NearlyFinished(directory, manifest, last.aside))))
    files.append(last.add(README, data_card(manifest, len(job.samples)).encode()))
    if manifest.source.license is not None:
        files.append(last.add(LICENSE, license_text(manifest.source).encode()))
    if page is not None:
        files.append(last.add(PAGE, page()))
    for path in base_files.keys() - {f.path for f in files}:  # a page that is not wanted, a file that the source has no more
        last.remove(path)
    workers.end()
    manifest = _with_files(manifest, files)
    # SHA256SUMS before the manifest that it names: a build without manifest.json is resumed, one without SHA256SUMS would not be.
    data = manifest_bytes(manifest)
    manifest_file = FileRecord(path=MANIFEST, bytes=len(data), sha256=sha256_bytes(data))
    last.add(SHA256SUMS, sha256sums_bytes([*manifest.files, manifest_file]))
    last.add(MANIFEST, data)
    last.finish()
    return manifest


def _with_files(manifest: Manifest, files: Sequence[FileRecord]) -> Manifest:
    return manifest.model_copy(update={"files": sorted(files, key=lambda r: r.path)})


def _manifest(
    job: Job,
    made_of: Sequence[tuple[str, int | None, str]],
    identity: Mapping[str, Any],
    sets: Sequence[SetRecord],
    files: Sequence[FileRecord],
) -> Manifest:
    digest = build_digest(
        seed=identity["seed"],
        preprocessing=identity["preprocessing"],
        classes=[ClassRecord.model_validate(c) for c in identity["classes"]],
        samples=made_of,
        sets=[(s.id, [t.as_json() for t in s.stages], s.count, s.pixel_digest) for s in sets],
    )
    of_view = [sink for sink in job.sinks if sink.view_record() is not None]
    views = [view | {"sets": _sorted_paths(sink)} for view, sink in zip(identity["views"], of_view, strict=True)]
    return Manifest.model_validate(
        {
            **{key: value for key, value in identity.items() if key != "metrics"},
            "digest": digest,
            "revisions": dict(sorted({t.corruption: t.revision for s in sets for t in s.stages}.items())),
            "sets": [s.as_json() for s in sets],
            "files": [r.as_json() for r in files],
            "views": views,
            "environment": dict(environment()),
        }
    )


def _sorted_paths(sink: Sink) -> dict[str, list[str]]:
    return {set_id: list(paths) for set_id, paths in sorted(sink.set_paths(()).items())}


def _gather(
    directory: Path, new: Sequence[str], sidecars: Mapping[tuple[str, int], Path], runs: Sequence[Run]
) -> tuple[list[str], dict[str, _Tally]]:
    """Read every sidecar once, run by run, and append its rows to the sets' files; return the clean pixels' digests too."""
    tallies: dict[str, _Tally] = {}
    for set_id in new:
        path = directory / set_path(set_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        tallies[set_id] = _Tally(path, path.with_name(f".{path.name}.part"))
        tallies[set_id].part.write_bytes(b"")
    clean: list[str] = []
    for run in runs:
        run_clean: list[str] = []
        for sidecar_path in sorted({sidecars[s, run.number] for s in new}):
            sidecar = read_sidecar(sidecar_path)
            if run_clean and list(sidecar.clean) != run_clean:
                raise _other_pixels(directory, f"parts of samples {run.first} to {run.stop - 1}")
            run_clean = list(sidecar.clean)
            for set_id, entry in sidecar.sets.items():
                # A resume in which groups differ may leave a set in two sidecars of one run: one of them counts.
                if sidecars.get((set_id, run.number)) == sidecar_path and set_id in tallies:
                    _count(tallies[set_id], entry)
        clean += run_clean
    return clean, tallies


def _other_pixels(directory: Path, which: str) -> BuildError:
    return BuildError(
        f"{directory}: {which} were made from different clean pixels, so Pillow changed in between. Go back to the Pillow that the first "
        "were made with and run the same command again; or take back what is unfinished (the same command with --abandon), and choose "
        "another --out."
    )


def _count(tally: _Tally, entry: PartSet) -> None:
    with tally.part.open("ab") as f:
        f.write(entry.lines)
    tally.pixels.update(bytes.fromhex(entry.pixels))
    tally.rows += entry.count
    tally.files += entry.files
    tally.bytes += entry.bytes
    tally.measured += [m[1:] for m in entry.metrics]
    if entry.shard is not None:
        tally.shards.append(FileRecord.model_validate(entry.shard))


def _close(spec: SetSpec, tally: _Tally) -> tuple[SetRecord, list[FileRecord]]:
    """Put a set's rows in place; return its record and its files."""
    with tally.part.open("rb") as f:
        os.fsync(f.fileno())
    os.replace(tally.part, tally.path)
    fsync_folder(tally.path.parent)
    metrics: Metrics | None = mean_metrics(tally.measured)
    record = SetRecord.model_validate(
        {
            "id": spec.id,
            "aliases": list(spec.aliases),
            "stages": [t.as_json() for t in spec.stages],
            "role": spec.role,
            "count": tally.rows,
            "files": tally.files,
            "bytes": tally.bytes,
            "pixel_digest": digest_of(tally.pixels),
            "metrics": None if metrics is None else metrics.as_json(),
            "reproducible": not spec.needs_surrogate,
        }
    )
    return record, [_record(tally.path, set_path(spec.id)), *tally.shards]


def _record(file: Path, path: str) -> FileRecord:
    return FileRecord(path=path, bytes=file.stat().st_size, sha256=sha256_file(file))


def _beside_images(directory: Path, sink: Sink, base_files: Mapping[str, FileRecord], last: LastFiles) -> list[FileRecord]:
    """Add what stands beside a sink's images; return the records of that and of its shared files, of which the base may have some."""
    shared = [base_files.get(p) or _record(directory / p, p) for p in sink.shared_files()]
    return shared + [last.add(path, data) for path, data in sink.texts({f.path: f.sha256 for f in shared})]


def _samples(job: Job, clean: Sequence[str]) -> bytes:
    """Return samples.jsonl; records take several times the memory of its rows, so each is freed with its row."""
    rows = bytearray()
    for i, (chosen, pixels) in enumerate(zip(job.samples, clean, strict=True)):
        rows += json_line(sample_record(job.classes, i, chosen, pixels))
    return bytes(rows)


def sample_record(classes: Sequence[ClassRecord], index: int, chosen: CheckedSample, pixels: str) -> SampleRecord:
    """Return a sample's row of samples.jsonl; `pixels` is the digest of its clean image."""
    label = {} if chosen.sample.label is None else {"label": chosen.sample.label, "class": classes[chosen.sample.label].name}
    return SampleRecord.model_validate(
        {
            "index": index,
            "id": chosen.sample.id,
            **label,
            "split": chosen.sample.split,
            "path": chosen.sample.path,
            "sha256": chosen.sha256,
            "width": chosen.width,
            "height": chosen.height,
            "pixels": pixels,
            **({} if chosen.sample.group is None else {"group": chosen.sample.group}),
            "region": chosen.sample.region,
        }
    )


def contact_of(job: Job, data: DataSet) -> bytes:
    """Return the contact sheet: the first sample under every set, as it is stored."""
    from ..pixels.contact_sheet import contact_sheet, thinned

    first = job.samples[0]
    shown = thinned([name for name in job.sets if name in data], MOST_SHOWN)
    cells = [(name, data[name].single(0)) for name in shown if name != "clean"]
    clean = load_clean(job.source, first, job.preprocessing)
    return contact_sheet(cells, clean=clean, title=f"{job.title}, seed {job.maker.seed}: {first.sample.id}")
