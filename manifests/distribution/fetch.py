"""A published release fetched: downloaded, checked, unpacked and verified, then put in place."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from heapq import nlargest
from pathlib import Path

from ...arguments import check_word, whole_number
from ...errors import BuildError, ReleaseError, VerificationError, first_few
from ...progress import progress_function, shows_progress
from ..checksums import is_file_as
from ..disk.atomic import make_folder, write_atomic
from ..disk.lock import locked
from ..disk.remote import local_folder
from ..disk.space import check_space
from ..manifest_file import load_manifest
from ..partial import load_partial
from ..paths import MANIFEST, UNPACK_STATE, WORK_FOLDER, lock_file
from ..records.report import LEVELS, Level, Progress
from ..release.bag import INDEX, IndexedArchive, IndexedFile, ReleaseIndex, parse_index
from ..release.unpack import unpack
from ..set_choice import matching_sets
from ..verify.ladder import verify_directory
from .addresses import remote_of
from .download import Remote, WrongBytes, download_all, small_file

CONNECTIONS = 4
"""Files that are fetched at the same time."""


@dataclass(frozen=True)
class Fetched:
    """What `fetch` brought.

    Attributes
    ----------
    path : Path
        The data set; with `packed`, the folder of archives.
    digest : str
        The data set's.
    sets : list of str
        Ids of the sets that are there; with `packed`, of those in the archives.
    absent : list of str
        Ids of the others.
    archives : list of str
        Names of the archives that were needed.
    bytes : int
        The sizes of those archives, summed.
    notes : tuple of str
        What else a user should know, such as the sets that were fetched without being requested.
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
    level: Level = "pixels",
    jobs: int = 1,
    progress: Progress | bool | None = None,
) -> Fetched:
    """Fetch a published release: download, check, unpack and verify it.

    The same call resumes an interrupted one. A new data set appears in `out` when it is whole and verified; until then
    everything lies in a hidden folder there, ``.fetch-<name>``.

    Parameters
    ----------
    address : str
        Of the folder that has archives.json: ``https://...``, ``hf://datasets/USER/NAME[@REVISION]``, ``s3://...``.
    out : path
        Receives the data set's folder, ``<name>-<version>``. Sets that are there already are kept, and not fetched
        again.
    sets : sequence of str, optional
        Patterns of ids and aliases; by default all. Other sets of the same archives come with them.
    digest : str, optional
        The expected digest of the data set: any other is refused.
    packed : bool
        Keep the archives and what is beside them, as `pack` wrote them, and unpack nothing.
    connections : int
        Archives that are fetched at the same time.
    level : {"structure", "sizes", "hashes", "pixels"}
        How far the data set is verified. Every byte was compared with a hash before.
    jobs : int
        Processes that verify.
    progress : callable or bool, optional
        Called with the step, bytes done and the total. By default a bar is shown in a terminal and in a notebook; False
        shows none.

    Returns
    -------
    Fetched

    Raises
    ------
    ReleaseError
        There is no release at that address, it may not be read, or something else is where it goes.
    StoreError
        The store is not there, or refuses.
    UnknownSet
        A pattern fits no set.
    VerificationError
        The digest is another one, or a file has other bytes than recorded; says which. Nothing of it is kept.
    MachineError
        The server cannot be reached, or there is too little space; the same call goes on.
    """
    check_word("level", level, LEVELS)
    connections, jobs = whole_number("connections", connections), whole_number("jobs", jobs)
    out, remote = local_folder(out, "data sets are fetched into"), remote_of(address)
    index = parse_index(small_file(remote, INDEX), f"{remote.name}/{INDEX}")
    if digest is not None and index.digest != digest:
        raise VerificationError(
            f"{remote.name} has the digest {index.digest}, expected is {digest}. Nothing was fetched."
        )
    names = {s: [s, *index.aliases.get(s, [])] for archive in index.archives for s in archive.sets}
    if sets is not None and not names:
        raise ReleaseError(
            f"{remote.name} is a release without images, so --sets can choose none. Leave it out, then `corruptset "
            "rebuild`."
        )
    chosen = set(names) if sets is None else set(matching_sets(names, sets, remote.name))
    release = _Release(remote, index, out, connections, progress_function(progress))
    if packed:
        path, archives, there, every = _fetch_packed(release, sets is None, chosen)
    else:
        path, archives, there, every = _fetch_data_set(release, sets is None, chosen, level, jobs)
    names_of, size = [a.name for a in archives], sum(a.bytes for a in archives)
    notes = []
    if others := sorted({s for a in archives for s in a.sets} - chosen):
        notes = [f"The archives also contain {len(others)} sets that were not requested: {first_few(others)}."]
    return Fetched(path, index.digest, sorted(there), sorted(every - there), names_of, size, tuple(notes))


