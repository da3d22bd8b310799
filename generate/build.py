"""`build`: a recipe applied to a source, part by part, finished with a manifest."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, Unpack, overload

from ..errors import BuildError, FinishedDataset, IncompleteBuild, require_build
from ..manifests.disk.lock import Busy, refuse_without_locks
from ..manifests.disk.remote import local_folder
from ..manifests.disk.space import check_space, free_bytes, same_disk
from ..manifests.paths import CONTACT, MANIFEST, is_begun, unfinished_folder
from ..manifests.records.models import Manifest
from ..progress import ProgressEvent, progress_function, shows_progress
from ..workers import Workers
from .built import Built, PartBuilt
from .commit.array_jobs import deal, joined, missing_parts, shared_check
from .commit.extension import load_base
from .commit.identity import refuse_other_build
from .commit.interruption import resumable
from .commit.locks import LAST_WAIT_S, finished, locked, put_in_place, refuse_place, wait_for_workers
from .commit.state import BuildState, read_state, remove_strays
from .page.page_of_build import page_of
from .plan.build_plan import BuildPlan
from .plan.builds import CheckedBuild, UncheckedBuild
from .plan.job import Job
from .plan.options import BuildKeywords, BuildOptions
from .plan.parts import Part, parse_job, parts, uncommitted
from .plan.recipe_build import prepare
from .recipes.recipe import Recipe
from .sources.check import check
from .sources.source import Source
from .work.dask_workers import connected
from .work.environment import version_notes
from .work.pool import run
from .work.sidecars import sidecar_path
from .work.warm_up import warm_up
from .work.worker import PartDone

if TYPE_CHECKING:
    from distributed import Client

ROUGH = 4
"""The bytes of a build are not measured if this many times the rough estimate is free."""
SPACE_ADVICE = "Free some space, choose another --out, fewer --sets or --samples, or --storage hdf5."
RENAME_WAIT_S = 120.0
"""How long a command waits while another one removes the bookkeeping of a build and renames its folder."""


Progress = Callable[[ProgressEvent], None]


@overload
def build(
    recipe: str | Path | Recipe = ...,
    source: str | Source = ...,
    out: str | Path = ...,
    *,
    extend: str | Path | None = ...,
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
    extend: str | Path | None = ...,
    part: tuple[int, int],
    finish: Literal[False] = ...,
    progress: Progress | bool | None = ...,
    **options: Unpack[BuildKeywords],
) -> PartBuilt: ...


@shows_progress("build")
def build(
    recipe: str | Path | Recipe = "imagenet-c",
    source: str | Source = "sample",
    out: str | Path = "corruptset-out",
    *,
    extend: str | Path | None = None,
    progress: Progress | bool | None = None,
    part: tuple[int, int] | None = None,
    finish: bool = False,
    **options: Unpack[BuildKeywords],
) -> Built | PartBuilt:
    """Build a corrupted dataset from a recipe and a source of images.

    The dataset is built in the folder ``<name>-<version>.partial``, which is renamed when it is finished. To resume a
    build that was interrupted, make the same call again. To discard an unfinished build, delete its folder. A finished
    dataset is never changed.

    Parameters
    ----------
    recipe : str, path or Recipe
        The name of a shipped recipe, or a recipe file (.toml).
    source : str or Source
        ``sample``, ``folder:PATH``, ``imagenet:PATH``, ``cifar10:PATH`` and others; docs/sources.md lists them.
    out : path
        The dataset is written to ``<out>/<name>-<version>``.
    extend : path, optional
        A finished dataset of the same recipe, source and options. The new dataset also has its sets: their files are
        linked, or copied if that is not possible, and only the other sets are made.
    part : (int, int), optional
        ``(i, n)`` makes share i, from 0, of n of the parts, next to other processes that make the other shares, and
        stops. The shares depend only on the build and n; see docs/array-jobs.md.
    finish : bool
        Make no part, and write the manifest from the parts that were made with `part`.
    progress : callable or bool, optional
        Called with a `ProgressEvent`. By default a bar is shown in a terminal and in a notebook; False shows none.
    seed : int
        The random seed, from 0 to 2**53 - 1.
    jobs : int, optional
        The number of worker processes, by default one per core. With 1, this process does the work. No byte of the
        result depends on it.
    sets : sequence of str, optional
        Take only these sets: ids such as ``clean``, aliases, or patterns such as ``fog/*``.
    samples : int, optional
        Take only this many images, spread evenly over the order of the source.
    first : int, optional
        Take only the first images of the source.
    per_class : int, optional
        Take only the first images of each class.
    ids : path or sequence of str, optional
        Take only the images with these ids, or those that a text file lists, one id per line.
    per_super_category : path or str, optional
        Take the first images of each group of classes, as many as a file (.toml) says. ``fragile-imagenet`` comes with
        corruptset.
    storage : {"folder", "hdf5", "both"}, optional
        Store images as files in folders, in HDF5 shards, or in both. The default is that of the recipe. Lossless images
        of several sizes cannot be stored in HDF5 shards.
    encoding : str, optional
        Encode images as ``png``, ``jpeg`` or ``jpeg:QUALITY``, such as ``jpeg:95``. The default is that of the recipe.
        ``jpeg`` keeps the JPEG settings of the recipe, or uses quality 85 if the recipe stores PNG.
    optimize : bool
        Write smaller JPEG files with the same pixels (optimised Huffman tables), which takes longer.
    skip_bad : bool
        Leave out images that cannot be used and record them in the manifest, instead of stopping before anything is
        written.
    calibration : str, path or Calibration, optional
        The table of severities, in place of the recipe's: ``imagenet``, ``inception``, ``tiny``, ``cifar``, ``mnist``,
        or a file (.toml).
    coupling : {"independent", "severity"}
        Whether each severity has its own random draws, or all severities of a corruption share them.
    scale : {"none", "side"}, optional
        Whether lengths in pixels are those of the table, or grow with the short side of the image. The default is that
        of the recipe.
    metrics : int or "all", optional
        The number of images, the first by id, on which PSNR, SSIM and changed pixels are measured. The default is 64; 0
        measures none.
    frost_textures : path, optional
        A folder with frost textures of your own.
    surrogate : path, optional
        The model file (.toml) for the sets of ``pgd`` and ``model_gradient``, in place of the recipe's; see
        docs/models.md.
    device : str, optional
        Where the model runs: ``cpu`` (the default), ``cuda`` or ``cuda:1``.
    surrogate_batch : int, optional
        The batch size of the model. Only 1, the default, gives the same bytes in any order.
    labels : path, optional
        The labels: for a flat folder a CSV (file,label), for ``imagenet`` the devkit or a list, for ``cifar100``
        ``fine`` or ``coarse``, for ``hdf5`` the name of a dataset, for ``parquet`` the name of a column, for
        ``webdataset`` a key of the .json files.
    split : {"test", "train", "val", "all"}, optional
        The split of ``cifar10``, ``cifar100`` or ``mnist`` (``test`` by default), of ``tiny-imagenet`` (``val`` by
        default), or of a folder of Parquet files.
    groups : path, optional
        The groups of images: for ``folder`` and ``imagenet`` a CSV (file,group), for ``icons50`` ``style`` (the
        default) or ``subtype``.
    hold_out : str or sequence of str, optional
        Take only the images of this group (``group=NAME``, patterns are allowed), which is held out of training. It
        replaces the groups that the recipe holds out.
    train : bool
        Take the images of all groups that are not held out. The role of the sets is then ``train``.
    images : str, optional
        For ``hdf5``, the name of the dataset of images, by default ``images``. For ``parquet``, the name of the
        column of images. For ``webdataset``, which of several images of a key to use, such as ``left.jpg``. For
        ``tree``, a pattern such as ``val2017/*.jpg`` that says which files are images; all other files are copied.
    any_shape : bool
        Accept images of any size and number of channels, even if the recipe is made for others.
    store : {"images", "table"}, optional
        For a recipe with regions, store each region as an image, or whole images and a table of regions.
    page : bool
        Write the page index.html, which shows the dataset.
    plugins : sequence of str or path, optional
        Python modules with corruptions of your own, or their files (.py). Their code is run.
    disjoint_from : path or sequence of path
        Fail if an image is also in one of these finished datasets, such as a test set.
    scheduler : str or distributed.Client, optional
        A Dask scheduler (``tcp://host:8786``) or a client of it, whose workers make the parts. They need this version
        of corruptset, and access to the source and the output.

    Returns
    -------
    Built, or PartBuilt with `part`

    Raises
    ------
    RecipeError, SourceError, ParameterError, BuildError
        The build is not possible as asked, or the directory contains a different build. Nothing was written.
    MissingParts
        With `finish`, parts are missing. The message says which jobs make them.
    MachineError
        The disk, the memory or the workers failed. To resume, make the same call again.
    Interrupted
        Ctrl-C. To resume, make the same call again.
    """
    require_build()
    out = local_folder(out, "builds are written to")
    with resumable(out) as place, connected(options.get("scheduler")) as client:
        share = None if part is None else parse_job(part)
        prepared = prepare(recipe, source, BuildOptions(**options))
        directory = out / prepared.folder
        place.directory = unfinished_folder(directory)
        if (share is not None) + finish + (client is not None) > 1:
            raise BuildError(
                "part, finish and scheduler exclude each other: jobs make parts alone, finish comes when all are made."
            )
        making = _Making(
            prepared, directory, progress_function(progress), client, None if extend is None else Path(extend)
        )
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


def make_build(plan: UncheckedBuild, directory: Path, progress: Progress, inspector: Inspector) -> Built:
    """Make or resume the dataset of a directory, and let an inspector look at its parts."""
    return _Making(plan, directory, progress).whole(inspector)


class _Making:
    """A build that is made or resumed in the folder ``<name>-<version>.partial`` of a directory, and then renamed.

    A build that was killed after its manifest was written is renamed first.
    """

    build: CheckedBuild
    """The build, once `_check` has checked the source."""

    def __init__(
        self,
        plan: UncheckedBuild,
        directory: Path,
        progress: Progress,
        client: Client | None = None,
        extend: Path | None = None,
    ) -> None:
        refuse_without_locks()
        refuse_place(plan.source, directory)
        self.directory, self.folder = directory, unfinished_folder(directory)
        if (self.folder / MANIFEST).exists():
            with locked(directory, wait_s=RENAME_WAIT_S):
                put_in_place(directory)
        if extend is not None and extend.exists() and directory.exists() and extend.samefile(directory):
            raise BuildError(
                f"{extend} is finished, so it is not changed: the extended dataset needs another place. Choose another "
                f"--out, such as {FinishedDataset.other_out(directory)}."
            )
        self.plan, self.progress, self.client, self.extend = plan, progress, client, extend
        self.image_bytes: float | None = None
        """The bytes of an image, if they were measured."""
        self.workers, self.started = Workers(plan.workers), time.monotonic()

    @property
    def seconds(self) -> float:
        """The seconds since the beginning."""
        return time.monotonic() - self.started

    def whole(self, inspector: Inspector | None = None, *, finish_only: bool = False) -> Built:
        """Make what is missing of all parts, or with `finish_only` none, and finish."""
        images = 0
        if finish_only and not is_begun(self.folder) and finished(self.directory) is None:
            raise IncompleteBuild(
                f"{self.folder} holds no parts: make them first, with --part i/n (part=(i, n)) for each i from 0 to "
                "n-1."
            )
        manifest: Manifest | None = None
        with self.workers:
            if not finish_only:
                self._check()
                manifest = self._finished()
            if manifest is None:
                if not finish_only:
                    self._check_space(len(self.build.samples))
                with locked(self.directory):
                    put_in_place(self.directory)
                    if finish_only:  # what jobs of an array found is read under the lock, before it is removed
                        self._check(shared=is_begun(self.folder))
                    manifest = self._finished()  # another command may have finished it in the meantime
                    if manifest is None:
                        manifest, images = self._all(inspector, finish_only=finish_only)
                        put_in_place(self.directory)
                self.progress(ProgressEvent("done"))
        notes = (*self.build.notes, *version_notes(manifest.environment))
        return Built(self.directory, manifest.digest, self.directory / CONTACT, images, self.seconds, manifest, notes)

    def share(self, number: int, jobs: int) -> PartBuilt:
        """Make what is missing of a share of the parts, at the same time as other jobs."""
        place = self.directory
        share: Sequence[Part] = ()
        images: list[int] = []
        with self.workers:
            if finished(self.directory) is None:
                self._check_space(len(self.plan.selected))
                with locked(self.directory, array=True):
                    if finished(self.directory) is None:
                        place = self.folder
                        self._check(shared=True, share=number / jobs)
                        self._compile(read_state(self.folder, self.extend).job(self.build))
                        with joined(self.folder, self.build, self.extend, waiting=self._wait) as (state, job):
                            share, left = deal(job, self._parts(state, job), number, jobs)
                            images = [made for made in self._run(job, left, share) if made]
            if place == self.directory:
                self._check()
                self._finished()
        self.progress(ProgressEvent("done"))
        notes = self.build.notes
        return PartBuilt(place, (number, jobs), len(share), len(images), sum(images), self.seconds, notes)

    def _wait(self, what: str) -> None:
        """Say what the build waits for."""
        self.progress(ProgressEvent("waiting", waiting_for=what))

    def _check(self, *, shared: bool = False, share: float = 0.0) -> None:
        """Look at every selected image, and refuse what cannot be built from them.

        `shared` with the jobs of an array, from a `share` on.
        """
        plan, total, started = self.plan, len(self.plan.selected), time.monotonic()

        def seen(images: int) -> None:
            seconds = time.monotonic() - started
            self.progress(ProgressEvent("checking", images_done=images, images_total=total, seconds=seconds))

        seen(0)
        if shared:
            self.build = shared_check(plan, self.folder, self.workers, share=share, on_checked=seen, waiting=self._wait)
        else:
            found = check(
                plan.source, plan.selected, workers=self.workers, check_size=plan.size_problem, on_checked=seen
            )
            self.build = plan.checked(found)

    def _finished(self) -> Manifest | None:
        """Return the manifest of the finished dataset if it has all requested sets, or None.

        Raise `BuildError` if it is another dataset, or if it lacks sets, because a finished dataset is not changed.
        """
        manifest = finished(self.directory)
        if manifest is not None:
            refuse_other_build(self.directory, manifest.header, self.build, self.build.header_of(self.build.requested))
            if lacking := [s for s in self.build.requested if s not in {one.id for one in manifest.sets}]:
                raise FinishedDataset(self.directory, lacking)
        return manifest

    def _check_space(self, samples: int) -> None:
        """Raise `MachineError` if a build that has not begun, of so many samples, needs more space than there is."""
        if not is_begun(self.folder):
            needed, sets = self.plan.source.other_bytes(), set(self.plan.requested)
            if self.extend is not None:
                base = load_base(self.extend)
                sets -= {s.id for s in base.sets}
                needed += 0 if same_disk(self.extend, self.folder) else sum(s.bytes for s in base.sets)
            needed += self._bytes_of(sorted(sets), len(sets) * samples)
            check_space(self.folder, needed, "the build", SPACE_ADVICE)

    def _bytes_of(self, sets: Sequence[str], images: int) -> int:
        """Return the bytes of some images of sets, from constants or, if the disk is nearly full, from a few images."""
        plan, rough = self.plan, images * self.plan.stored_bytes
        if not images or not isinstance(plan, BuildPlan) or plan.pixels.regions is not None:
            return rough
        if free_bytes(self.folder) > ROUGH * rough:
            return rough
        if self.image_bytes is None:
            from .estimate import image_bytes  # only if the disk is nearly full

            self.image_bytes = image_bytes(plan, sets)
        return round(images * self.image_bytes)

    def _all(self, inspector: Inspector | None, *, finish_only: bool) -> tuple[Manifest, int]:
        """Make what is missing, then the manifest; return it and the number of images made.

        With `finish_only`, raise `MissingParts` if parts are missing.
        """
        state = read_state(self.folder, self.extend)
        job = state.job(self.build)
        wait_for_workers(self.folder)
        if not finish_only:
            self._compile(job)
        state = state.begin(job)
        every = self._parts(state, job)
        left = uncommitted(every, state.sidecars)
        if left and finish_only:
            raise missing_parts(self.folder, every, state.sidecars)
        if left:
            self._run(job, left, every, inspector)
            made = {(s, p.chunk.number): sidecar_path(self.folder, p.name) for p in left for s in p.sets}
            state = replace(state, sidecars={**state.sidecars, **made})
        self.progress(ProgressEvent("finishing"))
        with suppress(Busy):  # A worker of a cluster that hangs for longer is ignored. It can only repeat equal bytes.
            wait_for_workers(self.folder, wait_s=LAST_WAIT_S)
        remove_strays(self.folder)  # of workers that were killed while they wrote, and whose parts others made
        if inspector is not None:
            inspector.parts(sorted(set(state.sidecars.values())))
        from .commit.finish import finish  # a job of an array does not need the reader that it imports

        self.workers.close()
        return finish(self.build, job, state, page_of(self.build)), sum(p.images for p in left)

    def _parts(self, state: BuildState, job: Job) -> list[Part]:
        """Return all parts of a job but those of the dataset that is extended."""
        return parts(self.build.chunks, self.build.groups(state.new(job.sets), self.build.chunks))

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
        check_space(self.folder, self._bytes_of(list(job.sets), new), "the build", SPACE_ADVICE)
        started, images, committed, shown = time.monotonic(), list[int](), 0, 0

        def tell(count: int) -> None:
            nonlocal shown
            shown = max(shown, min(count, new))  # a part may start over
            parts_done, seconds = len(every) - len(left) + len(images), time.monotonic() - started
            self.progress(ProgressEvent("building", parts_done, len(every), total - new + shown, total, seconds))

        def done(record: PartDone) -> None:
            nonlocal committed
            images.append(record.images)
            committed += sizes[record.name]
            tell(committed)
            if inspector is not None:
                inspector.part(sidecar_path(self.folder, record.name))

        tell(0)
        run(job, left, self.workers, client=self.client, on_part=done, on_progress=tell)
        return images
