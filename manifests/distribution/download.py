"""Files brought here: several at once, from where an earlier call stopped, each checked against its record on the way."""

from __future__ import annotations

import hashlib
import os
import random
import threading
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TypeVar

from ...digests import digest_of
from ...errors import CorruptsetError, MachineError, VerificationError
from ..release.archives import CHUNK
from .addresses import Remote, Unreachable
from .places import Recorded

ATTEMPTS = 6
"""In a row that bring less than `CHUNK` bytes more than were ever here; then the server counts as gone."""
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 30.0
BEGINNINGS = 2
"""How often a file is begun, where pieces of several replies do not make it."""
AHEAD = 2
"""Files, for each connection, that wait for who takes them: they bound what lies on the disk."""
F = TypeVar("F", bound=Recorded)


class Download:
    """A file on its way into `part`; what is there already is kept if it is the beginning of the file.

    Parameters
    ----------
    remote : Remote
    file : Recorded
    part : Path
        Receives the bytes; ``<part>.version`` notes which version of the file they are of.
    told : callable
        Called with how many bytes more (or, where it begins again, fewer) are here.
    stop : threading.Event
        Ends it.
    """

    def __init__(self, remote: Remote, file: Recorded, part: Path, told: Callable[[int], None], stop: threading.Event) -> None:
        self.remote, self.file, self.part, self._told, self._stop = remote, file, part, told, stop
        self._note = part.with_name(part.name + ".version")
        self._where = f"{remote.name}/{file.path}"
        self._hashed = hashlib.sha256()
        self._have = 0
        self._version: str | None = None
        self._joined = False
        """Whether the bytes are of several replies."""

    def run(self) -> None:
        """Bring the whole file.

        Raises
        ------
        VerificationError
            The server has other bytes than recorded; they are removed.
        Unreachable
            It failed `ATTEMPTS` times in a row; what is here stays for the next call.
        ReleaseError
            It refuses.
        """
        self._take_earlier()
        begun, failures, most = 1, 0, self._have
        while not self._stop.is_set():
            try:
                if self._have < self.file.bytes or not self.file.bytes:
                    self._receive()
            except Unreachable as e:
                if e.beyond:
                    self._begin_again()
                # what is thrown away and fetched again is no progress: two mirrors with other bytes would never end
                failures = 1 if self._have - most >= CHUNK else failures + 1
                most = max(most, self._have)
                _wait(e, failures, self._stop)
                continue
            if self._have < self.file.bytes:
                continue
            if (sha256 := digest_of(self._hashed)) == self.file.sha256:
                return
            joined = self._joined
            self._begin_again()
            if not joined or begun == BEGINNINGS:
                self.part.unlink()
                raise VerificationError(f"{self._where} has {sha256}, recorded is {self.file.sha256}. Its bytes were not kept.")
            begun += 1

    def _take_earlier(self) -> None:
        """Hash what an earlier call left."""
        self.part.touch()
        if self._note.exists():
            self._version = self._note.read_text("utf-8") or None
        with self.part.open("rb") as file:
            while (chunk := file.read(CHUNK)) and not self._stop.is_set():
                self._hashed.update(chunk)
                self._count(len(chunk))
        self._joined = self._have > 0
        if self._have > self.file.bytes:
            self._begin_again()

    def _count(self, more: int) -> None:
        self._have += more
        self._told(more)

    def _begin_again(self) -> None:
        os.truncate(self.part, 0)
        self._note.unlink(missing_ok=True)
        self._hashed, self._version, self._joined = hashlib.sha256(), None, False
        self._count(-self._have)

    def _receive(self) -> None:
        """Take what one reply has of the rest."""
        with self.remote.open(self.file.path, self._have, self._version) as reply:
            if reply.total is not None and reply.total != self.file.bytes:
                raise VerificationError(f"{self._where} has {reply.total} bytes, recorded are {self.file.bytes}. Its bytes were not kept.")
            if reply.start == 0 and self._have:  # no ranges here, or another version
                self._begin_again()
            elif reply.start != self._have or (self._have and reply.version != self._version):
                self._begin_again()
                raise Unreachable(f"{self._where}: the server answers with another part, or of another version, than was asked for")
            if self._have:
                self._joined = True
            elif reply.version is not None:
                self._version = reply.version
                self._note.write_text(reply.version, "utf-8")
            with self.part.open("ab") as out:
                for received in reply.chunks:
                    if self._stop.is_set():
                        return
                    chunk = received[: self.file.bytes - self._have]
                    self._hashed.update(chunk)
                    out.write(chunk)
                    self._count(len(chunk))
                    if self._have == self.file.bytes and reply.total is not None:
                        return
                    if len(chunk) < len(received):
                        self._begin_again()
                        raise VerificationError(
                            f"{self._where} has more than the {self.file.bytes} bytes recorded. Its bytes were not kept."
                        )
            if self._have < self.file.bytes:
                raise Unreachable(f"{self._where}: the connection was cut after {self._have} of {self.file.bytes} bytes")


