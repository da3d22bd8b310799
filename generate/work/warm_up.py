"""Compile kernels before the workers start: each once, several at a time, and nothing where that was done before."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from pathlib import Path

import llvmlite.binding
import numpy as np

from ...canonical import canonical, canonical_sha256
from ...corruptions.cache import kernel_folder
from ...corruptions.keys import sample_keys
from ...corruptions.registry import PLUGIN, get_corruption
from ...corruptions.stages import Stage, apply_stage, check_images
from ...workers import Workers
from ..pixels.metrics import measure
from ..pixels.ms_ssim import compile_ms_ssim
from ..plan.job import Job
from ..plan.set_maker import SetMaker

_WARM_SIDE = 32

# Kernels that belong to no corruption.
_OTHERS = "metrics, digests"
_OTHERS_SECONDS = 5


@dataclass(frozen=True)
class _Task:
    """All stages of one corruption; none for what belongs to no corruption."""

    stages: tuple[Stage, ...]
    maker: SetMaker
    shapes: tuple[tuple[int, int], ...]
    after: str | None
    """The task whose kernels this one calls too: they are compiled once, and then loaded."""
    seconds: int
    """About how long one processor compiles the kernels."""


def warm_up(
    job: Job, shapes: Sequence[tuple[int, int]], workers: Workers | None = None, *, tell: Callable[[int, int], None] | None = None
) -> None:
    """Apply every needed stage once to a small image, so that kernels and textures are made once and cached.

    Otherwise each worker would compile them for itself. Corruptions are shared out to several processes. A mark in the
    folder of the kernels says what was prepared: with it nothing is done at all, and it goes when the cache is deleted.

    Parameters
    ----------
    job : Job
    shapes : sequence of (int, int)
        Height and width of the clean images: default resources (frost's textures) depend on it.
    workers : Workers, optional
        Without them, or with those of at most one process, this one compiles.
    tell : callable, optional
        Told how many of how many corruptions are ready; never, where all are from the start.
    """
    stages: dict[tuple[str, str], Stage] = {}
    for spec in job.sets.values():
        for stage in spec.stages:
            declared = get_corruption(stage.corruption)
            if not declared.needs_model and declared.family != PLUGIN:  # those have no kernels
                stages.setdefault((stage.corruption, canonical(dict(stage.parameters)).decode()), stage)
    tasks: dict[str, _Task] = {}
    for name in dict.fromkeys(name for name, _ in stages):
        own_stages = tuple(stage for stage in stages.values() if stage.corruption == name)
        declared = get_corruption(name)
        tasks[name] = _Task(own_stages, job.maker, tuple(shapes), declared.compile_after, declared.compile_seconds)
    if tasks:
        tasks[_OTHERS] = _Task((), job.maker, (), None, _OTHERS_SECONDS)
    mark = _mark(sorted(stages), job, shapes)
    # os.path, which takes a cache that may no longer be looked into for one without the mark
    if not tasks or os.path.exists(mark):
        return
    corruptions = set(tasks) - {_OTHERS}
    tell = tell or (lambda done, total: None)
    tell(0, len(corruptions))

    def ready(name: str) -> None:
        del tasks[name]
        if name in corruptions:
            tell(len(corruptions - set(tasks)), len(corruptions))

    if workers is not None and workers.most > 1 and len(tasks) > 1:
        _in_workers(tasks, workers, ready)
    for name in list(tasks):
        _prepare(tasks[name])
        ready(name)
    with contextlib.suppress(OSError):  # without the mark the next build only looks again
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()


def _mark(stages: Sequence[tuple[str, str]], job: Job, shapes: Sequence[tuple[int, int]]) -> Path:
    """Return the file that says that these stages are prepared, on this kind of processor and for these textures."""
    textures = job.maker.resources.get("textures")
    what = [
        [list(stage) for stage in stages],
        [list(shape) for shape in shapes],
        [job.maker.side, job.maker.scale],
        [list(record) for record in textures.records()] if textures is not None else None,
        [os.environ.get("NUMBA_CPU_NAME"), llvmlite.binding.get_host_cpu_name(), llvmlite.binding.get_host_cpu_features().flatten()],
    ]
    return kernel_folder() / f"prepared-{canonical_sha256(what)[-32:]}"


def _in_workers(tasks: dict[str, _Task], workers: Workers, ready: Callable[[str], None]) -> None:
    """Prepare tasks, each after what it waits for; `ready` takes a finished one out of `tasks`. Where workers are killed, some are left."""
    from concurrent.futures.process import BrokenProcessPool

    # What takes longest, together with what waits for it, starts first, so that no process is left alone with it in the end.
    order = sorted(tasks, key=lambda name: -_seconds_with_waiting(name, tasks))
    running: dict[Future[None], str] = {}
    try:
        count = workers.start(len(tasks))
        while order or running:
            # No more than there are workers: what is long and becomes free later is not to queue behind what is short.
            for name in [n for n in order if tasks[n].after not in tasks][: count - len(running)]:
                order.remove(name)
                running[workers.submit(_prepare, tasks[name])] = name
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                name = running.pop(future)
                future.result()
                ready(name)
        workers.end()  # what a compiler took of memory is not given back
    except BrokenProcessPool:
        workers.stop()


def _seconds_with_waiting(name: str, tasks: Mapping[str, _Task]) -> int:
    """Return how long a task takes together with the longest chain of tasks that wait for it."""
    waiting = [other for other in tasks if tasks[other].after == name]
    return tasks[name].seconds + max((_seconds_with_waiting(other, tasks) for other in waiting), default=0)


def _prepare(task: _Task) -> None:
    """Compile and make what a task needs."""
    if not task.stages:
        measure(*np.zeros((2, 8, 8, 3), np.uint8))
        compile_ms_ssim()
        return
    small = check_images(np.full((1, _WARM_SIDE, _WARM_SIDE, 3), 128, np.uint8))
    keys = sample_keys(["warm-up"])
    for stage in task.stages:
        apply_stage(small, stage, np.uint64(0), keys, side=task.maker.side, scale=task.maker.scale, resources=task.maker.resources)
    for resource, make_default in get_corruption(task.stages[0].corruption).resources.items():
        if make_default is not None and resource not in task.maker.resources:
            for height, width in task.shapes:
                make_default(height, width)
