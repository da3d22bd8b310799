"""What a Dask worker is asked to do: to say whether it is fit for a build, to make parts of it, to forget it."""

from __future__ import annotations

import pickle
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
from ..plan.job import Job, load_clean
from ..plan.parts import Part
from .environment import environment
from .sidecars import is_committed
from .warm_up import warm_up
from .worker import forget, process

COMPILE_S = 3600.0
"""How long a worker waits for another on its machine that compiles the kernels."""

_one_at_a_time = threading.Lock()
"""A worker may have several threads, and what it keeps between parts is for one."""
_job: tuple[str, Job] | None = None
"""The lease of a build, and its job."""


def versions() -> dict[str, str]:
    """Return what must be the same in every process that makes parts."""
    return {**environment(), "kernels": sources_digest()}


def answer(wanted: Mapping[str, str], lease: str | None) -> list[str]:
    """Return why this worker cannot make parts of a build: other releases than `wanted`, or what it does not see; nothing where it can."""
    here = versions()
    others = [
        f"{name} is {here.get(name, 'missing')} there and {release} here" for name, release in wanted.items() if here.get(name) != release
    ]
    if others or lease is None:
        return others
    folder = Path(lease).parent.parent
    try:
        job: Job = pickle.loads(Path(lease).read_bytes())
    except OSError as e:
        return [f"it does not see {folder} as this machine does ({e.strerror}): --out must be one folder, at the same path on all machines"]
    problems = []
    with suppress(BuildError), locked(job.directory / LOCK, "The build holds it, as it must."):
        problems.append(f"locks on files in {folder} do not reach it: mount that file system with locks")
    try:
        load_clean(job.source, job.samples[0], job.preprocessing)
    except (OSError, CorruptsetError) as e:
        problems.append(f"it does not see the source as this machine does ({e}): the source must lie at the same path on all machines")
    return problems


def make(lease: str, part: bytes) -> tuple[str, OSError] | None:
    """Make and commit a part; return this worker's address and the error where it cannot read or write, which others may be able to."""
    from distributed import get_worker

    try:
        with _one_at_a_time:
            _make(lease, pickle.loads(part))
    except OSError as e:
        return get_worker().address, e
    return None


def _make(lease: str, part: Part) -> None:
    global _job
    if _job is None or _job[0] != lease:
        rest()
        job: Job = pickle.loads(Path(lease).read_bytes())
        host = socket.gethostname()  # several machines may share a home, and have other processors
        busy = f"Another worker on {host} has compiled kernels for {COMPILE_S:.0f} s. End it, and run the same command again to resume."
        with locked(kernel_folder() / f"compiling-{host}", busy, wait_s=COMPILE_S):
            warm_up(job)
        cv2.setNumThreads(1)  # a worker has one core; what others use it would only wait for
        _job = (lease, job)
    job = _job[1]
    if not is_committed(job.directory, part.name, job.origin):  # as it is where a worker died before the scheduler had heard of it
        process(job, part)


def rest() -> None:
    """Free what a worker keeps of a build."""
    global _job
    _job = None
    forget()
