"""`build`: a recipe applied to a source, written, committed part by part, finished with a manifest."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol, Unpack, overload

from ..errors import BuildError, CorruptsetError, IncompleteBuild
from ..manifests.disk.lock import refuse_without_locks
from ..manifests.disk.remote import local_folder
from ..manifests.disk.space import check_space
from ..manifests.layout import CONTACT, FINISH, MANIFEST, PARTS_FOLDER, is_begun
from ..manifests.records.models import Manifest
from ..progress import ProgressEvent, shows_progress, told
from ..signatures import showing
from ..workers import Workers
from .built import Built, PartBuilt
from .commit.array_jobs import deal, forget_check, joined, missing_parts, shared_check
from .commit.finish import finish as finish_build
from .commit.identity import identity_of, refuse_other_build, refuse_other_resources
from .commit.interruption import resumable
from .commit.last_files import settle
from .commit.locks import finished, locked, refuse_foreign, refuse_nested, wait_for_workers
from .commit.state import BuildState, begin, leave_finished, peek_state, read_state, remove_strays
from .page.page_of_build import page_of, with_page
from .plan.builds import Build
from .plan.job import Job
from .plan.options import BuildKeywords, BuildOptions
from .plan.parts import Part, check_share, missing, parts
from .plan.recipe_build import prepare
from .recipes.recipe import Recipe
from .sources.check import check
from .sources.source import Source
from .work.dask_workers import connected
from .work.pool import run, start_early
from .work.warm_up import warm_up
from .work.worker import PartDone

SPACE_ADVICE = "Free some space, choose another --out, fewer --sets or --samples, or one --format."


Progress = Callable[[ProgressEvent], None]


@overload
def build(
    recipe: str | Path | Recipe = ...,
    source: str | Source = ...,
    out: str | Path = ...,
    *,
    part: None = ...,
    finish: bool = ...,
    progress: Progress | bool | None = ...,
    **options: Unpack[BuildKeywords],
) -> Built: ...


@overload
def build(
    recipe: str | Path | Recipe = ...,
    source: str | Source = ...,
    out: str | Path = ...,
    *,
    part: tuple[int, int],
    finish: Literal[False] = ...,
    progress: Progress | bool | None = ...,
    **options: Unpack[BuildKeywords],
) -> PartBuilt: ...


@showing(BuildOptions)
@shows_progress("build")
def build(
    recipe: str | Path | Recipe = "imagenet-c",
    source: str | Source = "sample",
    out: str | Path = "corruptset-out",
    *,
    progress: Progress | bool | None = None,
    part: tuple[int, int] | None = None,
    finish: bool = False,
    **options: Unpack[BuildKeywords],
) -> Built | PartBuilt:
    """Make a benchmark set: read, corrupt, encode, write, and a manifest that names it by a digest.

    The same call resumes a build that was stopped, in whatever way; with more `sets` it extends a finished one.

    Parameters
    ----------
    recipe : str, path or Recipe
        A shipped recipe's name, or a recipe file (.toml).
    source : str or Source
        ``sample``, ``folder:PATH``, ``imagenet:PATH``, ``cifar10:PATH``, ...: docs/sources.md has them all.
    out : path
        The build goes to ``<out>/<name>-<version>``.
    part : (int, int), optional
        (i, n): make share i, from 0, of n of the parts, beside other processes that make other shares of the same build, and stop.
        Shares follow from the build and n; docs/array-jobs.md.
    finish : bool
        Make no part: put the manifest together from parts that were made with `part`.
    progress : callable or bool, optional
        Told how far the build is, by a `ProgressEvent`. By default a bar is shown in a terminal and in a notebook; False shows none.
    **options
        The fields of `corruptset.generate.plan.options.BuildOptions`: seed, jobs, sets, samples, first, per_class, ids, format, optimize,
        skip_bad, calibration, coupling, scale, metrics, frost_textures, surrogate, device, surrogate_batch, labels, split, groups,
        hold_out, train, images, view, any_shape, store, page, disjoint_from, scheduler.

    Returns
    -------
    Built, or PartBuilt with `part`

    Raises
    ------
    RecipeError, SourceError, ParameterError, BuildError
        What was asked for cannot be built, or differs from what the directory holds; nothing was written.
    MissingParts
        With `finish`: parts are missing; it says which jobs make them.
    MachineError
        The disk, the memory or the workers failed; what was committed stands, the same call resumes.
    Interrupted
        Ctrl-C or SIGTERM; the same call resumes.
    """
    out = local_folder(out, "builds are written to")
    with resumable(out) as place, connected(options.get("scheduler")) as client:
        share = None if part is None else check_share(part)
        prepared = replace(prepare(recipe, source, BuildOptions(**options)), scheduler=client)
        place.directory = out / prepared.folder
        if (share is not None) + finish + (client is not None) > 1:
            raise BuildError("part, finish and scheduler exclude each other: jobs make parts alone, finish comes when all are made.")
        if share is not None:
            return _make_share(prepared, place.directory, told(progress), share)
        return make_build(prepared, place.directory, told(progress), finish_only=finish)


class Inspector(Protocol):
    """Looks at what is made before it counts: `rebuild` compares it with a manifest's digests."""

    def part(self, sidecar: Path) -> None:
        """Look at a part that was just committed. Raises to stop the build; takes the sidecar away where the part is not to be kept."""
        ...

    def parts(self, sidecars: Iterable[Path]) -> None:
        """Look at all committed parts, before records are put together from them; raises where they are not to be."""
        ...