@dataclass(frozen=True)
class _Release:
    """A release on its way into a folder."""

    remote: Remote
    index: ReleaseIndex
    out: Path
    connections: int
    show: Progress

    @property
    def work(self) -> Path:
        """The hidden folder."""
        return self.out / f".fetch-{self.index.folder}"

    @contextmanager
    def downloading(
        self, files: Sequence[IndexedFile], waiting: int = 0
    ) -> Iterator[Generator[tuple[IndexedFile, Path], None, None]]:
        """Hold the hidden folder, and give files that are whole in it, as they come.

        It goes when all went well. `waiting` of them lie there at once, until they are unpacked beside it.
        """
        busy = f"Another process is at work in {self.work} (`corruptset fetch`). Wait for it to end, or choose "
        with locked(lock_file(self.work), f"{busy}another --out.", remove=True):
            parts = make_folder(make_folder(self.out, self.work.name), "parts")
            places = [(f, parts / f.name) for f in files]
            for _, path in places:
                _remove_foreign(path)
            total, done = sum(f.bytes for f in files), 0
            needed = total + sum(nlargest(waiting, (f.bytes for f in files)))
            needed -= sum(path.stat().st_size for _, path in places if path.exists())
            check_space(self.out, needed, "the release", "Free some space, choose another --out, or fetch fewer sets.")

            def more(count: int) -> None:
                nonlocal done
                done += count
                self.show("bytes", min(done, total), total)

            with closing(download_all(self.remote, places, self.connections, more)) as arriving:
                yield arriving
            shutil.rmtree(self.work)


def _remove_foreign(path: Path) -> None:
    """Remove what stands in the place of a file that is being fetched and was not written by an earlier call.

    A hard link is removed as well, because the file has another name somewhere, and is written to.
    """
    with suppress(FileNotFoundError):
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            path.unlink()


_Found = tuple[Path, list[IndexedArchive], set[str], set[str]]
"""What is there now: its folder, the archives that were needed, its sets, and all sets of the release."""


def _fetch_packed(release: _Release, whole: bool, chosen: set[str]) -> _Found:
    """Fetch archives and what lies beside them, the index last."""
    index, out = release.index, release.out
    archives = [a for a in index.archives if whole or set(a.sets) & chosen]
    missing = [f for f in (*archives, *index.files) if not is_file_as(out / f.path, f.bytes, f.sha256)]
    if differing := [f.path for f in missing if os.path.lexists(out / f.path)]:
        raise ReleaseError(f"{out} has other files under these names: {first_few(differing)}. Choose another --out.")
    with release.downloading(missing) as arriving:
        for file, path in arriving:
            make_folder(out, file.path.rpartition("/")[0])
            os.replace(path, out / file.path)
        write_atomic(out / INDEX, index.encode())
    there, every = ({s for a in some for s in a.sets} for some in (archives, index.archives))
    return out, archives, there, every


def _fetch_data_set(release: _Release, whole: bool, chosen: set[str], level: Level, jobs: int) -> _Found:
    """Fetch, unpack and verify; a new data set comes into place in one step."""
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
                    raise VerificationError(f"{INDEX} names the digest {index.digest}, its archives have {digest}")
                path.unlink()
            report = verify_directory(root, level=level, jobs=jobs, progress=release.show)
            report.raise_for_problems()
            every = {s.id for s in load_manifest(root).sets}
            there = every.difference(report.absent)
            if lacking := sorted(chosen - there):
                raise VerificationError(f"its archives lack sets that {INDEX} names: {first_few(lacking)}")
        except WrongBytes:
            raise
        except (VerificationError, BuildError) as e:
            if isinstance(e, BuildError) and not new:  # what stands in the folder, not what is in the archives
                raise
            arriving.close()
            shutil.rmtree(release.work)
            kept = f"What was checked before stands in {target}; `corruptset verify` says what is wrong."
            raise VerificationError(
                f"{release.remote.name} was refused: {e}. {'Nothing was kept.' if new else kept}"
            ) from None
        if new:
            os.replace(root, target)
    return target, needed, there, every


def _present(root: Path, release: _Release) -> tuple[set[str], bool]:
    """Return the sets that earlier calls brought, and whether others are missing."""
    noted = load_partial(root, UNPACK_STATE) or load_partial(root)
    if noted is None and not (root / MANIFEST).is_file():
        if root.exists() and {*root.iterdir()} - {root / WORK_FOLDER}:
            raise ReleaseError(f"{root} exists, and is no data set. Choose another --out.")
        return set(), True
    known = noted or load_manifest(root)
    if known.digest != release.index.digest:
        raise ReleaseError(
            f"{root} holds another data set ({known.digest}) than {release.remote.name}. Remove it, or choose another "
            "--out."
        )
    return {s if isinstance(s, str) else s.id for s in known.sets}, noted is not None
