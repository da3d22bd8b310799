"""A published release fetched: downloaded, checked, unpacked and verified, then put in place."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from heapq import nlargest
from pathlib import Path

from ...digests import digits
from ...errors import BuildError, ReleaseError, VerificationError, first_few
from ...progress import progress_function, shows_progress
from ..checksums import is_file_as
from ..disk.atomic import write_atomic
from ..disk.lock import locked
from ..disk.remote import local_folder
from ..disk.space import check_space
from ..layout import MANIFEST, UNPACK_STATE
from ..manifest_file import load_manifest
from ..partial import load_partial
from ..records.report import Level, Progress
from ..release.bag import INDEX, INDEX_CAP, IndexedArchive, IndexedFile, ReleaseIndex, parse_index
from ..release.unpack import unpack
from ..set_choice import matching_sets
from ..verify.ladder import verify_directory
from .addresses import remote_of
from .download import AHEAD, Remote, download_all, small_file

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
    """Fetch a release that `publish` put somewhere: download, check, unpack and verify it. The same call resumes an
    interrupted one.

    A new data set appears in `out` when it is whole and verified. Until then everything lies in a hidden folder there,
    ``.fetch-<name>``.

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
    if connections < 1 or jobs < 1:
        raise ValueError(f"connections is {connections} and jobs {jobs}; at least 1 is needed.")
    out, remote = local_folder(out, "data sets are fetched into"), remote_of(address)
    index = parse_index(small_file(remote, INDEX, INDEX_CAP), f"{remote.name}/{INDEX}")
    if digest is not None and index.digest != digest:
        raise VerificationError(
            f"{remote.name} has the digest {index.digest}, expected is {digest}. Nothing was fetched."
        )
    chosen = _chosen(index, sets, remote.name)
    fetcher = _Fetcher(remote, index, out, connections, progress_function(progress))
    if packed:
        return fetcher.fetch_packed(sets is None, chosen)
    return fetcher.fetch_data_set(sets is None, chosen, level, jobs)


def _chosen(index: ReleaseIndex, globs: Sequence[str] | None, where: str) -> set[str]:
    """Return the ids of the sets that patterns fit."""
    names = {set_id: [set_id, *index.aliases.get(set_id, [])] for archive in index.archives for set_id in archive.sets}
    if globs is None:
        return set(names)
    if not names:
        raise ReleaseError(
            f"{where} is a release without images, so --sets can choose none. Leave it out, then `corruptset rebuild`."
        )
    return set(matching_sets(names, globs, where))


