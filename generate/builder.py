"""The class `Builder`, which checks the source of a build, makes its parts, and writes the manifest."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ..errors import BuildError, FinishedDataset, IncompleteBuild
from ..manifests.disk.lock import Busy, refuse_without_locks
from ..manifests.disk.space import check_space, free_bytes, same_disk
from ..manifests.paths import CONTACT, MANIFEST, is_begun, unfinished_folder
from ..manifests.records.models import Manifest
from ..progress import ProgressEvent
from ..quantities import plural
from ..workers import Workers
from .built import Built, PartBuilt
from .commit.array_jobs import assign_parts, join_jobs, missing_parts, shared_check
from .commit.extension import load_base
from .commit.identity import refuse_other_build
from .commit.locks import LAST_WAIT_S, finished_manifest, lock_dataset, put_in_place, refuse_place, wait_for_workers
from .commit.state import BuildState, read_state, remove_strays
from .page.page_of_build import page_of
from .plan.build_plan import BuildPlan
from .plan.builds import CheckedBuild, UncheckedBuild
from .plan.job import Job
from .plan.parts import Part, parts, uncommitted_parts
from .sources.check import check
from .work.environment import version_notes
from .work.pool import make_parts
from .work.sidecars import sidecar_path
from .work.warm_up import warm_up
from .work.worker import FinishedPart

if TYPE_CHECKING:
    from distributed import Client

AMPLE_SPACE = 4
"""If the free space exceeds the roughly estimated size of a build by this factor, the size is not measured."""
SPACE_ADVICE = "Free some space, choose another --out, fewer --sets or --samples, or --storage hdf5."
RENAME_WAIT_S = 120.0
"""The time for which a command waits while another command renames the folder of a finished build."""

BuildProgress = Callable[[ProgressEvent], None]


class Inspector(Protocol):
    """An object that checks parts before the dataset is finished. `rebuild` uses one to compare parts with a release.

    To use one, pass it to `Builder.build_all`.
    """

    def check_part(self, sidecar: Path) -> None:
        """Check a part that was just committed. To stop the build, raise an error.

        To discard the part, delete its sidecar.
        """
        ...

    def check_all(self, sidecars: Iterable[Path]) -> None:
        """Check all committed parts before the records are written. To stop the build, raise an error."""
        ...


class Builder:
    """A build that is begun or resumed in the folder ``<name>-<version>.partial``.

    The folder is renamed when the dataset is finished. If an earlier build was killed after it had written its
    manifest, the folder is renamed when the builder is created.

    Parameters
    ----------
    plan : UncheckedBuild
        The build, before its source is checked.
    directory : Path
        The folder of the finished dataset.
    progress : callable
        Called with a `ProgressEvent` for each change.
    client : distributed.Client, optional
        The client of a Dask scheduler, whose workers make the parts.
    extend : Path, optional
        A finished dataset to extend. The new dataset will contain its sets too.
    """

    build: CheckedBuild
    """The build with its checked samples. It is set by `_check`."""

    def __init__(
        self,
        plan: UncheckedBuild,
        directory: Path,
        progress: BuildProgress,
        client: Client | None = None,
        extend: Path | None = None,
    ) -> None:
        refuse_without_locks()
        refuse_place(plan.source, directory)
        self.directory, self.folder = directory, unfinished_folder(directory)
        if (self.folder / MANIFEST).exists():
            with lock_dataset(directory, wait_s=RENAME_WAIT_S):
                put_in_place(directory)
        if extend is not None and extend.exists() and directory.exists() and extend.samefile(directory):
            raise BuildError(
                f"{extend} is a finished dataset, which is never changed. The extended dataset needs a folder with a "
                f"different name. Choose another --out, such as {FinishedDataset.other_out(directory)}."
            )
        self.plan, self.progress, self.client, self.extend = plan, progress, client, extend
        self.image_bytes: float | None = None
        """The average number of bytes per image, or None if it has not been measured."""
        self.workers, self.started = Workers(plan.workers), time.monotonic()

    @property
    def seconds(self) -> float:
        """The time since the builder was created."""
        return time.monotonic() - self.started

    def build_all(self, inspector: Inspector | None = None, *, finish_only: bool = False) -> Built:
        """Make all missing parts and finish the dataset. With `finish_only`, missing parts are an error."""
        images = 0
        if finish_only and not is_begun(self.folder) and finished_manifest(self.directory) is None:
            raise IncompleteBuild(
                f"{self.folder} contains no parts. First build the parts with --part i/n (part=(i, n) in Python), for "
                "each i from 0 to n-1."
            )
        manifest: Manifest | None = None
        with self.workers:
            if not finish_only:
                self._check()
                manifest = self._finished()
            if manifest is None:
                if not finish_only:
                    self._check_space(len(self.build.samples))
                with lock_dataset(self.directory):
                    put_in_place(self.directory)
                    # The check that array jobs recorded is read while the lock is held, because the files of the check
                    # are deleted later.
                    if finish_only:
                        self._check(shared=is_begun(self.folder))
                    manifest = self._finished()  # another command may have finished it in the meantime
                    if manifest is None:
                        manifest, images = self._make_and_finish(inspector, finish_only=finish_only)
                        put_in_place(self.directory)
                self.progress(ProgressEvent("done"))
        notes = (*self.build.notes, *self._additional_sets(manifest), *version_notes(manifest.environment))
        return Built(self.directory, manifest.digest, self.directory / CONTACT, images, self.seconds, manifest, notes)

    def build_share(self, number: int, jobs: int) -> PartBuilt:
        """Make the missing parts in the share of one array job, while other jobs make theirs.

        `number` is the index of the job, from 0, and `jobs` is the number of jobs in the array.
        """
        folder = self.directory
        share: Sequence[Part] = ()
        images: list[int] = []
        with self.workers:
            if finished_manifest(self.directory) is None:
                self._check_space(len(self.plan.selected))
                with lock_dataset(self.directory, array=True):
                    if finished_manifest(self.directory) is None:
                        folder = self.folder
                        self._check(shared=True, share=number / jobs)
                        self._compile(read_state(self.folder, self.extend).job(self.build))
                        with join_jobs(self.folder, self.build, self.extend, waiting=self._wait) as (state, job):
                            share, remaining = assign_parts(job, self._parts(state, job), number, jobs)
                            images = [count for count in self._make(job, remaining, share) if count]
            if folder == self.directory:
                self._check()
                self._finished()
        self.progress(ProgressEvent("done"))
        notes = self.build.notes
        return PartBuilt(folder, (number, jobs), len(share), len(images), sum(images), self.seconds, notes)

    def _wait(self, reason: str) -> None:
        """Report what the build is waiting for."""
        self.progress(ProgressEvent("waiting", waiting_for=reason))

    def _check(self, *, shared: bool = False, share: float = 0.0) -> None:
        """Check all selected images, and raise an error if they cannot be built.

        If `shared` is True, array jobs divide the images among themselves. `share` is the position among the images at
        which this job begins, as a fraction in [0, 1).
        """
        plan, total, started = self.plan, len(self.plan.selected), time.monotonic()

        def report(images: int) -> None:
            seconds = time.monotonic() - started
            self.progress(ProgressEvent("checking", images_done=images, images_total=total, seconds=seconds))

        report(0)
        if shared:
            self.build = shared_check(
                plan, self.folder, self.workers, share=share, on_checked=report, waiting=self._wait
            )
        else:
            checked = check(
                plan.source, plan.selected, workers=self.workers, check_size=plan.size_problem, on_checked=report
            )
            self.build = plan.checked(checked)

    def _finished(self) -> Manifest | None:
        """Return the manifest of the finished dataset, or None if the dataset is not finished.

        Raise `BuildError` if the directory contains a different dataset, or a finished one that lacks requested sets.
        """
        manifest = finished_manifest(self.directory)
        if manifest is not None:
            refuse_other_build(self.directory, manifest.header, self.build, self.build.header_of(self.build.requested))
            existing = {record.id for record in manifest.sets}
            if lacking := [set_id for set_id in self.build.requested if set_id not in existing]:
                raise FinishedDataset(self.directory, lacking)
        return manifest

    def _additional_sets(self, manifest: Manifest) -> list[str]:
        """Return a note if the dataset contains sets that were not requested, because an earlier command built them."""
        sets, additional = len(manifest.sets), len({s.id for s in manifest.sets}.difference(self.build.requested))
        if self.extend is not None or not additional:
            return []
        return [
            f"The dataset already contained more sets than this command requests. It has {plural(sets, 'set')}, of "
            f"which {additional} {'was' if additional == 1 else 'were'} not requested, and the digest is that of all "
            f"{sets} sets. To get a dataset of only the requested sets, choose another --out."
        ]

    def _check_space(self, samples: int) -> None:
        """Raise `MachineError` if there is not enough free space for a new build with this number of samples."""
        if not is_begun(self.folder):
            needed, sets = self.plan.source.other_bytes(), set(self.plan.requested)
            if self.extend is not None:
                base = load_base(self.extend)
                sets -= {s.id for s in base.sets}
                needed += 0 if same_disk(self.extend, self.folder) else sum(s.bytes for s in base.sets)
            needed += self._bytes_of(sorted(sets), len(sets) * samples)
            check_space(self.folder, needed, "the build", SPACE_ADVICE)

    def _bytes_of(self, sets: Sequence[str], images: int) -> int:
        """Return the estimated size, in bytes, of this number of images of the given sets.

        The estimate is based on constants. If the disk is nearly full, a few images are made and measured instead.
        """
        plan, rough = self.plan, images * self.plan.stored_bytes
        if not images or not isinstance(plan, BuildPlan) or plan.pixels.regions is not None:
            return rough
        if free_bytes(self.folder) > AMPLE_SPACE * rough:
            return rough
        if self.image_bytes is None:
            from .estimate import image_bytes  # imported here, because it is rarely needed

            self.image_bytes = image_bytes(plan, sets)
        return round(images * self.image_bytes)

    def _make_and_finish(self, inspector: Inspector | None, *, finish_only: bool) -> tuple[Manifest, int]:
        """Make the missing parts, write the records, and return the manifest and the number of images made.

        If `finish_only` is True, raise `MissingParts` if parts are missing.
        """
        state = read_state(self.folder, self.extend)
        job = state.job(self.build)
        wait_for_workers(self.folder)
        if not finish_only:
            self._compile(job)
        state = state.begin(job)
        all_parts = self._parts(state, job)
        remaining = uncommitted_parts(all_parts, state.sidecars)
        if remaining and finish_only:
            raise missing_parts(self.folder, all_parts, state.sidecars)
        if remaining:
            self._make(job, remaining, all_parts, inspector)
            new = {(s, p.chunk.number): sidecar_path(self.folder, p.name) for p in remaining for s in p.sets}
            state = replace(state, sidecars={**state.sidecars, **new})
        self.progress(ProgressEvent("finishing"))
        # A cluster worker that hangs for longer than this is ignored, because it can only write the same bytes again.
        with suppress(Busy):
            wait_for_workers(self.folder, wait_s=LAST_WAIT_S)
        remove_strays(self.folder)  # left by workers that were killed while they wrote
        if inspector is not None:
            inspector.check_all(sorted(set(state.sidecars.values())))
        # Imported here, because `finish` imports the reader, which array jobs do not need.
        from .commit.finish import finish

        self.workers.close()
        return finish(self.build, job, state, page_of(self.build)), sum(p.images for p in remaining)

    def _parts(self, state: BuildState, job: Job) -> list[Part]:
        """Return all parts of a job, without the sets of the dataset that the build extends."""
        return parts(self.build.chunks, self.build.groups(state.new(job.sets), self.build.chunks))

    def _compile(self, job: Job) -> None:
        """Compile the kernels that a job needs, unless they are already in the cache."""
        self.progress(ProgressEvent("preparing"))

        def report(ready: int, total: int) -> None:
            self.progress(ProgressEvent("compiling", parts_done=ready, parts_total=total))

        warm_up(job.sets.values(), self.build.maker, self.workers, on_progress=report)

    def _make(
        self, job: Job, remaining: Sequence[Part], all_parts: Sequence[Part], inspector: Inspector | None = None
    ) -> list[int]:
        """Make the remaining parts, and return the number of images made for each part."""
        sizes = {p.name: p.images for p in remaining}
        total, new = sum(p.images for p in all_parts), sum(sizes.values())
        check_space(self.folder, self._bytes_of(list(job.sets), new), "the build", SPACE_ADVICE)
        started, images, committed, shown = time.monotonic(), list[int](), 0, 0

        def on_progress(count: int) -> None:
            nonlocal shown
            shown = max(shown, min(count, new))  # `count` decreases when the part of a killed worker is repeated
            parts_done, seconds = len(all_parts) - len(remaining) + len(images), time.monotonic() - started
            self.progress(ProgressEvent("building", parts_done, len(all_parts), total - new + shown, total, seconds))

        def on_part(part: FinishedPart) -> None:
            nonlocal committed
            images.append(part.images)
            committed += sizes[part.name]
            on_progress(committed)
            if inspector is not None:
                inspector.check_part(sidecar_path(self.folder, part.name))

        on_progress(0)
        make_parts(job, remaining, self.workers, client=self.client, on_part=on_part, on_progress=on_progress)
        return images
