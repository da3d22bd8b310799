"""Parts made by a Dask scheduler's workers, who share nothing but the disk.

What passes the scheduler is text: it needs no corruptset itself, and a worker that has none, or another, can say so.
"""

from __future__ import annotations

import logging
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

import cv2

from ...corruptions.cache import kernel_folder, sources_digest
from ...errors import BuildError, CorruptsetError, MachineError, install_extra, listed
from ...manifests.disk.lock import Busy, locked
from ...manifests.paths import lock_file
from ..plan.parts import Part
from ..sinks.sink import Run
from .environment import environment
from .warm_up import warm_up
from .worker import PartDone, job_of, process

if TYPE_CHECKING:
    from distributed import Client, Future

CONNECT_S = 30.0
"""How long the scheduler may take to answer."""
ANSWER_S = 60.0
"""How long workers may take to say what they have and see; parts are dealt without those that have not said it yet."""
NOBODY_S = 300.0
"""How long a build waits while the scheduler has no worker."""
COMPILE_S = 3600.0
"""How long a worker waits for another on its machine that compiles the kernels."""
LOOK_S = 1.0
"""How often the scheduler is asked who is there."""
RETRIES = 3
"""So often Dask tries a part again that a worker could not make."""

_CALL = "getattr(__import__('corruptset.generate.work.dask_workers', fromlist=['*']), function)(*given)"
_START = "`dask worker ADDRESS --nworkers -1 --nthreads 1`"
_RESUME = "What was committed stands: run the same command again to resume."

_one_at_a_time = threading.Lock()
"""A worker may have several threads, and what it keeps between parts is for one."""
_fit: set[str] = set()
"""The files of the jobs that this worker can make parts of, and whose kernels are compiled here."""


@contextmanager
def connected(scheduler: str | Client | None) -> Iterator[Client | None]:
    """Yield the client of a scheduler, or None without one.

    Raises
    ------
    BuildError
        There is no such scheduler, or one of its workers has another corruptset or none.
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
    except Exception as e:  # of tls:// and ucx:// without their libraries and certificates, a TypeError
        raise BuildError(
            f"No Dask scheduler answers at {scheduler}: {e}. Start one with `dask scheduler`, and its workers with "
            f"{_START}; give the address that the scheduler prints. Nothing was written."
        ) from None
    # it logs the traceback of a lost connection, of which the error tells
    with silence_logging_cmgr(logging.CRITICAL), client:
        _refuse_unfit(client, None)
        yield client


def run_parts(client: Client, file: Path, parts: Sequence[Part], done: Callable[[PartDone], None]) -> None:
    """Make and commit parts of a file's job in a scheduler's workers, as `pool.run` says."""
    from distributed.comm import CommClosedError

    running: dict[Future[Any], Part] = {}
    ended: SimpleQueue[Future[Any]] = SimpleQueue()

    def submit(part: Part) -> None:
        place = part.run.number, part.run.first, part.run.stop, part.sets
        task = _submit(client, None, "make", str(file), *place, retries=RETRIES)
        running[task] = part
        task.add_done_callback(ended.put)

    try:
        _refuse_unfit(client, file)
        for part in parts:
            submit(part)
        able = time.monotonic()
        while running:
            with suppress(Empty):
                task = ended.get(timeout=LOOK_S)
                if client.status == "running" and task.status in ("cancelled", "lost"):
                    # the scheduler forgets a part now and then, as workers go while others join
                    submit(running.pop(task))
                elif client.status == "running":
                    _refuse_failure(task, running[task])
                    part = running.pop(task)
                    done(PartDone(part.name, part.images))
            if client.status != "running":
                raise ConnectionError("the scheduler is gone")
            if client.scheduler_info()["workers"]:
                able = time.monotonic()
            elif time.monotonic() - able > NOBODY_S:
                raise MachineError(
                    f"The scheduler had no worker for {NOBODY_S:.0f} s; {len(running)} parts are left. Start workers "
                    f"with {_START}. {_RESUME}"
                )
    except Exception as e:
        if isinstance(e, CorruptsetError) or (
            client.status == "running" and not isinstance(e, (ConnectionError, CommClosedError))
        ):
            raise
        raise MachineError(
            f"The connection to the scheduler was lost; {len(running) or len(parts)} parts are left. Start it again "
            f"with its workers. {_RESUME}"
        ) from e
    finally:
        with suppress(Exception):
            client.cancel(list(running))  # what runs already goes on until it finds no file


def _submit(client: Client, worker: str | None, function: str, *given: Any, retries: int = 0) -> Future[Any]:
    """Let a worker, one or any, call a function of this module.

    Given before all else: what must be the same there.
    """
    names = {"function": function, "given": (versions(), *given)}
    return client.submit(eval, _CALL, names, workers=worker and [worker], pure=False, retries=retries)


def _refuse_unfit(client: Client, file: Path | None) -> None:
    """Refuse workers that are there and cannot make parts of a file's job."""
    from distributed import wait

    there = client.scheduler_info()["workers"].items()
    asked = {
        _submit(client, address, "problems", file and str(file)): f"{known.get('name', address)} ({address})"
        for address, known in there
        if known["status"] == "running"
    }
    with client.as_current(), suppress(OSError):
        wait(list(asked), timeout=ANSWER_S)
    unfit = []
    for task, called in asked.items():
        if task.status == "error":
            unfit.append(f"{called}: {task.exception()}; install corruptset {versions()['corruptset']} there")
        elif task.status == "finished" and (found := task.result()):
            unfit.append(f"{called}: {'; '.join(found)}")
    if unfit:
        raise BuildError(
            f"{len(unfit)} of the scheduler's workers cannot make parts of this build:\n{listed(unfit)}\n"
            "Mend or end them, and run the same command again. No part was made."
        )


