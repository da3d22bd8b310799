"""Make parts in the workers of a Dask scheduler. The workers and this process share only the disk.

Calls are sent to the workers as source code. Therefore the scheduler does not need corruptset, and a worker that lacks
corruptset or has a different version can report the problem.
"""

from __future__ import annotations

import logging
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2

from ...corruptions.cache import kernel_folder, sources_digest
from ...errors import BuildError, CorruptsetError, MachineError, format_list, install_extra
from ...manifests.disk.lock import Busy, hold_lock
from ...manifests.paths import lock_file
from ...workers import complete
from ..plan.parts import Part
from ..sinks.sink import Chunk
from .environment import environment
from .warm_up import warm_up
from .worker import FinishedPart, job_of, process

if TYPE_CHECKING:
    from distributed import Client

CONNECT_S = 30.0
"""The timeout for connecting to the scheduler."""
ANSWER_S = 60.0
"""The time within which workers must report whether they can make parts. Slower workers report it with their first
part.
"""
NO_WORKERS_S = 300.0
"""The time for which a build waits if the scheduler has no workers."""
COMPILE_S = 3600.0
"""The time for which a worker waits while another worker on its machine compiles the kernels."""
RETRIES = 3
"""The number of times that Dask retries a part after an error."""

_CALL = "getattr(__import__('corruptset.generate.work.dask_workers', fromlist=['*']), function)(*arguments)"
_START = "`dask worker ADDRESS --nworkers -1 --nthreads 1`"
_RESUME = "Committed parts are kept. Run the same command again to resume."

_one_at_a_time = threading.Lock()
"""A lock for the state that a worker keeps between parts. A worker may have several threads."""
_fit: set[str] = set()
"""The files of jobs that this worker has accepted and whose kernels are compiled."""


@contextmanager
def connect(scheduler: str | Client | None) -> Iterator[Client | None]:
    """Yield a client of the scheduler, or None if no scheduler is given.

    Raises
    ------
    BuildError
        The scheduler does not answer, or a worker lacks corruptset or has a different version.
    """
    if scheduler is None:
        return (yield None)
    unusable = BuildError(
        f"scheduler is {scheduler!r}; expected an address such as tcp://host:8786, or a distributed.Client that is not "
        "asynchronous."
    )
    if scheduler == "":
        raise unusable
    try:
        from distributed import Client
        from distributed.utils import silence_logging_cmgr
    except ImportError as e:
        raise BuildError(
            f"A scheduler needs Dask, which cannot be imported ({e}). {install_extra('dask')} All workers need it too."
        ) from None
    if isinstance(scheduler, Client) and not scheduler.asynchronous:
        _refuse_unfit(scheduler, None)
        return (yield scheduler)
    if not isinstance(scheduler, str):
        raise unusable
    try:
        client = Client(scheduler, timeout=CONNECT_S, set_as_default=False)
    except Exception as e:  # e.g. a TypeError for tls:// without certificates or ucx:// without its library
        raise BuildError(
            f"No Dask scheduler answers at {scheduler}: {e}. Start one with `dask scheduler`, and its workers with "
            f"{_START}. Pass the address that the scheduler prints. Nothing was written."
        ) from None
    # If the connection is lost, Dask would log a traceback, although corruptset's own error explains the problem.
    with silence_logging_cmgr(logging.CRITICAL), client:
        _refuse_unfit(client, None)
        yield client


def make_parts_in_cluster(
    client: Client, file: Path, parts: Sequence[Part], on_part: Callable[[FinishedPart], None]
) -> None:
    """Make and commit parts of the job in `file` in the workers of a scheduler.

    `pool.make_parts` describes the other parameters.
    """
    from distributed.comm import CommClosedError

    remaining = len(parts)
    last_worker = time.monotonic()
    executor = client.get_executor(pure=False, retries=RETRIES)

    def submit(part: Part) -> Future[Any]:
        future: Future[Any] = executor.submit(eval, _CALL, _call("make", str(file), *astuple(part.chunk), part.sets))
        return future

    def on_done(part: Part, future: Future[Any]) -> None:
        nonlocal remaining
        _raise_failure(part, future)
        remaining -= 1
        on_part(FinishedPart(part.name, part.images))

    def poll() -> None:
        nonlocal last_worker
        if client.status != "running":
            raise ConnectionError("the scheduler has stopped")
        if client.scheduler_info()["workers"]:
            last_worker = time.monotonic()
        elif time.monotonic() - last_worker > NO_WORKERS_S:
            raise MachineError(
                f"The scheduler had no workers for {NO_WORKERS_S:.0f} s, and {remaining} parts remain. Start workers "
                f"with {_START}. {_RESUME}"
            )

    try:
        _refuse_unfit(client, file)
        complete(submit, parts, on_done, at_once=len(parts), poll=poll)
    except Exception as e:
        lost = client.status != "running" or isinstance(e, (ConnectionError, CommClosedError))
        if isinstance(e, CorruptsetError) or not lost:
            raise
        raise MachineError(
            f"The connection to the scheduler was lost, and {remaining} parts remain. Restart it with its workers. "
            f"{_RESUME}"
        ) from e
    finally:
        with suppress(Exception):
            executor.shutdown(wait=False)  # workers stop when the caller deletes the job file


