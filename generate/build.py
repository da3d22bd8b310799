"""`build`: a recipe applied to a source, written, committed part by part, finished with a manifest."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Unpack

import numpy as np

from ..corruptions.registry import Images
from ..errors import BuildError
from ..manifests.disk.lock import refuse_without_locks
from ..manifests.disk.space import check_space
from ..manifests.layout import CONTACT, FINISH, PAGE, PARTS_FOLDER, WORK_FOLDER
from ..manifests.records.models import Manifest
from ..models.surrogate import Surrogate
from ..progress import ProgressEvent, shows_progress, told
from ..signatures import showing
from .commit.finish import finish
from .commit.identity import identity_of, refuse_other_build, refuse_other_resources
from .commit.interruption import resumable
from .commit.last_files import settle
from .commit.locks import finished, locked, wait_for_workers
from .commit.place import refuse_foreign
from .commit.state import OpenBuild, begin, leave_finished, read_state, remove_strays
from .plan.build_spec import BuildSpec
from .plan.checked_build import CheckedBuild
from .plan.job import CheckedSample, Job
from .plan.nesting import refuse_nested
from .plan.options import BuildKeywords, BuildOptions
from .plan.overlap import refuse_overlap
from .plan.parts import Part, parts
from .plan.recipe_build import prepare
from .recipes.recipe import Recipe
from .sources.check import check
from .sources.source import Source
from .work.pool import run
from .work.warm_up import warm_up
from .work.worker import PartDone, load_clean

if TYPE_CHECKING:
    from ..manifests.reader import DataSet

SHOWN_TO_SURROGATE = 64
"""Clean images, spread evenly, that a surrogate's accuracy is measured on before anything is written."""
SPACE_ADVICE = "Free some space, choose another --out, fewer --sets or --samples, or one --format."


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

    def __repr__(self) -> str:
        sets = f"{len(self.manifest.sets)} sets, {self.images:,} images made by this call in {self.seconds:.1f} s"
        return f"<Built {self.manifest.name} {self.manifest.version} in {self.directory}: {sets}, {len(self.notes)} notes, {self.digest}>"

    def _repr_html_(self) -> str:
        from ..manifests.reading.notebook import contact_sheet, figure

        return figure(repr(self), lambda: contact_sheet(self.directory), "; ".join(self.notes))


Progress = Callable[[ProgressEvent], None]


