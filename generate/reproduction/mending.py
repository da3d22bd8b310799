"""The state of a repair: parts are made in a temporary folder, and files are moved to their places."""

from __future__ import annotations

import os
import secrets
import shutil
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate, product
from pathlib import Path

from ...manifests.disk.atomic import fsync_folder
from ...manifests.disk.listing import plain_file
from ...manifests.paths import PARTS_FOLDER, SCRATCH
from ...manifests.reader import Dataset
from ...manifests.records.digests import sha256_file
from ...manifests.records.models import Manifest
from ...manifests.records.report import Problem, ProgressCallback, printable
from ...workers import Workers
from ..plan.builds import CheckedBuild
from ..plan.job import Job
from ..plan.parts import Part
from ..sinks.containers import Kind
from ..sinks.sink import Chunk
from ..sources.source import Source
from ..work.pool import run
from ..work.worker import PartDone
from .agreement import held_to_records, library_advice
from .inputs import RemakeOptions
from .recorded_build import opened_source, recorded_build

ENCODERS = ("opencv-python-headless", "pillow")
Wanted = Mapping[tuple[str, int], tuple[str, str]]
"""(set, sample) -> the file that contains the image, and the sha256 of the file."""


class Mending:
    """A dataset that is being repaired, and its source, which is opened when it is needed."""

    manifest: Manifest
    """The manifest, with which all other files are compared."""

    def __init__(self, root: Path, options: RemakeOptions, progress: ProgressCallback) -> None:
        self.root, self.options, self.progress = root, options, progress
        self.absent: Collection[str] = ()
        """Files of archives that were not unpacked."""
        self.mended: list[str] = []
        self.unmended: list[Problem] = []
        """Files that cannot be repaired, each with the reason."""
        # each repair has its folder, so that a worker left by a killed repair writes somewhere else
        self.scratch = root / SCRATCH / secrets.token_hex(4)

    @cached_property
    def sha256s(self) -> dict[str, str]:
        """Path -> sha256 in the manifest."""
        return {f.path: f.sha256 for f in self.manifest.files}

    @cached_property
    def data(self) -> Dataset:
        """The dataset."""
        return Dataset(self.root)

    @cached_property
    def source(self) -> Source:
        """The source of the dataset."""
        return opened_source(self.data, self.options)

    @cached_property
    def build(self) -> CheckedBuild:
        """The build with all its sets and the recorded samples."""
        held_to_records(self.data, self.source, self.source.fingerprint)
        return recorded_build(self.data, self.options, source=self.source)

    @cached_property
    def job(self) -> Job:
        """The job for workers, without metrics."""
        return replace(self.build.job(self.root, self.build.requested), measured=frozenset())

    def leave(self, path: str, reason: str) -> None:
        """Record the reason why a file cannot be repaired."""
        self.unmended.append(Problem(path, "unmended", reason))

    def sound(self, path: str) -> bool:
        """Return whether a file has the bytes that the manifest records."""
        return plain_file(self.root, path) and sha256_file(self.root / path) == self.sha256s[path]

    def wrong(self, path: str) -> bool:
        """Return whether a file is damaged or missing, and not in an archive that was not unpacked."""
        return path not in self.absent and not self.sound(path)

    def put(self, path: str, made: Path | bytes, *libraries: str, sha256: str | None = None) -> None:
        """Move a regenerated file to its place if it has the recorded bytes.

        Otherwise record the problem, and the `libraries` whose versions may be the cause.
        """
        aside = made if isinstance(made, Path) else self.scratch / "text"
        if isinstance(made, bytes):
            aside.parent.mkdir(parents=True, exist_ok=True)
            aside.write_bytes(made)
        expected = sha256 or self.sha256s[path]
        actual = sha256_file(aside) if aside.exists() else None
        if actual != expected:
            difference = "it does not appear" if actual is None else f"it is {actual}, recorded is {expected}"
            advice = library_advice(self.manifest, *libraries) if libraries else "It is another file in the source."
            return self.leave(path, f"made again, {difference}. {advice}")
        for above in list(accumulate(path.split("/"), "{}/{}".format))[:-1]:
            folder = self.root / above
            if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
                what = "a link" if folder.is_symlink() else "no folder"
                return self.leave(path, f"{printable(above)} is {what}; take it away and repair again")
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with aside.open("rb") as f:
            os.fsync(f.fileno())
        try:
            os.replace(aside, target)
        except IsADirectoryError:
            return self.leave(path, "something that is no file stands in its place; take it away and repair again")
        fsync_folder(target.parent)
        return self.mended.append(path)

    def make(self, kinds: Sequence[Kind], parts: Sequence[Part], wanted: Wanted) -> Path:
        """Make parts aside, in some kinds of sinks, and return their folder.

        Each wanted file is put in its place once its last part is made, so a repair that is stopped loses little.
        """
        shutil.rmtree(self.scratch, ignore_errors=True)
        folder = self.scratch / "-".join(kinds)
        (folder / PARTS_FOLDER).mkdir(parents=True)
        files = {
            part.name: {wanted[p] for p in product(part.sets, range(part.chunk.first, part.chunk.stop)) if p in wanted}
            for part in parts
        }
        left = Counter(file for some in files.values() for file in some)

        def done(record: PartDone) -> None:
            made = files.pop(record.name)
            left.subtract(made)
            for path, sha256 in sorted(file for file in made if not left[file]):
                self.put(path, folder / path, *ENCODERS, sha256=sha256)
            self.progress("repair", len(parts) - len(files), len(parts))

        sinks = tuple(sink for sink in self.job.sinks if sink.kind in kinds)
        job = replace(self.job, directory=folder, sinks=sinks, token=f"{self.job.token}-{folder.name}")
        with Workers(self.options.workers) as workers:
            run(job, parts, workers, on_part=done)
        return folder

    def whole_parts(self, needed: Iterable[tuple[int, str]]) -> list[Part]:
        """Return parts of whole runs, from (run, set), in groups that fit into memory."""
        chunks, sets_of = self.build.chunks, dict[int, set[str]]()
        for number, set_id in needed:
            sets_of.setdefault(number, set()).add(set_id)
        return [
            Part(chunks[number], group)
            for number, sets in sorted(sets_of.items())
            for group in self.build.groups(sorted(sets), chunks)
        ]

    def narrow_parts(self, wanted: Wanted) -> list[Part]:
        """Return parts of some samples under some sets, neighbours of the same sets together."""
        parts: list[Part] = []
        for index in sorted({index for _, index in wanted}):
            sets = tuple(s for s in self.build.by_id if (s, index) in wanted)
            last, most = parts[-1] if parts else None, self.build.chunks[0].count
            if last is not None and last.sets == sets and last.chunk.stop == index and last.chunk.count < most:
                parts[-1] = Part(replace(last.chunk, stop=index + 1), sets)
            else:
                parts.append(Part(Chunk(len(parts), index, index + 1), sets))
        return parts
