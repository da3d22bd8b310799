"""Parts made by the workers of a Dask scheduler, as futures: where a worker dies or leaves, the scheduler hands its part to another.

What passes the scheduler is text: it needs no corruptset itself, and a worker that has none, or another, can say so.
"""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import BuildError, CorruptsetError, CorruptsetWarning, MachineError, listed
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
LOOK_S = 1.0
"""How often the scheduler is asked who is there."""
AHEAD = 2
"""Parts that are handed out for each worker, so that it need not wait for the next."""

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
    try:
        from distributed import Client
        from distributed.utils import silence_logging_cmgr
    except ImportError as e:
        raise BuildError(
            f"A scheduler needs Dask, which cannot be imported ({e}). Install it, here and on all workers: pip install 'corruptset[dask]'"
        ) from None
    if isinstance(scheduler, Client) and not scheduler.asynchronous:
        _fit(scheduler, None)
        return (yield scheduler)
    if not isinstance(scheduler, str) or not scheduler:
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
        _fit(client, None)
        yield client


def _fit(client: Client, file: Path | None) -> set[str]:
    """Ask the workers that are there whether they can make parts, of the job of a file; raise `BuildError` for those that cannot."""
    workers = _workers(client)
    asked = {_submit(client, [address], "answer", versions(), file and str(file)): address for address in workers}
    problems = {asked[task]: _problems(task) for task in _wait(client, asked, ANSWER_S)}
    unfit = [f"{workers[address]}: {'; '.join(said)}" for address, said in problems.items() if said]
    if unfit:
        raise BuildError(
            f"{len(unfit)} of the scheduler's workers cannot make parts of this build:\n"
            f"{listed(unfit)}\nMend or end them, and run the same command again. No part was made."
        )
    return set(problems)


def _workers(client: Client) -> dict[str, str]:
    """Return address -> what a worker is called, of those that take work: one that is being retired, or has no memory left, does not."""
    there = client.scheduler_info()["workers"].items()
    names = {address: str(known.get("name", address)) for address, known in there if known["status"] == "running"}
    return {address: address if name == address else f"{name} ({address})" for address, name in names.items()}


def _wait(client: Client, tasks: Collection[Future[Any]], seconds: float, *, first: bool = False) -> list[Future[Any]]:
    """Wait for tasks, or the first of them, or until the time is over or the scheduler gone; return those that have ended."""
    from distributed import wait

    with client.as_current(), suppress(OSError, CancelledError):
        wait(list(tasks), timeout=seconds, return_when="FIRST_COMPLETED" if first else "ALL_COMPLETED")
    return [task for task in tasks if task.done()]


def _submit(client: Client, addresses: Collection[str], function: str, *given: Any) -> Future[Any]:
    """Let one of some workers, and no other, call a function of `dask_tasks`."""
    return client.submit(eval, _CALL.format(function), {"given": given}, workers=list(addresses), pure=False)


def _problems(asked: Future[Any]) -> list[str]:
    """Return why a worker that was asked is not fit."""
    if asked.status != "error":
        return list(asked.result()) if asked.status == "finished" else ["it did not answer"]
    error = asked.exception()
    if isinstance(error, ModuleNotFoundError) and str(error.name).startswith("corruptset"):
        return [f"it has no corruptset, or an older one ({error}): install corruptset {versions()['corruptset']} there"]
    return [f"it cannot take parts of this build ({type(error).__name__}: {error})"]


def run_parts(client: Client, file: Path, parts: Sequence[Part], done: Callable[[PartDone], None]) -> None:
    """Make and commit parts of the job of a file in the workers of a scheduler, as `pool.run` says."""
    missing = {part.name: part for part in parts}
    running: dict[Future[Any], tuple[Part, frozenset[str]]] = {}
    try:
        _hand_out(client, file, missing, running, done)
    except Exception as e:
        if client.status == "running" or isinstance(e, CorruptsetError):
            raise
        raise MachineError(
            f"The connection to the scheduler was lost; {len(missing)} parts are left. What was committed stands: start it "
            "again with its workers, and run the same command again to resume."
        ) from e
    finally:
        with suppress(Exception):
            client.cancel(list(running))  # what runs already goes on until it finds no file


def _hand_out(
    client: Client,
    file: Path,
    missing: dict[str, Part],
    running: dict[Future[Any], tuple[Part, frozenset[str]]],
    done: Callable[[PartDone], None],
) -> None:
    """Let fit workers make what is missing; what is done leaves `missing`.

    A part goes to the workers that are fit when it is handed out. Where none of those is left, it is handed out once more.
    """
    fit = _fit(client, file)
    known, asked = set(fit), dict[Future[Any], str]()
    waiting = list(missing.values())[::-1]
    errors: list[OSError] = []
    able = time.monotonic()
    while missing:
        workers = _workers(client)
        asked |= {_submit(client, [new], "answer", versions(), str(file)): new for new in workers.keys() - known}
        known |= workers.keys()
        there = frozenset(fit & workers.keys())
        for task in [task for task, (_, given) in running.items() if there.isdisjoint(given)]:
            waiting.append(running.pop(task)[0])
            task.cancel()
        while there and waiting and len(running) < AHEAD * len(there):
            part = waiting.pop()
            running[_submit(client, there, "make", str(file), part.run.number, part.run.first, part.run.stop, part.sets)] = part, there
        if there:
            able = time.monotonic()
        elif errors and not asked:
            raise errors[-1]
        elif time.monotonic() - able > NOBODY_S:
            state = "none has joined it" if not known else f"none of its {len(workers)} can take a part"
            raise MachineError(
                f"The scheduler had no worker for {NOBODY_S:.0f} s: {state}. {len(missing)} parts are left; what was committed "
                f"stands. Start workers with {_START}, and run the same command again to resume."
            )
        elif not asked:
            time.sleep(LOOK_S)
        for task in _wait(client, [*running, *asked], LOOK_S, first=True):
            if task in asked:
                address = asked.pop(task)
                if problems := _problems(task):
                    _warn(f"The worker {workers.get(address, address)} joined and gets no parts: {'; '.join(problems)}.")
                else:
                    fit.add(address)
                continue
            part, _ = running.pop(task)
            failed = _failure(task, part)
            if failed is None:
                del missing[part.name]
                done(PartDone(part.name, part.images))
                continue
            waiting.append(part)
            for address, error in failed:
                if address in fit:
                    _warn(f"The worker {workers.get(address, address)} gets no more parts: {error}.")
                fit.discard(address)
                errors.append(error)
        if client.status != "running":
            raise ConnectionError("the scheduler is gone")


def _warn(text: str) -> None:
    warnings.warn(text, CorruptsetWarning, stacklevel=2)


def _failure(task: Future[Any], part: Part) -> list[tuple[str, OSError]] | None:
    """Return None where a part was made, else which worker could not read or write, if it is known; raise what ends the build."""
    from distributed import KilledWorker

    if task.status == "finished":
        failed: tuple[str, OSError] | None = task.result()
        return None if failed is None else [failed]
    if task.status != "error":  # the scheduler has lost it
        return []
    error = task.exception()
    if isinstance(error, (MemoryError, KilledWorker)):
        raise MachineError(
            f"Workers did not survive the part {part.described} (often: out of memory): {error}\n"
            "What was committed stands. Look at those samples, give the workers more memory, and run the same command again to resume."
        )
    raise error