def make_build(
    build: Build, directory: Path, progress: Progress, inspector: Inspector | None = None, *, finish_only: bool = False
) -> Built:
    """Make, resume or extend what was prepared, in `directory`; what `build` does once it knows what to build."""
    _refuse_place(build, directory)
    started = time.monotonic()
    begun = is_begun(directory)
    if finish_only and not begun and not (directory / MANIFEST).exists():
        raise IncompleteBuild(f"{directory} holds no parts: make them first, with --part i/n (part=(i, n)) for each i from 0 to n-1.")
    with Workers(build.workers) as workers:
        if not (finish_only or build.scheduler or (directory / MANIFEST).exists()):
            start_early(workers, build)
        build = _checked(build, progress, workers, directory if finish_only and begun else None)
        if (directory / FINISH).exists():
            with locked(directory):
                wait_for_workers(directory)
                settle(directory)
        base, images = finished(directory), 0
        if base is not None and set(build.asked) <= {s.id for s in base.sets}:
            _refuse_other(directory, base, build)
            leave_finished(directory, base)
            manifest = with_page(build, directory, base)
        else:
            if not finish_only:
                _check_space(build, directory, base, len(build.samples))
            with locked(directory):
                manifest, images = _Making(build, directory, progress, inspector, workers).all(finish_only=finish_only)
            progress(ProgressEvent("done"))
    return Built(directory, manifest.digest, directory / CONTACT, images, time.monotonic() - started, manifest, build.notes())


def _make_share(build: Build, directory: Path, progress: Progress, share: tuple[int, int]) -> PartBuilt:
    """Make a share of the parts beside other jobs."""
    _refuse_place(build, directory)
    started = time.monotonic()
    parts: Sequence[Part] = ()
    images: list[int] = []
    base = finished(directory)
    with Workers(build.workers) as workers:
        if base is not None and set(build.asked) <= {s.id for s in base.sets}:
            build = _checked(build, progress, workers)
            _refuse_other(directory, base, build)
        else:
            _check_space(build, directory, base, len(build.selected))
            with locked(directory, array=True):
                build = _checked(build, progress, workers, directory, share=share[0] / share[1])
                parts, images = _Making(build, directory, progress, None, workers).share(*share)
    progress(ProgressEvent("done"))
    return PartBuilt(directory, share, len(parts), len(images), sum(images), time.monotonic() - started, build.notes())


def _refuse_place(build: Build, directory: Path) -> None:
    """Refuse a directory that cannot be built in."""
    refuse_without_locks()
    refuse_nested(build.source, directory)
    refuse_foreign(directory)


def _refuse_other(directory: Path, base: Manifest, build: Build) -> None:
    """Refuse what a finished build is not."""
    refuse_other_build(directory, identity_of(base), build)
    refuse_other_resources(directory, identity_of(base), build.resources(build.asked))


def _check_space(build: Build, directory: Path, base: Manifest | None, samples: int) -> None:
    """Refuse a build or an extension that has not begun where there is too little space, before a folder is made."""
    if not is_begun(directory):
        new = set(build.asked) - {s.id for s in base.sets} if base is not None else build.asked
        needed = len(new) * samples * build.stored_bytes + build.source.other_bytes()
        check_space(directory, needed, "the build", SPACE_ADVICE)


