"""What goes into which archive: by family, corruption or set, split where an archive would be too large.

A unit is what cannot be divided by sets: one set, or the sets that share an array. The order of everything follows from the manifest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from ...errors import BuildError, VerificationError
from ..disk.jsonl import read_jsonl
from ..layout import CONTACT, IMAGES, MANIFEST, SAMPLES, SHA256SUMS, SHARDS, set_path, set_places
from ..partial import owners
from ..records.digests import set_digest
from ..records.models import Count, FileRecord, ImageRecord, Manifest, Record, SetId, SetRecord, Sha256
from ..records.report import printable
from .archives import END_COST, ArchiveFormat, member_cost, name_problem

Division = Literal["family", "corruption", "set"]
DIVISIONS = ("family", "corruption", "set")
METADATA = "metadata"
ARCHIVE_SCHEMA = 1
"""Of `ArchiveRecord`."""
EXTRA = "extra"
"""Where validation sets go, as in the published ImageNet-C."""
CLEAN = "clean"

_RECORD_COST = 8192
"""Bytes of an archive's record without its lists."""
_MEMBER_COST = 4096
"""At most so many bytes stand around a member's, but for very long names; for an estimate alone."""


class UnitRecord(Record):
    """The files of a unit that an archive holds."""

    sets: list[SetId]
    first: Count
    """Of the unit's files sorted by path, from 0."""
    count: Count
    total: Count
    """Files of the unit, in all archives."""


class ArchiveRecord(Record):
    """``archives/<archive>.json``, the first member of an archive: what else is in it, in this order."""

    schema_version: Annotated[int, Field(ge=ARCHIVE_SCHEMA, le=ARCHIVE_SCHEMA)]
    archive: Annotated[str, Field(pattern=r"^[a-z0-9][0-9A-Za-z._+-]*$", max_length=255)]
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
    version: Annotated[str, Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z._+-]*$")]
    digest: Sha256
    """The build's."""
    files: list[FileRecord]
    """manifest.json, the other small files by path, and then the rows of this archive's sets."""
    units: list[UnitRecord]
    """Then the images: those of each unit by path. Their sizes and hashes are in the rows, those of shards and arrays in the manifest."""


@dataclass(frozen=True)
class Slice:
    """A run of the files of a unit; `stop` is None for all that there are."""

    sets: tuple[str, ...]
    first: int = 0
    stop: int | None = None


@dataclass(frozen=True)
class Planned:
    """An archive to be: its name without suffix, and what is in it."""

    name: str
    slices: tuple[Slice, ...]

    @property
    def sets(self) -> tuple[str, ...]:
        """The ids of the sets, sorted."""
        return tuple(sorted({s for one in self.slices for s in one.sets}))


def top_folder(manifest: Manifest) -> str:
    """Return the folder that everything in an archive lies in: ``<name>-<version>``."""
    return f"{manifest.name}-{manifest.version}"


def common_files(manifest: Manifest) -> list[FileRecord]:
    """Return the small files that every archive carries, but manifest.json and SHA256SUMS: samples, card, licence."""
    apart = owners(manifest).keys() | {set_path(s.id) for s in manifest.sets} | {CONTACT}
    return [f for f in manifest.files if f.path not in apart and not f.path.startswith((SHARDS, IMAGES))]


class Contents:
    """Which files of a data set hold the images of what.

    Parameters
    ----------
    manifest : Manifest

    Attributes
    ----------
    units : list of tuple of str
        The sets of each unit, sorted; sets that share an array are one.
    whole : dict
        Unit -> its shards and arrays, by path.
    """

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self.records = {s.id: s for s in manifest.sets}
        self._places = set_places(manifest)
        owned = owners(manifest)
        joined = {s.id: {s.id} for s in manifest.sets}
        for of in owned.values():
            together = set().union(*(joined[s] for s in of))
            for s in together:
                joined[s] = together
        self.units = sorted({tuple(sorted(sets)) for sets in joined.values()})
        unit_of = {s: unit for unit in self.units for s in unit}
        files = {f.path: f for f in manifest.files}
        self.whole: dict[tuple[str, ...], list[FileRecord]] = {unit: [] for unit in self.units}
        for path, of in owned.items():
            self.whole[unit_of[of[0]]].append(files[path])

    def total(self, unit: tuple[str, ...]) -> int:
        """Return how many files hold the images of a unit, as the manifest says it."""
        return len(self.whole[unit]) + sum(self.records[s].count for s in unit if self.single(s))

    def single(self, set_id: str) -> bool:
        """Return whether the images of a set are stored as single files."""
        containers = self.manifest.encoding["containers"]
        return "folder" in containers or (containers == ["view"] and not self._places[set_id][0].endswith(".npy"))

    def files(self, root: Path, unit: tuple[str, ...]) -> list[FileRecord]:
        """Return the files that hold the images of a unit, sorted by path.

        Raises
        ------
        VerificationError
            Rows are missing, are not those that the manifest's digest is of, or name files where no image of this set is.
        """
        found = list(self.whole[unit])
        for set_id in unit:
            found += self._images(root, set_id)
        different = len({f.path.casefold() for f in found})
        if len(found) != self.total(unit) or different != len(found):
            raise VerificationError(
                f"{root / set_path(unit[0])}: the rows name {different} different files (capitals aside) where the manifest has "
                f"{self.total(unit)}. Run `corruptset verify` on the build."
            )
        return sorted(found, key=lambda f: f.path)

    def _images(self, root: Path, set_id: str) -> Iterator[FileRecord]:
        path = root / set_path(set_id)
        single, place = self.single(set_id), self._places[set_id][0]
        pixels = []
        for row in read_jsonl(path, ImageRecord):
            pixels.append(row.pixels)
            for f in row.files if single else ():
                if f.row is not None:
                    continue
                if not f.path.startswith(f"{place}/") or (problem := name_problem(f.path)) is not None:
                    problem = f"is not below {place}" if not f.path.startswith(f"{place}/") else problem
                    raise VerificationError(f"{path}: the file {printable(f.path)!r} {problem}. Do not use this data set.")
                yield FileRecord(path=f.path, bytes=f.bytes, sha256=f.sha256)
        if set_digest(pixels) != self.records[set_id].pixel_digest:
            raise VerificationError(f"{path}: the rows are not those that the manifest's pixel_digest is of.")


