"""Fetch a published release: download, check, unpack and verify it, and move it into place."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from heapq import nlargest
from pathlib import Path

from ...arguments import check_choice, integer
from ...errors import BuildError, ReleaseError, VerificationError, first_few
from ...progress import progress_function, shows_progress
from ..checksums import is_file_as
from ..disk.atomic import make_folder, write_atomic
from ..disk.lock import hold_lock
from ..disk.remote import local_folder
from ..disk.space import check_space
from ..manifest_file import load_manifest
from ..partial import load_partial
from ..paths import MANIFEST, UNPACK_STATE, WORK_FOLDER, lock_file
from ..records.report import VERIFY_LEVELS, ProgressCallback, VerifyLevel
from ..release.bag import INDEX, IndexedArchive, IndexedFile, ReleaseIndex, parse_index
from ..release.unpack import unpack
from ..set_choice import match_set_names
from ..verify.directory import verify_directory
from .addresses import remote_of
from .download import Remote, WrongBytes, download_all, download_small_file

CONNECTIONS = 4
"""Number of files that are downloaded at the same time."""


@dataclass(frozen=True)
class Fetched:
    """The result of `fetch`.

    Attributes
    ----------
    path : Path
        The directory of the dataset. With `packed`, the folder that contains the archives.
    digest : str
        The digest of the dataset.
    sets : list of str
        Ids of the sets that `path` contains.
    absent : list of str
        Ids of the other sets of the release.
    archives : list of str
        Names of the archives that contain the sets.
    bytes : int
        The total size of these archives in bytes.
    notes : tuple of str
        Notes for the user, for example on sets that were fetched without being requested.
    """

    path: Path
    digest: str
    sets: list[str]
    absent: list[str]
    archives: list[str]
    bytes: int
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        what = f"{len(self.archives)} archives, {len(self.sets)} sets, {len(self.absent)} absent"
        return f"<Fetched {self.path}: {what}, {self.digest}>"


@shows_progress("fetch")
def fetch(
    address: str,
    out: Path | str,
    *,
    sets: Sequence[str] | None = None,
    digest: str | None = None,
    packed: bool = False,
    connections: int = CONNECTIONS,
    level: VerifyLevel = "pixels",
    jobs: int = 1,
    progress: ProgressCallback | bool | None = None,
) -> Fetched:
    """Fetch a published release: download, check, unpack and verify it.

    To resume an interrupted call, make the same call again. A new dataset appears in `out` when it is complete and
    verified. Until then its files are in the hidden folder ``.fetch-<name>`` in `out`.

    Parameters
    ----------
    address : str
        The address of the folder with archives.json: ``https://...``, ``hf://datasets/USER/NAME[@REVISION]``,
        ``s3://...``.
    out : path
        The folder in which the folder of the dataset, ``<name>-<version>``, is created. Existing sets are kept and not
        downloaded again.
    sets : sequence of str, optional
        Patterns that match ids or aliases of sets. By default, all sets are fetched. Other sets in the same archives
        are fetched as well.
    digest : str, optional
        The expected digest of the dataset. A release with a different digest is refused.
    packed : bool
        Keep the archives and their index as `pack` wrote them, without unpacking.
    connections : int
        The number of archives that are downloaded at the same time.
    level : {"structure", "sizes", "hashes", "pixels"}
        How thoroughly the unpacked dataset is verified. The hash of every archive is always compared.
    jobs : int
        The number of processes for verifying.
    progress : callable or bool, optional
        Called with the step, the number of bytes and their total. By default a progress bar is shown in terminals and
        notebooks; False disables it.

    Returns
    -------
    Fetched

    Raises
    ------
    ReleaseError
        There is no release at the address, access is denied, or `out` contains something else under the dataset's name.
    StoreError
        The object store does not exist or denies access.
    UnknownSet
        A pattern matches no set.
    VerificationError
        The digest differs, or a file differs from its record. The message names the file, which is not kept.
    MachineError
        The server cannot be reached, or there is too little space. To resume, make the same call again.
    """
    check_choice("level", level, VERIFY_LEVELS)
    connections, jobs = integer("connections", connections), integer("jobs", jobs)
    out, remote = local_folder(out, "datasets are fetched into"), remote_of(address)
    index = parse_index(download_small_file(remote, INDEX), f"{remote.name}/{INDEX}")
    if digest is not None and index.digest != digest:
        raise VerificationError(
            f"{remote.name} has the digest {index.digest}, but {digest} is expected. Nothing was fetched."
        )
    names = {s: [s, *index.aliases.get(s, [])] for archive in index.archives for s in archive.sets}
    if sets is not None and not names:
        raise ReleaseError(
            f"{remote.name} is a release without images, so --sets cannot be used. Leave it out, and regenerate the "
            "images with `corruptset rebuild`."
        )
    chosen = set(names) if sets is None else set(match_set_names(names, sets, remote.name))
    release = _Release(remote, index, out, connections, progress_function(progress))
    if packed:
        path, archives, existing, all_sets = _fetch_packed(release, sets is None, chosen)
    else:
        path, archives, existing, all_sets = _fetch_dataset(release, sets is None, chosen, level, jobs)
    archive_names, size = [a.name for a in archives], sum(a.bytes for a in archives)
    notes = []
    if others := sorted({s for a in archives for s in a.sets} - chosen):
        notes = [f"The archives also contain {len(others)} sets that were not requested: {first_few(others)}."]
    return Fetched(path, index.digest, sorted(existing), sorted(all_sets - existing), archive_names, size, tuple(notes))


@dataclass(frozen=True)
class _Release:
    """A release that is being fetched into a folder."""

    remote: Remote
    index: ReleaseIndex
    out: Path
    connections: int
    show: ProgressCallback

    @property
    def work(self) -> Path:
        """The hidden folder for downloads."""
        return self.out / f".fetch-{self.index.folder}"

    @contextmanager
    def downloading(
        self, files: Sequence[IndexedFile], waiting: int = 0
    ) -> Iterator[Generator[tuple[IndexedFile, Path], None, None]]:
        """Lock the hidden folder, and yield an iterator over the downloaded files.

        The folder is removed at the end if there was no error. Up to `waiting` downloaded archives wait there to be
        unpacked, so space is needed for both these archives and their content.
        """
        busy = f"Another `corruptset fetch` is running in {self.work}. Wait until it ends, or choose "
        with hold_lock(lock_file(self.work), f"{busy}another --out.", remove=True):
            parts = make_folder(make_folder(self.out, self.work.name), "parts")
            places = [(f, parts / f.name) for f in files]
            for _, path in places:
                _remove_foreign(path)
            total, done = sum(f.bytes for f in files), 0
            needed = total + sum(nlargest(waiting, (f.bytes for f in files)))
            needed -= sum(path.stat().st_size for _, path in places if path.exists())
            check_space(self.out, needed, "the release", "Free some space, choose another --out, or fetch fewer sets.")

            def add_bytes(count: int) -> None:
                nonlocal done
                done += count
                self.show("bytes", min(done, total), total)

            with closing(download_all(self.remote, places, self.connections, add_bytes)) as arriving:
                yield arriving
            shutil.rmtree(self.work)


def _remove_foreign(path: Path) -> None:
    """Remove a file at the place of a download if an earlier call cannot have written it.

    Hard links are removed as well, because writing to them would change a file elsewhere.
    """
    with suppress(FileNotFoundError):
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            path.unlink()


_Found = tuple[Path, list[IndexedArchive], set[str], set[str]]
"""The folder of the result, the archives that were needed, the sets in the folder, and all sets of the release."""


def _fetch_packed(release: _Release, whole: bool, chosen: set[str]) -> _Found:
    """Fetch archives and the other files of the release, and write the index last."""
    index, out = release.index, release.out
    archives = [a for a in index.archives if whole or set(a.sets) & chosen]
    missing = [f for f in (*archives, *index.files) if not is_file_as(out / f.path, f.bytes, f.sha256)]
    if differing := [f.path for f in missing if os.path.lexists(out / f.path)]:
        raise ReleaseError(
            f"{out} contains different files with these names: {first_few(differing)}. Choose another --out."
        )
    with release.downloading(missing) as arriving:
        for file, path in arriving:
            make_folder(out, file.path.rpartition("/")[0])
            os.replace(path, out / file.path)
        write_atomic(out / INDEX, index.encode())
    existing, all_sets = ({s for a in some for s in a.sets} for some in (archives, index.archives))
    return out, archives, existing, all_sets


def _fetch_dataset(release: _Release, whole: bool, chosen: set[str], level: VerifyLevel, jobs: int) -> _Found:
    """Fetch, unpack and verify a dataset. A new dataset is moved into place when it is complete."""
    index, target = release.index, release.out / release.index.folder
    new = not os.path.lexists(target) or (target.is_dir() and not any(target.iterdir()))
    place = release.work / "data" if new else release.out
    root = place / index.folder
    present, in_part = _present(root, release)
    needed = [a for a in index.archives if set(a.sets) & chosen - present or (whole and in_part and not a.sets)]
    with release.downloading(needed, release.connections + 1) as arriving:
        if new and os.path.lexists(target / MANIFEST):
            raise ReleaseError(f"Another command has fetched {target} in the meantime. Run the same command again.")
        try:
            for _, path in arriving:
                if (digest := unpack([path], place, progress=False).digest) != index.digest:
                    raise VerificationError(f"{INDEX} states the digest {index.digest}, but its archives have {digest}")
                path.unlink()
            report = verify_directory(root, level=level, jobs=jobs, progress=release.show)
            report.raise_for_problems()
            all_sets = {s.id for s in load_manifest(root).sets}
            existing = all_sets.difference(report.absent)
            if lacking := sorted(chosen - existing):
                raise VerificationError(f"its archives do not contain sets that {INDEX} lists: {first_few(lacking)}")
        except WrongBytes:
            raise
        except (VerificationError, BuildError) as e:
            if isinstance(e, BuildError) and not new:  # the problem is in the existing folder, not in the archives
                raise
            arriving.close()
            shutil.rmtree(release.work)
            kept = (
                f"Files that were checked before are still in {target}. Run `corruptset verify` to list the problems."
            )
            raise VerificationError(
                f"{release.remote.name} cannot be used: {e}. {'Nothing was kept.' if new else kept}"
            ) from None
        if new:
            os.replace(root, target)
    return target, needed, existing, all_sets


def _present(root: Path, release: _Release) -> tuple[set[str], bool]:
    """Return the sets that a folder already contains, and whether some sets are missing."""
    noted = load_partial(root, UNPACK_STATE) or load_partial(root)
    if noted is None and not (root / MANIFEST).is_file():
        if root.exists() and {*root.iterdir()} - {root / WORK_FOLDER}:
            raise ReleaseError(f"{root} exists and is not a dataset. Choose another --out.")
        return set(), True
    known = noted or load_manifest(root)
    if known.digest != release.index.digest:
        raise ReleaseError(
            f"{root} contains a different dataset ({known.digest}) than {release.remote.name}. Remove it, or choose "
            "another --out."
        )
    return {s if isinstance(s, str) else s.id for s in known.sets}, noted is not None
