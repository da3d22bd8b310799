"""Parts made by the workers of a Dask scheduler, as futures: where a worker dies or leaves, the scheduler hands its
part to another.

What passes the scheduler is text: it needs no corruptset itself, and a worker that has none, or another, can say so.
"""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
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
"""How long workers may take to say what they have and see, before parts are dealt without those that have not said it
yet.
"""
NOBODY_S = 300.0
"""How long a build waits while no worker can take a part."""
LOOK_S = 1.0
"""How often the scheduler is asked who is there."""

_CALL = "(exec(text, here := {'function': function, 'given': given}), here['result'])[1]"
_TEXT = """
try:
    from corruptset.generate.work import dask_tasks
    result = getattr(dask_tasks, function)(*given)
except (ImportError, AttributeError) as e:
    from distributed import get_worker
    address = get_worker().address
    result = address, f"it has no corruptset, or an older one ({e}): install corruptset {given[0]['corruptset']} there"
"""
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
            f"A scheduler needs Dask, which cannot be imported ({e}). Install it, here and on all workers: pip "
            "install 'corruptset[dask]'"
        ) from None
    if isinstance(scheduler, Client) and not scheduler.asynchronous:
        _fit(scheduler, None)
        return (yield scheduler)
    if not isinstance(scheduler, str):
        raise BuildError(
            f"scheduler is {scheduler!r}; expected an address such as tcp://host:8786, or a distributed.Client that "
            "is not asynchronous."
        )
    try:
        client = Client(scheduler, timeout=CONNECT_S, set_as_default=False)
    except Exception as e:  # of tls:// and ucx:// without their libraries and certificates, a TypeError
        raise BuildError(
            f"No Dask scheduler answers at {scheduler}: {e}. Start one with `dask scheduler`, and its workers with "
            f"{_START}; "
            "give the address that the scheduler prints. Nothing was written."
        ) from None
    # it logs the traceback of a lost connection, of which the error tells
    with silence_logging_cmgr(logging.CRITICAL), client:
        _fit(client, None)
        yield client


def _submit(client: Client, workers: Collection[str] | None, function: str, *given: Any) -> Future[Any]:
    """Let a worker, one of some or any, call a function of `dask_tasks`, with what must be the same there before all
    else.
    """
    names = {"text": _TEXT, "function": function, "given": (versions(), *given)}
    return client.submit(eval, _CALL, names, workers=workers and list(workers), pure=False)


def _fit(client: Client, file: Path | None) -> None:
    """Ask the workers that are there whether they can make parts, of the job of a file; raise `BuildError` for those
    that cannot.
    """
    from distributed import wait

    workers = _workers(client)
    asked = {_submit(client, [address], "answer", file and str(file)): called for address, called in workers.items()}
    with client.as_current(), suppress(OSError):
        wait(list(asked), timeout=ANSWER_S)
    unfit = [f"{called}: {said}" for task, called in asked.items() if task.done() and (said := _said(task))]
    if unfit:
        raise BuildError(
            f"{len(unfit)} of the scheduler's workers cannot make parts of this build:\n"
            f"{listed(unfit)}\nMend or end them, and run the same command again. No part was made."
        )


def _said(asked: Future[Any]) -> str | None:
    """Return why a worker that was asked is not fit."""
    if asked.status == "finished":
        answer: tuple[str, str] | None = asked.result()
        return answer and answer[1]
    return (
        f"it cannot take parts of this build ({asked.exception()!r})"
        if asked.status == "error"
        else "it did not answer"
    )


def _workers(client: Client) -> dict[str, str]:
    """Return address -> what a worker is called, of those that take work: one that is being retired, or has no memory
    left, does not.
    """
    there = client.scheduler_info()["workers"].items()
    names = {address: str(known.get("name", address)) for address, known in there if known["status"] == "running"}
    return {address: address if name == address else f"{name} ({address})" for address, name in names.items()}


