"""The places of a published data set: a folder, an object store, the hub."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

from ...digests import digits
from ...errors import CorruptsetError, MachineError, ReleaseError
from ..checksums import is_file_as
from ..disk.atomic import write_large
from ..disk.remote import Store, url_of
from ..disk.space import check_space
from ..release.bag import INDEX
from .addresses import hub_address
from .layouts import PublishedFile, chunks_of

Sent = Callable[[int], None]
"""Told how many bytes of a file are sent by now."""


class FolderPlace:
    """A folder of this machine. As in each place, files are sent in their order, and each is there whole or not
    at all.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def differs(self, file: PublishedFile) -> bool | None:
        """Return whether a file that is there differs, by size and sha256; None where it is not there."""
        path = self.root / file.path
        return not is_file_as(path, file.bytes, file.sha256) if os.path.lexists(path) else None

    @contextmanager
    def sending(self, total: int) -> Iterator[None]:
        """Send so many bytes in the `with`."""
        check_space(self.root, total, "the release", "Free some space, or choose another --to.")
        yield

    def put(self, file: PublishedFile, sent: Sent) -> None:
        """Copy a file; it is renamed to its name when it is on the disk."""
        target = self.root / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        for stray in target.parent.glob(".*.part"):  # of a call that was killed
            stray.unlink()
        write_large(target, chunks_of(file))


class ObjectStore:
    """A folder in an object store, such as ``s3://bucket/prefix``.

    The digest that is kept beside an object is believed, as reading a large release takes long; with `replace` objects
    are read.
    """

    def __init__(self, url: str, *, replace: bool = False) -> None:
        self._store, self._replace = Store(url_of(url) or url), replace

    @cached_property
    def _there(self) -> dict[str, tuple[int, str]]:
        return self._store.versions()

    def differs(self, file: PublishedFile) -> bool | None:
        """Return whether an object that is there differs, by size and sha256; None where there is none."""
        if file.path not in self._there:
            return None
        if self._there[file.path][0] != file.bytes:
            return True
        if not self._replace and self._store.kept_sha256(file.path) == file.sha256:
            return False
        return self._store.sha256(file.path, file.bytes) != file.sha256

    def sending(self, total: int) -> AbstractContextManager[None]:
        """Send so many bytes in the `with`."""
        return nullcontext()

    def put(self, file: PublishedFile, sent: Sent) -> None:
        """Send a file, a large one in parts that become one object."""
        self._store.put(file.path, file.content, digits(file.sha256), sent)


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
        self._operations: list[Any] = []
        self._where: dict[str, Any] = {
            "repo_id": self.address.repository,
            "repo_type": "dataset",
            "revision": self.address.revision,
        }

    @cached_property
    def _there(self) -> dict[str, Any]:
        with self._talking():
            try:
                return {entry.path: entry for entry in self._api.list_repo_tree(**self._where, recursive=True)}
            except (self._library.errors.RepositoryNotFoundError, self._library.errors.RevisionNotFoundError):
                return {}

    def differs(self, file: PublishedFile) -> bool | None:
        """Return whether a file that is there differs, by sha256 or git's hash; None where none is."""
        there = self._there.get(file.path)
        if there is None or getattr(there, "size", None) != file.bytes:
            return None if there is None else True
        if there.lfs is not None:
            return file.sha256 != f"sha256:{there.lfs.sha256}"
        blob = hashlib.sha1(b"blob %d\0" % file.bytes, usedforsecurity=False)
        for chunk in chunks_of(file):
            blob.update(chunk)
        return bool(there.blob_id != blob.hexdigest())

    @contextmanager
    def sending(self, total: int) -> Iterator[None]:
        """Send files in the `with`; at its end one commit names them all."""
        with self._talking():
            self._api.create_repo(
                self.address.repository, repo_type="dataset", private=self._private or None, exist_ok=True
            )
            yield
            message = f"Publish {len(self._operations)} files ({INDEX})"
            self._api.create_commit(operations=self._operations, commit_message=message, **self._where)

    def put(self, file: PublishedFile, sent: Sent) -> None:
        """Send the content of an archive, which an interrupted call need not send again."""
        content = str(file.content) if isinstance(file.content, Path) else file.content
        self._operations.append(self._library.CommitOperationAdd(path_in_repo=file.path, path_or_fileobj=content))
        if isinstance(file.content, Path):
            self._api.preupload_lfs_files(additions=self._operations[-1:], **self._where)

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
            raise MachineError(
                f"{self._url} could not be reached, or failed ({what}). Run the same command again to send the rest."
            ) from e
        finally:
            if bars:
                enable_progress_bars()