def _call(function: str, *arguments: Any) -> dict[str, Any]:
    """Return the variables that the code in `_CALL` needs to call a function of this module.

    The result of `versions` is added as the first argument.
    """
    return {"function": function, "arguments": (versions(), *arguments)}


def _refuse_unfit(client: Client, file: Path | None) -> None:
    """Raise `BuildError` if running workers of the scheduler cannot make parts of the job in `file`.

    If `file` is None, only the versions of the workers are compared.
    """
    from distributed import wait

    workers = client.scheduler_info()["workers"].items()
    asked = {
        client.submit(eval, _CALL, _call("problems", file and str(file)), workers=[address], pure=False): (
            f"{known.get('name', address)} ({address})"
        )
        for address, known in workers
        if known["status"] == "running"
    }
    with client.as_current(), suppress(OSError):
        wait(list(asked), timeout=ANSWER_S)
    unfit = []
    for task, called in asked.items():
        if task.status == "error":
            unfit.append(f"{called}: {task.exception()}; install corruptset {versions()['corruptset']} there")
        elif task.status == "finished" and (reasons := task.result()):
            unfit.append(f"{called}: {'; '.join(reasons)}")
    if unfit:
        raise BuildError(
            f"{len(unfit)} of the scheduler's workers cannot make parts of this build:\n{format_list(unfit)}\n"
            "Fix or stop them, and run the same command again. No parts were built."
        )


def _raise_failure(part: Part, future: Future[Any]) -> None:
    """Raise an error if a part could not be made. If the worker was lost or lacks corruptset, explain that."""
    from distributed import KilledWorker

    try:
        future.result()
    except (MemoryError, KilledWorker) as e:
        raise MachineError(
            f"Workers failed while they were building the part {part.description}: {e}\n"
            "The usual cause is too little memory. Give the workers more memory, or check the samples of this part. "
            f"{_RESUME}"
        ) from None
    except (ImportError, AttributeError) as e:
        raise BuildError(
            f"A worker that joined the scheduler does not have corruptset {versions()['corruptset']} ({e}). Install it "
            f"there, or stop that worker. {_RESUME}"
        ) from None


def versions() -> dict[str, str]:
    """Return the versions that must be equal in every process that makes parts."""
    return {**environment(), "kernels": sources_digest(), "encoding of file names": sys.getfilesystemencoding()}


def problems(expected: Mapping[str, str], file: str | None) -> list[str]:
    """Return the reasons why this worker cannot make parts of the job in `file`, or an empty list.

    Possible reasons are that the worker's versions differ from `expected`, or that the worker cannot read or lock the
    build's files.
    """
    own = versions()
    differing = [
        f"{name} is {own.get(name, 'missing')} there, but {version} here"
        for name, version in expected.items()
        if own.get(name) != version
    ]
    if differing or file is None:
        return differing
    folder = Path(file).parent.parent
    try:
        job = job_of(Path(file))
    except OSError as e:
        return [
            f"it does not see {folder} as this machine does ({e.strerror}): --out must be one folder "
            "with the same path on all machines"
        ]
    reasons = []
    try:
        with hold_lock(lock_file(folder), ""):
            reasons.append(f"locks on files in {folder} do not reach it: mount that file system with locks")
    except Busy:
        pass
    except BuildError as e:
        reasons.append(str(e))
    try:
        job.clean(0)
    except (OSError, CorruptsetError) as e:
        reasons.append(
            f"it does not see the source as this machine does ({e}): the source must have the same path on all machines"
        )
    return reasons


def make(expected: Mapping[str, str], file: str, chunk: int, first: int, stop: int, sets: tuple[str, ...]) -> None:
    """Make and commit a part in this worker. Error messages name the worker.

    `expected` contains the versions that the worker must have, and `file` is the job file. The other parameters
    describe the part: the number, first sample and end of its chunk, and its set ids.
    """
    from distributed import get_worker

    worker = f"The worker {get_worker().address}"
    try:
        with _one_at_a_time:
            if file not in _fit:
                if reasons := problems(expected, file):
                    raise BuildError(
                        f"{worker} cannot make parts of this build: {'; '.join(reasons)}. Repair or stop it. {_RESUME}"
                    )
                # One lock per machine, because machines that share the cache may have different processors.
                host = socket.gethostname()
                busy = (
                    f"{worker} waited {COMPILE_S:.0f} s for another one on {host} that compiles kernels. "
                    f"Stop that one. {_RESUME}"
                )
                with hold_lock(kernel_folder() / f"compiling-{host}", busy, wait_s=COMPILE_S):
                    job = job_of(Path(file))
                    warm_up(job.sets.values(), job.maker)
                cv2.setNumThreads(1)  # each worker has one core
                _fit.add(file)
            process(job_of(Path(file)), Part(Chunk(chunk, first, stop), tuple(sets)))
    except OSError as e:
        raise MachineError(f"{worker} failed: {e.strerror or e} ({e.filename}). Repair or stop it. {_RESUME}") from e