def divide(
    root: Path,
    contents: Contents,
    start: str,
    *,
    by: Division,
    family: Callable[[str], str],
    form: ArchiveFormat,
    max_bytes: int,
) -> list[Planned]:
    """Return the archives of a build but for that of metadata.

    Parameters
    ----------
    root : Path
    contents : Contents
    start : str
        What every archive's name begins with.
    by : {"family", "corruption", "set"}
    family : callable
        The family of a corruption.
    form : {"tar", "zip"}
    max_bytes : int
        Of an archive.

    Raises
    ------
    BuildError
        A single file does not fit into `max_bytes`, or two archives would share a name.
    """
    sizing = _Sizing(root, contents, form, max_bytes)
    groups: dict[str, list[tuple[str, ...]]] = {}
    for unit in contents.units:
        groups.setdefault(group(contents.records[unit[0]], by, family), []).append(unit)
    if METADATA in groups:
        raise BuildError(f"A {by} of this data set is called '{METADATA}', as the archive of metadata is. Choose another --by.")
    planned = []
    for name in sorted(groups):
        pieces = sizing.split(groups[name])
        one = f"{start}-{name}"
        names = [one] if len(pieces) == 1 else [f"{one}-{number:04d}" for number in range(len(pieces))]
        planned += [Planned(n, tuple(slices)) for n, slices in zip(names, pieces, strict=True)]
    return planned


def group(record: SetRecord, by: Division, family: Callable[[str], str]) -> str:
    """Return the part of an archive's name that says what is in it.

    A chain goes with its first stage, clean images by themselves; by family, validation sets are the extra ones.
    """
    if by == "set":
        # no id has a dot, so no two sets share a name
        return record.id.replace("/", ".")
    if not record.stages:
        return CLEAN
    if by == "family" and record.role == "validation":
        return EXTRA
    first = record.stages[0].corruption
    return family(first) if by == "family" else first


@dataclass
class _Sizing:
    """Sums up what an archive takes."""

    root: Path
    contents: Contents
    form: ArchiveFormat
    max_bytes: int

    def __post_init__(self) -> None:
        manifest = self.contents.manifest
        self.files = {f.path: f for f in manifest.files}
        self.top = top_folder(manifest)
        size = (self.root / MANIFEST).stat().st_size
        small = [*common_files(manifest), FileRecord(path=MANIFEST, bytes=size, sha256=self.files[SAMPLES].sha256)]
        sums = sum(len(f.path.encode()) + 67 for f in manifest.files) + 128
        self.base = END_COST + _RECORD_COST + sum(self._text(f.path, f.bytes) for f in small) + self._text(SHA256SUMS, sums)

    def _text(self, path: str, size: int) -> int:
        # with its line in the archive's record
        return member_cost(self.form, f"{self.top}/{path}", size) + len(path.encode()) + 256

    def rows(self, unit: tuple[str, ...]) -> int:
        """Return what comes with any file of a unit."""
        return sum(self._text(set_path(s), self.files[set_path(s)].bytes) + len(s) + 256 for s in unit)

    def bound(self, unit: tuple[str, ...]) -> int:
        """Return what a unit takes at most, without a look at its rows."""
        records = [self.contents.records[s] for s in unit]
        whole = sum(f.bytes + _MEMBER_COST for f in self.contents.whole[unit])
        return self.rows(unit) + whole + sum(r.bytes + _MEMBER_COST * r.files for r in records)

    def split(self, group: list[tuple[str, ...]]) -> list[list[Slice]]:
        """Return the units of a group in as many runs as are needed."""
        if self.base + sum(map(self.bound, group)) <= self.max_bytes:
            return [[Slice(unit) for unit in group]]
        runs: list[list[Slice]] = [[]]
        used = self.base
        for unit in group:
            costs = [member_cost(self.form, f"{self.top}/{f.path}", f.bytes) for f in self.contents.files(self.root, unit)]
            rows = self.rows(unit)
            if used + rows + sum(costs) > self.max_bytes and runs[-1]:
                runs.append([])
                used = self.base
            if used + rows + sum(costs) <= self.max_bytes:
                runs[-1].append(Slice(unit))
                used += rows + sum(costs)
                continue
            # larger than an archive by itself: split between its files
            first = 0
            used = self.base + rows
            for number, cost in enumerate(costs):
                if used + cost > self.max_bytes:
                    if number == first:
                        raise BuildError(
                            f"An archive of {self.max_bytes} bytes is too small: the records of set {unit[0]} and one of its files take "
                            f"{self.base + rows + cost}. Give a larger --max-bytes."
                        )
                    runs[-1].append(Slice(unit, first, number))
                    runs.append([])
                    first, used = number, self.base + rows
                used += cost
            runs[-1].append(Slice(unit, first, None))
        return runs


def unit_record(contents: Contents, one: Slice) -> UnitRecord:
    """Return the record of a slice."""
    total = contents.total(one.sets)
    stop = total if one.stop is None else one.stop
    return UnitRecord(sets=list(one.sets), first=one.first, count=stop - one.first, total=total)
