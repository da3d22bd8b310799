"""Archives by family, corruption or set, split where one would be too large."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal, get_args

from ...errors import BuildError
from ..layout import CONTACT, IMAGES, MANIFEST, PAGE, SHA256SUMS, SHARDS, set_path
from ..partial import owners
from ..records.models import FileRecord, Manifest, SetRecord
from .archives import END_COST, member_cost
from .contents import Contents, Unit, UnitRecord, top_folder

Division = Literal["family", "corruption", "set"]
DIVISIONS: tuple[Division, ...] = get_args(Division)
METADATA = "metadata"
EXTRA = "extra"
"""The archive of validation sets, as in the published ImageNet-C."""
CLEAN = "clean"

_RECORD_COST = 8192
"""Bytes of an archive's record without its lists."""
MOST_OVERHEAD = 4096
"""Most bytes that a member takes beside its content, but for very long names, with its entry in a record."""
MEAN_OVERHEAD = 768
"""About what a member takes beside its content: a header, and half a block to fill the last one."""


def common_files(manifest: Manifest) -> list[FileRecord]:
    """Return the small files that every archive carries, but manifest.json and SHA256SUMS: samples, card, licence."""
    apart = owners(manifest).keys() | {set_path(s.id) for s in manifest.sets} | {CONTACT, PAGE}
    return [f for f in manifest.files if f.path not in apart and not f.path.startswith((SHARDS, IMAGES))]


class ArchiveSizes:
    """The bytes that archives take, known before they are written; `overhead` is what a member takes beside its
    content.
    """

    def __init__(self, root: Path, contents: Contents, overhead: int = MOST_OVERHEAD) -> None:
        self.root, self.contents, self._overhead = root, contents, overhead
        self._bytes = {f.path: f.bytes for f in contents.manifest.files}
        common = [f.bytes for f in common_files(contents.manifest)]
        common += [(root / path).stat().st_size for path in (MANIFEST, SHA256SUMS)]
        self.base = END_COST + _RECORD_COST + sum(common) + len(common) * overhead
        """Bytes that every archive has beside its sets."""

    def rows(self, unit: Unit) -> int:
        """Return the bytes of a unit's rows, which accompany any of its files."""
        return sum(self._bytes[set_path(s)] + self._overhead for s in unit)

    def images(self, unit: Unit) -> list[int]:
        """Return the bytes of each file of a unit in an archive, exactly; its rows are read."""
        top = top_folder(self.contents.manifest)
        return [member_cost(f"{top}/{f.path}", f.bytes) for f in self.contents.files(self.root, unit)]

    def whole(self, unit: Unit) -> int:
        """Return the bytes of a unit, whose rows are not read."""
        single = sum(self.contents.sets[s].bytes for s in unit if self.contents.in_single_files(s))
        shared = sum(f.bytes for f in self.contents.containers[unit])
        return self.rows(unit) + shared + single + self.contents.count(unit) * self._overhead

    def estimate(self, archives: Iterable[list[UnitRecord]], *, rows: bool) -> int:
        """Return the bytes of archives together; `rows`: that of metadata has the rows of all sets."""
        units = {tuple(unit.sets) for archive in archives for unit in archive}
        metadata = sum(map(self.rows, self.contents.containers)) if rows else 0
        return sum(self.base for _ in archives) + metadata + sum(map(self.whole, units))


def divide(
    sizes: ArchiveSizes, *, by: Division, family: Callable[[str], str], max_bytes: int
) -> dict[str, list[UnitRecord]]:
    """Return the archives of images: the end of each one's name -> its units.

    BuildError: a single file does not fit into `max_bytes`, or two archives would share a name.
    """
    groups: dict[str, list[Unit]] = {}
    for unit in sizes.contents.containers:
        groups.setdefault(_group(sizes.contents.sets[unit[0]], by, family), []).append(unit)
    if METADATA in groups:
        raise BuildError(
            f"A {by} of this data set is called '{METADATA}', as the archive of metadata is. Choose another --by."
        )
    archives = {}
    for name, units in sorted(groups.items()):
        runs = _split(units, sizes, max_bytes)
        archives.update({name if len(runs) == 1 else f"{name}-{number:04d}": run for number, run in enumerate(runs)})
    return archives


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

    if sizes.base + sum(map(sizes.whole, units)) <= max_bytes:
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
        # only a unit that is larger than a whole archive is split between its files
        for number, cost in enumerate(costs):
            if used + cost > max_bytes:
                if number == first:
                    raise BuildError(
                        f"An archive of {max_bytes} bytes is too small: the records of set {unit[0]} and one of its "
                        f"files take {used + cost}. Give a larger --max-bytes."
                    )
                runs[-1].append(files(unit, first, number))
                runs.append([])
                first, used = number, sizes.base + rows
            used += cost
        runs[-1].append(files(unit, first, len(costs)))
    return runs