def _refuse_failure(task: Future[Any], part: Part) -> None:
    """Raise what ended a part, unless it was made."""
    from distributed import KilledWorker

    if task.status == "finished":
        return
    error = task.exception()
    if isinstance(error, (MemoryError, KilledWorker)):
        raise MachineError(
            f"Workers did not survive the part {part.described} (often: out of memory): {error}\n"
            f"Look at those samples, or give the workers more memory. {_RESUME}"
        )
    if isinstance(error, (ImportError, AttributeError)):
        raise BuildError(
            f"A worker that joined the scheduler has no corruptset {versions()['corruptset']} ({error}). Mend or end "
            f"it. {_RESUME}"
        )
    raise error


def versions() -> dict[str, str]:
    """Return what must be the same in every process that makes parts."""
    return {**environment(), "kernels": sources_digest(), "encoding of file names": sys.getfilesystemencoding()}


def problems(wanted: Mapping[str, str], file: str | None) -> list[str]:
    """Return why parts cannot be made in this worker.

    It has other releases than `wanted`, or does not see what the build of a file's job needs.
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
            f"it does not see {folder} as this machine does ({e.strerror}): --out must be one folder, at the same path "
            "on all machines"
        ]
    found = []
    try:
        with locked(lock_file(folder), "The build holds it, as it must."):
            found.append(f"locks on files in {folder} do not reach it: mount that file system with locks")
    except Busy:
        pass
    except BuildError as e:
        found.append(str(e))
    try:
        job.build.clean(0)
    except (OSError, CorruptsetError) as e:
        found.append(
            f"it does not see the source as this machine does ({e}): the source must lie at the same path on all "
            "machines"
        )
    return found


def make(wanted: Mapping[str, str], file: str, run: int, first: int, stop: int, sets: tuple[str, ...]) -> None:
    """Make and commit a part in this worker; an error names the worker."""
    from distributed import get_worker

    called = f"The worker {get_worker().address}"
    try:
        with _one_at_a_time:
            if file not in _fit:
                if found := problems(wanted, file):
                    raise BuildError(
                        f"{called} cannot make parts of this build: {'; '.join(found)}. Mend or end it. {_RESUME}"
                    )
                host = socket.gethostname()  # several machines may share a home, and have other processors
                busy = (
                    f"{called} waited {COMPILE_S:.0f} s for another on {host} that compiles kernels. End it. {_RESUME}"
                )
                with locked(kernel_folder() / f"compiling-{host}", busy, wait_s=COMPILE_S):
                    job = job_of(Path(file))
                    warm_up(job.sets.values(), job.build.maker)
                cv2.setNumThreads(1)  # a worker has one core; what others use it would only wait for
                _fit.add(file)
            process(job_of(Path(file)), Part(Run(run, first, stop), tuple(sets)))
    except OSError as e:
        raise MachineError(f"{called} failed: {e.strerror or e} ({e.filename}). Mend or end it. {_RESUME}") from e
