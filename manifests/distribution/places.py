"""Where releases are put, as a folder, in an object store, on the Hugging Face hub: what is there is compared before anything is sent."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, Any, NamedTuple
from urllib.parse import quote

from ...digests import digits
from ...errors import CorruptsetError, MachineError, ReleaseError
from ..checksums import is_file_as
from ..disk.atomic import replacing
from ..disk.remote import Sent, Store, url_of
from ..disk.space import check_space
from ..release.archives import CHUNK
from ..release.release_index import INDEX, IndexedArchive, IndexedFile
from .layouts import PublishedFile

SCHEME = "hf://"
_ADDRESS = re.compile(r"hf://datasets/([\w.-]+/[\w.-]+)(?:@([\w./-]+?))?/?")


Recorded = IndexedFile | IndexedArchive | PublishedFile
"""A file whose size and hash are known."""


class FolderPlace:
    """A folder of this machine. As in each place, files are sent in their order, and each is there whole or not at all."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def differing(self, files: Sequence[Recorded]) -> dict[str, bool]:
        """Return path -> whether it differs, of files that are there; hashes are compared where sizes are equal."""
        found = [(f, self.root / f.path) for f in files if os.path.lexists(self.root / f.path)]
        return {f.path: not is_file_as(path, f.bytes, f.sha256) for f, path in found}

    def put(self, files: Sequence[PublishedFile], sent: Sent) -> None:
        """Copy files; each is renamed to its name when it is on the disk."""
        check_space(self.root, sum(f.bytes for f in files), "the release", "Free some space, or choose another --to.")
        done = 0
        for f in files:
            target = self.root / f.path
            target.parent.mkdir(parents=True, exist_ok=True)
            for stray in target.parent.glob(".*.part"):  # of a call that was killed
                stray.unlink()
            with replacing(target) as part, part.open("xb") as out, _opened(f) as content:
                while chunk := content.read(CHUNK):
                    out.write(chunk)
                    done += len(chunk)
                    sent(done)
                out.flush()
                os.fsync(out.fileno())


class ObjectStore:
    """A folder in an object store, such as ``s3://bucket/prefix``.

    The digest that is kept beside an object is believed, as reading a large release takes long. With `replace` it is believed only where
    the store's own checksum (ETag) is that of the file; that of an object in several parts, or encrypted, never is.
    """

    def __init__(self, url: str, *, replace: bool = False) -> None:
        self._store, self._replace = Store(url_of(url) or url), replace

    def differing(self, files: Sequence[PublishedFile]) -> dict[str, bool]:
        """Return path -> whether it differs, by size and sha256; an object is read where what is kept beside it does not say so."""
        there = self._store.versions()
        return {f.path: there[f.path][0] != f.bytes or self._differs(f, there[f.path][1]) for f in files if f.path in there}

    def _differs(self, file: PublishedFile, etag: str) -> bool:
        if self._store.kept_sha256(file.path) == file.sha256 and not (self._replace and etag.strip('"') != _md5(file)):
            return False
        return self._store.sha256(file.path, file.bytes) != file.sha256

    def put(self, files: Sequence[PublishedFile], sent: Sent) -> None:
        """Send files, large ones in several parts that become one object at the end."""
        done = 0
        for f in files:

            def told(now: int, before: int = done) -> None:
                sent(before + now)

            self._store.put(f.path, f.content, sha256=digits(f.sha256), sent=told)
            done += f.bytes
            sent(done)


def _md5(file: PublishedFile) -> str:
    with _opened(file) as content:
        return hashlib.file_digest(content, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()  # type: ignore[arg-type]


def _opened(file: PublishedFile) -> IO[bytes]:
    return BytesIO(file.content) if isinstance(file.content, bytes) else file.content.open("rb")


class HubAddress(NamedTuple):
    """A data set on the hub."""

    repository: str
    revision: str

    @property
    def files(self) -> str:
        """The URL that its files lie below."""
        endpoint = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
        return f"{endpoint}/datasets/{self.repository}/resolve/{quote(self.revision, safe='')}"


def hub_address(url: str) -> HubAddress:
    """Return the repository and revision of ``hf://datasets/USER/NAME[@REVISION]``.

    Examples
    --------
    >>> hub_address("hf://datasets/someone/imagenet-c@v1")
    HubAddress(repository='someone/imagenet-c', revision='v1')

    Raises
    ------
    ReleaseError
        The URL has another form.
    """
    match = _ADDRESS.fullmatch(url)
    if match is None:
        raise ReleaseError(f"{url} is not hf://datasets/USER/NAME, or hf://datasets/USER/NAME@REVISION.")
    return HubAddress(match[1], match[2] or "main")


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
    content = file.content if isinstance(file.content, bytes) else file.content.read_bytes()
    blob = b"blob %d\0" % len(content) + content
    return bool(there.blob_id == hashlib.sha1(blob, usedforsecurity=False).hexdigest())
