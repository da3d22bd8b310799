"""`build`: a recipe applied to a source, written, committed part by part, finished with a manifest."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol

from ..corruptions.calibrations import Calibration
from ..corruptions.stages import Coupling, Scale
from ..errors import BuildError
from ..manifests.disk.space import check_space
from ..manifests.layout import FINISH, PARTS_FOLDER
from ..manifests.records.digests import source_digest
from ..manifests.records.models import Manifest
from .commit.finish import CONTACT, finish
from .commit.interruption import resumable
from .commit.last_files import settle
from .commit.state import (
    OpenBuild,
    begin,
    finished,
    identity_of,
    leave_finished,
    locked,
    refuse_differences,
    refuse_foreign,
    remove_strays,
    wait_for_workers,
)
from .pixels.metrics import measured_indices
from .plan.build_spec import BuildOptions, BuildSpec, Format, prepare, size_problem
from .plan.job import NOWHERE, CheckedSample, Job, Origin
from .plan.nesting import refuse_nested
from .plan.overlap import refuse_overlap
from .plan.parts import Run, parts, runs
from .recipes.recipe import Recipe
from .sources.check import check
from .sources.source import Source
from .views.array_layout import ArrayLayout
from .work.pool import run
from .work.warm_up import warm_up
from .work.worker import PartDone


@dataclass(frozen=True)
class ProgressEvent:
    """How far a build is."""

    phase: str
    """``checking``, ``compiling``, ``building``, ``finishing`` or ``done``."""
    parts_done: int = 0
    parts_total: int = 0
    images_done: int = 0
    images_total: int = 0
    sets_done: int = 0
    """Sets of which every part is committed."""
    sets_total: int = 0
    seconds: float = 0.0
    """Since the phase began."""


@dataclass(frozen=True)
class Built:
    """A finished build."""

    directory: Path
    digest: str
    contact_sheet: Path
    images: int
    """Images made by this call; what was committed before is not counted."""
    seconds: float
    manifest: Manifest
    notes: tuple[str, ...] = ()
    """What a user should know of the view and the textures that were asked for."""


Progress = Callable[[ProgressEvent], None]


def build(
    recipe: str | Path | Recipe = "imagenet-c",
    source: str | Source = "sample",
    out: str | Path = "corruptset-out",
    *,
    seed: int = 0,
    jobs: int | None = None,
    sets: Sequence[str] | None = None,
    samples: int | None = None,
    first: int | None = None,
    per_class: int | None = None,
    ids: str | Path | Sequence[str] | None = None,
    format: Format | None = None,
    optimize: bool = False,
    skip_bad: bool = False,
    calibration: str | Path | Calibration | None = None,
    coupling: Coupling = "independent",
    scale: Scale | None = None,
    metrics: int | Literal["all"] | None = None,
    frost_textures: str | Path | None = None,
    labels: str | Path | None = None,
    split: Literal["test", "train", "all"] | None = None,
    images: str | None = None,
    view: str | None = None,
    any_shape: bool = False,
    disjoint_from: Sequence[str | Path] = (),
    progress: Progress | None = None,
) -> Built:
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
    seed : int
        0..2**53 - 1.
    jobs : int, optional
        Processes; by default one a core. 1 works in this process. No byte depends on it.
    sets : sequence of str, optional
        Globs over set ids and aliases; by default all of the recipe's. ``clean`` must be named.
    samples, first : int, optional
        So many samples spread evenly over the source's order; the first so many.
    per_class : int, optional
        The first so many of every class.
    ids : path or sequence of str, optional
        Just these samples: a text file with an id a line, or the ids.
    format : {"folder", "hdf5", "both"}, optional
        By default both while the whole recipe is under 2 GB, else a folder for photographs and HDF5 below 64 pixels; a folder
        where images of several sizes are stored without loss.
    optimize : bool
        Optimised Huffman tables: smaller JPEG files with the same pixels, slower.
    skip_bad : bool
        Leave bad images out and record them, instead of stopping before anything is written.
    calibration : str, path or Calibration, optional
        In place of the recipe's.
    coupling : {"independent", "severity"}
        Whether severities draw anew or share their draws.
    scale : {"none", "side"}, optional
        In place of the recipe's.
    metrics : int or "all", optional
        Over how many images PSNR, SSIM and the fraction changed are: the first so many by id; 64 by default, 0 for none.
    frost_textures : path, optional
        A directory of the user's own frost textures.
    labels : path, optional
        CSV with the columns file,label for a flat folder; the devkit or a file of labels for ``imagenet``; ``fine`` or
        ``coarse`` for ``cifar100``; the name of a dataset for ``hdf5``.
    split : {"test", "train", "all"}, optional
        Of ``cifar10``, ``cifar100`` and ``mnist``; test by default.
    images : str, optional
        The name of the dataset of images, for ``hdf5``.
    view : str, optional
        Write the images in this layout in place of a container: cifar-c, imagenet-c, tiny-imagenet-c, mnist-c, imagefolder or openood.
    any_shape : bool
        Take images of any size and channels, also where the recipe or the view is made for others.
    disjoint_from : sequence of path
        Directories of finished builds with which this one must have no sample in common: a training set and its test set.
    progress : callable, optional
        Told how far the build is.

    Returns
    -------
    Built

    Raises
    ------
    RecipeError, SourceError, ParameterError, BuildError
        What was asked for cannot be built, or differs from what the directory holds; nothing was written.
    MachineError
        The disk, the memory or the workers failed; what was committed stands, the same call resumes.
    Interrupted
        Ctrl-C or SIGTERM; the same call resumes.
    """
    options = BuildOptions(
        seed=seed, jobs=jobs, sets=sets, samples=samples, first=first, per_class=per_class, ids=ids, format=format,
        optimize=optimize, skip_bad=skip_bad, calibration=calibration, coupling=coupling, scale=scale, metrics=metrics,
        frost_textures=frost_textures, labels=labels, split=split, images=images, view=view, disjoint_from=tuple(disjoint_from),
        any_shape=any_shape,
    )  # fmt: skip
    with resumable(Path(out)) as place:
        prepared = prepare(recipe, source, options)
        place.directory = Path(out) / f"{prepared.recipe.name}-{prepared.recipe.version}"
        return make_build(prepared, place.directory, progress or (lambda event: None))


