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
from .commit.array_jobs import deal, joined, missing_of, missing_parts
from .commit.finish import finish as finish_build
from .commit.identity import identity_of, refuse_other_build, refuse_other_resources
from .commit.interruption import resumable
from .commit.last_files import settle
from .commit.locks import finished, locked, wait_for_workers
from .commit.place import refuse_foreign
from .commit.state import BuildState, begin, leave_finished, peek_state, read_state, remove_strays
from .page.page_of_build import page_of, with_page
from .plan.build_spec import BuildSpec
from .plan.checked_build import CheckedBuild
from .plan.job import Job
from .plan.nesting import refuse_nested
from .plan.options import BuildKeywords, BuildOptions
from .plan.parts import Part, parts
from .plan.recipe_build import prepare
from .plan.shares import check_share, share_of
from .recipes.recipe import Recipe
from .sources.check import check
from .sources.source import Source
from .work.accepted import accepted_build
from .work.dask_workers import connected
from .work.pool import run, start_early
from .work.shared_check import forget_check, shared_check
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
        spec = replace(prepare(recipe, source, BuildOptions(**options)), scheduler=client)
        place.directory = out / spec.folder
        if (share is not None) + finish + (client is not None) > 1:
            raise BuildError("part, finish and scheduler exclude each other: jobs make parts alone, finish comes when all are made.")
        if share is not None:
            return _make_share(spec, place.directory, told(progress), share)
        return make_build(spec, place.directory, told(progress), finish_only=finish)


class Inspector(Protocol):
    """Looks at what is made before it counts: `rebuild` compares it with a manifest's digests."""

    def part(self, sidecar: Path) -> None:
        """Look at a part that was just committed. Raises to stop the build; takes the sidecar away where the part is not to be kept."""
        ...

    def parts(self, sidecars: Iterable[Path]) -> None:
        """Look at all committed parts, before records are put together from them; raises where they are not to be."""
        ...


def make_build(
    spec: BuildSpec, directory: Path, progress: Progress, inspector: Inspector | None = None, *, finish_only: bool = False
) -> Built:
    """Make, resume or extend what was prepared, in `directory`; what `build` does once it knows what to build."""
    refuse_without_locks()
    refuse_nested(spec.source, directory)
    refuse_foreign(directory)
    started = time.monotonic()
    begun = is_begun(directory)
    if finish_only and not begun and not (directory / MANIFEST).exists():
        raise IncompleteBuild(f"{directory} holds no parts: make them first, with --part i/n (part=(i, n)) for each i from 0 to n-1.")
    with Workers(spec.workers) as workers:
        if not (finish_only or spec.scheduler or (directory / MANIFEST).exists()):
            start_early(workers, spec)
        build = _checked(spec, progress, workers, directory if finish_only and begun else None)
        notes = spec.notes(build.asked_sinks)
        if (directory / FINISH).exists():
            with locked(directory):
                wait_for_workers(directory)
                settle(directory)
        base = finished(directory)
        if base is not None and set(spec.asked) <= {s.id for s in base.sets}:
            _refuse_other(directory, base, build)
            leave_finished(directory, base)
            base = with_page(build, directory, base)
            return Built(directory, base.digest, directory / CONTACT, 0, time.monotonic() - started, base, notes)
        if not finish_only:
            _check_space(spec, directory, base, len(build.samples))
        with locked(directory):
            manifest, images = _Making(build, directory, progress, inspector, workers).all(finish_only=finish_only)
    progress(ProgressEvent("done"))
    return Built(directory, manifest.digest, directory / CONTACT, images, time.monotonic() - started, manifest, notes)


def _make_share(spec: BuildSpec, directory: Path, progress: Progress, share: tuple[int, int]) -> PartBuilt:
    """Make a share of the parts beside other jobs."""
    refuse_without_locks()
    refuse_nested(spec.source, directory)
    refuse_foreign(directory)
    started = time.monotonic()
    parts: Sequence[Part] = ()
    made: list[PartDone] = []
    base = finished(directory)
    with Workers(spec.workers) as workers:
        if base is not None and set(spec.asked) <= {s.id for s in base.sets}:
            build = _checked(spec, progress, workers)
            _refuse_other(directory, base, build)
        else:
            _check_space(spec, directory, base, len(spec.selected))
            with locked(directory, array=True):
                build = _checked(spec, progress, workers, directory, share=share[0] / share[1])
                parts, made = _Making(build, directory, progress, None, workers).share(*share)
    progress(ProgressEvent("done"))
    images = [record.images for record in made if record.images]
    return PartBuilt(directory, share, len(parts), len(images), sum(images), time.monotonic() - started, spec.notes(build.asked_sinks))


def _refuse_other(directory: Path, base: Manifest, build: CheckedBuild) -> None:
    """Refuse what a finished build is not."""
    refuse_other_build(directory, identity_of(base), build)
    refuse_other_resources(directory, identity_of(base), build.resources(build.spec.asked))


def _check_space(spec: BuildSpec, directory: Path, base: Manifest | None, samples: int) -> None:
    """Refuse a build or an extension that has not begun where there is too little space, before a folder is made."""
    if not is_begun(directory):
        new = set(spec.asked) - {s.id for s in base.sets} if base is not None else spec.asked
        needed = len(new) * samples * spec.stored_bytes + spec.source.other_bytes()
        check_space(directory, needed, "the build", SPACE_ADVICE)