class _Fetcher:
    """One release on its way into a folder."""

    def __init__(self, remote: Remote, index: ReleaseIndex, out: Path, connections: int, progress: Progress) -> None:
        self.remote, self.index, self.out, self.connections, self.progress = remote, index, out, connections, progress
        self.target, self.work = out / index.folder, out / f".fetch-{index.folder}"

    def fetch_data_set(self, whole: bool, chosen: set[str], level: Level, jobs: int) -> Fetched:
        """Fetch, unpack and verify; what is new comes into place in one step, to what is there the archives are
        added.
        """
        staged = not os.path.lexists(self.target) or (self.target.is_dir() and not any(self.target.iterdir()))
        place = self.work / "data" if staged else self.out
        root = place / self.index.folder
        present, in_part = (set[str](), True) if staged else self._present()
        needed = [
            a for a in self.index.archives if set(a.sets) & chosen - present or (whole and in_part and not a.sets)
        ]
        unpacked = self.work / "unpacked"
        missing = [a for a in needed if not (unpacked / digits(a.sha256)).exists()]
        with self._downloading(missing, ahead=True) as arriving:
            for archive, path in arriving:
                with self._refusing(staged):
                    digest = unpack([path], place, progress=False).digest
                    if digest != self.index.digest:
                        raise VerificationError(
                            f"{INDEX} names the digest {self.index.digest}, its archives have {digest}"
                        )
                write_atomic(unpacked / digits(archive.sha256))
                path.unlink()
            with self._refusing(staged):
                verify_directory(root, level=level, jobs=jobs, progress=self.progress).raise_for_problems()
                every, sets, _ = _sets(root)
                if lacking := sorted(chosen - sets):
                    raise VerificationError(f"its archives lack sets that {INDEX} names: {first_few(lacking)}")
            if staged:
                os.replace(root, self.target)
        return self._fetched(self.target, needed, sets, every)

    def fetch_packed(self, whole: bool, chosen: set[str]) -> Fetched:
        """Fetch archives and what lies beside them, the index last."""
        archives = [a for a in self.index.archives if whole or set(a.sets) & chosen]
        missing = [f for f in (*archives, *self.index.files) if not is_file_as(self.out / f.path, f.bytes, f.sha256)]
        if differing := [f.path for f in missing if os.path.lexists(self.out / f.path)]:
            raise ReleaseError(
                f"{self.out} has other files under these names: {first_few(differing)}. Choose another --out."
            )
        with self._downloading(missing) as arriving:
            for file, path in arriving:
                (self.out / file.path).parent.mkdir(parents=True, exist_ok=True)
                os.replace(path, self.out / file.path)
            write_atomic(self.out / INDEX, self.index.encode())
        return self._fetched(
            self.out, archives, *({s for a in some for s in a.sets} for some in (archives, self.index.archives))
        )

    def _fetched(self, path: Path, archives: Sequence[IndexedArchive], sets: set[str], every: set[str]) -> Fetched:
        names, size = [a.name for a in archives], sum(a.bytes for a in archives)
        return Fetched(path, self.index.digest, sorted(sets), sorted(every - sets), names, size)

    def _present(self) -> tuple[set[str], bool]:
        """Return the sets that are in place, and whether they are a part."""
        if not (self.target / MANIFEST).is_file():
            if (self.target / UNPACK_STATE).is_file():  # unpacking was interrupted: it keeps what is there
                return set(), True
            raise ReleaseError(f"{self.target} exists, and is no data set. Choose another --out.")
        if (digest := load_manifest(self.target).digest) != self.index.digest:
            raise ReleaseError(
                f"{self.target} holds another data set ({digest}) than {self.remote.name}. Choose another --out."
            )
        return _sets(self.target)[1:]

    @contextmanager
    def _downloading(
        self, files: Sequence[IndexedFile], *, ahead: bool = False
    ) -> Iterator[Iterator[tuple[IndexedFile, Path]]]:
        """Hold the hidden folder, which goes when all went well or the release was refused; give files that are whole
        in it, as they come.

        `ahead`: some wait there until they are unpacked.
        """
        busy = (
            f"Another process is at work in {self.work} (`corruptset fetch`). Wait for it to end, or choose "
            "another --out."
        )
        with locked(self.work / "lock", busy):
            for name in ("parts", "unpacked"):
                (self.work / name).mkdir(exist_ok=True)
            places = [(f, self.work / "parts" / f.name) for f in files]
            waiting = sum(nlargest(AHEAD * self.connections, (f.bytes for f in files))) if ahead else 0
            standing = sum(path.stat().st_size for _, path in places if path.exists())
            total, done = sum(f.bytes for f in files), 0
            check_space(
                self.out,
                total + waiting - standing,
                "the release",
                "Free some space, choose another --out, or fetch fewer sets.",
            )

            def more(count: int) -> None:
                nonlocal done
                done += count
                self.progress("bytes", min(done, total), total)

            try:
                with closing(download_all(self.remote, places, self.connections, more)) as arriving:
                    yield arriving
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
            # what stands in the data set's folder, not what is in the archives
            if isinstance(e, BuildError) and not staged:
                raise
            kept = f"What was checked before stands in {self.target}; `corruptset verify` says what is wrong."
            raise Refused(f"{self.remote.name} was refused: {e}. {'Nothing was kept.' if staged else kept}") from None


def _sets(root: Path) -> tuple[set[str], set[str], bool]:
    """Return a data set's sets, those that are there, and whether it is a part."""
    every, partial = {s.id for s in load_manifest(root).sets}, load_partial(root)
    return every, every if partial is None else set(partial.sets), partial is not None