class Inspector(Protocol):
    """Looks at what is made before it counts: `rebuild` compares it with a manifest's digests."""

    def part(self, sidecar: Path) -> None:
        """Look at a part that was just committed. Raises to stop the build; takes the sidecar away where the part is not to be kept."""
        ...

    def parts(self, sidecars: Iterable[Path]) -> None:
        """Look at all committed parts, before records are put together from them; raises where they are not to be."""
        ...


def make_build(prepared: BuildSpec, directory: Path, progress: Progress, inspector: Inspector | None = None) -> Built:
    """Make, resume or extend the build that was prepared, in `directory`; what `build` does once it knows what to build."""
    refuse_nested(prepared.source, directory)
    refuse_foreign(directory)
    started = time.monotonic()
    chosen, excluded = _check(prepared, progress)
    refuse_overlap(chosen, prepared.options.disjoint_from)
    made_of = [(c.sample.id, c.sample.label, c.sha256) for c in chosen]
    digest = source_digest(made_of)
    layout = prepared.layout(prepared.asked, [c.sample for c in chosen])
    notes = prepared.notes([c.sample for c in chosen])
    identity = prepared.identity(chosen, digest, excluded)
    shapes = sorted({prepared.recipe.preprocessing.size(c.width, c.height)[::-1] for c in chosen})
    prepared.refuse_small_textures(shapes)
    arrays = isinstance(layout, ArrayLayout)
    if len(shapes) > 1 and (arrays or ("hdf5" in prepared.containers and prepared.encoding.lossless)):
        some = ", ".join(f"{h}x{w}" for h, w in shapes[:4])
        which, instead = ("arrays", "a view of image files") if arrays else ("HDF5 arrays", "--format folder")
        raise BuildError(
            f"The images come out in {len(shapes)} shapes (height x width: {some} ...), which do not fit into {which} of pixels. "
            f"Use {instead}, or a recipe whose preprocessing makes all images equal. Nothing was written."
        )

    def textures(sets: Sequence[str]) -> list[dict[str, str]]:
        return prepared.textures(sets, shapes)

    def places(sets: Sequence[str]) -> Mapping[str, Sequence[str]]:
        return prepared.places(sets, [c.sample for c in chosen])

    if (directory / FINISH).exists():
        with locked(directory):
            wait_for_workers(directory)
            settle(directory)
    done = finished(directory)
    if done is not None:
        refuse_differences(directory, identity_of(done), identity, prepared.asked, textures, made_of)
        if set(prepared.asked) <= {s.id for s in done.sets}:
            leave_finished(directory, done)
            return Built(directory, done.digest, directory / CONTACT, 0, time.monotonic() - started, done, notes)
    with locked(directory):
        # First of all, in all processes: what comes next asks for the textures, and would compile their kernels alone.
        _compile(prepared, job_of(prepared, directory, chosen, prepared.asked), prepared.asked, shapes, progress)
        begun = begin(directory, identity, prepared.asked, textures, places, made_of)
        largest = max(h * w for h, w in shapes) * 3
        all_runs = runs(len(chosen), largest)
        job = job_of(prepared, directory, chosen, begun.sets, begun.origin)
        images, sidecars = _make(prepared, job, begun, all_runs, shapes, progress, inspector)
        begun = replace(begun, sidecars=begun.sidecars | sidecars)
        progress(ProgressEvent("finishing"))
        remove_strays(directory)  # of workers that were killed while they wrote; others made their parts
        if inspector is not None:
            inspector.parts(sorted(set(begun.sidecars.values())))
        manifest = finish(job, begun, all_runs, identity, textures(begun.sets))
    progress(ProgressEvent("done"))
    return Built(directory, manifest.digest, directory / CONTACT, images, time.monotonic() - started, manifest, notes)


