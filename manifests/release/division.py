"""Archives by family, corruption or set, split where one would be too large."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal, get_args

from ...errors import BuildError
from ..paths import CONTACT, IMAGES, MANIFEST, PAGE, SHA256SUMS, SHARDS, set_path
from ..records.models import FileRecord, Manifest, SetRecord
from .archives import END_COST, member_header
from .contents import Contents, PackedSet, top_folder

Division = Literal["family", "corruption", "set"]
DIVISIONS: tuple[Division, ...] = get_args(Division)
METADATA = "metadata"

_RECORD_COST = 8192
"""Bytes of an archive's record without its lists."""
MOST_OVERHEAD = 4096
"""Most bytes that a member takes beside its content, but for very long names, with its entry in a record."""
MEAN_OVERHEAD = 768
"""About what a member takes beside its content: a header, and half a block to fill the last one."""


def common_files(manifest: Manifest) -> list[str]:
    """Return the small files that every archive carries beside manifest.json: SHA256SUMS, samples, card, licence."""
    apart = {set_path(s.id) for s in manifest.sets} | {CONTACT, PAGE}
    own = {f.path for f in manifest.files if not f.path.startswith((SHARDS, IMAGES))}
    return sorted(own - apart | {SHA256SUMS})


def divide(
    root: Path,
    contents: Contents,
    records: dict[str, FileRecord],
    *,
    by: Division,
    family: Callable[[str], str],
    max_bytes: int,
) -> dict[str, list[PackedSet]]:
    """Return the sets in each archive of images. The keys are the ends of the archives' names.

    `records` are those of all small files.

    BuildError: a single file does not fit into `max_bytes`, or two archives would share a name.
    """
    groups: dict[str, list[str]] = {}
    for set_id in contents.shards:
        groups.setdefault(_group(contents.sets[set_id], by, family), []).append(set_id)
    if METADATA in groups:
        raise BuildError(
            f"A {by} of this data set is called '{METADATA}', as the archive of metadata is. Choose another --by."
        )
    common = [records[path].bytes + MOST_OVERHEAD for path in [MANIFEST, *common_files(contents.manifest)]]
    base = END_COST + _RECORD_COST + sum(common)
    archives: dict[str, list[PackedSet]] = {}
    for group, set_ids in sorted(groups.items()):
        runs = _runs(root, contents, records, set_ids, base, max_bytes)
        numbered = {group: runs[0]} if len(runs) == 1 else {f"{group}-{n:04d}": run for n, run in enumerate(runs)}
        archives.update(numbered)
    return archives


def _group(record: SetRecord, by: Division, family: Callable[[str], str]) -> str:
    """Return the group of a set; a chain goes with its first stage."""
    if by == "set":
        return record.id.replace("/", ".")  # no id has a dot, so no two sets share a name
    if not record.stages:
        return "clean"
    if by == "family" and record.role == "validation":
        return "extra"  # as in the published ImageNet-C
    corruption = record.stages[0].corruption
    return family(corruption) if by == "family" else corruption


def _runs(
    root: Path, contents: Contents, records: dict[str, FileRecord], set_ids: list[str], base: int, max_bytes: int
) -> list[list[PackedSet]]:
    """Return sets in the necessary number of archives. Each archive has `base` bytes without its sets."""
    total = {set_id: contents.total(set_id) for set_id in set_ids}
    rows = {set_id: records[set_path(set_id)].bytes + MOST_OVERHEAD for set_id in set_ids}

    def files(set_id: str, first: int, stop: int) -> PackedSet:
        return PackedSet(set=set_id, first=first, count=stop - first, total=total[set_id][0])

    if base + sum(rows.values()) + sum(size + count * MOST_OVERHEAD for count, size in total.values()) <= max_bytes:
        return [[files(set_id, 0, total[set_id][0]) for set_id in set_ids]]
    runs: list[list[PackedSet]] = [[]]
    used = base
    for set_id in set_ids:
        costs = [_cost(f"{top_folder(contents.manifest)}/{f.path}", f.bytes) for f in contents.files(root, set_id)]
        if used + rows[set_id] + sum(costs) > max_bytes and runs[-1]:
            runs.append([])
            used = base
        first = 0
        used += rows[set_id]
        # only a set that is larger than a whole archive is split between its files
        for number, cost in enumerate(costs):
            if used + cost > max_bytes:
                if number == first:
                    raise BuildError(
                        f"An archive of {max_bytes} bytes is too small: the records of set {set_id} and one of its "
                        f"files take {used + cost}. Give a larger --max-bytes."
                    )
                runs[-1].append(files(set_id, first, number))
                runs.append([])
                first, used = number, base + rows[set_id]
            used += cost
        runs[-1].append(files(set_id, first, len(costs)))
    return runs


def _cost(name: str, size: int) -> int:
    """Return how many bytes a member takes."""
    header = member_header(name, size).tobuf(tarfile.PAX_FORMAT, "utf-8", "strict")
    return len(header) + size + -size % tarfile.BLOCKSIZE
