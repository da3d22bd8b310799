"""Files brought here: several at once, from where an earlier call stopped, each checked against its record on
the way.
"""

from __future__ import annotations

import hashlib
import random
import threading
import time
from collections.abc import Callable, Generator, Sequence
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TypeVar

from ...digests import digest_of
from ...errors import VerificationError
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
F = TypeVar("F", bound=IndexedFile)
T = TypeVar("T")
Remote = HttpRemote | StoreRemote
Counted = Callable[[int], None]
"""Told how many bytes more (or, where a file begins again, fewer) are here."""


class Part:
    """The bytes of a file that are here, hashed; what an earlier call left counts."""

    def __init__(self, path: Path, counted: Counted) -> None:
        self._file, self._counted = path.open("a+b"), counted
        self.hashed, self.have = hashlib.sha256(), 0
        self._file.seek(0)
        while chunk := self._file.read(CHUNK):
            self._count(chunk)
        self.joined = self.have > 0
        """Whether they are of several replies."""

    def _count(self, chunk: bytes) -> None:
        self.hashed.update(chunk)
        self.have += len(chunk)
        self._counted(len(chunk))

    def add(self, chunk: bytes) -> None:
        """Add bytes at the end."""
        self._file.write(chunk)
        self._count(chunk)

    def clear(self) -> None:
        """Throw all bytes away."""
        self._file.truncate(0)
        self._counted(-self.have)
        self.hashed, self.have, self.joined = hashlib.sha256(), 0, False

    def __enter__(self) -> Part:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def download(remote: Remote, file: IndexedFile, path: Path, counted: Counted, stop: threading.Event) -> None:
    """Bring a file to `path`; what is there already is kept if it is the beginning of the file.

    VerificationError: the server has other bytes than recorded; they are removed. Unreachable: it failed `ATTEMPTS`
    times in a row; what is here stays for the next call. ReleaseError: it refuses.
    """
    where = f"{remote.name}/{file.path}"
    failures = most = 0
    begun_again = False
    with Part(path, counted) as part:
        while not stop.is_set():
            try:
                if part.have < file.bytes or not file.bytes:
                    _receive(remote, file, part, stop)
            except Unreachable as e:
                # what is thrown away and fetched again is no progress: a server that never gets to the end would be
                # asked for ever
                failures = 1 if part.have - most >= CHUNK else failures + 1
                most = max(most, part.have)
                _wait(e, failures, stop)
                continue
            if stop.is_set() or (sha256 := digest_of(part.hashed)) == file.sha256:
                return
            joined = part.joined
            part.clear()
            if begun_again or not joined:
                path.unlink()
                raise VerificationError(f"{where} has {sha256}, recorded is {file.sha256}. Its bytes were not kept.")
            begun_again = True  # pieces of two versions of the file


def _receive(remote: Remote, file: IndexedFile, part: Part, stop: threading.Event) -> None:
    """Take what one reply has of the rest."""
    where = f"{remote.name}/{file.path}"
    with remote.open(file.path, part.have) as reply:
        if reply.start != part.have:  # no ranges here
            part.clear()
        if reply.start != part.have:
            raise Unreachable(f"{where}: the server answers with another part than was asked for")
        if reply.total not in (None, file.bytes):
            part.clear()
            raise VerificationError(
                f"{where} has {reply.total} bytes, recorded are {file.bytes}. Its bytes were not kept."
            )
        part.joined = part.have > 0
        for chunk in reply.chunks:
            if stop.is_set():
                return
            if part.have + len(chunk) > file.bytes:
                part.clear()
                raise VerificationError(
                    f"{where} has more than the {file.bytes} bytes recorded. Its bytes were not kept."
                )
            part.add(chunk)
    if part.have < file.bytes:
        raise Unreachable(f"{where}: the connection was cut after {part.have} of {file.bytes} bytes")


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
        for failures in range(1, ATTEMPTS + 1):
            try:
                with remote.open(path) as reply:
                    data = bytearray()
                    for chunk in reply.chunks:
                        counted(len(chunk))
                        data += chunk
                        if len(data) > cap:
                            raise VerificationError(f"{where} has more than {cap} bytes. It was not kept.")
                    if reply.total in (None, len(data)):
                        return bytes(data)
                    raise Unreachable(f"{where}: the connection was cut after {len(data)} of {reply.total} bytes")
            except Unreachable as e:
                _wait(e, failures, stop)
        raise AssertionError("the last try raises")

    ((data,),) = in_threads([read], 1, lambda more: None)
    return data


def download_all(
    remote: Remote, files: Sequence[tuple[F, Path]], connections: int, told: Counted
) -> Generator[list[tuple[F, Path]], None, None]:
    """Bring files to their places, several at once; yield those that are whole, as many as there are, until all
    were.
    """

    def bring(file: F, path: Path, counted: Counted, stop: threading.Event) -> tuple[F, Path]:
        download(remote, file, path, counted, stop)
        return file, path

    return in_threads([partial(bring, file, path) for file, path in files], connections, told)


def in_threads(
    calls: Sequence[Callable[[Counted, threading.Event], T]], at_once: int, told: Counted
) -> Generator[list[T], None, None]:
    """Call functions, several at once; yield what they return, as many as there are, until all did. The first error
    stops all.

    The next ones are called when the caller comes back, `AHEAD` for each connection before.
    """
    stop, room, counting = threading.Event(), threading.Semaphore(AHEAD * at_once), threading.Lock()
    waiting: SimpleQueue[Callable[[Counted, threading.Event], T]] = SimpleQueue()
    finished: SimpleQueue[T | BaseException] = SimpleQueue()
    for call in calls:
        waiting.put(call)
    heard = time.monotonic()

    def counted(more: int) -> None:
        nonlocal heard
        with counting:
            heard = time.monotonic()
            told(more)

    def work() -> None:
        while room.acquire() and not stop.is_set() and not waiting.empty():
            try:
                finished.put(waiting.get_nowait()(counted, stop))
            except Empty:
                return
            except BaseException as e:
                finished.put(e)

    # they wait for servers, which nothing can interrupt: a command that ends does not wait for them
    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(at_once, len(calls)))]
    for thread in threads:
        thread.start()
    try:
        left = len(calls)
        while left:
            try:
                batch = [finished.get(timeout=1.0)]
            except Empty:
                if time.monotonic() - heard > STALLED_S:
                    raise Unreachable(
                        f"nothing came for {STALLED_S:g} s. What was fetched stands: the same command goes on."
                    ) from None
                continue
            while not finished.empty():
                batch.append(finished.get_nowait())
            if failure := next((each for each in batch if isinstance(each, BaseException)), None):
                raise failure
            left -= len(batch)
            yield [each for each in batch if not isinstance(each, BaseException)]
            heard = time.monotonic()
            room.release(len(batch))
    finally:
        stop.set()
        room.release(len(calls) + at_once)
        for thread in threads:
            thread.join(2.0)
