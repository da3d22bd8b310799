"""A packed data set published: into a folder, an object store, or onto the hub."""

from __future__ import annotations

import datetime
import hashlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ...digests import digits
from ...errors import CorruptsetError, MachineError, ReleaseError, VerificationError, listed
from ...progress import shows_progress, told
from ...quantities import size
from ..checksums import is_file_as
from ..disk.atomic import write_large
from ..disk.remote import Store, url_of
from ..disk.space import check_space
from ..records.digests import sha256_file
from ..records.report import Progress
from ..release.bag import INDEX
from .addresses import HUB, hub_address
from .layouts import (
    LAYOUTS,
    LayoutName,
    PublishedFile,
    ReleaseFolder,
    chunks_of,
    limit_notes,
    open_release_folder,
    published_files,
)


@dataclass(frozen=True)
class Publication:
    """What `publish` sent, or would send.

    Attributes
    ----------
    place : str
        Where to.
    digest : str
        The data set's.
    layout : str
    done : bool
        False for a dry run.
    files : list of PublishedFile
        All files of the release at its place, in the order in which they are sent.
    there : dict
        Path -> ``"same"`` or ``"differs"``, of those that were there before.
    notes : list of str
        What a person should know of the place's limits.
    """

    place: str
    digest: str
    layout: LayoutName
    done: bool
    files: list[PublishedFile]
    there: dict[str, str]
    notes: list[str]

    @property
    def to_send(self) -> list[PublishedFile]:
        """The files that were not there as they are."""
        return [f for f in self.files if self.there.get(f.path) != "same"]

    def __repr__(self) -> str:
        what = "sent" if self.done else "to send (dry run)"
        sent = self.to_send
        return (
            f"<Publication {self.place}: {len(sent)} of {len(self.files)} files {what}, "
            f"{size(sum(f.bytes for f in sent))}, {self.digest}>"
        )


@shows_progress("publish")
def publish(
    directory: Path | str,
    to: Path | str,
    *,
    layout: LayoutName | None = None,
    go: bool = False,
    replace: bool = False,
    private: bool = False,
    creators: Sequence[str] = (),
    license: str | None = None,
    url: str | None = None,
    date: str | None = None,
    progress: Progress | bool | None = None,
) -> Publication:
    """Publish what `pack` wrote. By default a dry run: it says which files go where, and sends nothing.

    Files that are there with the right size and sha256 are not sent again, so the same call resumes an interrupted one.
    The index (archives.json) is sent last: without it there is no release at that place.

    Parameters
    ----------
    directory : path
        A folder that `pack` wrote.
    to : path or str
        A folder (``file://`` may stand before it), ``hf://datasets/USER/NAME``, or a URL that fsspec opens, such as
        ``s3://bucket/prefix``.
    layout : {"plain", "huggingface", "zenodo"}, optional
        By default that of the place: "huggingface" for ``hf://``, else "plain". "zenodo" takes a folder: ``files/`` is
        what to upload, ``zenodo.json`` the metadata of the record.
    go : bool
        Send the files.
    replace : bool
        Overwrite files that are there and differ. Objects of a store are read to be compared.
    private : bool
        Of a data set that is made on the hub.
    creators : sequence of str
        ``Family, Given`` or ``Family, Given; Affiliation``; Zenodo needs them.
    license : str, optional
        An SPDX id for the record page, such as ``cc-by-4.0``; Zenodo needs it. In croissant.json too.
    url : str, optional
        Of the folder that people will read the files from, for croissant.json; on the hub it is known.
    date : str, optional
        When it is published, ``YYYY-MM-DD``, for croissant.json.
    progress : callable or bool, optional
        Called with the step, bytes done and the total. By default a bar is shown in a terminal and in a notebook; False
        shows none.

    Returns
    -------
    Publication

    Raises
    ------
    ReleaseError
        `directory` was not packed, the layout needs more, or files at the place differ from those of the release.
    IncompleteBuild
        The pack was interrupted.
    VerificationError
        Files of the release are missing or damaged; names all of them.
    StoreError
        The store is not there, or refuses.
    MachineError
        The place cannot be reached, or has too little space.
    """
    if layout is not None and layout not in LAYOUTS:
        raise ValueError(f"layout is {layout!r}; expected one of {LAYOUTS}.")
    target, shown = str(to), told(progress)
    release = open_release_folder(directory)
    layout = layout or ("huggingface" if target.startswith(HUB) else "plain")
    if layout == "zenodo" and "://" in target.removeprefix("file://"):
        raise ReleaseError(
            f"A Zenodo record is made from a folder, and {target} is none. Give a folder, then upload what is in it."
        )
    if url is not None and not re.fullmatch(r"https?://[^\s/?#]+[^\s?#]*", url):
        raise ReleaseError(
            f"--url is {url!r}; expected the http(s) URL of the folder with the files, such as "
            "https://example.org/imagenet-c."
        )
    place = _place(target, Path(directory), private=private, replace=replace)
    if url is None and isinstance(place, HubPlace):
        url = place.address.files
    files = published_files(release, layout, creators=creators, license=license, url=url, date=date and _day(date))
    shown("comparing", 0, 0)
    found = [(f.path, place.differs(f)) for f in files]
    there = {path: "differs" if differs else "same" for path, differs in found if differs is not None}
    publication = Publication(target, release.index.digest, layout, go, files, there, limit_notes(files, layout))
    differing = [path for path, state in there.items() if state == "differs"]
    if differing and not replace:
        raise ReleaseError(
            f"{target} has other files under these names, and nothing was sent:\n{listed(differing)}\nChoose another "
            "place, or overwrite them with --replace (replace=True)."
        )
    if go:
        _check_archives(release, files, shown)
        total, done = sum(f.bytes for f in publication.to_send), 0
        if publication.to_send:
            with place.sending(total):
                for f in publication.to_send:
                    place.put(f, lambda sent, before=done: shown("bytes", before + sent, total))
                    done += f.bytes
                    shown("bytes", done, total)
    return publication


def _day(given: str) -> str:
    try:
        return datetime.date.fromisoformat(given).isoformat()
    except ValueError:
        raise ReleaseError(f"--date is {given!r}; expected a day such as 2026-11-23.") from None


def _place(target: str, directory: Path, *, private: bool, replace: bool) -> FolderPlace | ObjectStore | HubPlace:
    if target.startswith(HUB):
        return HubPlace(target, private=private)
    if target.startswith("file://"):
        target = target.removeprefix("file://")
    if "://" in target:
        return ObjectStore(target, replace=replace)
    if directory.resolve() in (Path(target) / "x").resolve().parents:
        raise ReleaseError(f"{target} is inside the release. Choose another --to.")
    return FolderPlace(Path(target))


def _check_archives(release: ReleaseFolder, files: Sequence[PublishedFile], progress: Progress) -> None:
    """Refuse archives that were damaged since they were packed: nobody could use them."""
    large = [(f, f.content) for f in files if isinstance(f.content, Path)]
    total, done, problems = sum(f.bytes for f, _ in large), 0, []
    for file, path in large:
        progress("checking", done, total)
        if sha256_file(path) != file.sha256:
            problems.append(f"{path.relative_to(release.path)} has another sha256 than {file.sha256}")
        done += file.bytes
    if problems:
        raise VerificationError(
            f"{release.path} was damaged after the pack; nothing was sent:\n{listed(problems)}\nPack it again."
        )


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