def _checked(build: Build, progress: Progress, workers: Workers, directory: Path | None = None, *, share: float = 0.0) -> Build:
    """Look at every selected image, with the jobs of an array in `directory` together, and refuse what cannot be built from them."""
    started = time.monotonic()

    def seen(images: int) -> None:
        seconds = time.monotonic() - started
        progress(ProgressEvent("checking", images_done=images, images_total=len(build.selected), seconds=seconds))

    seen(0)
    if directory is None:
        return build.checked(check(build.source, build.selected, workers=workers, judge=build.size_problem, seen=seen))
    found = shared_check(build, directory, workers, share=share, seen=seen)
    try:
        return build.checked(found)
    except CorruptsetError:
        if not is_begun(directory):
            forget_check(build, directory)
        raise


@dataclass
class _Making:
    """A build that is made, resumed or extended; the lock is held."""

    build: Build
    directory: Path
    progress: Progress
    inspector: Inspector | None
    workers: Workers

    def all(self, *, finish_only: bool = False) -> tuple[Manifest, int]:
        """Make what is missing, or refuse to with `finish_only`, then the manifest; return it and the number of images made."""
        state = read_state(self.directory)
        job = state.job(self.directory, self.build)
        if not finish_only:
            self._compile(job)
        state = begin(self.directory, state, self.build, job)
        every = self._parts(state, job)
        left = missing(every, state.sidecars)
        if left and finish_only:
            raise missing_parts(self.directory, every, state.sidecars)
        if left:
            self._run(job, left, every)
            state = replace(state, sidecars={**state.sidecars, **{(s, p.run.number): self._sidecar(p.name) for p in left for s in p.sets}})
        self.progress(ProgressEvent("finishing"))
        remove_strays(self.directory)  # of workers that were killed while they wrote; others made their parts
        if self.inspector is not None:
            self.inspector.parts(sorted(set(state.sidecars.values())))
        page = page_of(self.build) if self.build.page else None
        return finish_build(job, state, self.build, page, self.workers), sum(p.images for p in left)

    def share(self, number: int, jobs: int) -> tuple[Sequence[Part], list[int]]:
        """Make what is missing of a share of the parts; return the share, and how many images each part had that this call made."""
        self._compile(peek_state(self.directory).job(self.directory, self.build))
        with joined(self.directory, self.build) as (state, job):
            share, left = deal(self.directory, job, self._parts(state, job), number, jobs)
            return share, [images for images in self._run(job, left, share) if images]

    def _parts(self, state: BuildState, job: Job) -> list[Part]:
        """Return all parts of the sets that a finished build has not."""
        return parts(self.build.runs, self.build.groups(state.new(job.sets), self.build.runs))

    def _sidecar(self, part: str) -> Path:
        return self.directory / PARTS_FOLDER / f"{part}.json"

    def _compile(self, job: Job) -> None:
        """Make sure that kernels are in the cache."""
        self.progress(ProgressEvent("preparing"))
        warm_up(job, self.workers, tell=lambda done, total: self.progress(ProgressEvent("compiling", parts_done=done, parts_total=total)))

    def _run(self, job: Job, left: Sequence[Part], every: Sequence[Part]) -> list[int]:
        """Make the parts that are left of some; return how many images of each were made."""
        by_name = {p.name: p for p in left}
        images, images_left = (sum(p.images for p in some) for some in (every, left))
        check_space(self.directory, images_left * self.build.stored_bytes, "the build", SPACE_ADVICE)
        there = committed = images - images_left
        event = ProgressEvent("building", parts_done=len(every) - len(left), parts_total=len(every), images_done=there, images_total=images)
        self.progress(event)
        started = time.monotonic()
        made_by_part: list[int] = []

        def tell(parts_done: int, images_done: int) -> None:
            nonlocal event
            seconds = time.monotonic() - started
            event = replace(event, parts_done=parts_done, images_done=max(event.images_done, images_done), seconds=seconds)
            self.progress(event)

        def made(new: int) -> None:
            if event.images_done < min(there + new, images):
                tell(event.parts_done, min(there + new, images))

        def done(record: PartDone) -> None:
            nonlocal committed
            made_by_part.append(record.images)
            committed += by_name[record.name].images
            tell(event.parts_done + 1, committed)
            if self.inspector is not None:
                self.inspector.part(self._sidecar(record.name))

        run(job, left, self.workers, client=self.build.scheduler, done=done, made=made)
        return made_by_part
