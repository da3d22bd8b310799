"""Fetch a published release: only the archives that are needed, checked while they arrive, unpacked, verified, then put in place."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from heapq import nlargest
from itertools import chain
from pathlib import Path

from ...digests import digits
from ...errors import BuildError, ReleaseError, UnknownSet, VerificationError, first_few, suggest
from ...progress import shows_progress, told
from ..checksums import is_file_as
from ..disk.atomic import write_atomic
from ..disk.lock import locked
from ..disk.remote import local_folder
from ..disk.space import check_space
from ..layout import MANIFEST, PARTIAL, UNPACK_STATE
from ..manifest_file import load_manifest
from ..partial import load_partial
from ..records.report import Level, Progress
from ..release.bag import INDEX, INDEX_CAP, IndexedArchive, IndexedFile, ReleaseIndex, parse_index
from ..release.unpack import unpack
from ..verify.ladder import verify_directory
from .addresses import remote_of
from .download import AHEAD, F, Remote, download_all, small_file

CONNECTIONS = 4
"""Files that are fetched at the same time."""


class Refused(VerificationError):
    """A release that contradicts itself, or is hostile: none of its archives can be trusted."""


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
        Of those archives.
    """

    path: Path
    digest: str
    sets: list[str]
    absent: list[str]
    archives: list[str]
    bytes: int

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
    """Fetch a release that `publish` put somewhere: download, check, unpack and verify it. The same call resumes an interrupted one.

    A new data set appears in `out` when it is whole and verified. Until then everything lies in a hidden folder there, ``.fetch-<name>``.

    Parameters
    ----------
    address : str
        Of the folder that has archives.json: ``https://...``, ``hf://datasets/USER/NAME[@REVISION]``, ``s3://...``.
    out : path
        Receives the data set's folder, ``<name>-<version>``. Sets that are there already are kept, and not fetched again.
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
        Called with the step, bytes done and the total. By default a bar is shown in a terminal and in a notebook; False shows none.

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
    if connections < 1 or jobs < 1:
        raise ValueError(f"connections is {connections} and jobs {jobs}; at least 1 is needed.")
    out, remote = local_folder(out, "data sets are fetched into"), remote_of(address)
    index = parse_index(small_file(remote, INDEX, INDEX_CAP), f"{remote.name}/{INDEX}")
    if digest is not None and index.digest != digest:
        raise VerificationError(f"{remote.name} has the digest {index.digest}, expected is {digest}. Nothing was fetched.")
    chosen = _chosen(index, sets, remote.name)
    fetcher = _Fetcher(remote, index, out, connections, told(progress))
    if packed:
        return fetcher.fetch_packed(sets is None, chosen)
    return fetcher.fetch_data_set(sets is None, chosen, level, jobs)


def _chosen(index: ReleaseIndex, globs: Sequence[str] | None, where: str) -> set[str]:
    """Return the ids of the sets that patterns fit."""
    names = {set_id: [set_id, *index.aliases.get(set_id, [])] for archive in index.archives for set_id in archive.sets}
    if globs is None:
        return set(names)
    if not names:
        raise ReleaseError(f"{where} is a release without images, so --sets can choose none. Leave it out, then `corruptset rebuild`.")
    every = {name for group in names.values() for name in group}
    if unfit := [glob for glob in globs if not any(fnmatchcase(name, glob) for name in every)]:
        raise UnknownSet("; ".join(f"{glob!r} matches no set of {where}.{suggest(glob, every)}" for glob in unfit))
    return {set_id for set_id, group in names.items() if any(fnmatchcase(name, glob) for name in group for glob in globs)}


class _Fetcher:
    """One release on its way into a folder."""

    def __init__(self, remote: Remote, index: ReleaseIndex, out: Path, connections: int, progress: Progress) -> None:
        self.remote, self.index, self.out, self.connections, self.progress = remote, index, out, connections, progress
        self.work = out / f".fetch-{index.folder}"
        self.target = out / index.folder

    def fetch_data_set(self, whole: bool, chosen: set[str], level: Level, jobs: int) -> Fetched:
        """Fetch, unpack and verify; what is new comes into place in one step, to what is there the archives are added."""
        present, staged = self._present()
        place = self.work / "data" if staged else self.out
        root = place / self.index.folder
        in_part = not (self.target / MANIFEST).exists() or (self.target / PARTIAL).exists()
        needed = [a for a in self.index.archives if set(a.sets) & chosen - present or (whole and in_part and not a.sets)]
        with self._working():
            missing = [a for a in needed if not self._note(a).exists()]
            ahead = sum(nlargest(AHEAD * self.connections, (a.bytes for a in missing)))  # archives that wait to be unpacked
            with closing(self._download(missing, ahead + sum(a.bytes for a in missing))) as batches:
                for batch in batches:
                    with self._refusing(staged):
                        self._unpack(batch, place)
            with self._refusing(staged):
                report = verify_directory(root, level=level, jobs=jobs, progress=self.progress)
                report.raise_for_problems()
                manifest, partial = load_manifest(root), load_partial(root)
                sets = sorted(s.id for s in manifest.sets) if partial is None else partial.sets
                if lacking := sorted(chosen - set(sets)):
                    raise VerificationError(f"its archives lack sets that {INDEX} names: {first_few(lacking)}")
            if staged:
                os.replace(root, self.target)
        return self._fetched(self.target, needed, sets, {s.id for s in manifest.sets})

    def fetch_packed(self, whole: bool, chosen: set[str]) -> Fetched:
        """Fetch archives and what lies beside them, the index last."""
        archives = [a for a in self.index.archives if whole or set(a.sets) & chosen]
        files: list[IndexedFile] = [*archives, *self.index.files]
        missing = [f for f in files if not is_file_as(self.out / f.path, f.bytes, f.sha256)]
        if differing := [f.path for f in missing if os.path.lexists(self.out / f.path)]:
            raise ReleaseError(f"{self.out} has other files under these names: {first_few(differing)}. Choose another --out.")
        with self._working():
            with closing(self._download(missing, sum(f.bytes for f in missing))) as batches:
                for file in chain.from_iterable(batches):
                    (self.out / file.path).parent.mkdir(parents=True, exist_ok=True)
                    os.replace(self._part(file), self.out / file.path)
            write_atomic(self.out / INDEX, self.index.encode())
        sets = {s for a in archives for s in a.sets}
        return self._fetched(self.out, archives, sorted(sets), {s for a in self.index.archives for s in a.sets})

    def _fetched(self, path: Path, archives: Sequence[IndexedArchive], sets: list[str], every: set[str]) -> Fetched:
        absent = sorted(every - set(sets))
        return Fetched(path, self.index.digest, sets, absent, [a.name for a in archives], sum(a.bytes for a in archives))

    def _present(self) -> tuple[set[str], bool]:
        """Return the sets that are in place, and whether there is nothing of the data set."""
        if not os.path.lexists(self.target) or (self.target.is_dir() and not any(self.target.iterdir())):
            return set(), True
        if (self.target / MANIFEST).is_file():
            manifest, partial = load_manifest(self.target), load_partial(self.target)
            if manifest.digest != self.index.digest:
                raise ReleaseError(
                    f"{self.target} holds another data set ({manifest.digest}) than {self.remote.name}. Choose another --out."
                )
            return ({s.id for s in manifest.sets} if partial is None else set(partial.sets)), False
        if not (self.target / UNPACK_STATE).is_file():
            raise ReleaseError(f"{self.target} exists, and is no data set. Choose another --out.")
        return set(), False  # unpacking was interrupted: it keeps what is there

    @contextmanager
    def _working(self) -> Iterator[None]:
        """Hold the hidden folder, which goes when all went well, or when the release was refused."""
        busy = f"Another process is at work in {self.work} (`corruptset fetch`). Wait for it to end, or choose another --out."
        with locked(self.work / "lock", busy):
            for name in ("parts", "unpacked"):
                (self.work / name).mkdir(exist_ok=True)
            try:
                yield
            except Refused:
                shutil.rmtree(self.work)
                raise
            shutil.rmtree(self.work)

    @contextmanager
    def _refusing(self, staged: bool) -> Iterator[None]:
        """Refuse the release for what is wrong with its archives."""
        try:
            yield
        except (VerificationError, BuildError) as e:
            if isinstance(e, BuildError) and not staged:  # what stands in the data set's folder, not what is in the archives
                raise
            kept = f"What was checked before stands in {self.target}; `corruptset verify` says what is wrong."
            raise Refused(f"{self.remote.name} was refused: {e}. {'Nothing was kept.' if staged else kept}") from None

    def _unpack(self, archives: Sequence[IndexedArchive], place: Path) -> None:
        """Unpack archives, and remove them."""
        digest = unpack([self._part(a) for a in archives], place, progress=False).digest
        if digest != self.index.digest:
            raise VerificationError(f"{INDEX} names the digest {self.index.digest}, its archives have {digest}")
        for a in archives:
            self._note(a).touch()
            self._part(a).unlink()

    def _part(self, file: IndexedFile) -> Path:
        return self.work / "parts" / file.name

    def _note(self, archive: IndexedArchive) -> Path:
        """Return what stands where an archive was unpacked."""
        return self.work / "unpacked" / digits(archive.sha256)

    def _download(self, files: Sequence[F], needed: int) -> Generator[list[F], None, None]:
        """Yield files that are whole in the hidden folder, as they come."""
        standing = sum(part.stat().st_size for f in files if (part := self._part(f)).exists())
        check_space(self.out, needed - standing, "the release", "Free some space, choose another --out, or fetch fewer sets.")
        total, done = sum(f.bytes for f in files), 0

        def more(count: int) -> None:
            nonlocal done
            done += count
            self.progress("bytes", min(done, total), total)

        yield from download_all(self.remote, [(f, self._part(f)) for f in files], self.connections, more)