@showing(BuildOptions)
@shows_progress("build")
def build(
    recipe: str | Path | Recipe = "imagenet-c",
    source: str | Source = "sample",
    out: str | Path = "corruptset-out",
    *,
    progress: Progress | bool | None = None,
    **options: Unpack[BuildKeywords],
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
    progress : callable or bool, optional
        Told how far the build is, by a `ProgressEvent`. By default a bar is shown in a terminal and in a notebook; False shows none.
    **options
        The fields of `corruptset.generate.plan.options.BuildOptions`: seed, jobs, sets, samples, first, per_class, ids, format, optimize,
        skip_bad, calibration, coupling, scale, metrics, frost_textures, surrogate, device, surrogate_batch, labels, split, groups,
        hold_out, train, images, view, any_shape, store, annotations, page, disjoint_from.

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
    with resumable(Path(out)) as place:
        spec = prepare(recipe, source, BuildOptions(**options))
        place.directory = Path(out) / spec.folder
        return make_build(spec, place.directory, told(progress))


def _with_page(build: CheckedBuild, directory: Path, manifest: Manifest) -> Manifest:
    """Give a finished build the page that is asked for, if it has none, as one of an older release, and can be written to."""
    from .page.add_page import add_page

    has_page = any(file.path == PAGE for file in manifest.files) and (directory / PAGE).is_file()
    if not build.spec.page or has_page or not os.access(directory, os.W_OK):
        return manifest
    if (directory / WORK_FOLDER).exists():  # it is being extended, which makes the page
        return manifest
    with locked(directory):
        return add_page(directory, _clean_of(build))


def _clean_of(build: CheckedBuild) -> Callable[[int], Images]:
    return lambda i: load_clean(build.spec.loader, build.samples[i], build.spec.preprocessing)


def _page_of(build: CheckedBuild) -> Callable[[DataSet], bytes] | None:
    if not build.spec.page:
        return None
    from .page.build_page import build_page

    return lambda data: build_page(data, _clean_of(build))


class Inspector(Protocol):
    """Looks at what is made before it counts: `rebuild` compares it with a manifest's digests."""

    def part(self, sidecar: Path) -> None:
        """Look at a part that was just committed. Raises to stop the build; takes the sidecar away where the part is not to be kept."""
        ...

    def parts(self, sidecars: Iterable[Path]) -> None:
        """Look at all committed parts, before records are put together from them; raises where they are not to be."""
        ...


def make_build(spec: BuildSpec, directory: Path, progress: Progress, inspector: Inspector | None = None) -> Built:
    """Make, resume or extend what was prepared, in `directory`; what `build` does once it knows what to build."""
    refuse_without_locks()
    refuse_nested(spec.source, directory)
    refuse_foreign(directory)
    started = time.monotonic()
    build = _check(spec, progress)
    notes = spec.notes(build.asked_sinks)
    if (directory / FINISH).exists():
        with locked(directory):
            wait_for_workers(directory)
            settle(directory)
    base = finished(directory)
    if base is not None and set(spec.asked) <= {s.id for s in base.sets}:
        refuse_other_build(directory, identity_of(base), build)
        refuse_other_resources(directory, identity_of(base), build.resources(spec.asked))
        leave_finished(directory, base)
        base = _with_page(build, directory, base)
        return Built(directory, base.digest, directory / CONTACT, 0, time.monotonic() - started, base, notes)
    with locked(directory):
        manifest, images = _Making(build, directory, progress, inspector).all()
    progress(ProgressEvent("done"))
    return Built(directory, manifest.digest, directory / CONTACT, images, time.monotonic() - started, manifest, notes)


def _check(spec: BuildSpec, progress: Progress) -> CheckedBuild:
    """Look at every selected image, and refuse what cannot be built from them."""
    progress(ProgressEvent("checking", images_total=len(spec.selected)))
    checked = check(spec.source, spec.selected, jobs=spec.workers, judge=spec.size_problem)
    excluded = spec.accept(checked)
    images = tuple(CheckedSample(*entry) for entry in checked.good)
    refuse_overlap(images, spec.disjoint_from)
    build = CheckedBuild(spec, spec.samples_of(images), excluded)
    spec.refuse_small_textures(build.shapes)
    build.refuse_several_shapes()
    if spec.surrogate is not None:
        _refuse_poor_surrogate(build, spec.surrogate)
    return build


def _refuse_poor_surrogate(build: CheckedBuild, surrogate: Surrogate) -> None:
    """Raise for images that are not of the surrogate's size, and for a surrogate that gets too many of them wrong.

    What its file says of its input or its classes is then not what its weights were trained with.
    """
    if other := [shape for shape in build.shapes if shape != surrogate.size]:
        sizes = ", ".join(f"{height}x{width}" for height, width in other[:4])
        raise BuildError(
            f"The model {surrogate.name} takes images of {surrogate.size[0]}x{surrogate.size[1]} (height x width), and there are images of "
            f'{sizes}{" ..." * (len(other) > 4)}. Use a recipe whose preprocessing makes that size, such as kind = "surrogate". '
            "Nothing was written."
        )
    samples = build.samples[:: -(-len(build.samples) // SHOWN_TO_SURROGATE)]
    images = [load_clean(build.spec.loader, chosen, build.spec.preprocessing) for chosen in samples]
    surrogate.check_accuracy(np.stack(images), np.array([chosen.sample.label for chosen in samples]))


@dataclass
class _Making:
    """A build that is made, resumed or extended; the lock is held."""

    build: CheckedBuild
    directory: Path
    progress: Progress
    inspector: Inspector | None

    def all(self) -> tuple[Manifest, int]:
        """Make what is missing, then the manifest; return it and the number of images made."""
        spec = self.build.spec
        state = read_state(self.directory)
        if state.identity is not None:
            refuse_other_build(self.directory, state.identity, self.build)
        job = self.build.job(self.directory, list(dict.fromkeys([*spec.asked, *state.sets])))
        self._compile(job)
        opened = begin(self.directory, state, self.build, list(job.sets), job.sinks)
        job = replace(job, origin=opened.origin)
        new = [s for s in job.sets if s not in set(state.base_sets)]
        groups = spec.groups(new, self.build.runs)
        missing = parts(self.build.runs, groups, committed=opened.sidecars.keys())
        if missing:
            check_space(self.directory, sum(p.images for p in missing) * spec.stored_bytes, "the build", SPACE_ADVICE)
            self._run(job, missing, opened, new, len(self.build.runs) * len(groups))
            new_sidecars = {(s, p.run.number): self._sidecar(p.name) for p in missing for s in p.sets}
            opened = replace(opened, sidecars=opened.sidecars | new_sidecars)
        self.progress(ProgressEvent("finishing"))
        remove_strays(self.directory)  # of workers that were killed while they wrote; others made their parts
        if self.inspector is not None:
            self.inspector.parts(sorted(set(opened.sidecars.values())))
        return finish(job, opened, self.build, _page_of(self.build)), sum(p.images for p in missing)

    def _sidecar(self, part: str) -> Path:
        return self.directory / PARTS_FOLDER / f"{part}.json"

    def _compile(self, job: Job) -> None:
        """Make sure that kernels and textures are in the cache: textures belong to what a build is."""
        self.progress(ProgressEvent("compiling"))
        warm_up(
            job,
            self.build.shapes,
            jobs=self.build.spec.workers,
            tell=lambda done, total: self.progress(ProgressEvent("compiling", parts_done=done, parts_total=total)),
        )

    def _run(self, job: Job, missing: Sequence[Part], opened: OpenBuild, new: Sequence[str], count: int) -> None:
        """Make the missing parts, of `count` parts of the new sets."""
        by_name = {p.name: p for p in missing}
        runs_missing = {s: sum(1 for r in self.build.runs if (s, r.number) not in opened.sidecars) for s in new}
        total = len(new) * len(job.samples)
        event = ProgressEvent(
            "building",
            parts_done=count - len(missing),
            parts_total=count,
            images_done=total - sum(p.images for p in missing),
            images_total=total,
            sets_done=sum(n == 0 for n in runs_missing.values()),
            sets_total=len(new),
        )
        self.progress(event)
        started = time.monotonic()

        def done(record: PartDone) -> None:
            nonlocal event
            for set_id in by_name[record.name].sets:
                runs_missing[set_id] -= 1
            event = replace(
                event,
                parts_done=event.parts_done + 1,
                images_done=event.images_done + record.images,
                sets_done=sum(n == 0 for n in runs_missing.values()),
                seconds=time.monotonic() - started,
            )
            self.progress(event)
            if self.inspector is not None:
                self.inspector.part(self._sidecar(record.name))

        run(job, missing, jobs=self.build.spec.workers, done=done)
