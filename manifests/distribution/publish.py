"""A packed data set published: into a folder, an object store, or onto the hub."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...arguments import check_word
from ...errors import ReleaseError, VerificationError, listed
from ...progress import progress_function, shows_progress
from ...quantities import size
from ..records.digests import sha256_file
from ..records.report import Progress
from .addresses import HUB, hub_files
from .places import place_of
from .published_files import LAYOUTS, LayoutName, PublishedFile, limit_notes, open_release_folder, published_files


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
    """Publish what `pack` wrote. By default a dry run, which sends nothing.

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
        `directory` was not packed, the layout needs more or has no use for an option, or files at the place differ from
        those of the release.
    IncompleteBuild
        The pack was interrupted, or archives were not fetched.
    VerificationError
        Files of the release are missing or damaged; names all of them.
    StoreError
        The store is not there, or refuses.
    MachineError
        The place cannot be reached, or has too little space.
    """
    if layout is not None:
        check_word("layout", layout, LAYOUTS)
    target, shown = str(to), progress_function(progress)
    release = open_release_folder(directory)
    layout = layout or ("huggingface" if target.startswith(HUB) else "plain")
    if layout == "zenodo" and "://" in target.removeprefix("file://"):
        raise ReleaseError(
            f"A Zenodo record is made from a folder, and {target} is none. Give a folder, then upload what is in it."
        )
    if private and not target.startswith(HUB):
        raise ReleaseError("--private is for hf://; a folder or store has its own permissions. Leave it out.")
    if creators and layout != "zenodo":
        raise ReleaseError("--creator is for a Zenodo record: add --for zenodo, or leave it out.")
    if url is not None and not re.fullmatch(r"https?://[^\s/?#]+[^\s?#]*", url):
        raise ReleaseError(
            f"--url is {url!r}; expected the http(s) URL of the folder with the files, such as "
            "https://example.org/imagenet-c."
        )
    try:
        date = date and datetime.date.fromisoformat(date).isoformat()
    except ValueError:
        raise ReleaseError(f"--date is {date!r}; expected a day such as 2026-11-23.") from None
    place = place_of(target, release.path, private=private, replace=replace)
    url = hub_files(target) if url is None and target.startswith(HUB) else url
    files = published_files(release, layout, creators=creators, license=license, url=url, date=date)
    shown("comparing", 0, 0)
    there = {path: "same" if same else "differs" for path, same in place.same(files).items()}
    publication = Publication(target, release.index.digest, layout, go, files, there, limit_notes(files, layout))
    differing = [path for path, state in there.items() if state == "differs"]
    if differing and not replace:
        raise ReleaseError(
            f"{target} has other files under these names, and nothing was sent:\n{listed(differing)}\nChoose another "
            "place, or overwrite them with --replace (replace=True)."
        )
    if go:
        _check_archives(release.path, files, shown)
        if to_send := publication.to_send:
            total = sum(f.bytes for f in to_send)
            place.send(to_send, lambda done: shown("bytes", done, total))
    return publication


def _check_archives(release: Path, files: Sequence[PublishedFile], progress: Progress) -> None:
    """Refuse archives that were damaged since they were packed: nobody could use them."""
    large = [(f, f.content) for f in files if isinstance(f.content, Path)]
    total, done, problems = sum(f.bytes for f, _ in large), 0, []
    for file, path in large:
        progress("checking", done, total)
        if sha256_file(path) != file.sha256:
            problems.append(f"{path.relative_to(release)} has another sha256 than {file.sha256}")
        done += file.bytes
    if problems:
        raise VerificationError(
            f"{release} was damaged after the pack; nothing was sent:\n{listed(problems)}\nPack it again."
        )
