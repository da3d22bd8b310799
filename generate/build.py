"""`build`: a recipe applied to a source, part by part, finished with a manifest."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, overload

from ..errors import BuildError, IncompleteBuild
from ..manifests.disk.lock import refuse_without_locks
from ..manifests.disk.remote import local_folder
from ..manifests.disk.space import check_space
from ..manifests.paths import CONTACT, FINISH, WORK_FOLDER, is_begun
from ..manifests.records.models import Manifest
from ..plain_arguments import plain_arguments
from ..progress import ProgressEvent, progress_function, shows_progress
from ..signatures import showing
from ..workers import Workers
from .built import Built, PartBuilt
from .commit.array_jobs import deal, joined, missing_parts, shared_check
from .commit.identity import identity_of, refuse_other_build
from .commit.interruption import resumable
from .commit.last_files import settle
from .commit.locks import extended, finished, locked, refuse_place, wait_for_workers
from .commit.state import BuildState, read_state, remove_strays
from .page.page_of_build import page_of, with_page
from .plan.builds import Build
from .plan.final_samples import with_samples
from .plan.job import Job
from .plan.options import BuildOptions
from .plan.parts import Part, check_share, missing, parts
from .plan.recipe_build import prepare
from .recipes.recipe import Recipe
from .sources.check import check
from .sources.source import Source
from .work.dask_workers import connected
from .work.pool import run
from .work.sidecars import sidecar_path
from .work.warm_up import warm_up
from .work.worker import PartDone

if TYPE_CHECKING:
    from distributed import Client

SPACE_ADVICE = "Free some space, choose another --out, fewer --sets or --samples, or --storage hdf5."


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
    **options: Any,
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
    **options: Any,
) -> PartBuilt: ...


@plain_arguments
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
    **options: Any,
) -> Built | PartBuilt:
    """Make a benchmark set: read, corrupt, encode, write, and name it by a digest.

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
        (i, n): make share i, from 0, of n of the parts, beside other processes that make other shares of the same
        build, and stop. Shares follow from the build and n; docs/array-jobs.md.
    finish : bool
        Make no part: put the manifest together from parts that were made with `part`.
    progress : callable or bool, optional
        Told how far the build is, by a `ProgressEvent`. By default a bar is shown in a terminal and in a notebook;
        False shows none.
    **options
        The fields of `corruptset.generate.plan.options.BuildOptions`: seed, jobs, sets, samples, first, per_class, ids,
        storage, encoding, optimize, skip_bad, calibration, coupling, scale, metrics, frost_textures, surrogate, device,
        surrogate_batch, labels, split, groups, hold_out, train, images, view, any_shape, store, page, disjoint_from,
        scheduler.

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
        prepared = prepare(recipe, source, BuildOptions(**options))
        place.directory = out / prepared.folder
        if (share is not None) + finish + (client is not None) > 1:
            raise BuildError(
                "part, finish and scheduler exclude each other: jobs make parts alone, finish comes when all are made."
            )
        making = _Making(prepared, place.directory, progress_function(progress), client)
        return making.whole(finish_only=finish) if share is None else making.share(*share)


class Inspector(Protocol):
    """Looks at what is made before it counts: `rebuild` compares it with a manifest's digests."""

    def part(self, sidecar: Path) -> None:
        """Look at a part that was just committed; raises to stop the build.

        It takes the sidecar away where the part is not to be kept.
        """
        ...

    def parts(self, sidecars: Iterable[Path]) -> None:
        """Look at all committed parts before records are made of them; raises to stop."""
        ...


def make_build(build: Build, directory: Path, progress: Progress, inspector: Inspector) -> Built:
    """Make, resume or extend what was prepared, in `directory`, under the eyes of an inspector."""
    return _Making(build, directory, progress).whole(inspector)


