"""Download files of a release, several at the same time, and resume interrupted downloads."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from functools import partial
from io import BytesIO
from itertools import islice
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, NamedTuple, TypeVar

from ...errors import VerificationError
from ..disk.atomic import open_unlinked
from ..disk.remote import Store
from ..records.digests import sha256_pieces
from ..release.archives import CHUNK
from ..release.bag import INDEX_CAP, IndexedFile
from .addresses import HttpRemote, Unreachable

MAX_FAILURES = 6
"""A download fails after this number of consecutive attempts without progress. Progress means at least `CHUNK` new
bytes.
"""
FIRST_WAIT_S = 0.5
MAX_WAIT_S = 30.0
STALL_TIMEOUT_S = 900.0
"""Downloads fail if no byte of any file arrives for this number of seconds. A server that sends headers forever would
otherwise never time out.
"""
T = TypeVar("T")
Remote = HttpRemote | Store
ByteCallback = Callable[[int], None]
"""A callback that takes the number of new bytes. The number is negative if a download starts from the beginning again.
"""


class WrongBytes(VerificationError):
    """A file on a server differs from its record."""


class Unrecorded(NamedTuple):
    """A small file whose size and hash are not recorded, such as the index.

    Each attempt downloads the file from the beginning.
    """

    path: str
    bytes: None = None
    sha256: None = None


def download(
    remote: Remote, file: IndexedFile | Unrecorded, out: IO[bytes], counted: ByteCallback, stop: threading.Event
) -> None:
    """Download a file into the open file `out`, which may already contain the beginning of the download.

    Raises
    ------
    WrongBytes
        The bytes on the server differ from the record. They are not kept.
    Unreachable
        `MAX_FAILURES` consecutive attempts failed. The downloaded bytes are kept for the next call.
    ReleaseError
        The server denies access, or the file does not exist.
    """
    have = out.seek(0, os.SEEK_END)
    counted(have)
    resumed, restarted, failures, best = have > 0, False, 0, 0
    while not stop.is_set():
        try:
            if file.bytes is None or out.tell() < file.bytes:
                resumed = _receive(remote, file, out, counted, stop) > 0
        except Unreachable as e:
            # bytes that are downloaded again do not count as progress, so that the number of attempts is limited
            have = out.tell()
            failures, best = 1 if have - best >= CHUNK else failures + 1, max(best, have)
            if failures >= MAX_FAILURES:
                raise Unreachable(
                    f"{e}; {failures} attempts failed. To resume the download, run the same command again."
                ) from None
            wait = FIRST_WAIT_S * 2 ** (failures - 1) * random.uniform(0.5, 1)
            stop.wait(min(MAX_WAIT_S, max(e.wait, wait)))
            continue
        if stop.is_set():
            break
        out.seek(0)
        sha256 = sha256_pieces(iter(partial(out.read, CHUNK), b""))
        if file.sha256 in (None, sha256):
            break
        _truncate(out, counted)
        if restarted or not resumed:
            raise WrongBytes(
                f"{remote.name}/{file.path} has {sha256}, but {file.sha256} is recorded. Its bytes were not kept."
            )
        restarted = True  # the bytes may come from two versions of the file


def _receive(
    remote: Remote, file: IndexedFile | Unrecorded, out: IO[bytes], counted: ByteCallback, stop: threading.Event
) -> int:
    """Append the bytes of one response to the file, and return the offset at which they begin."""
    where, most = f"{remote.name}/{file.path}", INDEX_CAP if file.bytes is None else file.bytes
    if file.bytes is None:
        _truncate(out, counted)
    with remote.open(file.path, out.tell()) as reply:
        if reply.start != out.tell():  # the server does not support ranges
            _truncate(out, counted)
        if reply.start != out.tell():
            raise Unreachable(f"{where}: the server sent a different part than requested")
        has = reply.total if None not in (reply.total, file.bytes) and reply.total != file.bytes else None
        for chunk in reply.chunks if has is None else ():
            if stop.is_set():
                return reply.start
            out.write(chunk)
            counted(len(chunk))
            if out.tell() > most:
                break
    if has is not None or out.tell() > most:
        _truncate(out, counted)
        raise WrongBytes(f"{where} has {has or 'more'} bytes, but {most} are recorded. Its bytes were not kept.")
    if out.tell() < (expected := file.bytes or reply.total or 0):
        raise Unreachable(f"{where}: the connection was closed after {out.tell()} of {expected} bytes")
    return reply.start


def _truncate(out: IO[bytes], counted: ByteCallback) -> None:
    counted(-out.tell())
    out.seek(0)
    out.truncate()


def download_small_file(remote: Remote, path: str) -> bytes:
    """Return the content of a small file whose size and hash are not recorded.

    The errors are the same as for `download`.
    """

    def download_task(out: BytesIO, counted: ByteCallback, stop: threading.Event) -> None:
        download(remote, Unrecorded(path), out, counted, stop)

    (out,) = run_in_threads([BytesIO()], download_task, 1, lambda more: None)
    return out.getvalue()


def download_all(
    remote: Remote, files: Sequence[tuple[IndexedFile, Path]], connections: int, on_bytes: ByteCallback
) -> Generator[tuple[IndexedFile, Path], None, None]:
    """Download several files at the same time, and yield each file when it is complete."""

    def download_task(task: tuple[IndexedFile, Path], counted: ByteCallback, stop: threading.Event) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
        with open(open_unlinked(task[1], flags), "a+b") as out:
            download(remote, task[0], out, counted, stop)

    return run_in_threads(files, download_task, connections, on_bytes)


def run_in_threads(
    tasks: Sequence[T], do: Callable[[T, ByteCallback, threading.Event], None], at_once: int, on_bytes: ByteCallback
) -> Generator[T, None, None]:
    """Run tasks in threads, and yield each task when it is done.

    The first error stops all tasks. While the caller handles a finished task, at most `at_once` other tasks are running
    or waiting to be yielded.
    """
    stop, counting, last_progress = threading.Event(), threading.Lock(), time.monotonic()
    finished: SimpleQueue[tuple[T, BaseException | None]] = SimpleQueue()
    waiting, threads = iter(tasks), list[threading.Thread]()

    def counted(more: int) -> None:
        nonlocal last_progress
        with counting:
            last_progress = time.monotonic()
            on_bytes(more)

    def work(task: T) -> None:
        error: BaseException | None = None
        try:
            do(task, counted, stop)
        except BaseException as e:
            error = e
        finished.put((task, error))

    def begin(count: int) -> None:
        for task in islice(waiting, count):
            # a daemon thread, because waiting for a server cannot be interrupted and must not keep the command alive
            threads.append(threading.Thread(target=work, args=(task,), daemon=True))
            threads[-1].start()

    def next_finished() -> T:
        while (remaining := last_progress + STALL_TIMEOUT_S - time.monotonic()) > 0:
            with suppress(Empty):
                task, error = finished.get(timeout=remaining)
                if error is not None:
                    raise error
                return task
        raise Unreachable(
            f"no data arrived for {STALL_TIMEOUT_S:g} s. Downloaded bytes are kept. To resume, run the same command "
            "again."
        )

    try:
        begin(at_once)
        for _ in tasks:
            task = next_finished()
            begin(1)
            yield task
            last_progress = time.monotonic()
    finally:
        stop.set()
        for thread in threads:
            thread.join(2.0)
