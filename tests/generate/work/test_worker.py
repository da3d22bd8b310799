"""Test what a worker makes and when it stops, the reports of Dask workers, and the distribution of parts."""

from __future__ import annotations

import pickle
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from corruptset.errors import BuildError
from corruptset.generate.build import build
from corruptset.generate.commit.locks import lock_dataset, wait_for_workers
from corruptset.generate.plan.parts import Part, chunks_of, parts
from corruptset.generate.sinks.set_writer import write_file
from corruptset.generate.sinks.sink import Chunk
from corruptset.generate.work import dask_workers, pool, worker
from corruptset.workers import Workers

PART = Part(Chunk(0, 0, 2), ("contrast/1",))


@pytest.fixture
def job(tmp_path, monkeypatch):
    """Return the job of a build that was interrupted before its first part, with a worker's file."""
    jobs = []

    def stop(job, *args, **options):
        jobs.append(job)
        raise BuildError("stopped")

    monkeypatch.setattr("corruptset.generate.builder.make_parts", stop)
    with pytest.raises(BuildError, match="stopped"):
        build("imagenet-c", "sample", tmp_path, sets=["contrast/1"], samples=2, jobs=1, metrics=0)
    file = jobs[0].directory / ".corruptset" / ".lease-x.part"
    file.write_bytes(pickle.dumps(replace(jobs[0], file=file)))
    worker.job_of.cache_clear()
    return replace(jobs[0], file=file)


def test_dask_worker_reports_version_differences_and_missing_lock(job):
    def problems(**other):
        worker.job_of.cache_clear()
        return dask_workers.problems({**dask_workers.versions(), **other}, str(job.file))

    other = {"corruptset": "9", "kernels": "9", "encoding of file names": "iso8859-1"}
    assert [line.split(" is ")[0] for line in problems(**other)] == list(other)
    assert len(dask_workers.versions()["kernels"]) == 32
    assert dask_workers.problems({"nothing": "1"}, None) == ["nothing is missing there, but 1 here"]
    (unlocked,) = problems()  # nobody holds the build's lock
    assert "locks on files in" in unlocked
    with lock_dataset(job.directory):
        assert problems() == []
        other = replace(job.samples[0], sha256="sha256:0")
        job.file.write_bytes(pickle.dumps(replace(job, samples=[other])))
        (blind,) = problems()
        assert "does not see the source" in blind
    job.file.unlink()
    (line,) = problems()
    assert f"does not see {job.directory} as this machine does (No such file or directory)" in line


def test_worker_writes_part_only_while_its_file_exists(job, monkeypatch):
    """The next command deletes the file before it waits for the worker, which holds the lock during its part."""
    waiting = threading.Thread(target=wait_for_workers, args=[job.directory])

    def delay(images):
        waiting.start()
        ends = time.monotonic() + 5
        while job.file.exists() and time.monotonic() < ends:
            time.sleep(0.001)
        assert waiting.is_alive()

    with pytest.raises(FileNotFoundError, match="lease"):
        worker.process(job, PART, delay)
    waiting.join()
    images = list((job.directory / "images").rglob("*.JPEG"))
    with pytest.raises(FileNotFoundError, match="lease"):
        worker.process(job, PART)
    assert list((job.directory / "images").rglob("*.JPEG")) == images
    assert not list(job.directory.glob(".corruptset/parts/*.json"))
    # nor does it commit one whose build ends just before
    job.file.touch()
    original = worker.make_part

    def last(job, *args):
        sidecar = original(job, *args)
        job.file.unlink()
        return sidecar

    with monkeypatch.context() as patch:
        patch.setattr(worker, "make_part", last)
        with pytest.raises(FileNotFoundError, match="lease"):
            worker.process(job, PART)
    assert not list(job.directory.glob(".corruptset/parts/*.json"))
    events = []
    pool.make_parts(replace(job, file=None), [PART], Workers(1), on_part=lambda record: None, on_progress=events.append)
    assert [p.stem for p in job.directory.glob(".corruptset/parts/*.json")] == [PART.name]
    assert events == [2]


def test_rewritten_image_is_never_partly_visible(tmp_path):
    path, events = tmp_path / "image", []
    path.write_bytes(b"twelve bytes")

    class Watched(bytes):
        def __len__(self):
            events.append(path.stat().st_size)
            return super().__len__()

    with path.open("rb") as reader:
        write_file(str(path), Watched(b"ten bytes."))
        assert reader.read() == path.read_bytes() == b"ten bytes."
    assert 0 not in events


def test_unusable_scheduler_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "distributed", None)
    for arguments, message in (
        ("tcp://127.0.0.1:8786", r"A scheduler needs Dask.*pip install '\.\[dask\]'"),
        ("", "scheduler is ''; expected an address"),
    ):
        with pytest.raises(BuildError, match=message):
            build(out=tmp_path, scheduler=arguments)
    assert not list(tmp_path.iterdir())


def test_complete_chunks_come_first_and_last_chunks_are_split_into_parts():
    for chunks, jobs, complete_count in [(10, 2, 8), (3, 2, 1), (2, 2, 0), (1, 4, 0), (30, 3, 27)]:
        all_parts = parts(chunks_of(8 * chunks, 8), [(f"set/{g}",) for g in range(4)])
        tasks = pool.tasks_of(all_parts, jobs)
        assert sorted((p for task in tasks for p in task), key=all_parts.index) == all_parts
        assert [len(task) for task in tasks] == [4] * complete_count + [1] * (4 * (chunks - complete_count))
        assert all(len({p.chunk.number for p in task}) == 1 for task in tasks)


def test_images_of_unfinished_parts_are_counted(job, monkeypatch):
    started, counts = threading.Event(), list[int]()

    def process(job, part, result):
        result(5)
        assert started.wait(30)
        result(3)
        return worker.FinishedPart(part.name, 8)

    def told(images):
        counts.append(images)
        if images == 10:
            started.set()

    monkeypatch.setattr(pool, "process", process)
    with ThreadPoolExecutor(2) as threads, Workers(2) as workers:
        monkeypatch.setattr(workers, "submit", threads.submit)  # instead of processes, which would not share the event
        both = parts(chunks_of(16, 8), [("set",)])
        pool.make_parts(replace(job, token="y"), both, workers, on_part=lambda record: None, on_progress=told)
    assert counts == sorted(counts)
    assert {10, 16} <= set(counts)
    assert not list(job.directory.glob(".corruptset/.*y.part"))
