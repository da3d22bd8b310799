"""Parts dealt to the workers of a Dask scheduler, one at a time to each, and dealt again where a worker dies or leaves.

What passes the scheduler is text and bytes: it needs no corruptset itself, and a worker that has none, or another, can say so.
"""

from __future__ import annotations

import logging
import pickle
import queue
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import BuildError, CorruptsetError, CorruptsetWarning, MachineError, listed
from ...manifests.disk.atomic import write_atomic
from ...manifests.layout import LEASES, PARTS_FOLDER, WORK_FOLDER
from ..plan.job import Job
from ..plan.parts import Part
from .dask_tasks import versions
from .worker import PartDone

if TYPE_CHECKING:
    from distributed import Client, Future

CONNECT_S = 30.0
"""How long the scheduler may take to answer."""
ANSWER_S = 60.0
"""How long workers may take to say what they have and see, before parts are dealt without those that have not said it yet."""
NOBODY_S = 300.0
"""How long a build waits while no worker can take a part."""
STRIKES = 3
"""A part that so many workers died of or could not write stops the build."""
LOOK_S = 1.0
"""How often the scheduler is asked who is there."""
END_S = 5.0
"""How long workers may take, at the end, to free what they keep."""

_CALL = "__import__('corruptset.generate.work.dask_tasks', fromlist=['*']).{}(*given)"
_START = "`dask worker ADDRESS --nworkers -1 --nthreads 1`"


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
    if scheduler == "":
        raise BuildError("scheduler is ''; expected an address such as tcp://host:8786.")
    try:
        from distributed import Client
        from distributed.utils import silence_logging_cmgr
    except ImportError as e:
        raise BuildError(
            f"A scheduler needs Dask, which cannot be imported ({e}). Install it, here and on all workers: pip install 'corruptset[dask]'"
        ) from None
    if isinstance(scheduler, Client) and not scheduler.asynchronous:
        _refuse_others(scheduler)
        return (yield scheduler)
    if not isinstance(scheduler, str):
        raise BuildError(
            f"scheduler is {scheduler!r}; expected an address such as tcp://host:8786, or a distributed.Client that is not asynchronous."
        )
    try:
        client = Client(scheduler, timeout=CONNECT_S, set_as_default=False)
    except Exception as e:  # of tls:// and ucx:// without their libraries and certificates, a TypeError
        raise BuildError(
            f"No Dask scheduler answers at {scheduler}: {e}. Start one with `dask scheduler`, and its workers with {_START}; "
            "give the address that the scheduler prints. Nothing was written."
        ) from None
    with silence_logging_cmgr(logging.CRITICAL), client:  # it logs the traceback of a lost connection, of which the error tells
        _refuse_others(client)
        yield client


def _refuse_others(client: Client) -> None:
    """Raise for workers that are there and have another corruptset or none: that is known before the source is looked at."""
    there = client.scheduler_info()["workers"]
    asked = {_label(address, known): _submit(client, address, "answer", versions(), None) for address, known in there.items()}
    _wait(client, list(asked.values()), ANSWER_S)
    answered = {label: _problems(task) for label, task in asked.items() if task.status in ("finished", "error")}
    _refuse({label: problems for label, problems in answered.items() if problems})


def _wait(client: Client, tasks: Sequence[Future[Any]], seconds: float) -> None:
    """Wait for tasks, or until the time is over or the scheduler gone."""
    from distributed import wait

    with client.as_current(), suppress(OSError, CancelledError):
        wait(tasks, timeout=seconds)


def _label(address: str, known: Mapping[str, Any]) -> str:
    """Return what a worker is called: its address, and its name where it was given one."""
    return address if known.get("name", address) == address else f"{known['name']} ({address})"


def _submit(client: Client, address: str, function: str, *given: Any) -> Future[Any]:
    """Let a worker, and no other, call a function of `dask_tasks`."""
    only = {"workers": [address], "allow_other_workers": False, "retries": 0, "pure": False}
    return client.submit(eval, _CALL.format(function), {"given": given}, **only)


def _problems(asked: Future[Any]) -> list[str]:
    """Return why a worker that was asked is not fit."""
    if asked.status == "finished":
        return list(asked.result())
    if asked.status != "error":
        return ["it did not answer"]
    error = asked.exception()
    if isinstance(error, ModuleNotFoundError) and str(error.name).startswith("corruptset"):
        return [f"it has no corruptset, or an older one ({error}): install corruptset {versions()['corruptset']} there"]
    return [f"it cannot take parts of this build ({type(error).__name__}: {error})"]


