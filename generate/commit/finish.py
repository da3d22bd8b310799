"""Finish a build: write the records, the contact sheet, the data card and the page, and finally the manifest."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from blake3 import blake3

from ...digests import digest_of
from ...errors import BuildError
from ...manifests.checksums import sha256sums_bytes
from ...manifests.disk.atomic import fsync_folder, make_folder, write_atomic, write_large
from ...manifests.disk.jsonl import json_line
from ...manifests.manifest_file import manifest_bytes, parse_manifest
from ...manifests.paths import (
    CONTACT,
    LICENSE,
    MANIFEST,
    PAGE,
    README,
    REGIONS,
    SAMPLES,
    SETS,
    SHA256SUMS,
    SHARDS,
    set_path,
)
from ...manifests.reader import Dataset
from ...manifests.records.digests import build_digest, sha256_bytes, sha256_file
from ...manifests.records.models import ClassRecord, FileRecord, Manifest, SampleRecord, SetRecord
from ..pixels.metrics import mean_metrics
from ..plan.builds import CheckedBuild, sample_rows
from ..plan.job import CheckedSample, Job
from ..recipes.set_spec import SetSpec
from ..work.environment import environment, joined_versions
from ..work.sidecars import PartSet, read_sidecar
from .data_card import data_card, license_text
from .state import BuildState

MAX_SHOWN = 600
"""The largest number of sets on a contact sheet. If there are more, this number is chosen at even intervals."""


class UnfinishedDataset(Dataset):
    """A dataset whose manifest is still in memory. It is used to draw the page and the contact sheet."""

    def __init__(self, directory: Path, manifest: Manifest) -> None:
        # The manifest is parsed from its bytes, so that a page drawn later from manifest.json is identical.
        self._manifest = parse_manifest(manifest_bytes(manifest))
        super().__init__(directory)

    def _load_manifest(self) -> Manifest:
        return self._manifest


def finish(
    build: CheckedBuild, job: Job, state: BuildState, page_of: Callable[[Dataset], bytes] | None = None
) -> Manifest:
    """Write all files except images and shards, with manifest.json last, and return the manifest.

    Parameters
    ----------
    build : CheckedBuild
    job : Job
        The job with all sets of the build.
    state : BuildState
        The state of the build, with the sidecars of all parts.
    page_of : callable, optional
        A function that takes the dataset and returns the bytes of index.html. Without it, no page is written.

    Raises
    ------
    BuildError
        Parts of the same samples have different clean pixels, because a library was upgraded between two calls.
    """
    folder, base = job.directory, state.base
    rows = {set_id: _SetRows(folder, job.sets[set_id]) for set_id in sorted(state.new(job.sets))}
    clean, versions = _gather(folder, rows, state.sidecars)
    samples = b"".join(
        json_line(sample_record(build.header.classes, i, chosen, pixels))
        for i, (chosen, pixels) in enumerate(zip(build.samples, clean, strict=True))
    )
    sets, files = [set_rows.close() for set_rows in rows.values()], list[FileRecord]()
    if base is not None:
        if sha256_bytes(samples) not in {file.sha256 for file in base.files if file.path == SAMPLES}:
            raise _other_pixels(folder, "the sets of the dataset being extended and the new sets")
        sets += base.sets
        files += [file for file in base.files if file.path.startswith((SETS, SHARDS))]
        versions.append(base.environment)
    for set_id, set_rows in rows.items():
        files += [_record(folder, set_path(set_id)), *set_rows.shards]

    def write(path: str, data: bytes) -> None:
        make_folder(folder, path.rpartition("/")[0])
        write_atomic(folder / path, data)
        files.append(FileRecord(path=path, bytes=len(data), sha256=sha256_bytes(data)))

    for path, file in build.source.other_files.items():
        make_folder(folder, path.rpartition("/")[0])
        write_large(folder / path, _pieces(file))
        files.append(_record(folder, path))
    write(SAMPLES, samples)
    if build.region_rows is not None:
        write(REGIONS, build.region_rows)
    made_by = joined_versions([environment(), *versions])
    manifest = _with_files(_manifest(job, sorted(sets, key=lambda s: s.id), made_by), files)
    data = UnfinishedDataset(folder, manifest)
    write(CONTACT, contact_of(job, data))
    write(README, data_card(manifest, [s.sample.label for s in build.samples]).encode())
    if manifest.source.license is not None:
        write(LICENSE, license_text(manifest.source).encode())
    if page_of is not None:
        write(PAGE, page_of(data))
    else:
        (folder / PAGE).unlink(missing_ok=True)  # an interrupted command may have left a page
    manifest = _with_files(manifest, files)
    last = manifest_bytes(manifest)
    record = FileRecord(path=MANIFEST, bytes=len(last), sha256=sha256_bytes(last))
    write_atomic(folder / SHA256SUMS, sha256sums_bytes([*manifest.files, record]))
    write_atomic(folder / MANIFEST, last)
    return manifest


def _pieces(file: Path) -> Iterator[bytes]:
    with file.open("rb") as opened:
        while piece := opened.read(1 << 20):
            yield piece


def _with_files(manifest: Manifest, files: Sequence[FileRecord]) -> Manifest:
    return manifest.model_copy(update={"files": sorted(files, key=lambda r: r.path)})


def _record(directory: Path, path: str) -> FileRecord:
    file = directory / path
    return FileRecord(path=path, bytes=file.stat().st_size, sha256=sha256_file(file))


def _manifest(job: Job, sets: Sequence[SetRecord], made_by: Mapping[str, str]) -> Manifest:
    header = job.header
    digest = build_digest(
        seed=header.seed,
        preprocessing=header.preprocessing,
        classes=header.classes,
        samples=sample_rows(job.samples),
        sets=[(s.id, [t.as_json() for t in s.stages], s.count, s.pixel_digest) for s in sets],
    )
    return Manifest.model_validate(
        {
            **header.as_json(),
            "digest": digest,
            "revisions": dict(sorted({t.corruption: t.revision for s in sets for t in s.stages}.items())),
            "sets": [s.as_json() for s in sets],
            "files": [],
            "environment": made_by,
        }
    )


class _SetRows:
    """The rows and totals of one set. Parts are added in the order of their chunks.

    A row is the record of one image. The rows are kept in a temporary file until `close` is called.
    """

    def __init__(self, directory: Path, spec: SetSpec) -> None:
        self.spec = spec
        self.path = directory / set_path(spec.id)
        self.shards: list[FileRecord] = []
        self._part = self.path.with_name(f".{self.path.name}.part")
        self._pixels = blake3()
        self._counts = [0, 0, 0]
        """The numbers of rows, files and bytes."""
        self._measured: list[Sequence[float | None]] = []
        make_folder(directory, set_path(spec.id).rpartition("/")[0])
        self._part.unlink(missing_ok=True)
        self._part.open("xb").close()

    def add(self, entry: PartSet) -> None:
        """Add the rows, digests and metrics of the set's images in one part."""
        with self._part.open("ab") as f:
            f.write(entry.lines)
        self._pixels.update(bytes.fromhex(entry.pixels))
        self._counts = [n + more for n, more in zip(self._counts, (entry.count, entry.files, entry.bytes), strict=True)]
        self._measured += [m[1:] for m in entry.metrics]
        if entry.shard is not None:
            self.shards.append(entry.shard)

    def close(self) -> SetRecord:
        """Rename the temporary file of rows to its final name, and return the record of the set."""
        with self._part.open("rb") as f:
            os.fsync(f.fileno())
        os.replace(self._part, self.path)
        fsync_folder(self.path.parent)
        metrics = mean_metrics(self._measured)
        return SetRecord.model_validate(
            {
                **self.spec.as_json(),
                **dict(zip(("count", "files", "bytes"), self._counts, strict=True)),
                "pixel_digest": digest_of(self._pixels),
                "metrics": None if metrics is None else metrics.as_json(),
                "reproducible": not self.spec.needs_surrogate,
            }
        )