def run_parts(client: Client, file: Path, parts: Sequence[Part], done: Callable[[PartDone], None]) -> None:
    """Make and commit parts of the job of a file in the workers of a scheduler, as `pool.run` says."""
    from distributed.comm import CommClosedError

    running: dict[Future[Any], tuple[Part, frozenset[str]]] = {}
    try:
        _fit(client, file)
        _hand_out(client, file, parts, running, done)
    except Exception as e:
        if isinstance(e, CorruptsetError) or (client.status == "running" and not isinstance(e, CommClosedError)):
            raise
        raise MachineError(
            f"The connection to the scheduler was lost; {len(running) or len(parts)} parts are left. What was "
            "committed stands: start it "
            "again with its workers, and run the same command again to resume."
        ) from e
    finally:
        with suppress(Exception):
            client.cancel(list(running))  # what runs already goes on until it finds no file


def _hand_out(
    client: Client,
    file: Path,
    parts: Sequence[Part],
    running: dict[Future[Any], tuple[Part, frozenset[str]]],
    done: Callable[[PartDone], None],
) -> None:
    """Have any worker make parts, but those that have said of one why they cannot; what is not done is in `running`."""
    ended: SimpleQueue[Future[Any]] = SimpleQueue()
    unfit: dict[str, str | OSError] = {}
    able, known = time.monotonic(), False

    def submit(part: Part) -> None:
        fit = frozenset(_workers(client).keys() - unfit.keys()) if unfit else frozenset[str]()
        if unfit and not fit:
            time.sleep(LOOK_S)  # those that are there would say it again at once
        place = part.run.number, part.run.first, part.run.stop, part.sets
        task = _submit(client, fit or None, "make", str(file), *place)
        running[task] = part, fit
        task.add_done_callback(ended.put)

    for part in parts:
        submit(part)
    while running:
        with suppress(Empty):
            task = ended.get(timeout=LOOK_S)
            if client.status == "running" and task in running:
                part, _ = running[task]
                trouble = _trouble(task, part)
                del running[task]
                if trouble is None:
                    done(PartDone(part.name, part.images))
                    continue
                address, why = trouble
                if address and address not in unfit:
                    unfit[address] = why
                    called = _workers(client).get(address, address)
                    warnings.warn(f"The worker {called} gets no more parts: {why}.", CorruptsetWarning, stacklevel=2)
                submit(part)
        if client.status != "running":
            raise ConnectionError("the scheduler is gone")
        there = _workers(client)
        known = known or bool(there)
        fit = there.keys() - unfit.keys()
        for task, (part, given) in list(running.items()):
            if given and fit and given.isdisjoint(fit):  # they have all left
                del running[task]
                task.cancel()
                submit(part)
        errors = [error for error in unfit.values() if isinstance(error, OSError)]
        if fit:
            able = time.monotonic()
        elif errors:
            raise errors[-1]
        elif time.monotonic() - able > NOBODY_S:
            state = f"none of its {len(there)} can take a part" if known else "none has joined it"
            raise MachineError(
                f"The scheduler had no worker for {NOBODY_S:.0f} s: {state}. {len(running)} parts are left; what was "
                "committed "
                f"stands. Start workers with {_START}, and run the same command again to resume."
            )


def _trouble(task: Future[Any], part: Part) -> tuple[str, str | OSError] | None:
    """Return None where a part was made, else which worker could not, and why; raise what ends the build."""
    from distributed import KilledWorker

    if task.status == "finished":
        result: tuple[str, str | OSError] | None = task.result()
        return result
    if task.status != "error":  # the scheduler has lost it
        return "", ""
    error = task.exception()
    if isinstance(error, (MemoryError, KilledWorker)):
        raise MachineError(
            f"Workers did not survive the part {part.described} (often: out of memory): {error}\n"
            "What was committed stands. Look at those samples, give the workers more memory, and run the same command "
            "again to resume."
        )
    raise error
