"""Publish a packed dataset in a folder, in an object store or on the Hugging Face Hub."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...arguments import check_choice
from ...errors import ReleaseError, VerificationError, format_list
from ...progress import progress_function, shows_progress
from ...quantities import size
from ..records.digests import sha256_file
from ..records.report import ProgressCallback
from .addresses import HUB, hub_files
from .places import place_of
from .published_files import (
    RELEASE_LAYOUTS,
    PublishedFile,
    ReleaseLayout,
    limit_notes,
    open_release_folder,
    published_files,
)


@dataclass(frozen=True)
class Publication:
    """The result of `publish`.

    Attributes
    ----------
    place : str
        The destination.
    digest : str
        The digest of the dataset.
    layout : str
        The layout of the files at the destination.
    sent : bool
        Whether files were sent. False for a dry run.
    files : list of PublishedFile
        All files of the release at the destination, in the order in which they are sent.
    existing : dict
        Path -> ``"same"`` or ``"differs"`` for the files that existed before.
    notes : list of str
        Notes on limits of the destination.
    """

    place: str
    digest: str
    layout: ReleaseLayout
    sent: bool
    files: list[PublishedFile]
    existing: dict[str, str]
    notes: list[str]

    @property
    def to_send(self) -> list[PublishedFile]:
        """The files that did not exist at the destination, or differ there."""
        return [f for f in self.files if self.existing.get(f.path) != "same"]

    def __repr__(self) -> str:
        what = "sent" if self.sent else "to send (dry run)"
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
    layout: ReleaseLayout | None = None,
    go: bool = False,
    replace: bool = False,
    private: bool = False,
    creators: Sequence[str] = (),
    license: str | None = None,
    url: str | None = None,
    date: str | None = None,
    progress: ProgressCallback | bool | None = None,
) -> Publication:
    """Publish a folder that `pack` wrote. The default is a dry run, which sends nothing.

    Files that exist at the destination with the right size and sha256 are not sent again. To resume an interrupted
    call, make the same call again. The index (archives.json) is sent last. Without its index, a release is incomplete.

    Parameters
    ----------
    directory : path
        A folder that `pack` wrote.
    to : path or str
        A folder (with or without ``file://``), ``hf://datasets/USER/NAME``, or a URL that fsspec supports, such as
        ``s3://bucket/prefix``.
    layout : {"plain", "huggingface", "zenodo"}, optional
        The layout of the files. The default is "huggingface" for ``hf://`` and "plain" for other destinations. "zenodo"
        writes a folder in which ``files/`` contains the files to upload, and ``zenodo.json`` contains the metadata of
        the record.
    go : bool
        Send the files.
    replace : bool
        Overwrite files that exist and differ. Existing objects in an object store are read for the comparison.
    private : bool
        Create a private dataset on the Hub.
    creators : sequence of str
        The creators, each as ``Family, Given`` or ``Family, Given; Affiliation``. Zenodo requires them.
    license : str, optional
        An SPDX id for the record page and croissant.json, such as ``cc-by-4.0``. Zenodo requires it.
    url : str, optional
        The URL of the folder from which the files will be downloaded, for croissant.json. For the Hub, the URL is
        determined automatically.
    date : str, optional
        The date of publication, ``YYYY-MM-DD``, for croissant.json.
    progress : callable or bool, optional
        Called with the step, the number of bytes and their total. By default a progress bar is shown in terminals and
        notebooks; False disables it.

    Returns
    -------
    Publication

    Raises
    ------
    ReleaseError
        `directory` was not packed, files at the destination differ from the release, an option is missing, or an option
        does not apply to the layout.
    IncompleteBuild
        Packing was interrupted, or not all archives were fetched.
    VerificationError
        Files of the release are missing or damaged. The message names all of them.
    StoreError
        The object store does not exist or denies access.
    MachineError
        The destination cannot be reached, or has too little space.
    """
    if layout is not None:
        check_choice("layout", layout, RELEASE_LAYOUTS)
    target, shown = str(to), progress_function(progress)
    release = open_release_folder(directory)
    layout = layout or ("huggingface" if target.startswith(HUB) else "plain")
    if layout == "zenodo" and "://" in target.removeprefix("file://"):
        raise ReleaseError(
            f"A Zenodo record is prepared in a folder, but {target} is a URL. Specify a folder, and upload its files."
        )
    if private and not target.startswith(HUB):
        raise ReleaseError(
            "--private is only for hf://, because folders and stores have their own permissions. Omit this option."
        )
    if creators and layout != "zenodo":
        raise ReleaseError("--creator is only for Zenodo records. Add --for zenodo, or omit this option.")
    if url is not None and not re.fullmatch(r"https?://[^\s/?#]+[^\s?#]*", url):
        raise ReleaseError(
            f"--url is {url!r}, but it must be the http(s) URL of the folder with the files, such as "
            "https://example.org/imagenet-c."
        )
    try:
        date = date and datetime.date.fromisoformat(date).isoformat()
    except ValueError:
        raise ReleaseError(f"--date is {date!r}, but it must be a day such as 2026-11-23.") from None
    place = place_of(target, release.path, private=private, replace=replace)
    url = hub_files(target) if url is None and target.startswith(HUB) else url
    files = published_files(release, layout, creators=creators, license=license, url=url, date=date)
    shown("comparing", 0, 0)
    existing = {path: "same" if same else "differs" for path, same in place.same(files).items()}
    publication = Publication(target, release.index.digest, layout, go, files, existing, limit_notes(files, layout))
    differing = [path for path, state in existing.items() if state == "differs"]
    if differing and not replace:
        raise ReleaseError(
            f"{target} contains different files with these names, so nothing was sent:\n{format_list(differing)}\n"
            "Choose another destination, or overwrite the files with --replace (replace=True)."
        )
    if go:
        _check_archives(release.path, files, shown)
        if to_send := publication.to_send:
            total = sum(f.bytes for f in to_send)
            place.send(to_send, lambda done: shown("bytes", done, total))
    return publication


def _check_archives(release: Path, files: Sequence[PublishedFile], progress: ProgressCallback) -> None:
    """Raise `VerificationError` for archives that were damaged after packing."""
    large = [(f, f.content) for f in files if isinstance(f.content, Path)]
    total, done, problems = sum(f.bytes for f, _ in large), 0, []
    for file, path in large:
        progress("checking", done, total)
        if sha256_file(path) != file.sha256:
            problems.append(f"{path.relative_to(release)} does not have the recorded hash {file.sha256}")
        done += file.bytes
    if problems:
        raise VerificationError(
            f"{release} was damaged after packing, so nothing was sent:\n{format_list(problems)}\n"
            "Pack the dataset again."
        )
