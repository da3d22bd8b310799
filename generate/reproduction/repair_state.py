"""The state of a repair, and its two basic steps: regenerate files in a temporary folder, and move them into place."""

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
from ..sinks.containers import SinkKind
from ..sinks.sink import Chunk
from ..sources.source import Source
from ..work.pool import make_parts
from ..work.worker import FinishedPart
from .agreement import library_advice, match_records
from .inputs import RemakeOptions
from .recorded_build import open_recorded_source, recorded_build

ENCODERS = ("opencv-python-headless", "pillow")
FileOfImage = Mapping[tuple[str, int], tuple[str, str]]
"""A mapping from (set id, sample index) to the path and the SHA-256 of the file that contains the image."""


class RepairState:
    """A dataset that is being repaired. Its source is opened only if it is needed."""

    manifest: Manifest
    """The manifest of the dataset. All other files are compared with it."""

    def __init__(self, root: Path, options: RemakeOptions, progress: ProgressCallback) -> None:
        self.root, self.options, self.progress = root, options, progress
        self.absent: Collection[str] = ()
        """The paths of files that are missing because their archives were not unpacked. They are not repaired."""
        self.repaired: list[str] = []
        """The paths of repaired files."""
        self.failures: list[Problem] = []
        """A problem for each file that cannot be repaired, with the reason."""
        # Each repair has its own temporary folder, so that workers left over from a killed repair cannot write to it.
        self.scratch = root / SCRATCH / secrets.token_hex(4)

    @cached_property
    def sha256s(self) -> dict[str, str]:
        """A mapping from paths to the hashes in the manifest."""
        return {f.path: f.sha256 for f in self.manifest.files}

    @cached_property
    def data(self) -> Dataset:
        """The open dataset."""
        return Dataset(self.root)

    @cached_property
    def source(self) -> Source:
        """The source of the dataset."""
        return open_recorded_source(self.data, self.options)

    @cached_property
    def build(self) -> CheckedBuild:
        """The build that the records describe, with all sets and samples."""
        match_records(self.data, self.source, self.source.fingerprint)
        return recorded_build(self.data, self.options, source=self.source)

    @cached_property
    def job(self) -> Job:
        """The job to send to workers. It measures no metrics."""
        return replace(self.build.job(self.root, self.build.requested), measured=frozenset())

    def record_failure(self, path: str, reason: str) -> None:
        """Record the reason why a file cannot be repaired."""
        self.failures.append(Problem(path, "unmended", reason))

    def is_intact(self, path: str) -> bool:
        """Return whether a file has the bytes that the manifest records."""
        return plain_file(self.root, path) and sha256_file(self.root / path) == self.sha256s[path]

    def needs_repair(self, path: str) -> bool:
        """Return whether a file is damaged or missing. Files in archives that were not unpacked need no repair."""
        return path not in self.absent and not self.is_intact(path)

    def replace_file(self, path: str, content: Path | bytes, *libraries: str, sha256: str | None = None) -> None:
        """Move a regenerated file into place if it has the recorded hash. Otherwise, record a failure.

        Parameters
        ----------
        path : str
            The path in the dataset.
        content : Path or bytes
            The regenerated file, or its contents.
        *libraries : str
            The libraries whose versions can change the bytes of the file. If the hash differs, the message compares
            the installed versions with the recorded ones.
        sha256 : str, optional
            The expected hash. The default is the hash in the manifest.
        """
        file = content if isinstance(content, Path) else self.scratch / "text"
        if isinstance(content, bytes):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        expected = sha256 or self.sha256s[path]
        actual = sha256_file(file) if file.exists() else None
        if actual is None:
            return self.record_failure(path, "could not be regenerated")
        if actual != expected:
            advice = library_advice(self.manifest, *libraries) if libraries else "The file in the source has changed."
            return self.record_failure(path, f"the regenerated file is {actual}, but {expected} is recorded. {advice}")
        for above in list(accumulate(path.split("/"), "{}/{}".format))[:-1]:
            folder = self.root / above
            if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
                kind = "a link" if folder.is_symlink() else "not a folder"
                return self.record_failure(path, f"{printable(above)} is {kind}; remove it, and repair again")
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with file.open("rb") as f:
            os.fsync(f.fileno())
        try:
            os.replace(file, target)
        except IsADirectoryError:
            return self.record_failure(path, "a folder has the name of this file; remove it, and repair again")
        fsync_folder(target.parent)
        return self.repaired.append(path)

    def make(self, kinds: Sequence[SinkKind], parts: Sequence[Part], damaged: FileOfImage) -> Path:
        """Make parts in a temporary folder, and return the path of this folder.

        Each damaged file is replaced as soon as all parts with its images are finished, so an interrupted repair loses
        little work.

        Parameters
        ----------
        kinds : sequence of {"files", "shards"}
            The kinds of containers to write.
        parts : sequence of Part
        damaged : mapping
            A mapping from images to the damaged files that contain them. If it is empty, no file is replaced.
        """
        shutil.rmtree(self.scratch, ignore_errors=True)
        folder = self.scratch / "-".join(kinds)
        (folder / PARTS_FOLDER).mkdir(parents=True)
        files = {
            part.name: {
                damaged[i] for i in product(part.sets, range(part.chunk.first, part.chunk.stop)) if i in damaged
            }
            for part in parts
        }
        parts_left = Counter(file for of_part in files.values() for file in of_part)

        def on_part(record: FinishedPart) -> None:
            made = files.pop(record.name)
            parts_left.subtract(made)
            for path, sha256 in sorted(file for file in made if not parts_left[file]):
                self.replace_file(path, folder / path, *ENCODERS, sha256=sha256)
            self.progress("repair", len(parts) - len(files), len(parts))

        sinks = tuple(sink for sink in self.job.sinks if sink.kind in kinds)
        job = replace(self.job, directory=folder, sinks=sinks, token=f"{self.job.token}-{folder.name}")
        with Workers(self.options.workers) as workers:
            make_parts(job, parts, workers, on_part=on_part)
        return folder

    def parts_of_chunks(self, needed: Iterable[tuple[int, str]]) -> list[Part]:
        """Return parts that cover whole chunks of some sets. The sets of a part fit into memory together.

        `needed` contains pairs of a chunk number and a set id.
        """
        chunks, sets_of = self.build.chunks, dict[int, set[str]]()
        for number, set_id in needed:
            sets_of.setdefault(number, set()).add(set_id)
        return [
            Part(chunks[number], group)
            for number, sets in sorted(sets_of.items())
            for group in self.build.groups(sorted(sets), chunks)
        ]

    def parts_of_samples(self, damaged: FileOfImage) -> list[Part]:
        """Return parts that cover only the given images. Consecutive samples with the same sets form one part."""
        parts: list[Part] = []
        for index in sorted({index for _, index in damaged}):
            sets = tuple(s for s in self.build.by_id if (s, index) in damaged)
            last, max_count = parts[-1] if parts else None, self.build.chunks[0].count
            if last is not None and last.sets == sets and last.chunk.stop == index and last.chunk.count < max_count:
                parts[-1] = Part(replace(last.chunk, stop=index + 1), sets)
            else:
                parts.append(Part(Chunk(len(parts), index, index + 1), sets))
        return parts
