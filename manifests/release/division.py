"""What goes into which archive: by family, corruption or set, and split where an archive would be too large.

A unit is what cannot be divided by sets: one set, or the sets that share an array. The order of everything follows from the manifest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from ...errors import BuildError, VerificationError
from ..disk.jsonl import read_jsonl
from ..layout import CONTACT, IMAGES, MANIFEST, PAGE, SHA256SUMS, SHARDS, set_path, set_places
from ..partial import owners
from ..records.digests import set_digest
from ..records.fields import Count, SetId, Sha256
from ..records.models import FileRecord, ImageRecord, Manifest, Record, SetRecord
from ..records.report import printable
from .archives import END_COST, member_cost, name_problem

Division = Literal["family", "corruption", "set"]
DIVISIONS = ("family", "corruption", "set")
METADATA = "metadata"
EXTRA = "extra"
"""The archive of validation sets, as in the published ImageNet-C."""
CLEAN = "clean"
ARCHIVE_SCHEMA = 1
"""Of `ArchiveRecord`."""

_RECORD_COST = 8192
"""Bytes of an archive's record without its lists."""
_LINE_COST = 256
"""Most bytes of a file's or set's entry in an archive's record, without its name."""
_MOST_OVERHEAD = 4096
"""Most bytes that a member takes beside its content, but for very long names."""
_MEAN_OVERHEAD = 768
"""About what a member takes beside its content: a header, and half a block to fill the last one."""

Unit = tuple[str, ...]
"""Set ids, sorted."""


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
class ArchivePlan:
    """An archive before it is written: its name without suffix, and what is in it; the archive of metadata has no units."""

    name: str
    units: list[UnitRecord] = field(default_factory=list)

    @property
    def sets(self) -> Unit:
        """The ids of the sets, sorted."""
        return tuple(sorted({set_id for unit in self.units for set_id in unit.sets}))


def top_folder(manifest: Manifest) -> str:
    """Return the folder that everything in an archive lies in: ``<name>-<version>``."""
    return f"{manifest.name}-{manifest.version}"


def common_files(manifest: Manifest) -> list[FileRecord]:
    """Return the small files that every archive carries, but manifest.json and SHA256SUMS: samples, card, licence."""
    apart = owners(manifest).keys() | {set_path(s.id) for s in manifest.sets} | {CONTACT, PAGE}
    return [f for f in manifest.files if f.path not in apart and not f.path.startswith((SHARDS, IMAGES))]


class Contents:
    """Which files of a data set hold the images of which sets: `containers` are the shards and arrays of each unit, by path."""

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self.sets = {s.id: s for s in manifest.sets}
        self._places = set_places(manifest)
        owned = owners(manifest)
        joined = {set_id: {set_id} for set_id in self.sets}
        for set_ids in owned.values():
            union = set().union(*(joined[set_id] for set_id in set_ids))
            joined.update(dict.fromkeys(union, union))
        self.units: list[Unit] = sorted({tuple(sorted(sets)) for sets in joined.values()})
        unit_of = {set_id: unit for unit in self.units for set_id in unit}
        files = {f.path: f for f in manifest.files}
        self.containers: dict[Unit, list[FileRecord]] = {unit: [] for unit in self.units}
        for path, set_ids in owned.items():
            self.containers[unit_of[set_ids[0]]].append(files[path])

    def count(self, unit: Unit) -> int:
        """Return how many files hold the images of a unit, according to the manifest."""
        return len(self.containers[unit]) + sum(self.sets[s].count for s in unit if self.in_single_files(s))

    def in_single_files(self, set_id: str) -> bool:
        """Return whether each image of a set is a file of its own."""
        containers = self.manifest.encoding["containers"]
        return "folder" in containers or (containers == ["view"] and not self._places[set_id][0].endswith(".npy"))

    def files(self, root: Path, unit: Unit) -> list[FileRecord]:
        """Return the files that hold the images of a unit, sorted by path.

        Raises
        ------
        VerificationError
            Rows are missing, do not have the manifest's digest, or name files outside the folder of their set.
        """
        files = [*self.containers[unit], *(file for set_id in unit for file in self._images(root, set_id))]
        different = len({f.path.casefold() for f in files})
        if len(files) != self.count(unit) or different != len(files):
            raise VerificationError(
                f"{root / set_path(unit[0])}: the rows name {different} different files (capitals aside) where the manifest has "
                f"{self.count(unit)}. Run `corruptset verify` on the build."
            )
        return sorted(files, key=lambda f: f.path)

    def archive_files(self, root: Path, record: ArchiveRecord) -> Iterator[FileRecord]:
        """Yield the files of an archive in its order; the rows of a set are on the disk before they are needed."""
        yield from record.files
        for unit in record.units:
            yield from self.files(root, tuple(unit.sets))[unit.first : unit.first + unit.count]

    def _images(self, root: Path, set_id: str) -> Iterator[FileRecord]:
        path = root / set_path(set_id)
        single, place = self.in_single_files(set_id), self._places[set_id][0]
        pixels = []
        for row in read_jsonl(path, ImageRecord):
            pixels.append(row.pixels)
            for file in row.files if single else ():
                if file.row is not None:
                    continue
                problem = name_problem(file.path) if file.path.startswith(f"{place}/") else f"is not below {place}"
                if problem is not None:
                    raise VerificationError(f"{path}: the file {printable(file.path)!r} {problem}. Do not use this data set.")
                yield FileRecord(path=file.path, bytes=file.bytes, sha256=file.sha256)
        if set_digest(pixels) != self.sets[set_id].pixel_digest:
            raise VerificationError(f"{path}: the digest of the rows is not the manifest's pixel_digest.")