def _checked(spec: BuildSpec, progress: Progress, workers: Workers, directory: Path | None = None, *, share: float = 0.0) -> CheckedBuild:
    """Look at every selected image, with the jobs of an array in `directory` together, and refuse what cannot be built from them."""
    started = time.monotonic()

    def seen(images: int) -> None:
        seconds = time.monotonic() - started
        progress(ProgressEvent("checking", images_done=images, images_total=len(spec.selected), seconds=seconds))

    seen(0)
    if directory is None:
        checked = check(spec.source, spec.selected, workers=workers, judge=spec.size_problem, seen=seen)
        return accepted_build(spec, checked)
    checked = shared_check(spec, directory, workers, share=share, seen=seen)
    try:
        return accepted_build(spec, checked)
    except CorruptsetError:
        if not is_begun(directory):
            forget_check(spec, directory)
        raise


@dataclass
class _Making:
    """A build that is made, resumed or extended; the lock is held."""

    build: CheckedBuild
    directory: Path
    progress: Progress
    inspector: Inspector | None
    workers: Workers

    def all(self, *, finish_only: bool = False) -> tuple[Manifest, int]:
        """Make what is missing, or refuse to with `finish_only`, then the manifest; return it and the number of images made."""
        spec = self.build.spec
        state = read_state(self.directory)
        if state.identity is not None:
            refuse_other_build(self.directory, state.identity, self.build)
        job = self._job(state)
        if not finish_only:
            self._compile(job)
        opened = begin(self.directory, state, self.build, list(job.sets), job.sinks)
        job = replace(job, origin=opened.origin)
        new = state.new(job.sets)
        groups = spec.groups(new, self.build.runs)
        missing = parts(self.build.runs, groups, committed=opened.sidecars.keys())
        if missing:
            if finish_only:
                raise missing_parts(self.directory, parts(self.build.runs, groups), missing)
            self._run(job, missing, parts=len(self.build.runs) * len(groups), images=len(new) * len(job.samples))
            new_sidecars = {(s, p.run.number): self._sidecar(p.name) for p in missing for s in p.sets}
            opened = replace(opened, sidecars=opened.sidecars | new_sidecars)
        self.progress(ProgressEvent("finishing"))
        remove_strays(self.directory)  # of workers that were killed while they wrote; others made their parts
        if self.inspector is not None:
            self.inspector.parts(sorted(set(opened.sidecars.values())))
        page = page_of(self.build) if self.build.spec.page else None
        return finish_build(job, opened, self.build, page, self.workers), sum(p.images for p in missing)

    def share(self, number: int, jobs: int) -> tuple[Sequence[Part], list[PartDone]]:
        """Make what is missing of a share of the parts; return the share, and what was done."""
        self._compile(self._job(peek_state(self.directory)))
        with joined(self.directory, self.build, self._job) as (state, job, origin):
            deal(self.directory, jobs)
            new = state.new(job.sets)
            share = share_of(parts(self.build.runs, self.build.spec.groups(new, self.build.runs)), number, jobs)
            missing = missing_of(self.directory, share, origin)
            job = replace(job, origin=origin, array=True)
            return share, self._run(job, missing, parts=len(share), images=sum(p.images for p in share))

    def _job(self, state: BuildState) -> Job:
        return self.build.job(self.directory, list(dict.fromkeys([*self.build.spec.asked, *state.sets])))

    def _sidecar(self, part: str) -> Path:
        return self.directory / PARTS_FOLDER / f"{part}.json"

    def _compile(self, job: Job) -> None:
        """Make sure that kernels are in the cache."""
        self.progress(ProgressEvent("preparing"))
        warm_up(job, self.workers, tell=lambda done, total: self.progress(ProgressEvent("compiling", parts_done=done, parts_total=total)))

    def _run(self, job: Job, missing: Sequence[Part], *, parts: int, images: int) -> list[PartDone]:
        """Make the missing parts, of so many parts and images; return what was done."""
        by_name = {p.name: p for p in missing}
        records: list[PartDone] = []
        images_missing = sum(p.images for p in missing)
        check_space(self.directory, images_missing * self.build.spec.stored_bytes, "the build", SPACE_ADVICE)
        there = images - images_missing
        event = ProgressEvent(
            "building",
            parts_done=parts - len(missing),
            parts_total=parts,
            images_done=there,
            images_total=images,
        )
        self.progress(event)
        started = time.monotonic()
        committed = 0

        def made(new: int) -> None:
            nonlocal event
            now = max(event.images_done, min(there + new, images))
            if now > event.images_done:
                event = replace(event, images_done=now, seconds=time.monotonic() - started)
                self.progress(event)

        def done(record: PartDone) -> None:
            nonlocal event, committed
            records.append(record)
            committed += by_name[record.name].images
            event = replace(
                event,
                parts_done=event.parts_done + 1,
                images_done=max(event.images_done, there + committed),
                seconds=time.monotonic() - started,
            )
            self.progress(event)
            if self.inspector is not None:
                self.inspector.part(self._sidecar(record.name))

        run(job, missing, self.workers, client=self.build.spec.scheduler, done=done, made=made)
        return records
