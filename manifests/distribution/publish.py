"""Publish a packed data set: into a folder, an object store, or onto the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...errors import ReleaseError, VerificationError, listed
from ...progress import shows_progress, told
from ...quantities import size
from ..records.digests import sha256_file
from ..records.report import Progress
from .layouts import LAYOUTS, Attribution, LayoutName, PublishedFile, ReleaseFolder, limit_notes, open_release_folder, published_files
from .places import SCHEME, FolderPlace, HubPlace, ObjectStore


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
            f"<Publication {self.place}: {len(sent)} of {len(self.files)} files {what}, {size(sum(f.bytes for f in sent))}, {self.digest}>"
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
    progress: Progress | bool | None = None,
) -> Publication:
    """Publish what `pack` wrote. By default a dry run: it says which files go where, and sends nothing.

    Files that are there with the right size and sha256 are not sent again, so the same call resumes an interrupted one. The index
    (archives.json) is sent last: without it there is no release at that place.

    Parameters
    ----------
    directory : path
        A folder that `pack` wrote.
    to : path or str
        A folder, ``hf://datasets/USER/NAME``, or a URL that fsspec opens, such as ``s3://bucket/prefix``.
    layout : {"plain", "huggingface", "zenodo"}, optional
        By default that of the place: "huggingface" for ``hf://``, else "plain". "zenodo" takes a folder: ``files/`` is what to upload,
        ``zenodo.json`` the metadata of the record.
    go : bool
        Send the files.
    replace : bool
        Overwrite files that are there and differ. Objects of a store are read where their own checksums do not match.
    private : bool
        Of a data set that is made on the hub.
    creators : sequence of str
        ``Family, Given`` or ``Family, Given; Affiliation``; Zenodo needs them.
    license : str, optional
        An SPDX id for the record page, such as ``cc-by-4.0``; Zenodo needs it.
    progress : callable or bool, optional
        Called with the step, bytes done and the total. By default a bar is shown in a terminal and in a notebook; False shows none.

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
    target = str(to)
    release = open_release_folder(directory)
    layout = layout or ("huggingface" if target.startswith(SCHEME) else "plain")
    if layout == "zenodo" and "://" in target:
        raise ReleaseError(f"A Zenodo record is made from a folder, and {target} is none. Give a folder, then upload what is in it.")
    files = published_files(release, layout, Attribution(creators, license))
    place = _place(target, Path(directory), private=private, replace=replace)
    told_progress = told(progress)
    told_progress("comparing", 0, 0)
    there = {path: "differs" if differs else "same" for path, differs in place.differing(files).items()}
    publication = Publication(target, release.index.digest, layout, go, files, there, limit_notes(files, layout))
    differing = [path for path, state in there.items() if state == "differs"]
    if differing and not replace:
        raise ReleaseError(
            f"{target} has other files under these names, and nothing was sent:\n{listed(differing)}\nChoose another place, or overwrite "
            "them with --replace (replace=True)."
        )
    if go:
        _check_archives(release, told_progress)
        total = sum(f.bytes for f in publication.to_send)
        if publication.to_send:
            place.put(publication.to_send, lambda done: told_progress("bytes", min(done, total), total))
    return publication


def _place(target: str, directory: Path, *, private: bool, replace: bool) -> FolderPlace | ObjectStore | HubPlace:
    if target.startswith(SCHEME):
        return HubPlace(target, private=private)
    if "://" in target:
        return ObjectStore(target, replace=replace)
    root = Path(target)
    if root.resolve() == directory.resolve() or directory.resolve() in root.resolve().parents:
        raise ReleaseError(f"{root} is inside the release. Choose another --to.")
    return FolderPlace(root)


def _check_archives(release: ReleaseFolder, progress: Progress) -> None:
    """Refuse archives that were damaged since they were packed: nobody could use them."""
    total, done, problems = sum(a.bytes for a in release.index.archives), 0, []
    for archive in release.index.archives:
        progress("checking", done, total)
        if sha256_file(release.path / archive.path) != archive.sha256:
            problems.append(f"{archive.path} has another sha256 than {archive.sha256}")
        done += archive.bytes
    if problems:
        raise VerificationError(f"{release.path} was damaged after the pack; nothing was sent:\n{listed(problems)}\nPack it again.")
