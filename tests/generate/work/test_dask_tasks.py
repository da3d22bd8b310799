"""What a worker says of itself, and when it stops; `test_dask_workers` has real ones."""

from __future__ import annotations

import pickle
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corruptset.errors import BuildError
from corruptset.generate.build import build
from corruptset.generate.commit.locks import locked, wait_for_workers
from corruptset.generate.plan.job import Job
from corruptset.generate.sinks.set_writer import write_file
from corruptset.generate.work import dask_tasks, pool, worker
from corruptset.workers import Workers


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    """The job of a build that was stopped before its first part."""
    jobs: list[Job] = []

    def stop(job: Job, *given: Any, **options: Any) -> None:
        jobs.append(job)
        raise BuildError("stopped")

    monkeypatch.setattr("corruptset.generate.build.run", stop)
    with pytest.raises(BuildError, match="stopped"):
        build("imagenet-c", "sample", tmp_path, sets=["contrast/1"], samples=2, jobs=1, metrics=0)
    file = jobs[0].directory / ".corruptset" / ".lease-x.part"
    job = replace(jobs[0], file=file)
    file.write_bytes(pickle.dumps(job))
    monkeypatch.setattr(worker, "_job", None)
    return job


def answer(job: Job, **other: str) -> list[str]:
    return dask_tasks.problems_of({**dask_tasks.versions(), **other}, str(job.file))


def test_a_worker_that_sees_everything_has_nothing_to_say(job: Job) -> None:
    with locked(job.directory):
        assert answer(job) == []


def test_a_worker_says_what_differs(job: Job) -> None:
    assert [line.split(" ")[0] for line in answer(job, corruptset="9", kernels="9", pillow="9")] == [
        "corruptset",
        "pillow",
        "kernels",
    ]
    assert len(dask_tasks.versions()["kernels"]) == 32
    assert dask_tasks.problems_of({"nothing": "1"}, None) == ["nothing is missing there and 1 here"]


def test_a_worker_says_what_it_does_not_see(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    assert job.file is not None
    (problem,) = answer(job)  # nobody holds the build's lock
    assert "locks on files in" in problem
    first = job.samples[0]
    job.file.write_bytes(pickle.dumps(replace(job, samples=[replace(first, sha256="sha256:0")])))
    monkeypatch.setattr(worker, "_job", None)
    with locked(job.directory):
        (problem,) = answer(job)
    assert "does not see the source" in problem
    job.file.unlink()
    monkeypatch.setattr(worker, "_job", None)
    (problem,) = answer(job)
    assert f"does not see {job.directory} as this machine does (No such file or directory)" in problem


def test_a_worker_makes_its_part_only_while_its_file_is_there(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next command takes it away before it waits for the worker, which holds the lock as long as it makes
    the part.
    """
    from corruptset.generate.plan.parts import Part
    from corruptset.generate.sinks.sink import Run

    part = Part(Run(0, 0, 2), ("contrast/1",))
    sidecar = job.directory / ".corruptset" / "parts" / f"{part.name}.json"
    waiting: list[threading.Thread] = []

    def made(images: int) -> None:
        waiting.append(threading.Thread(target=wait_for_workers, args=[job.directory]))
        waiting[0].start()
        deadline = time.monotonic() + 5
        while job.file is not None and job.file.exists() and time.monotonic() < deadline:
            time.sleep(0.001)
        assert waiting[0].is_alive()

    with pytest.raises(FileNotFoundError, match="lease"):
        worker.process(job, part, made)
    waiting[0].join()
    assert not sidecar.exists()
    images = list((job.directory / "images").rglob("*.JPEG"))
    with pytest.raises(FileNotFoundError, match="lease"):
        worker.process(job, part)
    assert list((job.directory / "images").rglob("*.JPEG")) == images
    pool.run(replace(job, file=None), [part], Workers(1), done=lambda record: None)
    assert sidecar.exists()


def test_an_image_that_is_written_again_is_never_half_there(tmp_path: Path) -> None:
    path = tmp_path / "image"
    path.write_bytes(b"twelve bytes")
    with path.open("rb") as reader:
        write_file(str(path), b"ten bytes.")
        assert reader.read() == path.read_bytes() == b"ten bytes."
    seen = []

    class Watched(bytes):
        def __len__(self) -> int:
            seen.append(path.stat().st_size)
            return super().__len__()

    write_file(str(path), Watched(b"ten bytes."))
    assert set(seen) == {10}


def test_a_scheduler_without_dask_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(BuildError, match=r"A scheduler needs Dask.*pip install 'corruptset\[dask\]'"):
        build(out=tmp_path, scheduler="tcp://127.0.0.1:8786")
    assert not list(tmp_path.iterdir())
