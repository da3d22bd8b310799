"""Divide the sets of a dataset into archives by family, corruption or set, with a limit on the size."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal, get_args

from ...errors import BuildError
from ..paths import CONTACT, IMAGES, MANIFEST, PAGE, SHA256SUMS, SHARDS, set_path
from ..records.models import FileRecord, Manifest, SetRecord
from .archive_contents import PackedSet, SetFiles, top_folder
from .archives import END_BYTES, member_header

Division = Literal["family", "corruption", "set"]
DIVISIONS: tuple[Division, ...] = get_args(Division)
METADATA = "metadata"

_RECORD_COST = 8192
"""The size of the record of an archive without its lists, in bytes."""
MAX_OVERHEAD = 4096
"""Upper bound on the bytes that a member needs in addition to its content, including its entry in a record. Very long
names need more.
"""
MEAN_OVERHEAD = 768
"""Typical number of bytes that a member needs in addition to its content: a header, and half a block of padding."""


def common_files(manifest: Manifest) -> list[str]:
    """Return the small files in every archive besides manifest.json: SHA256SUMS, samples, README and licence."""
    excluded = {set_path(s.id) for s in manifest.sets} | {CONTACT, PAGE}
    small = {f.path for f in manifest.files if not f.path.startswith((SHARDS, IMAGES))}
    return sorted(small - excluded | {SHA256SUMS})


def divide(
    root: Path,
    contents: SetFiles,
    records: dict[str, FileRecord],
    *,
    by: Division,
    family: Callable[[str], str],
    max_bytes: int,
) -> dict[str, list[PackedSet]]:
    """Divide sets into archives, and return the contents of each. The keys are the last parts of the archives' names.

    Parameters
    ----------
    root : Path
        The directory of the dataset.
    contents : SetFiles
        The files of the sets.
    records : dict
        Path -> record, for all small files.
    by : {"family", "corruption", "set"}
        Whether the sets of one family or of one corruption share an archive, or each set has its own archive.
    family : callable
        A function that takes a corruption and returns its family.
    max_bytes : int
        Limit on the size of an archive. Larger groups are split.

    Raises
    ------
    BuildError
        A single file does not fit into `max_bytes`, or two archives would have the same name.
    """
    groups: dict[str, list[str]] = {}
    for set_id in contents.shards:
        groups.setdefault(_group(contents.sets[set_id], by, family), []).append(set_id)
    if METADATA in groups:
        raise BuildError(
            f"A {by} of this dataset is called '{METADATA}', which is the name of the archive of metadata. Choose "
            "another --by."
        )
    common = [records[path].bytes + MAX_OVERHEAD for path in [MANIFEST, *common_files(contents.manifest)]]
    base = END_BYTES + _RECORD_COST + sum(common)
    archives: dict[str, list[PackedSet]] = {}
    for group, set_ids in sorted(groups.items()):
        chunks = _split(root, contents, records, set_ids, base, max_bytes)
        numbered = (
            {group: chunks[0]} if len(chunks) == 1 else {f"{group}-{n:04d}": chunk for n, chunk in enumerate(chunks)}
        )
        archives.update(numbered)
    return archives


def _group(record: SetRecord, by: Division, family: Callable[[str], str]) -> str:
    """Return the group of a set. A chain belongs to the group of its first stage."""
    if by == "set":
        return record.id.replace("/", ".")  # unique, because ids of sets contain no dots
    if not record.stages:
        return "clean"
    if by == "family" and record.role == "validation":
        return "extra"  # as in the published ImageNet-C
    corruption = record.stages[0].corruption
    return family(corruption) if by == "family" else corruption


def _split(
    root: Path, contents: SetFiles, records: dict[str, FileRecord], set_ids: list[str], base: int, max_bytes: int
) -> list[list[PackedSet]]:
    """Divide sets among archives, and fill each archive before the next one.

    Without its sets, an archive has `base` bytes.
    """
    total = {set_id: contents.total(set_id) for set_id in set_ids}
    rows = {set_id: records[set_path(set_id)].bytes + MAX_OVERHEAD for set_id in set_ids}

    def files(set_id: str, first: int, stop: int) -> PackedSet:
        return PackedSet(set=set_id, first=first, count=stop - first, total=total[set_id][0])

    if base + sum(rows.values()) + sum(size + count * MAX_OVERHEAD for count, size in total.values()) <= max_bytes:
        return [[files(set_id, 0, total[set_id][0]) for set_id in set_ids]]
    chunks: list[list[PackedSet]] = [[]]
    used = base
    for set_id in set_ids:
        costs = [_cost(f"{top_folder(contents.manifest)}/{f.path}", f.bytes) for f in contents.files(root, set_id)]
        if used + rows[set_id] + sum(costs) > max_bytes and chunks[-1]:
            chunks.append([])
            used = base
        first = 0
        used += rows[set_id]
        # only a set that does not fit into one archive is split, between its files
        for number, cost in enumerate(costs):
            if used + cost > max_bytes:
                if number == first:
                    raise BuildError(
                        f"An archive of {max_bytes} bytes is too small, because the records of set {set_id} and one of "
                        f"its files need {used + cost} bytes. Increase --max-bytes."
                    )
                chunks[-1].append(files(set_id, first, number))
                chunks.append([])
                first, used = number, base + rows[set_id]
            used += cost
        chunks[-1].append(files(set_id, first, len(costs)))
    return chunks


def _cost(name: str, size: int) -> int:
    """Return the number of bytes that a member needs in an archive."""
    header = member_header(name, size).tobuf(tarfile.PAX_FORMAT, "utf-8", "strict")
    return len(header) + size + -size % tarfile.BLOCKSIZE