def _refuse(unfit: dict[str, list[str]]) -> None:
    lines = [f"{label}: {'; '.join(problems)}" for label, problems in unfit.items()]
    if lines:
        raise BuildError(
            f"{len(unfit)} of the scheduler's workers cannot make parts of this build:\n{listed(lines)}\n"
            "Mend or end them, and run the same command again. No part was made."
        )


def run_parts(client: Client, job: Job, parts: Sequence[Part], done: Callable[[PartDone], None]) -> None:
    """Make and commit parts in the workers of a scheduler, as `pool.run` says."""
    directory = job.directory.absolute()
    lease = directory / WORK_FOLDER / LEASES.replace("*", job.token)
    # Workers read the job from it once, so it passes neither the scheduler nor from worker to worker, where one that hangs would keep it.
    write_atomic(lease, pickle.dumps(replace(job, directory=directory, lease=lease)))
    deal = _Deal(client, lease, {part.name: part for part in parts}, done)
    try:
        deal.until_done()
    except Exception as e:
        if client.status == "running" or isinstance(e, CorruptsetError):
            raise
        raise deal.lost() from e
    finally:
        lease.unlink(missing_ok=True)
        deal.end()


@dataclass(eq=False)
class _Worker:
    """A worker process, and what it does now."""

    label: str
    address: str
    part: Part | None = None
    """What it makes; None where it is idle, or asked whether it is fit."""
    fit: bool = False
    """Parts are dealt to it."""
    gone: bool = False
    task: Future[Any] | None = None


