"""Compile kernels before the workers start: each once, several at a time, and nothing where that was done before."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from pathlib import Path

import llvmlite.binding
import numpy as np

from ...canonical import canonical, canonical_sha256
from ...corruptions.cache import KERNEL_SUFFIX, kernel_folder, sources_digest
from ...corruptions.keys import sample_keys
from ...corruptions.registry import PLUGIN, get_corruption
from ...corruptions.stages import Stage, apply_stage, check_images
from ...workers import Workers
from ..pixels.metrics import measure
from ..pixels.ms_ssim import compile_ms_ssim
from ..plan.job import Job
from ..plan.tree import SetMaker

_WARM_SIDE = 32

_OTHERS = "metrics"
"""Kernels that belong to no corruption."""


def warm_up(
    job: Job, workers: Workers | None = None, *, tell: Callable[[int, int], object] = lambda done, total: None
) -> None:
    """Apply every needed stage once to a small image, so that kernels are compiled once and cached.

    Otherwise each worker would compile them for itself. Corruptions are shared out to `workers`, if there are any. A
    mark in the folder of the kernels says what was prepared: with it nothing is done at all, and it goes when the cache
    is deleted. `tell` is told how many of how many corruptions are ready, once a kernel was compiled.
    """
    stages: dict[tuple[str, str], Stage] = {}
    for spec in job.sets.values():
        for stage in spec.stages:
            declared = get_corruption(stage.corruption)
            if not declared.needs_model and declared.family != PLUGIN:  # those have no kernels
                stages.setdefault((stage.corruption, canonical(dict(stage.parameters)).decode()), stage)
    tasks: dict[str, list[Stage]] = {}
    for (name, _), stage in stages.items():
        tasks.setdefault(name, []).append(stage)
    if tasks:
        tasks[_OTHERS] = []
    mark = _mark(sorted(stages), job)
    # os.path, which takes a cache that may no longer be looked into for one without the mark
    if not tasks or os.path.exists(mark):
        return
    there, ready, workers = _kernels(), count(1), workers or Workers(1)

    def done(*_: object) -> None:
        number = next(ready)
        if _kernels() > there:
            tell(min(number, len(tasks) - 1), len(tasks) - 1)

    workers.run(partial(_prepare, job.maker), list(tasks.values()), done)
    workers.end()  # what a compiler took of memory is not given back
    with contextlib.suppress(OSError):  # without the mark the next build only looks again
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()


def _kernels() -> int:
    """Return how many kernels are kept: workers say nothing of what they compile, but keep it."""
    return sum(1 for _ in kernel_folder().glob(f"*{KERNEL_SUFFIX}"))


def _mark(stages: Sequence[tuple[str, str]], job: Job) -> Path:
    """Return the file that says that these stages are prepared, on this kind of processor."""
    what = [
        sources_digest(),
        [list(stage) for stage in stages],
        [job.maker.side, job.maker.scale],
        [
            os.environ.get("NUMBA_CPU_NAME"),
            llvmlite.binding.get_host_cpu_name(),
            llvmlite.binding.get_host_cpu_features().flatten(),
        ],
    ]
    return kernel_folder() / f"prepared-{canonical_sha256(what)[-32:]}"


def _prepare(maker: SetMaker, stages: Sequence[Stage]) -> None:
    """Compile what the stages of one corruption need, or, without stages, what belongs to no corruption."""
    if not stages:
        measure(*np.zeros((2, 8, 8, 3), np.uint8))
        compile_ms_ssim()
        return
    small = check_images(np.full((1, _WARM_SIDE, _WARM_SIDE, 3), 128, np.uint8))
    keys = sample_keys(["warm-up"])
    for stage in stages:
        apply_stage(small, stage, np.uint64(0), keys, side=maker.side, scale=maker.scale, resources=maker.resources)
