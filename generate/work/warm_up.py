"""Compile all kernels that a build needs before its parts are made."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np

from ...canonical import canonical_sha256
from ...corruptions.cache import kernel_folder, warn_if_unusable
from ...corruptions.keys import sample_keys
from ...corruptions.registry import PLUGIN, get_corruption
from ...corruptions.stages import Stage, apply_stage, check_images
from ...workers import Workers
from ..pixels.metrics import measure
from ..pixels.ms_ssim import compile_ms_ssim
from ..plan.tree import SetMaker
from ..recipes.set_spec import SetSpec

_SIDE = 32
Task = tuple[Path, Stage | None]
"""A file that marks a stage as prepared, and the stage. None stands for the kernels of the metrics."""


def warm_up(
    sets: Iterable[SetSpec],
    maker: SetMaker,
    workers: Workers | None = None,
    *,
    on_progress: Callable[[int, int], object] = lambda ready, total: None,
) -> None:
    """Apply every stage of the sets to a small image, so that all kernels are compiled and saved.

    Otherwise each worker would compile all kernels. If `workers` are given, the corruptions are divided among them. A
    file in the kernel folder marks each stage that has been prepared for this processor. `on_progress` is called with
    the number of corruptions that are ready, and the number of corruptions that must be prepared.
    """
    import llvmlite.binding  # imported here, because the light installation does not have llvmlite

    machine = [
        os.environ.get("NUMBA_CPU_NAME"),
        llvmlite.binding.get_host_cpu_name(),
        llvmlite.binding.get_host_cpu_features().flatten(),
    ]

    def mark(*what: object) -> Path:
        return kernel_folder() / f"prepared-{canonical_sha256([machine, *what])[-32:]}"

    tasks: dict[str, dict[Path, Stage | None]] = {}
    for stage in (stage for spec in sets for stage in spec.stages):
        declared = get_corruption(stage.corruption)
        if not declared.needs_model and declared.family != PLUGIN:  # a plugin may reject small images
            # The kernels of the metrics are compiled together with those of the first corruption.
            stage_tasks = tasks.setdefault(stage.corruption, {} if tasks else {mark("metrics"): None})
            stage_tasks[mark(stage.corruption, dict(stage.parameters), maker.side, maker.scale)] = stage
    # Path.exists would raise an error if the folder can no longer be read, but os.path.exists returns False.
    remaining = [
        [task for task in stage_tasks.items() if not os.path.exists(task[0])] for stage_tasks in tasks.values()
    ]
    remaining = [stage_tasks for stage_tasks in remaining if stage_tasks]
    if remaining:
        warn_if_unusable()
        ready, workers = count(1), workers or Workers(1)
        workers.run(
            partial(_prepare, maker),
            remaining,
            lambda *_: on_progress(next(ready), len(remaining)),
            describe=_describe,
        )
        workers.close()  # because compilers never return their memory to the system


def _describe(tasks: Sequence[Task]) -> str:
    return f"the kernels of {next((stage.corruption for _, stage in tasks if stage is not None), 'the metrics')}"


def _prepare(maker: SetMaker, tasks: Sequence[Task]) -> None:
    """Compile the kernels of each stage, and mark the stage as prepared."""
    for mark, stage in tasks:
        if stage is None:
            measure(*np.zeros((2, 8, 8, 3), np.uint8))
            compile_ms_ssim()
        else:
            small = check_images(np.full((1, _SIDE, _SIDE, 3), 128, np.uint8))
            keys, zero = sample_keys(["warm-up"]), np.uint64(0)
            apply_stage(small, stage, zero, keys, side=maker.side, scale=maker.scale, resources=maker.resources)
        with contextlib.suppress(OSError):  # without the mark, the next build repeats this step
            mark.touch()
