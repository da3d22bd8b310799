"""Where releases are put, as a folder, in an object store, on the Hugging Face hub: what is there is compared before anything is sent."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...digests import digits
from ...errors import CorruptsetError, MachineError, ReleaseError
from ..checksums import is_file_as
from ..disk.large import write_large
from ..disk.remote import Store, url_of
from ..disk.space import check_space
from ..release.archives import CHUNK
from ..release.release_index import INDEX, IndexedFile
from .addresses import hub_address

Sent = Callable[[int], None]
"""Told how many bytes are sent by now."""


@dataclass(frozen=True)
class PublishedFile:
    """A file at its place: its path there, its record, and its bytes or the file that has them."""

    path: str
    bytes: int
    sha256: str
    content: bytes | Path

    def chunks(self) -> Iterator[bytes]:
        """Yield its bytes."""
        if isinstance(self.content, bytes):
            yield self.content
            return
        with self.content.open("rb") as file:
            while chunk := file.read(CHUNK):
                yield chunk


class FolderPlace:
    """A folder of this machine. As in each place, files are sent in their order, and each is there whole or not at all."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def differing(self, files: Sequence[PublishedFile] | Sequence[IndexedFile]) -> dict[str, bool]:
        """Return path -> whether it differs, of files that are there; hashes are compared where sizes are equal."""
        found = [(f, self.root / f.path) for f in files if os.path.lexists(self.root / f.path)]
        return {f.path: not is_file_as(path, f.bytes, f.sha256) for f, path in found}

    def put(self, files: Sequence[PublishedFile], sent: Sent) -> None:
        """Copy files; each is renamed to its name when it is on the disk."""
        check_space(self.root, sum(f.bytes for f in files), "the release", "Free some space, or choose another --to.")
        done = 0

        def counted(chunks: Iterator[bytes]) -> Iterator[bytes]:
            nonlocal done
            for chunk in chunks:
                yield chunk
                done += len(chunk)
                sent(done)

        for f in files:
            target = self.root / f.path
            target.parent.mkdir(parents=True, exist_ok=True)
            for stray in target.parent.glob(".*.part"):  # of a call that was killed
                stray.unlink()
            write_large(target, counted(f.chunks()))


class ObjectStore:
    """A folder in an object store, such as ``s3://bucket/prefix``.

    The digest that is kept beside an object is believed, as reading a large release takes long; with `replace` objects are read.
    """

    def __init__(self, url: str, *, replace: bool = False) -> None:
        self._store, self._replace = Store(url_of(url) or url), replace

    def differing(self, files: Sequence[PublishedFile]) -> dict[str, bool]:
        """Return path -> whether it differs, by size and sha256."""
        there = self._store.versions()
        return {f.path: there[f.path][0] != f.bytes or self._differs(f) for f in files if f.path in there}

    def _differs(self, file: PublishedFile) -> bool:
        if not self._replace and self._store.kept_sha256(file.path) == file.sha256:
            return False
        return self._store.sha256(file.path, file.bytes) != file.sha256

    def put(self, files: Sequence[PublishedFile], sent: Sent) -> None:
        """Send files, large ones in several parts that become one object at the end."""
        done = 0
        for f in files:
            self._store.put(f.path, f.content, digits(f.sha256), lambda now, before=done: sent(before + now))  # type: ignore[misc]
            done += f.bytes
            sent(done)


class HubPlace:
    """A data set on the hub; a release is one commit, so that readers see all of it or nothing."""

    def __init__(self, url: str, *, private: bool = False) -> None:
        try:
            import huggingface_hub
        except ImportError:
            raise ReleaseError("hf:// needs a package that is not installed: pip install 'corruptset[hub]'.") from None
        self.address, self._url, self._private = hub_address(url), url, private
        self._library = huggingface_hub
        self._api = huggingface_hub.HfApi(library_name="corruptset")
        self._where: dict[str, Any] = {"repo_id": self.address.repository, "repo_type": "dataset", "revision": self.address.revision}

    def differing(self, files: Sequence[PublishedFile]) -> dict[str, bool]:
        """Return path -> whether it differs: by sha256 where the hub keeps it, else by git's hash."""
        with self._talking():
            try:
                there = {entry.path: entry for entry in self._api.list_repo_tree(**self._where, recursive=True)}
            except (self._library.errors.RepositoryNotFoundError, self._library.errors.RevisionNotFoundError):
                return {}
        return {f.path: not _same(f, there[f.path]) for f in files if f.path in there}

    def put(self, files: Sequence[PublishedFile], sent: Sent) -> None:
        """Send the content of files one after the other, then one commit that names them all."""
        operations, done = [], 0
        with self._talking():
            self._api.create_repo(self.address.repository, repo_type="dataset", private=self._private or None, exist_ok=True)
            for f in files:
                content = str(f.content) if isinstance(f.content, Path) else f.content
                operations.append(self._library.CommitOperationAdd(path_in_repo=f.path, path_or_fileobj=content))
                if isinstance(f.content, Path):  # the hub has it from here on, so an interrupted call is resumed with the next one
                    self._api.preupload_lfs_files(additions=operations[-1:], **self._where)
                done += f.bytes
                sent(done)
            self._api.create_commit(operations=operations, commit_message=f"Publish {len(files)} files ({INDEX})", **self._where)

    @contextmanager
    def _talking(self) -> Iterator[None]:
        from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

        bars = not are_progress_bars_disabled()
        disable_progress_bars()  # ours shows the bytes
        try:
            yield
        except CorruptsetError:
            raise
        except Exception as e:
            status = getattr(getattr(e, "response", None), "status_code", None)
            if status in (401, 403) or isinstance(e, self._library.errors.LocalTokenNotFoundError):
                advice = "Log in with `hf auth login`, or set HF_TOKEN to a token that may write there."
                raise ReleaseError(f"{self._url} refuses ({status or 'no token'}). {advice}") from None
            what = (str(e).strip().splitlines() or [type(e).__name__])[0][:300]
            raise MachineError(f"{self._url} could not be reached, or failed ({what}). Run the same command again to send the rest.") from e
        finally:
            if bars:
                enable_progress_bars()


def _same(file: PublishedFile, there: Any) -> bool:
    if getattr(there, "size", None) != file.bytes:
        return False
    if there.lfs is not None:
        return file.sha256 == f"sha256:{there.lfs.sha256}"
    blob = hashlib.sha1(b"blob %d\0" % file.bytes, usedforsecurity=False)
    for chunk in file.chunks():
        blob.update(chunk)
    return bool(there.blob_id == blob.hexdigest())
