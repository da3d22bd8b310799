"""Finish a build: records from the sidecars, contact sheet, data card, checksums, and the manifest last."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO

from blake3 import blake3

from ...corruptions.keys import sample_keys
from ...corruptions.stages import check_images
from ...errors import BuildError
from ...manifests.checksums import sha256sums_bytes
from ...manifests.disk.atomic import fsync_folder
from ...manifests.disk.jsonl import json_line
from ...manifests.layout import MANIFEST, SAMPLES, SHA256SUMS, set_path
from ...manifests.manifest_file import manifest_bytes
from ...manifests.records.digests import build_digest, sha256_bytes, sha256_file
from ...manifests.records.models import ClassRecord, FileRecord, Manifest, Metrics, SampleRecord, SetRecord
from ..pixels.metrics import mean_metrics
from ..plan.job import CheckedSample, Job
from ..plan.parts import Run
from ..plan.tree import grow, walk
from ..recipes.set_spec import SetSpec
from ..views.build_view import view_records
from ..views.layout import Layout
from ..work.sidecars import PartSet, read_sidecar
from ..work.worker import load_clean
from .data_card import LICENSE, data_card, license_text
from .last_files import LastFiles
from .state import OpenBuild

CONTACT = "contact.png"
README = "README.md"
MOST_SHOWN = 600
"""Sets on a contact sheet; of more, at most so many are shown, spread evenly."""
LIBRARIES = ("corruptset", "numpy", "numba", "opencv-python-headless", "pillow", "scipy", "scikit-image", "h5py")


@dataclass
class _Tally:
    """What is counted of a set while its rows go by."""

    path: Path
    part: Path
    pixels: Any = field(default_factory=blake3)
    hash: Any = field(default_factory=hashlib.sha256)
    rows: int = 0
    files: int = 0
    bytes: int = 0
    written: int = 0
    shards: list[FileRecord] = field(default_factory=list)
    measured: list[tuple[float | None, float | None, float | None]] = field(default_factory=list)


def finish(job: Job, begun: OpenBuild, runs: Sequence[Run], identity: Mapping[str, Any], textures: Sequence[Mapping[str, str]]) -> Manifest:
    """Write everything but images and shards, and return the manifest, which takes its place last.

    Parameters
    ----------
    job : Job
        With all sets that are in the build.
    begun : OpenBuild
        With the sidecars of all parts.
    runs : sequence of Run
    identity : mapping
        What the build is.
    textures : sequence of {name, sha256}

    Raises
    ------
    BuildError
        Parts disagree on the clean pixels: the libraries changed between them.
    MachineError
        A sidecar is damaged.
    """
    directory = job.directory
    old = {s.id: s for s in begun.base.sets} if begun.base is not None else {}
    there = {r.path: r for r in begun.base.files} if begun.base is not None else {}
    new = [s for s in sorted(begun.sets) if s not in old]
    clean, tallies = _gather(directory, new, begun, runs)
    samples = _samples(job, clean)
    if SAMPLES in there and sha256_bytes(samples) != there[SAMPLES].sha256:
        raise _other_pixels(directory, "the sets that are there and those to be added")
    files = [r for path, r in there.items() if path.startswith(("sets/", "hdf5/"))]
    sets = list(old.values())
    for set_id in new:
        record, own = _close(job, job.sets[set_id], tallies[set_id])
        sets.append(record)
        files += own
    sets.sort(key=lambda s: s.id)
    digest = build_digest(
        seed=identity["seed"],
        preprocessing=identity["preprocessing"],
        classes=[ClassRecord.model_validate(c) for c in identity["classes"]],
        samples=[(c.sample.id, c.sample.label, c.sha256) for c in job.samples],
        sets=[(s.id, [t.as_json() for t in s.stages], s.count, s.pixel_digest) for s in sets],
    )
    values = {key: value for key, value in identity.items() if key != "metrics"}
    manifest = Manifest.model_validate(
        {
            **values,
            "digest": digest,
            "textures": list(textures),
            "revisions": dict(sorted({t.corruption: t.revision for s in sets for t in s.stages}.items())),
            "sets": [s.as_json() for s in sets],
            "files": [r.as_json() for r in files],
            "views": view_records(job.layout, identity["views"]) if job.layout is not None else [],
            "environment": {name: version(name) for name in LIBRARIES},
        }
    )
    ending = LastFiles(directory)
    if job.layout is not None:
        files += _view_files(directory, job.layout, there, ending)
    files.append(ending.add(SAMPLES, samples))
    files.append(ending.add(CONTACT, contact_of(job, [s.id for s in sets])))
    files.append(ending.add(README, data_card(manifest, len(job.samples)).encode()))
    if manifest.source.license is not None:
        files.append(ending.add(LICENSE, license_text(manifest.source).encode()))
    manifest = manifest.model_copy(update={"files": sorted(files, key=lambda r: r.path)})
    # SHA256SUMS before the manifest that it names: a build without manifest.json is resumed, one without SHA256SUMS would not be.
    data = manifest_bytes(manifest)
    entry = FileRecord(path=MANIFEST, bytes=len(data), sha256=sha256_bytes(data))
    ending.add(SHA256SUMS, sha256sums_bytes([*manifest.files, entry]))
    ending.add(MANIFEST, data)
    ending.finish()
    return manifest


def _gather(directory: Path, new: Sequence[str], begun: OpenBuild, runs: Sequence[Run]) -> tuple[list[str], dict[str, _Tally]]:
    """Read every sidecar once, run by run, and append its rows to the sets' files; return the clean pixels' digests too."""
    tallies: dict[str, _Tally] = {}
    for set_id in new:
        path = directory / set_path(set_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        tallies[set_id] = _Tally(path, path.with_name(f".{path.name}.part"))
        tallies[set_id].part.write_bytes(b"")
    clean: list[str] = []
    for run in runs:
        found: list[str] | None = None
        for sidecar_path in sorted({begun.sidecars[s, run.number] for s in new}):
            sidecar = read_sidecar(sidecar_path)
            if found is not None and list(sidecar.clean) != found:
                raise _other_pixels(directory, f"parts of samples {run.first} to {run.stop - 1}")
            found = list(sidecar.clean)
            for set_id, entry in sidecar.sets.items():
                # A resume in which groups differ may leave a set in two sidecars of one run: one of them counts.
                if begun.sidecars.get((set_id, run.number)) == sidecar_path and set_id in tallies:
                    _count(tallies[set_id], entry)
        clean += found or []
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
    tally.hash.update(entry.lines)
    tally.written += len(entry.lines)
    tally.pixels.update(bytes.fromhex(entry.pixels))
    tally.rows += entry.count
    tally.files += entry.files
    tally.bytes += entry.bytes
    tally.measured += [(m[1], m[2], m[3]) for m in entry.metrics]
    if entry.shard is not None:
        tally.shards.append(FileRecord.model_validate(entry.shard))


def _close(job: Job, spec: SetSpec, tally: _Tally) -> tuple[SetRecord, list[FileRecord]]:
    """Put a set's rows in place; return its record and its files."""
    with tally.part.open("rb") as f:
        _sync(f)
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
            "pixel_digest": f"blake3:{tally.pixels.hexdigest()}",
            "metrics": None if metrics is None else metrics.as_json(),
        }
    )
    rows = FileRecord(path=set_path(spec.id), bytes=tally.written, sha256=f"sha256:{tally.hash.hexdigest()}")
    return record, [rows, *tally.shards]


