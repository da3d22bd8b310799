"""Make parts in this process, in worker processes, or in the workers of a Dask scheduler."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import BuildError, MachineError
from ...manifests.disk.atomic import write_atomic
from ...manifests.disk.space import write_advice
from ...manifests.paths import LEASES, WORK_FOLDER
from ...workers import Workers
from ..plan.job import Job
from ..plan.parts import Part
from .dask_workers import make_parts_in_cluster
from .worker import FinishedPart, forget, job_of, process

if TYPE_CHECKING:
    from distributed import Client


def make_parts(
    job: Job,
    parts: Sequence[Part],
    workers: Workers,
    *,
    on_part: Callable[[FinishedPart], None],
    on_progress: Callable[[int], None] = lambda images: None,
    client: Client | None = None,
) -> None:
    """Make and commit parts in this process, in `workers`, or in the workers of a Dask `client`.

    Parameters
    ----------
    job : Job
    parts : sequence of Part
    workers : Workers
        The worker processes. If the parts cannot be finished, these processes are killed, because the caller then
        releases the lock of the build.
    on_part : callable
        Called with the record of each finished part.
    on_progress : callable, optional
        Called periodically with the number of images made so far, including images in unfinished parts.
    client : distributed.Client, optional
        The client of a Dask scheduler, whose workers make the parts.

    Raises
    ------
    BuildError
        Two images would be stored as a file and a folder of the same name.
    MachineError
        The disk fails, or workers are killed repeatedly.
    """
    directory = job.directory.absolute()
    # Each worker reads the job from this file once, and stops when the file is gone. A new build of the same dataset
    # deletes the job files of killed builds.
    file = directory / WORK_FOLDER / LEASES.replace("*", job.token)
    counter = file.with_name(f".made-{job.token}.part")
    try:
        with explain_errors(job.directory):
            if client is None and (workers.limit <= 1 or len(parts) <= 1):
                images = 0

                def count(finished: int) -> None:
                    nonlocal images
                    images += finished
                    on_progress(images)

                for part in parts:
                    on_part(process(job, part, count))
                return
            write_atomic(file, pickle.dumps(replace(job, directory=directory, file=file)))
            if client is not None:
                return make_parts_in_cluster(client, file, parts, on_part)
            counter.touch()
            workers.run(
                partial(_work, directory, file, counter),
                tasks_of(parts, min(workers.limit, len(parts))),
                lambda _, records: list(map(on_part, records)),
                poll=lambda: on_progress(counter.stat().st_size),
                describe=lambda task: "; ".join(part.description for part in task),
            )
    except BaseException:
        workers.stop()
        raise
    finally:
        forget()
        for path in (file, counter):
            with suppress(OSError):
                path.unlink(missing_ok=True)


@contextmanager
def explain_errors(directory: Path) -> Iterator[None]:
    """Turn system errors in the ``with`` block into errors that tell the user what to do."""
    try:
        yield
    except (FileExistsError, IsADirectoryError, NotADirectoryError) as e:
        raise BuildError(
            f"Two images of the source would be stored as a file and a folder of the same name ({e.filename}). Rename "
            "one of them in the source, and choose another --out."
        ) from e
    except OSError as e:
        raise machine_error(e, directory) from e


def machine_error(error: OSError, directory: str | Path) -> MachineError:
    """Return the error to raise after a system error. `directory` is named if the error does not name a file."""
    place = error.filename or directory
    return MachineError(
        f"Stopped: {error.strerror or error} ({place}). Finished parts are kept: "
        f"{write_advice(error, Path(os.fsdecode(place)))}, and run the same command again to resume."
    )


def tasks_of(parts: Sequence[Part], jobs: int) -> list[list[Part]]:
    """Group parts into tasks for workers.

    At first, a task consists of all parts of a chunk, so that the images of the chunk are decoded only once. In the
    last chunks, one per worker, each part is a task of its own, so that all workers finish at about the same time.
    """
    by_chunk = [list(group) for _, group in groupby(parts, lambda part: part.chunk.number)]
    whole = max(0, len(by_chunk) - jobs)
    return [*by_chunk[:whole], *([part] for group in by_chunk[whole:] for part in group)]


def _work(directory: Path, file: Path, counter: Path, parts: list[Part]) -> list[FinishedPart]:
    """Make parts of a job in a worker process. For each finished image, one byte is appended to the file `counter`."""
    with explain_errors(directory), open(counter, "ab", buffering=0) as images:
        return [process(job_of(file), part, lambda more: images.write(bytes(more))) for part in parts]
