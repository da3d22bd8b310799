"""Destinations of a published dataset: a folder, an object store, or the Hugging Face Hub.

Each destination reports which files of a release exist there, and receives files in the given order. A file becomes
visible only when it is complete.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...errors import CorruptsetError, MachineError, ReleaseError, install_extra
from ..checksums import is_file_as
from ..disk.atomic import is_temporary, make_folder, write_large
from ..disk.remote import Store, url_of
from ..disk.space import check_space
from ..records.digests import sha256_pieces
from ..release.bag import INDEX
from .addresses import HUB, hub_address
from .published_files import PublishedFile, chunks_of

Files = Sequence[PublishedFile]
SentCallback = Callable[[int], None]
"""Callback that takes the number of bytes that have been sent so far."""


class FolderPlace:
    """A local folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def same(self, files: Files) -> dict[str, bool]:
        """Return, for each existing path, whether its file is the same as in the release."""
        found = ((f, self.root / f.path) for f in files)
        return {f.path: is_file_as(path, f.bytes, f.sha256) for f, path in found if os.path.lexists(path)}

    def send(self, files: Files, sent: SentCallback) -> None:
        """Copy files. Each file is synced to disk, and then renamed to its final name."""
        needed, done = sum(f.bytes for f in files), 0
        check_space(self.root, needed, "the release", "Free some space, or choose another --to.")
        for file in files:
            target = make_folder(self.root, file.path.rpartition("/")[0]) / file.path.rpartition("/")[2]
            for stray in filter(is_temporary, target.parent.iterdir()):  # left by a call that was killed
                stray.unlink()
            write_large(target, chunks_of(file.content))
            sent(done := done + file.bytes)


class StorePlace:
    """A folder in an object store, such as ``s3://bucket/prefix``.

    The digest in the metadata of an object is trusted, because reading a large release takes a long time. With
    `replace`, the objects are read instead.
    """

    def __init__(self, url: str, *, replace: bool) -> None:
        self._store, self._replace = Store(url_of(url) or url), replace

    def same(self, files: Files) -> dict[str, bool]:
        """Return, for each existing path, whether its object is the same as the file of the release."""
        existing, same = self._store.versions(), {}
        for f in (f for f in files if f.path in existing):
            kept = None if self._replace else self._store.kept_sha256(f.path)
            same[f.path] = existing[f.path][0] == f.bytes and (
                kept == f.sha256 or sha256_pieces(self._store.pieces(f.path, 0, f.bytes)) == f.sha256
            )
        return same

    def send(self, files: Files, sent: SentCallback) -> None:
        """Upload files. A large file is uploaded in parts, which become one object."""
        done = 0
        for file in files:
            self._store.put(file.path, file.content, file.sha256, lambda part: sent(done + part))
            sent(done := done + file.bytes)


class HubPlace:
    """A dataset repository on the Hugging Face Hub, in which each release is one commit."""

    def __init__(self, url: str, *, private: bool) -> None:
        try:
            import huggingface_hub
        except ImportError:
            raise ReleaseError(f"hf:// needs huggingface_hub, which is not installed. {install_extra('hub')}") from None
        repository, revision = hub_address(url)
        self._url, self._private, self._library = url, private, huggingface_hub
        self._api = huggingface_hub.HfApi(library_name="corruptset")
        self._where = {"repo_id": repository, "repo_type": "dataset", "revision": revision}

    def same(self, files: Files) -> dict[str, bool]:
        """Return, for each existing path, whether its file is the same as in the release."""
        errors = self._library.errors
        with self._talking():
            try:
                existing = {entry.path: entry for entry in self._api.list_repo_tree(**self._where, recursive=True)}
            except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError):
                existing = {}
        return {f.path: _is_entry(existing[f.path], f) for f in files if f.path in existing}

    def send(self, files: Files, sent: SentCallback) -> None:
        """Upload files, and add all of them in one commit at the end."""
        operations: list[Any] = []
        done = 0
        with self._talking():
            self._api.create_repo(
                self._where["repo_id"], repo_type="dataset", private=self._private or None, exist_ok=True
            )
            for file in files:
                content = str(file.content) if isinstance(file.content, Path) else file.content
                operations.append(self._library.CommitOperationAdd(path_in_repo=file.path, path_or_fileobj=content))
                if isinstance(file.content, Path):  # sent now, so that a later call need not send it again
                    self._api.preupload_lfs_files(additions=operations[-1:], **self._where)
                sent(done := done + file.bytes)
            message = f"Publish {len(operations)} files ({INDEX})"
            self._api.create_commit(operations=operations, commit_message=message, **self._where)

    @contextmanager
    def _talking(self) -> Iterator[None]:
        from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

        bars = not are_progress_bars_disabled()
        disable_progress_bars()  # corruptset shows its own progress bar
        try:
            yield
        except CorruptsetError:
            raise
        except Exception as e:
            status = getattr(getattr(e, "response", None), "status_code", None)
            if status in (401, 403) or isinstance(e, self._library.errors.LocalTokenNotFoundError):
                advice = "Log in with `hf auth login`, or set HF_TOKEN to a token with write permission."
                raise ReleaseError(f"{self._url} denies access ({status or 'no token'}). {advice}") from None
            what = (str(e).strip().splitlines() or [type(e).__name__])[0][:300]
            raise MachineError(
                f"{self._url} could not be reached, or failed ({what}). To send the remaining files, run the same "
                "command again."
            ) from e
        finally:
            if bars:
                enable_progress_bars()


def _is_entry(entry: Any, file: PublishedFile) -> bool:
    if getattr(entry, "size", None) != file.bytes:
        return False
    if entry.lfs is not None:
        return f"sha256:{entry.lfs.sha256}" == file.sha256
    blob = hashlib.sha1(b"blob %d\0" % file.bytes, usedforsecurity=False)
    for chunk in chunks_of(file.content):
        blob.update(chunk)
    return bool(entry.blob_id == blob.hexdigest())


def place_of(target: str, release: Path, *, private: bool, replace: bool) -> FolderPlace | StorePlace | HubPlace:
    """Return the destination for a folder or URL, or raise `ReleaseError` if it is inside the release."""
    if target.startswith(HUB):
        return HubPlace(target, private=private)
    folder = target.removeprefix("file://")
    url_of(folder)  # refuses a NUL character
    if "://" in folder:
        return StorePlace(target, replace=replace)
    if release.resolve() in (Path(folder) / "x").resolve().parents:
        raise ReleaseError(f"{target} is inside the release. Choose another --to.")
    return FolderPlace(Path(folder))
