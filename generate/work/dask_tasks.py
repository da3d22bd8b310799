"""What a Dask worker is asked to do: to say whether it is fit for a build, to make parts of it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import cv2

from ...corruptions.cache import kernel_folder, sources_digest
from ...errors import BuildError, CorruptsetError
from ...manifests.disk.lock import locked
from ...manifests.layout import LOCK
from ..plan.job import load_clean
from ..plan.parts import Part
from ..sinks.sink import Run
from .environment import environment
from .warm_up import warm_up
from .worker import job_of, process

COMPILE_S = 3600.0
"""How long a worker waits for another on its machine that compiles the kernels."""

_one_at_a_time = threading.Lock()
"""A worker may have several threads, and what it keeps between parts is for one."""
_fit: set[str] = set()
"""The files of the jobs that this worker can make parts of, and whose kernels are compiled here."""


def versions() -> dict[str, str]:
    """Return what must be the same in every process that makes parts."""
    return {**environment(), "kernels": sources_digest()}


def answer(wanted: Mapping[str, str], file: str | None) -> tuple[str, str] | None:
    """Return this worker's address and why it cannot make parts of a build; None where it can."""
    from distributed import get_worker

    problems = problems_of(wanted, file)
    return (get_worker().address, "; ".join(problems)) if problems else None


def problems_of(wanted: Mapping[str, str], file: str | None) -> list[str]:
    """Return why parts cannot be made here: other releases than `wanted`, or what is not seen of the build whose job is
    in a file.
    """
    here = versions()
    others = [
        f"{name} is {here.get(name, 'missing')} there and {release} here"
        for name, release in wanted.items()
        if here.get(name) != release
    ]
    if others or file is None:
        return others
    folder = Path(file).parent.parent
    try:
        job = job_of(Path(file))
    except OSError as e:
        return [
            f"it does not see {folder} as this machine does ({e.strerror}): --out must be one folder, at the same "
            "path on all machines"
        ]
    problems = []
    with suppress(BuildError), locked(folder / LOCK, "The build holds it, as it must."):
        problems.append(f"locks on files in {folder} do not reach it: mount that file system with locks")
    try:
        load_clean(job.source, job.samples[0], job.preprocessing)
    except (OSError, CorruptsetError) as e:
        problems.append(
            f"it does not see the source as this machine does ({e}): the source must lie at the same path on all "
            "machines"
        )
    return problems


def make(
    wanted: Mapping[str, str], file: str, run: int, first: int, stop: int, sets: tuple[str, ...]
) -> tuple[str, str | OSError] | None:
    """Make and commit a part; return this worker's address and why it cannot, where others may be able to."""
    from distributed import get_worker

    try:
        with _one_at_a_time:
            if file not in _fit:
                if (unfit := answer(wanted, file)) is not None:
                    return unfit
                host = socket.gethostname()  # several machines may share a home, and have other processors
                busy = (
                    f"Another worker on {host} has compiled kernels for {COMPILE_S:.0f} s. End it, and run the "
                    "same command to resume."
                )
                with locked(kernel_folder() / f"compiling-{host}", busy, wait_s=COMPILE_S):
                    warm_up(job_of(Path(file)))
                cv2.setNumThreads(1)  # a worker has one core; what others use it would only wait for
                _fit.add(file)
            process(job_of(Path(file)), Part(Run(run, first, stop), tuple(sets)))
    except OSError as e:
        return get_worker().address, e
    return None
