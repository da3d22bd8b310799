"""Where releases are put: a folder of this machine, a store of objects. What is there is compared before anything is sent."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol

from ...digests import digest_of, digits
from ...errors import MachineError, ReleaseError
from ..disk.atomic import name_target, replacing
from ..disk.space import check_space
from ..records.digests import sha256_file
from ..release.archives import CHUNK
from .layouts import PublishedFile

Sent = Callable[[int], None]
"""Told how many more bytes were sent."""


class Unreachable(MachineError):
    """A server that does not answer, fails or cuts the connection: the same request may succeed later, after `wait` seconds.

    `beyond` says that it has fewer bytes of a file than it was asked to skip.
    """

    def __init__(self, message: str, *, wait: float = 0.0, beyond: bool = False) -> None:
        super().__init__(message)
        self.wait, self.beyond = wait, beyond


class Recorded(Protocol):
    """A file whose size and hash are known."""

    @property
    def path(self) -> str: ...
    @property
    def bytes(self) -> int: ...
    @property
    def sha256(self) -> str: ...


class Place(Protocol):
    """Where a release goes."""

    def differing(self, files: Sequence[PublishedFile]) -> dict[str, bool]:
        """Return path -> whether it differs, of those files that are there."""

    def put(self, files: Sequence[PublishedFile], sent: Sent) -> None:
        """Send files in their order; each is there whole or not at all."""


class FolderPlace:
    """A folder of this machine."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def differing(self, files: Sequence[Recorded]) -> dict[str, bool]:
        """Return path -> whether it differs; hashes are compared where sizes are equal."""
        found = [(f, self.root / f.path) for f in files if os.path.lexists(self.root / f.path)]
        return {f.path: not p.is_file() or p.stat().st_size != f.bytes or sha256_file(p) != f.sha256 for f, p in found}

    def put(self, files: Sequence[PublishedFile], sent: Sent) -> None:
        """Copy files; each is renamed to its name when it is on the disk."""
        check_space(self.root, sum(f.bytes for f in files), "the release", "Free some space, or choose another --to.")
        for f in files:
            target = self.root / f.path
            target.parent.mkdir(parents=True, exist_ok=True)
            for stray in target.parent.glob(".*.part"):  # of a call that was killed
                stray.unlink()
            with replacing(target) as part, part.open("xb") as out, _opened(f) as content:
                try:
                    while chunk := content.read(CHUNK):
                        out.write(chunk)
                        sent(len(chunk))
                    out.flush()
                    os.fsync(out.fileno())
                except OSError as e:
                    name_target(e, part, target)
                    raise


class ObjectStore:
    """A folder in a store that fsspec opens, such as ``s3://bucket/prefix``; credentials are found as fsspec finds them."""

    def __init__(self, url: str) -> None:
        self.url = url
        with talking_to(url):
            self.files, self.root = file_system(url)
        # S3 keeps a digest beside an object, so that what is there need not be read to be compared
        self._keeps_digests = "s3" in self.files.protocol

    def differing(self, files: Sequence[PublishedFile]) -> dict[str, bool]:
        """Return path -> whether it differs, by size and sha256; an object without a recorded digest is read."""
        with talking_to(self.url):
            self.files.invalidate_cache()
            there = {path: entry["size"] for path, entry in self.files.find(self.root, detail=True).items()}
            found = [(f, path) for f in files if (path := f"{self.root}/{f.path}") in there]
            return {f.path: there[path] != f.bytes or self._sha256(path) != f.sha256 for f, path in found}

    def put(self, files: Sequence[PublishedFile], sent: Sent) -> None:
        """Send files, large ones in several parts that become one object at the end."""
        with talking_to(self.url):
            for f in files:
                options: dict[str, Any] = {"Metadata": {"sha256": digits(f.sha256)}} if self._keeps_digests else {}
                if isinstance(f.content, bytes):
                    self.files.pipe_file(f"{self.root}/{f.path}", f.content, **options)
                    sent(f.bytes)
                else:
                    self.files.put_file(str(f.content), f"{self.root}/{f.path}", callback=_callback(sent), **options)

    def _sha256(self, path: str) -> str:
        recorded = self.files.metadata(path).get("sha256") if self._keeps_digests else None
        if recorded is not None:
            return f"sha256:{recorded}"
        hashed = hashlib.sha256()
        with self.files.open(path, "rb", cache_type="none") as file:
            while chunk := file.read(CHUNK):
                hashed.update(chunk)
        return digest_of(hashed)


def file_system(url: str) -> tuple[Any, str]:
    """Return fsspec's file system of a URL, and the path in it.

    Raises
    ------
    ReleaseError
        fsspec, or the package that opens such stores, is not installed, or there is no such kind of store.
    """
    scheme = url.partition("://")[0]
    try:
        from fsspec.core import url_to_fs

        files, path = url_to_fs(url)
    except ImportError:
        if scheme in ("s3", "gs"):
            raise ReleaseError(f"{scheme}:// needs packages that are not installed: pip install 'corruptset[cloud]'.") from None
        raise ReleaseError(
            f"{scheme}:// is not a place that is known here. Expected a folder, s3://, gs:// or hf://. Others need fsspec and a package "
            "of theirs: pip install 'corruptset[cloud]'."
        ) from None
    except ValueError:
        raise ReleaseError(f"{scheme}:// is not a place that fsspec knows. Expected a folder, s3://, gs:// or hf://.") from None
    return files, str(path).rstrip("/")


@contextmanager
def talking_to(place: str) -> Iterator[None]:
    """Turn what a library raises about a remote place into an error that names the place and the next step, and no credential.

    Raises
    ------
    Unreachable
        The place cannot be reached, or failed.
    ReleaseError
        It refuses, or is not there.
    """
    try:
        yield
    except (FileNotFoundError, PermissionError) as e:
        reason = "is not there" if isinstance(e, FileNotFoundError) else "refuses: the credentials that were found do not allow it"
        raise ReleaseError(f"{place} {reason}. Check the name, and how you are logged in.") from None
    except (ReleaseError, MachineError, MemoryError):
        raise
    except Exception as e:
        if type(e).__name__ in ("NoCredentialsError", "PartialCredentialsError", "LocalTokenNotFoundError"):
            raise ReleaseError(f"{place} needs credentials, and none were found. Log in as its own tools do, and try again.") from None
        raise Unreachable(
            f"{place} could not be reached, or failed ({type(e).__name__}). Run the same command again: it goes on where it stopped."
        ) from None


@contextmanager
def _opened(file: PublishedFile) -> Iterator[Any]:
    with BytesIO(file.content) if isinstance(file.content, bytes) else file.content.open("rb") as content:
        yield content


def _callback(sent: Sent) -> Any:
    from fsspec.callbacks import Callback

    class Told(Callback):  # type: ignore[misc]
        def relative_update(self, inc: int = 1) -> None:
            sent(inc)

    return Told()
