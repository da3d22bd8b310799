"""Run parts: in this process, or in workers with what is missing handed out again after one was killed."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import MachineError, listed
from ...manifests.layout import WORK_FOLDER
from ...workers import Workers
from ..plan.builds import Build
from ..plan.job import Job
from ..plan.parts import PARTS_WANTED, Part, runs
from .dask_workers import run_parts
from .worker import PartDone, forget, process

if TYPE_CHECKING:
    from distributed import Client

Done = Callable[[PartDone], None]
Made = Callable[[int], None]
END_S = 10.0
"""How long other parts may take to end by themselves, and to remove what they have half written, after the disk failed one."""

LOOK_S = 0.2
"""How often this process looks at how many images its workers have made."""

TRIES = 4
"""So often may workers die in a row without a single part being finished in between."""

_job: tuple[str, Job] | None = None
"""The file that a worker has its job from, and the job."""


def run(
    job: Job, parts: Sequence[Part], workers: Workers, *, done: Done, made: Made = lambda images: None, client: Client | None = None
) -> None:
    """Make and commit parts.

    Parameters
    ----------
    job : Job
    parts : sequence of Part
        Run by run.
    workers : Workers
        Those of at most one process stay unused: this one works.
    done : callable
        Told of every finished part, in the order in which they finish.
    made : callable, optional
        Told now and then how many images are made, of unfinished parts too. A scheduler's workers do not say it.
    client : distributed.Client, optional
        The workers of its scheduler make the parts, in place of `workers`.

    Raises
    ------
    MachineError
        Workers die again and again, or the disk fails.
    KeyboardInterrupt
        Handed on after the workers were stopped.
    """
    try:
        if client is not None:
            run_parts(client, job, parts, done)
        elif workers.most <= 1 or len(parts) <= 1:
            images = 0

            def count(more: int) -> None:
                nonlocal images
                images += more
                made(images)

            for part in parts:
                done(process(job, part, count))
        else:
            _run_in_workers(replace(job, parent=os.getpid()), list(parts), workers, done, made)
    except OSError as e:
        raise machine_error(e, job.directory) from e
    finally:
        forget()


def machine_error(error: OSError, directory: object) -> MachineError:
    """Return what to say when the disk or the system fails."""
    return MachineError(
        f"The build stopped: {error.strerror or error} ({error.filename or directory}). What was committed stands: free the space or mend "
        "the path, and run the same command again to resume."
    )


def start_early(workers: Workers, build: Build) -> None:
    """Let workers load what they need while the source is checked: about as many as there will be parts."""
    width, height = build.image_size
    count = len(runs(len(build.selected), 3 * width * height))
    wanted = count * min(len(build.asked), -(-PARTS_WANTED // max(1, count)))
    if min(workers.most, wanted) > 1:
        workers.start(wanted, forget)


def _run_in_workers(job: Job, parts: list[Part], workers: Workers, done: Done, made: Made) -> None:
    # One file for all workers, and one of theirs; by their names the next build removes them if this one is killed.
    file = job.directory / WORK_FOLDER / f".job-{job.token}.part"
    try:
        file.write_bytes(pickle.dumps(job))
        _run_until_done(job, file, parts, workers, done, made)
    except BaseException:
        workers.stop()  # before the build lets its lock go
        raise
    finally:
        with suppress(OSError):
            file.unlink(missing_ok=True)
            _counter(file).unlink(missing_ok=True)


def _counter(file: Path) -> Path:
    """Return the file to which workers of a job append a byte for every image that they have made."""
    return file.with_name(f"{file.stem}-made.part")


def _run_until_done(job: Job, file: Path, parts: list[Part], workers: Workers, done: Done, made: Made) -> None:
    """Hand out what is missing until nothing is."""
    missing = {part.name: part for part in parts}
    images = sum(part.images for part in parts)
    failures = 0
    while missing:
        before = len(missing)
        with open(_counter(file), "wb") as counter:  # a killed worker's images are made again
            counter.truncate(images - sum(part.images for part in missing.values()))
        workers.start(len(missing))
        if _hand_out(file, missing, workers, done, made):
            return
        workers.stop()
        failures = failures + 1 if len(missing) == before else 0
        if failures:
            # Workers are mostly killed for their memory: fewer at a time may get through, and one alone says which part it is.
            workers.most = max(1, workers.most // 2)
        if failures >= TRIES:
            foreign = [f"the plugin {plugin.module}" for plugin in job.maker.plugins] + ["the model"] * ("surrogate" in job.maker.resources)
            causes = " or ".join(["out of memory", *foreign])
            parts_text = [f"{p.name}: samples {p.run.first} to {p.run.stop - 1} of {', '.join(p.sets[:6])}" for p in missing.values()]
            raise MachineError(
                f"Workers were killed {TRIES} times without finishing a part (often: {causes}). {len(missing)} parts are left:\n"
                f"{listed(parts_text, 10)}\n"
                "What was committed stands. Give the machine more memory or --jobs 1, and run the same command again to resume."
            )


def _hand_out(file: Path, missing: dict[str, Part], workers: Workers, done: Done, made: Made) -> bool:
    """Have what is missing made; finished parts leave `missing`. Return False where a worker was killed."""
    from concurrent.futures.process import BrokenProcessPool

    queue = iter(_tasks(list(missing.values()), workers.count))
    waiting: set[Future[list[PartDone]]] = set()
    more = True
    try:
        while more or waiting:
            # A few tasks ahead, so that the end of a build stays shared out evenly and little is lost with a pool.
            while more and len(waiting) < 2 * workers.count:
                task = next(queue, None)
                if task is None:
                    more = False
                else:
                    waiting.add(workers.submit(_work, str(file), task))
            ready, waiting = wait(waiting, timeout=LOOK_S, return_when=FIRST_COMPLETED)
            made(_counter(file).stat().st_size)
            for task_done in ready:
                for record in task_done.result():
                    missing.pop(record.name, None)
                    done(record)
        return True
    except BrokenProcessPool:
        return False
    except OSError:
        wait([task for task in waiting if not task.cancel()], END_S)
        raise


def _tasks(parts: list[Part], jobs: int) -> list[list[Part]]:
    """Return parts as they are handed out: whole runs, each decoded once, then the last ones part by part, for workers to end together."""
    by_run: dict[int, list[Part]] = {}
    for part in parts:
        by_run.setdefault(part.run.number, []).append(part)
    runs = list(by_run.values())
    whole = runs[: max(0, len(runs) - jobs)]
    return [*whole, *([part] for run in runs[len(whole) :] for part in run)]


def _work(file: str, parts: list[Part]) -> list[PartDone]:
    """Make parts of the job that a file of this build holds."""
    global _job
    if _job is None or _job[0] != file:
        _job = (file, pickle.loads(Path(file).read_bytes()))
    job = _job[1]
    with open(_counter(Path(file)), "ab", buffering=0) as counter:
        return [process(job, part, lambda images: counter.write(bytes(images))) for part in parts]