class ArchiveSizes:
    """The bytes that archives of one format take, known before they are written."""

    def __init__(self, root: Path, contents: Contents) -> None:
        self.root, self.contents = root, contents
        manifest = contents.manifest
        self._top = top_folder(manifest)
        self._files = {f.path: f.bytes for f in manifest.files}
        sums = sum(len(f.path.encode()) + 67 for f in manifest.files) + 128
        common = {f.path: f.bytes for f in common_files(manifest)}
        common |= {MANIFEST: (root / MANIFEST).stat().st_size, SHA256SUMS: sums}
        self.base = END_COST + _RECORD_COST + sum(self._listed(path, size) for path, size in common.items())
        """The most bytes that every archive has beside its sets."""

    def _member(self, path: str, size: int) -> int:
        return member_cost(f"{self._top}/{path}", size)

    def _listed(self, path: str, size: int) -> int:
        return self._member(path, size) + len(path.encode()) + _LINE_COST

    def rows(self, unit: Unit) -> int:
        """Return the most bytes of a unit's rows, which accompany any of its files."""
        return sum(self._listed(set_path(s), self._files[set_path(s)]) + len(s) + _LINE_COST for s in unit)

    def images(self, unit: Unit) -> list[int]:
        """Return the most bytes of each file of a unit in an archive; its rows are read."""
        return [self._member(f.path, f.bytes) for f in self.contents.files(self.root, unit)]

    def guess(self, unit: Unit, overhead: int) -> int:
        """Return the bytes of a unit whose files take `overhead` beside their content; its rows are not read."""
        single = sum(self.contents.sets[s].bytes for s in unit if self.contents.in_single_files(s))
        return self.rows(unit) + sum(f.bytes for f in self.contents.containers[unit]) + single + self.contents.count(unit) * overhead

    def estimate(self, plans: Sequence[ArchivePlan], *, rows: bool = True) -> int:
        """Return about how many bytes all archives of a build have together; no rows are read. `rows`: that of metadata has them."""
        units = {tuple(unit.sets) for plan in plans for unit in plan.units}
        metadata = sum(map(self.rows, self.contents.units)) if rows else 0
        return len(plans) * self.base + metadata + sum(self.guess(unit, _MEAN_OVERHEAD) for unit in units)


def divide(sizes: ArchiveSizes, start: str, *, by: Division, family: Callable[[str], str], max_bytes: int) -> list[ArchivePlan]:
    """Return the archives of a build but for that of metadata; `start` begins the name of each, `family` gives that of a corruption.

    Raises
    ------
    BuildError
        A single file does not fit into `max_bytes`, or two archives would share a name.
    """
    groups: dict[str, list[Unit]] = {}
    for unit in sizes.contents.units:
        groups.setdefault(_group(sizes.contents.sets[unit[0]], by, family), []).append(unit)
    if METADATA in groups:
        raise BuildError(f"A {by} of this data set is called '{METADATA}', as the archive of metadata is. Choose another --by.")
    plans = []
    for name in sorted(groups):
        runs = _split(groups[name], sizes, max_bytes)
        for number, units in enumerate(runs):
            plans.append(ArchivePlan(f"{start}-{name}" if len(runs) == 1 else f"{start}-{name}-{number:04d}", units))
    return plans


def _group(record: SetRecord, by: Division, family: Callable[[str], str]) -> str:
    """Return the part of an archive's name that says what is in it; a chain goes with its first stage."""
    if by == "set":
        return record.id.replace("/", ".")  # no id has a dot, so no two sets share a name
    if not record.stages:
        return CLEAN
    if by == "family" and record.role == "validation":
        return EXTRA
    corruption = record.stages[0].corruption
    return family(corruption) if by == "family" else corruption


def _split(units: list[Unit], sizes: ArchiveSizes, max_bytes: int) -> list[list[UnitRecord]]:
    """Return units in as many runs as are needed."""

    def files(unit: Unit, first: int, stop: int) -> UnitRecord:
        return UnitRecord(sets=list(unit), first=first, count=stop - first, total=sizes.contents.count(unit))

    if sizes.base + sum(sizes.guess(unit, _MOST_OVERHEAD) for unit in units) <= max_bytes:
        return [[files(unit, 0, sizes.contents.count(unit)) for unit in units]]
    runs: list[list[UnitRecord]] = [[]]
    used = sizes.base
    for unit in units:
        rows, costs = sizes.rows(unit), sizes.images(unit)
        if used + rows + sum(costs) > max_bytes and runs[-1]:
            runs.append([])
            used = sizes.base
        first = 0
        used += rows
        for number, cost in enumerate(costs):  # only a unit that is larger than a whole archive is split between its files
            if used + cost > max_bytes:
                if number == first:
                    raise BuildError(
                        f"An archive of {max_bytes} bytes is too small: the records of set {unit[0]} and one of its files take "
                        f"{used + cost}. Give a larger --max-bytes."
                    )
                runs[-1].append(files(unit, first, number))
                runs.append([])
                first, used = number, sizes.base + rows
            used += cost
        runs[-1].append(files(unit, first, len(costs)))
    return runs