def _view_files(directory: Path, layout: Layout, there: Mapping[str, FileRecord], ending: LastFiles) -> list[FileRecord]:
    """Add what stands beside a view's images; return the records of that and of its arrays, of which some may be `there` already."""
    files = [
        there.get(p) or FileRecord(path=p, bytes=(directory / p).stat().st_size, sha256=sha256_file(directory / p))
        for p in layout.array_rows
    ]
    return files + [ending.add(path, data) for path, data in layout.texts({f.path: f.sha256 for f in files})]


def _sync(f: BinaryIO) -> None:
    os.fsync(f.fileno())


def _samples(job: Job, clean: Sequence[str]) -> bytes:
    """Return samples.jsonl; records take several times the memory of its rows, so each is let go with its row."""
    rows = bytearray()
    for i, (chosen, pixels) in enumerate(zip(job.samples, clean, strict=True)):
        rows += json_line(sample_record(job.classes, i, chosen, pixels))
    return bytes(rows)


def sample_record(classes: Sequence[ClassRecord], index: int, chosen: CheckedSample, pixels: str) -> SampleRecord:
    """Return a sample's row of samples.jsonl; `pixels` is the digest of its clean image."""
    return SampleRecord.model_validate(
        {
            "index": index,
            "id": chosen.sample.id,
            "label": chosen.sample.label,
            "class": classes[chosen.sample.label].name,
            "split": chosen.sample.split,
            "path": chosen.sample.path,
            "sha256": chosen.sha256,
            "width": chosen.width,
            "height": chosen.height,
            "pixels": pixels,
        }
    )


def contact_of(job: Job, sets: Sequence[str]) -> bytes:
    """Return the contact sheet of the first sample, made again from its source."""
    from ..pixels.contact_sheet import contact_sheet, sheet_lines, thinned

    there = set(sets)
    shown = set(thinned([name for name in job.sets if name in there], MOST_SHOWN))
    first = job.samples[0]
    clean = load_clean(job.source, first, job.preprocessing)
    tree = grow([spec for name, spec in job.sets.items() if name in shown], job.seed, job.coupling)
    keys = sample_keys([first.sample.id])
    made = {
        set_id: images[0].copy()
        for set_id, images in walk(tree, check_images(clean[None]), keys, side=job.side, scale=job.scale, resources=job.resources)
    }
    cells = [(name, made[name]) for name in job.sets if name in made and name != "clean"]
    return contact_sheet(sheet_lines(cells), clean=clean, title=f"{job.build}, seed {job.seed}: {first.sample.id}")