def _wait(error: Unreachable, failures: int, stop: threading.Event) -> None:
    """Wait before the next try, longer after each; or raise, when there were enough."""
    if failures >= ATTEMPTS:
        raise Unreachable(f"{error}; {failures} tries in a row failed. What was fetched stands: the same command goes on.") from None
    stop.wait(min(LONGEST_WAIT_S, max(error.wait, FIRST_WAIT_S * 2 ** (failures - 1) * random.uniform(0.5, 1))))


def small_file(remote: Remote, path: str, cap: int) -> bytes:
    """Return a file of at most `cap` bytes; errors are those of `Download.run`."""
    where, stop = f"{remote.name}/{path}", threading.Event()
    for failures in range(1, ATTEMPTS + 1):
        try:
            with remote.open(path) as reply:
                data = bytearray()
                for chunk in reply.chunks:
                    data += chunk
                    if len(data) > cap:
                        raise VerificationError(f"{where} has more than {cap} bytes. It was not kept.")
                if reply.total is not None and len(data) != reply.total:
                    raise Unreachable(f"{where}: the connection was cut after {len(data)} of {reply.total} bytes")
                return bytes(data)
        except Unreachable as e:
            _wait(e, failures, stop)
    raise AssertionError("the last try raises")


def download_all(
    remote: Remote, files: Sequence[tuple[F, Path]], connections: int, told: Callable[[int], None]
) -> Generator[list[F], None, None]:
    """Bring files to their places, several at once; yield those that are whole, as many as there are, until all were.

    The next ones are asked for when the caller comes back, `AHEAD` for each connection before. The first error stops all.
    """
    stop, room = threading.Event(), threading.Semaphore(AHEAD * connections)
    waiting: SimpleQueue[tuple[F, Path]] = SimpleQueue()
    finished: SimpleQueue[tuple[F, BaseException | None]] = SimpleQueue()
    for entry in files:
        waiting.put(entry)
    counting = threading.Lock()

    def counted(more: int) -> None:
        with counting:
            told(more)

    def work() -> None:
        while room.acquire() and not stop.is_set():
            try:
                file, part = waiting.get_nowait()
            except Empty:
                return
            failure: BaseException | None = None
            try:
                Download(remote, file, part, counted, stop).run()
            except OSError as e:  # of this disk: what a server does is an error of ours
                failure = MachineError(f"{part}: {e.strerror or e}. Free some space or mend it; the same command goes on.")
            except BaseException as e:
                failure = e
            finished.put((file, failure))

    # they wait for servers, which nothing can interrupt: a command that ends does not wait for them
    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(connections, len(files)))]
    for thread in threads:
        thread.start()
    try:
        left = len(files)
        while left:
            batch = [finished.get()]
            while not finished.empty():
                batch.append(finished.get_nowait())
            for _, failure in sorted(batch, key=lambda entry: isinstance(entry[1], CorruptsetError), reverse=True):
                if failure is not None:
                    raise failure
            left -= len(batch)
            yield [file for file, _ in batch]
            room.release(len(batch))
    finally:
        stop.set()
        room.release(len(files) + connections)
        for thread in threads:
            thread.join(2.0)