class _Making:
    """A build that is made, resumed or extended in a directory.

    An end that began is completed first.
    """

    def __init__(self, build: Build, directory: Path, progress: Progress, client: Client | None = None) -> None:
        refuse_without_locks()
        refuse_place(build.source, directory)
        if (directory / FINISH).exists():
            with locked(directory):
                wait_for_workers(directory)
                settle(directory)
        self.build, self.directory, self.progress, self.client = build, directory, progress, client
        self.workers, self.started = Workers(build.workers), time.monotonic()

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self.started

    def whole(self, inspector: Inspector | None = None, *, finish_only: bool = False) -> Built:
        """Make what is missing of all parts, or with `finish_only` none, and finish."""
        directory, images = self.directory, 0
        if finish_only and not is_begun(directory) and finished(directory) is None:
            raise IncompleteBuild(
                f"{directory} holds no parts: make them first, with --part i/n (part=(i, n)) for each i from 0 to n-1."
            )
        with self.workers:
            self._check(shared=finish_only and is_begun(directory))
            base = finished(directory)
            if base is not None and self._holds(base):
                manifest = with_page(self.build, directory, base)
            else:
                if not finish_only:
                    self._check_space(base)
                with locked(directory):
                    wait_for_workers(directory)
                    manifest, images = self._all(inspector, finish_only=finish_only)
                self.progress(ProgressEvent("done"))
        notes = self.build.notes()
        return Built(directory, manifest.digest, directory / CONTACT, images, self.seconds, manifest, notes)

    def share(self, number: int, jobs: int) -> PartBuilt:
        """Make what is missing of a share of the parts, beside other jobs."""
        base = finished(self.directory)
        share: Sequence[Part] = ()
        images: list[int] = []
        with self.workers:
            if base is not None and set(self.build.asked) <= {s.id for s in base.sets}:
                self._check()
                self._holds(base)
            else:
                self._check_space(base)
                with locked(self.directory, array=True):
                    self._check(shared=True, share=number / jobs)
                    self._compile(read_state(self.directory).job(self.build))
                    with joined(self.directory, self.build) as (state, job):
                        share, left = deal(job, self._parts(state, job), number, jobs)
                        images = [made for made in self._run(job, left, share) if made]
        self.progress(ProgressEvent("done"))
        notes = self.build.notes()
        return PartBuilt(self.directory, (number, jobs), len(share), len(images), sum(images), self.seconds, notes)

    def _check(self, *, shared: bool = False, share: float = 0.0) -> None:
        """Look at every selected image, and refuse what cannot be built from them.

        `shared` with the jobs of an array, from a `share` on.
        """
        build, total, started = self.build, len(self.build.selected), time.monotonic()

        def seen(images: int) -> None:
            seconds = time.monotonic() - started
            self.progress(ProgressEvent("checking", images_done=images, images_total=total, seconds=seconds))

        seen(0)
        if shared:
            self.build = shared_check(build, self.directory, self.workers, share=share, seen=seen)
        else:
            found = check(build.source, build.selected, workers=self.workers, judge=build.size_problem, seen=seen)
            self.build = with_samples(build, found)

    def _holds(self, base: Manifest) -> bool:
        """Return whether a finished build has all that was asked for; refuse another one."""
        if not set(self.build.asked) <= {s.id for s in base.sets}:
            return False
        refuse_other_build(self.directory, identity_of(base), self.build, self.build.asked)
        if (self.directory / WORK_FOLDER).exists() and extended(self.directory) is None:
            # which removes what a build left that was killed between its manifest and its clean-up
            with locked(self.directory):
                pass
        return True

    def _check_space(self, base: Manifest | None) -> None:
        """Refuse what has not begun where there is too little space."""
        if not is_begun(self.directory):
            build = self.build
            new = set(build.asked) - {s.id for s in base.sets} if base is not None else build.asked
            images = len(new) * (len(build.samples) or len(build.selected))
            needed = images * build.stored_bytes + build.source.other_bytes()
            check_space(self.directory, needed, "the build", SPACE_ADVICE)

    def _all(self, inspector: Inspector | None, *, finish_only: bool) -> tuple[Manifest, int]:
        """Make what is missing, then the manifest; return it and the number of images made.

        With `finish_only` refuse what is missing.
        """
        state = read_state(self.directory)
        job = state.job(self.build)
        if not finish_only:
            self._compile(job)
        state = state.begin(job)
        every = self._parts(state, job)
        left = missing(every, state.sidecars)
        if left and finish_only:
            raise missing_parts(self.directory, every, state.sidecars)
        if left:
            self._run(job, left, every, inspector)
            made = {(s, p.run.number): sidecar_path(self.directory, p.name) for p in left for s in p.sets}
            state = replace(state, sidecars={**state.sidecars, **made})
        self.progress(ProgressEvent("finishing"))
        remove_strays(self.directory)  # of workers that were killed while they wrote; others made their parts
        if inspector is not None:
            inspector.parts(sorted(set(state.sidecars.values())))
        from .commit.finish import finish  # the reader is needed by nobody before

        self.workers.end()
        return finish(job, state, page_of(self.build)), sum(p.images for p in left)

    def _parts(self, state: BuildState, job: Job) -> list[Part]:
        """Return all parts of the sets that a finished build has not."""
        return parts(self.build.runs, self.build.groups(state.new(job.sets), self.build.runs))

    def _compile(self, job: Job) -> None:
        """Make sure that kernels are in the cache."""
        self.progress(ProgressEvent("preparing"))

        def tell(done: int, total: int) -> None:
            self.progress(ProgressEvent("compiling", parts_done=done, parts_total=total))

        warm_up(job.sets.values(), self.build.maker, self.workers, tell=tell)

    def _run(
        self, job: Job, left: Sequence[Part], every: Sequence[Part], inspector: Inspector | None = None
    ) -> list[int]:
        """Make parts that are left of some; return how many images of each were made."""
        sizes = {p.name: p.images for p in left}
        total, new = sum(p.images for p in every), sum(sizes.values())
        check_space(self.directory, new * self.build.stored_bytes, "the build", SPACE_ADVICE)
        started, images, committed, shown = time.monotonic(), list[int](), 0, 0

        def tell(count: int) -> None:
            nonlocal shown
            shown = max(shown, min(count, new))  # a part may be begun again
            parts_done, seconds = len(every) - len(left) + len(images), time.monotonic() - started
            self.progress(ProgressEvent("building", parts_done, len(every), total - new + shown, total, seconds))

        def done(record: PartDone) -> None:
            nonlocal committed
            images.append(record.images)
            committed += sizes[record.name]
            tell(committed)
            if inspector is not None:
                inspector.part(sidecar_path(self.directory, record.name))

        tell(0)
        run(job, left, self.workers, client=self.client, done=done, made=tell)
        return images
