"""Compile kernels before the workers start: each once, several at a time, and nothing where that was done before."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite.binding
import numpy as np

from ...canonical import canonical, canonical_sha256
from ...corruptions.cache import kernel_folder
from ...corruptions.keys import sample_keys
from ...corruptions.stages import Scale, Stage, apply_stage, check_images
from ...corruptions.weather.textures import default_textures
from ...processes import loky_workers_starting, worker_pool
from ..pixels.hashes import hashes
from ..pixels.metrics import measure
from ..plan.job import Job

_WARM_SIDE = 32

# A corruption waits for the one whose kernels it calls too, so that they are compiled once and then loaded.
_AFTER = {
    "shot_noise": "gaussian_noise",
    "impulse_noise": "gaussian_noise",
    "speckle_noise": "shot_noise",
    "glass_blur": "gaussian_blur",
    "snow": "motion_blur",
    "spatter": "snow",
    "white_lines": "black_lines",
    "local_blur": "random_boxes",
    "adjacent_pixel_swap": "pixel_swap",
    "fade_white": "fade_black",
    "posterize": "fade_black",
    "jpeg": "jpeg_compression",
}
# Kernels that belong to no corruption: what is measured and hashed of an image.
_OTHERS = "metrics and digests"
# What takes longest to compile, together with what waits for it, is started first, so that no process is left alone
# with it in the end.
_LONG = (
    "motion_blur",
    "snow",
    "spatter",
    "elastic_transform",
    "frost",
    "jpeg_compression",
    "gaussian_blur",
    "glass_blur",
    "defocus_blur",
    _OTHERS,
    "fog",
    "gaussian_noise",
    "pixelate",
)


@dataclass(frozen=True)
class _Task:
    """All stages of one corruption; none for what belongs to no corruption."""

    stages: tuple[Stage, ...]
    side: int
    scale: Scale
    shapes: tuple[tuple[int, int], ...]
    resources: Mapping[str, Any]


def warm_up(
    job: Job, sets: Sequence[str], shapes: Sequence[tuple[int, int]], *, jobs: int = 1, tell: Callable[[int, int], None] | None = None
) -> None:
    """Apply every needed stage once to a small image, so that kernels, noise tables and textures are made once and cached.

    Otherwise each worker would compile them for itself. Corruptions are shared out to several processes. A mark in the
    folder of the kernels says what was prepared: with it nothing is done at all, and it goes when the cache is deleted.

    Parameters
    ----------
    job : Job
    sets : sequence of str
        Which of the job's sets will be made.
    shapes : sequence of (int, int)
        Height and width of the clean images: frost's textures depend on it.
    jobs : int
        Processes; 1 works in this one.
    tell : callable, optional
        Told how many of how many stages are ready; never, where all are from the start.
    """
    stages: dict[tuple[str, str], Stage] = {}
    for name in sets:
        for stage in job.sets[name].stages:
            stages.setdefault((stage.corruption, canonical(dict(stage.parameters)).decode()), stage)
    tasks: dict[str, _Task] = {}
    for name in dict.fromkeys(name for name, _ in stages):
        some = tuple(stage for stage in stages.values() if stage.corruption == name)
        tasks[name] = _Task(some, job.side, job.scale, tuple(shapes), job.resources)
    if tasks:
        tasks[_OTHERS] = _Task((), job.side, job.scale, (), {})
    mark = _mark(sorted(stages), job, shapes)
    # os.path, which takes a cache that may no longer be looked into for one without the mark
    if not tasks or os.path.exists(mark):
        return
    done = 0

    def ready(name: str) -> None:
        nonlocal done
        prepared = len(tasks.pop(name).stages)
        done += prepared
        if tell is not None and prepared:
            tell(done, len(stages))

    if jobs > 1 and len(tasks) > 1:
        from concurrent.futures.process import BrokenProcessPool

        # Where workers are killed, what is left is prepared here.
        with contextlib.suppress(BrokenProcessPool):
            _in_workers(tasks, jobs, ready)
    for name in list(tasks):
        _prepare(tasks[name])
        ready(name)
    with contextlib.suppress(OSError):  # without the mark the next build only looks again
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()


def _mark(stages: Sequence[tuple[str, str]], job: Job, shapes: Sequence[tuple[int, int]]) -> Path:
    """Return the file that says that these stages are prepared, on this kind of processor and for these textures."""
    textures = job.resources.get("textures")
    what = [
        [list(stage) for stage in stages],
        [list(shape) for shape in shapes],
        [job.side, job.scale],
        [list(record) for record in textures.records()] if textures is not None else None,
        [os.environ.get("NUMBA_CPU_NAME"), llvmlite.binding.get_host_cpu_name(), llvmlite.binding.get_host_cpu_features().flatten()],
    ]
    return kernel_folder() / f"prepared-{canonical_sha256(what)[-32:]}"


def _in_workers(tasks: dict[str, _Task], jobs: int, ready: Callable[[str], None]) -> None:
    """Prepare tasks, each after what it waits for; `ready` takes a finished one out of `tasks`."""
    order = sorted(tasks, key=lambda name: _LONG.index(name) if name in _LONG else len(_LONG))
    workers = min(jobs, len(tasks))
    pool = worker_pool(workers)
    running: dict[Future[None], str] = {}
    finished = False
    try:
        while order or running:
            # No more than there are workers: what is long and becomes free later is not to queue behind what is short.
            for name in [n for n in order if _AFTER.get(n) not in tasks][: workers - len(running)]:
                order.remove(name)
                with loky_workers_starting():  # the first starts the workers
                    future = pool.submit(_prepare, tasks[name])
                running[future] = name
            for made in wait(running, return_when=FIRST_COMPLETED).done:
                name = running.pop(made)
                made.result()
                ready(name)
        finished = True
    finally:
        pool.shutdown(wait=True, kill_workers=not finished)


def _prepare(task: _Task) -> None:
    """Compile and make what a task needs."""
    if not task.stages:
        several = np.zeros((16, 8, 8, 3), np.uint8)
        hashes(several)
        measure(several[0], several[1])
        return
    small = check_images(np.full((1, _WARM_SIDE, _WARM_SIDE, 3), 128, np.uint8))
    keys = sample_keys(["warm-up"])
    for stage in task.stages:
        apply_stage(small, stage, np.uint64(0), keys, side=task.side, scale=task.scale, resources=task.resources)
    if task.stages[0].corruption == "frost" and "textures" not in task.resources:
        for height, width in task.shapes:
            default_textures(height, width)
