"""Run parts: in this process, in workers, or by a Dask scheduler."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import BuildError, MachineError, listed
from ...manifests.disk.atomic import write_atomic
from ...manifests.disk.space import write_advice
from ...manifests.paths import LEASES, WORK_FOLDER
from ...workers import TRIES, Workers, WorkersKilled
from ..plan.job import Job
from ..plan.parts import Part
from .dask_workers import run_parts
from .worker import PartDone, forget, job_of, process

if TYPE_CHECKING:
    from distributed import Client


def run(
    job: Job,
    parts: Sequence[Part],
    workers: Workers,
    *,
    done: Callable[[PartDone], None],
    made: Callable[[int], None] = lambda images: None,
    client: Client | None = None,
) -> None:
    """Make and commit parts: here, in `workers`, or in those of a Dask `client`.

    `done` is told of every part that is finished, and `made`, now and then, how many images are, of unfinished parts
    too. `MachineError`: workers die again and again, or the disk fails.
    """
    directory = job.directory.absolute()
    # Workers read the job from it once, and stop where it is gone: the next build takes away that of one that was
    # killed.
    file = directory / WORK_FOLDER / LEASES.replace("*", job.token)
    counter = file.with_name(f".made-{job.token}.part")
    try:
        if client is None and (workers.most <= 1 or len(parts) <= 1):
            images = 0

            def count(more: int) -> None:
                nonlocal images
                images += more
                made(images)

            for part in parts:
                done(process(job, part, count))
            return
        write_atomic(file, pickle.dumps(replace(job, directory=directory, file=file)))
        if client is not None:
            return run_parts(client, file, parts, done)
        counter.touch()
        workers.run(
            partial(_work, file, counter),
            whole_runs(parts, min(workers.most, len(parts))),
            lambda _, records: list(map(done, records)),
            look=lambda: made(counter.stat().st_size),
        )
    except WorkersKilled as e:
        left = [part.described for task in e.left for part in task]
        raise MachineError(
            f"Workers were killed {TRIES} times without finishing a part (often: out of memory, or by a plugin or a "
            f"model). {len(left)} parts are left:\n{listed(left, 10)}\n"
            "What was committed stands. Give the machine more memory or --jobs 1, and run the same command again to "
            "resume."
        ) from None
    except BaseException as e:
        workers.stop()  # before the build lets its lock go
        if isinstance(e, FileExistsError | IsADirectoryError | NotADirectoryError):
            raise BuildError(
                f"Two images of the source would be stored as a file and a folder of one name ({e.filename}). Rename "
                "one of them in the source, and choose another --out."
            ) from e
        if isinstance(e, OSError):
            raise machine_error(e, job.directory) from e
        raise
    finally:
        forget()
        for path in (file, counter):
            with suppress(OSError):
                path.unlink(missing_ok=True)


def machine_error(error: OSError, directory: str | Path) -> MachineError:
    """Return what to say when the disk or the system fails."""
    place = error.filename or directory
    return MachineError(
        f"Stopped: {error.strerror or error} ({place}). What was committed stands: "
        f"{write_advice(error, Path(os.fsdecode(place)))}, and run the same command again to resume."
    )


def whole_runs(parts: Sequence[Part], jobs: int) -> list[list[Part]]:
    """Return parts as they are handed out: whole runs, then part by part.

    A whole run is decoded once; its parts alone let workers end together.
    """
    runs = [list(some) for _, some in groupby(parts, lambda part: part.run.number)]
    whole = max(0, len(runs) - jobs)
    return [*runs[:whole], *([part] for run in runs[whole:] for part in run)]


def _work(file: Path, counter: Path, parts: list[Part]) -> list[PartDone]:
    """Make parts of a file's job; each image is a byte in `counter`."""
    with open(counter, "ab", buffering=0) as images:
        return [process(job_of(file), part, lambda more: images.write(bytes(more))) for part in parts]