@dataclass(eq=False)
class _Deal:
    """Which parts are missing, and who makes which."""

    client: Client
    lease: Path
    missing: dict[str, Part]
    done: Callable[[PartDone], None]
    waiting: dict[str, Part] = field(init=False)
    """Those that nobody makes; what was dealt before comes last."""
    workers: dict[tuple[str, str], _Worker] = field(default_factory=dict)
    """(address, its own folder) -> worker: one that is started again at the same address is another."""
    idle: list[_Worker] = field(default_factory=list)
    asked: int = 0
    """How many were asked whether they are fit, and have not answered."""
    unfit: dict[str, list[str]] = field(default_factory=dict)
    """Worker -> what it lacks."""
    strikes: dict[str, list[str]] = field(default_factory=dict)
    """Part -> what became of the workers that had it."""
    ended: queue.SimpleQueue[tuple[_Worker, Future[Any]]] = field(default_factory=queue.SimpleQueue)
    able: float = 0.0
    """When there last was a worker that makes parts."""
    failed: OSError | None = None
    """What the last worker said that could not read or write."""

    def __post_init__(self) -> None:
        self.waiting = dict(self.missing)

    def until_done(self) -> None:
        """Deal until every part is committed."""
        began = self.able = time.monotonic()
        opening, look = True, 0.0
        while self.missing:
            if self.client.status != "running":
                raise self.lost()
            now = time.monotonic()
            if now >= look:
                self._look()
                look = time.monotonic() + LOOK_S
            if opening and self.workers and (not self.asked or now - began > ANSWER_S):
                _refuse(self.unfit)
                opening = False
            if not opening:
                self._hand_out()
            with suppress(queue.Empty):
                self._take(*self.ended.get(timeout=LOOK_S), opening)

    def _look(self) -> None:
        """Ask the scheduler who is there: ask those that have come, and deal again what those had that are gone."""
        there = {(address, str(known["local_directory"])): known for address, known in self.client.scheduler_info()["workers"].items()}
        for key in self.workers.keys() - there.keys():
            gone = self.workers.pop(key)
            gone.gone = True
            self._drop([gone])
            if gone.part is not None:
                self._strike(gone, gone.part, "died, or left before it was done")
        for key in there.keys() - self.workers.keys():
            self.workers[key] = _Worker(_label(key[0], there[key]), key[0])
            self.asked += 1
            self._send(self.workers[key], "answer", versions(), str(self.lease))
        # one that is being retired, or has no memory left, gets none
        self.idle = [w for key, w in self.workers.items() if w.fit and w.part is None and there[key]["status"] == "running"]
        if self.idle or any(worker.part is not None for worker in self.workers.values()):
            self.able = time.monotonic()
        elif self.failed is not None and not self.asked:
            raise self.failed
        elif time.monotonic() - self.able > NOBODY_S:
            raise self._nobody()

    def _send(self, worker: _Worker, function: str, *given: Any) -> None:
        worker.task = _submit(self.client, worker.address, function, *given)
        worker.task.add_done_callback(lambda ended: self.ended.put((worker, ended)))

    def _drop(self, workers: Sequence[_Worker]) -> None:
        """Let the scheduler forget what workers were asked; what runs already goes on until it finds no lease."""
        self.client.cancel([worker.task for worker in workers if worker.task is not None])

    def _hand_out(self) -> None:
        """Give a part to every worker that has none."""
        while self.waiting and self.idle:
            worker = self.idle.pop()
            worker.part = self.waiting.pop(next(iter(self.waiting)))
            self._send(worker, "make", str(self.lease), pickle.dumps(worker.part))

    def _take(self, worker: _Worker, task: Future[Any], opening: bool) -> None:
        """Take what a worker has ended."""
        part, worker.part = worker.part, None
        if part is None:
            self.asked -= 1
        if worker.gone:
            return
        if part is None:
            self._meet(worker, _problems(task), opening)
        elif task.status == "finished":
            self._commit(part)
        elif task.status == "error":
            self._failed(worker, part, task.exception())
        elif part.name in self.missing:  # the scheduler has lost it
            self.waiting[part.name] = part
        if worker.fit:
            self.idle.append(worker)

    def _meet(self, worker: _Worker, problems: list[str], opening: bool) -> None:
        """Take a worker that has said what it has and sees."""
        worker.fit = not problems
        if problems and opening:
            self.unfit[worker.label] = problems
        elif problems:
            warnings.warn(f"The worker {worker.label} joined and gets no parts: {'; '.join(problems)}.", CorruptsetWarning, stacklevel=2)

    def _failed(self, worker: _Worker, part: Part, error: BaseException) -> None:
        """Take a part that could not be made; what is wrong with the machine of one worker need not be with another's."""
        from distributed import KilledWorker

        if isinstance(error, OSError):
            worker.fit, self.failed = False, error
            warnings.warn(f"The worker {worker.label} gets no more parts: {error}.", CorruptsetWarning, stacklevel=2)
            self._strike(worker, part, f"failed: {error}")
        elif isinstance(error, (MemoryError, KilledWorker)):  # killed: those that were started again at its address
            self._strike(worker, part, f"failed: {type(error).__name__}")
        elif part.name in self.missing:
            raise error

    def _commit(self, part: Part) -> None:
        """Count a part as done, once."""
        self.waiting.pop(part.name, None)
        if self.missing.pop(part.name, None) is not None:
            self.done(PartDone(part.name, part.images))

    def _strike(self, worker: _Worker, part: Part, how: str) -> None:
        """Deal a part again that a worker did not finish, or stop where it was too many."""
        if part.name not in self.missing:
            return
        if (self.lease.parents[1] / PARTS_FOLDER / f"{part.name}.json").exists():  # it was, and nobody could say so
            return self._commit(part)
        told = self.strikes.setdefault(part.name, [])
        told.append(f"{worker.label} {how}")
        self.waiting[part.name] = part
        if len(told) >= STRIKES:
            raise MachineError(
                f"{STRIKES} workers did not survive the part {part.name}, samples {part.run.first} to {part.run.stop - 1} of "
                f"{', '.join(part.sets[:6])} (often: out of memory):\n{listed(told)}\n"
                "What was committed stands. Look at those samples, give the workers more memory, and run the same command again to resume."
            )

    def _nobody(self) -> MachineError:
        state = "none has joined it" if not self.workers else f"none of its {len(self.workers)} can take a part"
        return MachineError(
            f"The scheduler had no worker for {NOBODY_S:.0f} s: {state}. {len(self.missing)} parts are left; what was committed stands. "
            f"Start workers with {_START}, and run the same command again to resume."
        )

    def lost(self) -> MachineError:
        """Return what to say when the scheduler is gone."""
        return MachineError(
            f"The connection to the scheduler was lost; {len(self.missing)} parts are left. What was committed stands: start it "
            "again with its workers, and run the same command again to resume."
        )

    def end(self) -> None:
        """Let the workers free what they keep; who still makes a part stops, as the lease is gone."""
        busy = [worker for worker in self.workers.values() if worker.part is not None]
        idle = [worker for worker in self.workers.values() if worker.part is None and worker.fit]
        with suppress(Exception):  # the scheduler may be gone, or go now, and the rest of the build needs it no more
            if self.client.status == "running":
                self._drop(busy)
                _wait(self.client, [_submit(self.client, worker.address, "rest") for worker in idle], END_S)
