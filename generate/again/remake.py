"""Parts of a recorded build, made again aside: what a repair takes files from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from ...manifests.layout import PARTS_FOLDER
from ...manifests.reader import DataSet
from ...manifests.records.models import Manifest
from ...manifests.records.report import Progress
from ...workers import Workers
from ..plan.job import CheckedSample, Job
from ..plan.parts import Part, groups
from ..sinks.containers import Sink
from ..sinks.sink import Run
from ..sources.source import Source
from ..work.pool import run
from ..work.worker import PartDone
from .agreement import matched
from .from_manifest import RecordedBuild, opened_source, recorded_build
from .remake_options import RemakeOptions


class Remake:
    """Makes parts again; the source is opened and compared with its digest when it is first needed."""

    def __init__(self, root: Path, manifest: Manifest, options: RemakeOptions, progress: Progress, scratch: Path) -> None:
        self.root = root
        self.manifest = manifest
        self.options = options
        self.progress = progress
        self.scratch = scratch

    @cached_property
    def data(self) -> DataSet:
        """The data set."""
        return DataSet(self.root)

    @cached_property
    def source(self) -> Source:
        """What it was made from."""
        return opened_source(self.data, self.options)

    @cached_property
    def build(self) -> RecordedBuild:
        """The build, with all its sets, and the samples as they are recorded."""
        matched(self.data, self.source)
        sets = [s.id for s in self.manifest.sets]
        build = recorded_build(self.manifest, self.data.samples, self.root, self.source, self.options, sets=sets)
        pairs = zip(build.selected, build.records, strict=True)
        return replace(build, samples=tuple(CheckedSample(s, record.sha256, record.width, record.height) for s, record in pairs))

    @cached_property
    def job(self) -> Job:
        """What workers need to know; nothing is measured."""
        return replace(self.build.job(self.root, [s.id for s in self.manifest.sets]), measured=frozenset())

    def parts(self, sets: Sequence[str], runs: Collection[Run]) -> list[Part]:
        """Return whole sets over runs, in groups that fit into memory."""
        cut = groups(sets, run_count=len(self.build.runs), run_length=self.build.runs[0].count, stored_bytes=self.build.stored_bytes)
        return [Part(run, group) for run in runs for group in cut]

    def make(self, name: str, sinks: Sequence[Sink], parts: Sequence[Part], finished: Callable[[Path, Part], None]) -> Path:
        """Make parts aside; return the folder that they are in. `finished` is called after each."""
        folder = self.scratch / name
        (folder / PARTS_FOLDER).mkdir(parents=True)
        by_name = {part.name: part for part in parts}
        count = 0

        def done(record: PartDone) -> None:
            nonlocal count
            count += 1
            finished(folder, by_name[record.name])
            self.progress("repair", count, len(parts))

        job = replace(self.job, directory=folder, sinks=tuple(sinks), token=f"{self.job.token}-{name}")
        with Workers(self.options.workers) as workers:
            run(job, parts, workers, done=done)
        return folder
