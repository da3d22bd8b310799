"""`pack`: archives of a finished build, divided by the families of its corruptions."""

from __future__ import annotations

from pathlib import Path

from ..corruptions.registry import corruption_names, get_corruption
from ..manifests.records.report import Progress
from ..manifests.release import pack as archives
from ..manifests.release.archives import ArchiveFormat
from ..manifests.release.bag import Bag
from ..manifests.release.division import Division
from ..progress import shows_progress, told

OTHER = "other"
"""The archive of corruptions that this release does not know."""


@shows_progress("pack")
def pack(
    directory: str | Path,
    out: str | Path,
    *,
    by: Division = "family",
    form: ArchiveFormat = "tar",
    max_bytes: int = archives.MAX_BYTES,
    manifest_only: bool = False,
    digests: archives.Digests = "images",
    progress: Progress | bool | None = None,
) -> Bag:
    """Pack a finished build into archives for publishing, with SHA256SUMS, a data card, BagIt's files and croissant.json.

    Two packings of one build are equal byte for byte. Every file is checked while it is read. The same call resumes an interrupted pack.

    Parameters
    ----------
    directory : path
        The one that holds manifest.json.
    out : path
        Receives everything; new, empty, or left by the same pack when it was interrupted.
    by : {"family", "corruption", "set"}
        An archive for each family (as ImageNet-C ships: noise, blur, weather, digital, extra), corruption or set.
    form : {"tar", "zip"}
        Kind of archive; nothing is compressed in either.
    max_bytes : int
        Of an archive; larger ones are split, between sets where that is enough.
    manifest_only : bool
        Only the records, without images: for sources whose licence forbids passing them on.
    digests : {"images", "sets"}
        Of a release without images: whether it has the digest of every image, or leaves out the rows of sets, so that each set is known by
        its one digest in the manifest.
    progress : callable or bool, optional
        Called with the step, bytes done and the total. By default a bar is shown in a terminal and in a notebook; False shows none.

    Returns
    -------
    Bag

    Raises
    ------
    IncompleteBuild
        The build is not finished, or is itself a part of one.
    VerificationError
        A file of the build is missing or differs from its record; names it.
    BuildError
        `out` holds something else, or an archive cannot be made as asked.
    MachineError
        There is too little free space for the archives that are still to be made.
    """
    return archives.pack(
        directory,
        out,
        family=_family,
        by=by,
        form=form,
        max_bytes=max_bytes,
        manifest_only=manifest_only,
        digests=digests,
        progress=told(progress),
    )


def _family(corruption: str) -> str:
    return get_corruption(corruption).family if corruption in corruption_names() else OTHER
