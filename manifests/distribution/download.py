"""Downloads of a release's files, several at once, each from where an earlier call stopped."""

from __future__ import annotations

import random
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import BinaryIO, TypeVar, cast

from ...errors import VerificationError
from ..records.digests import sha256_file
from ..release.archives import CHUNK
from ..release.bag import IndexedFile
from .addresses import HttpRemote, StoreRemote, Unreachable

ATTEMPTS = 6
"""In a row that bring less than `CHUNK` bytes more than were ever here; then the server counts as gone."""
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 30.0
STALLED_S = 900.0
"""Without a byte of any file for so long, the server counts as gone: one that sends a header for ever never falls
silent.
"""
AHEAD = 2
"""Files, for each connection, that wait for who takes them: they bound what lies on the disk."""
T = TypeVar("T")
Remote = HttpRemote | StoreRemote
Counted = Callable[[int], None]
"""Told how many bytes more (or, where a file begins again, fewer) are here."""


def download(remote: Remote, file: IndexedFile, path: Path, counted: Counted, stop: threading.Event) -> None:
    """Bring a file to `path`; what is there already is kept if it is the beginning of the file.

    VerificationError: the server has other bytes than recorded; they are removed. Unreachable: it failed `ATTEMPTS`
    times in a row; what is here stays for the next call. ReleaseError: it refuses.
    """
    path.touch()
    have = path.stat().st_size
    counted(have)
    joined, begun_again, failures, most = have > 0, False, 0, 0
    while not stop.is_set():
        try:
            if path.stat().st_size < file.bytes:
                joined = _receive(remote, file, path, counted, stop) > 0
        except Unreachable as e:
            # what is thrown away and fetched again is no progress: a server that never gets to the end would be asked
            # for ever
            have = path.stat().st_size
            failures = 1 if have - most >= CHUNK else failures + 1
            most = max(most, have)
            _wait(e, failures, stop)
            continue
        if stop.is_set() or (sha256 := sha256_file(path)) == file.sha256:
            return
        with path.open("ab") as out:
            _empty(out, counted)
        if begun_again or not joined:
            raise VerificationError(
                f"{remote.name}/{file.path} has {sha256}, recorded is {file.sha256}. Its bytes were not kept."
            )
        begun_again = True  # pieces of two versions of the file


def _receive(remote: Remote, file: IndexedFile, path: Path, counted: Counted, stop: threading.Event) -> int:
    """Take what one reply has of the rest; return at which byte it began."""
    where = f"{remote.name}/{file.path}"
    with path.open("ab") as out, remote.open(file.path, out.tell()) as reply:
        if reply.start != out.tell():  # no ranges here
            _empty(out, counted)
        if reply.start != out.tell():
            raise Unreachable(f"{where}: the server answers with another part than was asked for")
        said = reply.total if reply.total != file.bytes else None
        for chunk in reply.chunks if said is None else ():
            if stop.is_set():
                return reply.start
            out.write(chunk)
            counted(len(chunk))
            if out.tell() > file.bytes:
                break
        if said is not None or out.tell() > file.bytes:
            _empty(out, counted)
            raise VerificationError(
                f"{where} has {said or 'more'} bytes, recorded are {file.bytes}. Its bytes were not kept."
            )
        if out.tell() < file.bytes:
            raise Unreachable(f"{where}: the connection was cut after {out.tell()} of {file.bytes} bytes")
    return reply.start


def _empty(out: BinaryIO, counted: Counted) -> None:
    counted(-out.tell())
    out.seek(0)
    out.truncate()


def _wait(error: Unreachable, failures: int, stop: threading.Event) -> None:
    """Wait before the next try, longer after each; or raise, when there were enough."""
    if failures >= ATTEMPTS:
        raise Unreachable(
            f"{error}; {failures} tries in a row failed. What was fetched stands: the same command goes on."
        ) from None
    stop.wait(min(LONGEST_WAIT_S, max(error.wait, FIRST_WAIT_S * 2 ** (failures - 1) * random.uniform(0.5, 1))))


def small_file(remote: Remote, path: str, cap: int) -> bytes:
    """Return a file of at most `cap` bytes; errors are those of `download`."""
    where = f"{remote.name}/{path}"

    def read(counted: Counted, stop: threading.Event) -> bytes:
        for failures in count(1):
            try:
                with remote.open(path) as reply:
                    data = bytearray()
                    for chunk in reply.chunks:
                        counted(len(chunk))
                        data += chunk
                        if len(data) > cap:
                            raise VerificationError(f"{where} has more than {cap} bytes. It was not kept.")
                    if reply.total in (None, len(data)):
                        break
                    raise Unreachable(f"{where}: the connection was cut after {len(data)} of {reply.total} bytes")
            except Unreachable as e:
                _wait(e, failures, stop)
        return bytes(data)

    (data,) = in_threads([read], 1, lambda more: None)
    return data


def download_all(
    remote: Remote, files: Sequence[tuple[IndexedFile, Path]], connections: int, told: Counted
) -> Generator[tuple[IndexedFile, Path], None, None]:
    """Bring files to their places, several at once; yield each that is whole, as they come."""

    def bring(file: IndexedFile, path: Path, counted: Counted, stop: threading.Event) -> tuple[IndexedFile, Path]:
        download(remote, file, path, counted, stop)
        return file, path

    return in_threads([partial(bring, file, path) for file, path in files], connections, told)


def in_threads(
    calls: Sequence[Callable[[Counted, threading.Event], T]], at_once: int, told: Counted
) -> Generator[T, None, None]:
    """Call functions, several at once; yield what they return, as it comes. The first error stops all.

    The next ones are called when the caller comes back, `AHEAD` for each connection before.
    """
    stop, room, counting = threading.Event(), threading.Semaphore(AHEAD * at_once), threading.Lock()
    waiting = deque(calls)
    finished: SimpleQueue[tuple[T | None, BaseException | None]] = SimpleQueue()
    heard = time.monotonic()

    def counted(more: int) -> None:
        nonlocal heard
        with counting:
            heard = time.monotonic()
            told(more)

    def work() -> None:
        with suppress(IndexError):  # nothing waits any more
            while room.acquire() and not stop.is_set():
                call = waiting.popleft()
                try:
                    finished.put((call(counted, stop), None))
                except BaseException as e:
                    finished.put((None, e))

    def next_one() -> T:
        while (patience := heard + STALLED_S - time.monotonic()) > 0:
            with suppress(Empty):
                result, error = finished.get(timeout=patience)
                if error is not None:
                    raise error
                return cast(T, result)
        raise Unreachable(f"nothing came for {STALLED_S:g} s. What was fetched stands: the same command goes on.")

    # they wait for servers, which nothing can interrupt: a command that ends does not wait for them
    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(at_once, len(calls)))]
    for thread in threads:
        thread.start()
    try:
        for _ in calls:
            yield next_one()
            heard = time.monotonic()
            room.release()
    finally:
        stop.set()
        room.release(len(calls) + at_once)
        for thread in threads:
            thread.join(2.0)