def _check(prepared: BuildSpec, progress: Progress) -> tuple[tuple[CheckedSample, ...], list[tuple[str, str]]]:
    """Look at every selected image; return the good ones, and the bad ones where they are to be left out."""
    progress(ProgressEvent("checking", images_total=len(prepared.selected)))
    found = check(prepared.source, prepared.selected, jobs=prepared.options.workers, judge=lambda w, h: size_problem(prepared.recipe, w, h))
    excluded = prepared.accept(found)
    return tuple(CheckedSample(*entry) for entry in found.good), excluded


def job_of(prepared: BuildSpec, directory: Path, chosen: tuple[CheckedSample, ...], sets: Sequence[str], origin: Origin = NOWHERE) -> Job:
    """Return what workers need to know to make sets."""
    wanted = set(sets)
    return Job(
        directory=directory,
        build=f"{prepared.recipe.name} {prepared.recipe.version}",
        source=prepared.source,
        samples=chosen,
        classes=prepared.classes,
        sets={s.id: s for s in prepared.everything if s.id in wanted},
        preprocessing=prepared.recipe.preprocessing,
        encoding=prepared.encoding,
        containers=prepared.containers,
        seed=prepared.options.seed,
        coupling=prepared.options.coupling,
        scale=prepared.scale,
        side=prepared.side,
        measured=measured_indices([c.sample.id for c in chosen], prepared.metrics_images(len(chosen))),
        resources=prepared.resources(),
        layout=prepared.layout(sets, [c.sample for c in chosen]),
        token=secrets.token_hex(8),
        origin=origin,
    )


def _make(
    prepared: BuildSpec,
    job: Job,
    begun: OpenBuild,
    all_runs: Sequence[Run],
    shapes: Sequence[tuple[int, int]],
    progress: Progress,
    inspector: Inspector | None,
) -> tuple[int, dict[tuple[str, int], Path]]:
    """Make the parts that are not committed; return the number of images made, and where they are committed: (set id, run) -> sidecar."""
    old = {s.id for s in begun.base.sets} if begun.base is not None else set()
    new = [s for s in begun.sets if s not in old]
    groups = prepared.groups(new, all_runs)
    todo = parts(all_runs, groups, committed=begun.sidecars.keys())
    total = len(new) * len(job.samples)
    left = sum(p.images for p in todo)
    if not todo:
        return 0, {}
    _check_space(job.directory, left * prepared.stored_bytes())
    _compile(prepared, job, list(dict.fromkeys(s for p in todo for s in p.sets)), shapes, progress)
    by_name = {p.name: p for p in todo}
    runs_left = {s: sum(1 for r in all_runs if (s, r.number) not in begun.sidecars) for s in new}
    count = len(parts(all_runs, groups))
    event = ProgressEvent("building", count - len(todo), count, total - left, total, sum(n == 0 for n in runs_left.values()), len(new))
    progress(event)
    started = time.monotonic()

    def done(record: PartDone) -> None:
        nonlocal event
        for set_id in by_name[record.name].sets:
            runs_left[set_id] -= 1
        event = replace(
            event,
            parts_done=event.parts_done + 1,
            images_done=event.images_done + record.images,
            sets_done=sum(n == 0 for n in runs_left.values()),
            seconds=time.monotonic() - started,
        )
        progress(event)
        if inspector is not None:
            inspector.part(job.directory / PARTS_FOLDER / f"{record.name}.json")

    run(job, todo, jobs=prepared.options.workers, done=done)
    return left, {(s, p.run.number): job.directory / PARTS_FOLDER / f"{p.name}.json" for p in todo for s in p.sets}


def _compile(prepared: BuildSpec, job: Job, sets: Sequence[str], shapes: Sequence[tuple[int, int]], progress: Progress) -> None:
    """Make sure that kernels, noise tables and textures are in the cache."""
    progress(ProgressEvent("compiling"))
    warm_up(
        job,
        sets,
        shapes,
        jobs=prepared.options.workers,
        tell=lambda done, total: progress(ProgressEvent("compiling", parts_done=done, parts_total=total)),
    )


def _check_space(directory: Path, estimate: int) -> None:
    advice = "Free some space, choose another --out, fewer --sets or --samples, or one --format."
    check_space(directory, estimate, "the build", advice)