def _gather(
    directory: Path, rows: Mapping[str, _SetRows], sidecars: Mapping[tuple[str, int], Path]
) -> tuple[list[str], list[Mapping[str, str]]]:
    """Read each sidecar once, and add its entries to the rows of its sets.

    Returns the digests of the clean images, and the library versions with which the parts were made.
    """
    clean: list[str] = []
    versions: list[Mapping[str, str]] = []
    for chunk in sorted({chunk for _, chunk in sidecars}):
        chunk_clean: list[str] = []
        for path in sorted({sidecars[s, chunk] for s in rows}):
            sidecar = read_sidecar(path)
            if chunk_clean and sidecar.clean != chunk_clean:
                raise _other_pixels(directory, f"parts of samples {sidecar.first} to {sidecar.stop - 1}")
            chunk_clean = sidecar.clean
            if sidecar.environment not in versions:
                versions.append(sidecar.environment)
            for set_id, entry in sidecar.sets.items():
                # If sets were grouped differently when the build was resumed, two sidecars may contain the same set.
                if set_id in rows and sidecars[set_id, chunk] == path:
                    rows[set_id].add(entry)
        clean += chunk_clean
    return clean, versions


def _other_pixels(directory: Path, which: str) -> BuildError:
    return BuildError(
        f"{directory}: {which} were made from different clean images, probably because Pillow was upgraded in between. "
        "Install the earlier version of Pillow and run the same command again, or delete that directory."
    )


def sample_record(classes: Sequence[ClassRecord], index: int, chosen: CheckedSample, pixels: str) -> SampleRecord:
    """Return the record of a sample for samples.jsonl. `pixels` is the digest of its clean image."""
    label = (
        {}
        if chosen.sample.label is None
        else {"label": chosen.sample.label, "class": classes[chosen.sample.label].name}
    )
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


def contact_of(job: Job, data: Dataset) -> bytes:
    """Return the contact sheet as a PNG file. It shows the first sample as it is stored in each set."""
    from ..pixels.matrix import blocks_of, contact_sheet, thin_out

    shown = [name for block in blocks_of(n for n in job.sets if n in data) for name in block.shown]
    images = {name: data[name].single(0) for name in thin_out(shown, MAX_SHOWN)}
    title = f"{job.header.title}, seed {job.header.seed}: {job.samples[0].sample.id}"
    return contact_sheet(images, clean=job.clean(0), title=title)
