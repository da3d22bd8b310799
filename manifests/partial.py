"""Read PARTIAL.json, a file that a dataset contains until all of its archives are unpacked."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from pydantic import Field

from ..errors import VerificationError, format_list
from .disk.listing import read_small
from .paths import CONTACT, PAGE, PARTIAL, set_of_shard, set_path
from .records.fields import Count, SetId, Sha256
from .records.models import Manifest, Record
from .records.parsing import parse_record
from .records.report import Problem

_CAP = 64 << 20


class Span(Record):
    """A range of `count` files of a set, beginning at the index `first`. The files are sorted by path."""

    first: Count
    count: Count


class Partial(Record):
    """The contents of PARTIAL.json."""

    schema_version: Annotated[int, Field(ge=1, le=1)]
    digest: Sha256
    """The digest of the dataset."""
    manifest: Sha256
    """The hash of manifest.json."""
    sets: list[SetId]
    """The sorted ids of the complete sets."""
    pieces: dict[SetId, list[Span]]
    """Set -> ranges of the set's files that exist. Only sets for which some archives are missing are included."""


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Merge ranges that touch or overlap, and sort them.

    Examples
    --------
    >>> spans = [Span(first=4, count=2), Span(first=0, count=3), Span(first=2, count=2)]
    >>> [(s.first, s.count) for s in merge_spans(spans)]
    [(0, 6)]
    """
    merged: list[Span] = []
    for span in sorted(spans, key=lambda s: s.first):
        end = span.first + span.count
        if merged and span.first <= (before := merged[-1].first + merged[-1].count):
            merged[-1] = Span(first=merged[-1].first, count=max(before, end) - merged[-1].first)
        elif span.count:
            merged.append(span)
    return merged


def load_partial(root: Path, path: str = PARTIAL) -> Partial | None:
    """Return the contents of PARTIAL.json, or None if the dataset has no such file.

    Raise `VerificationError` if the file is invalid.
    """
    data = read_small(root, path, _CAP)
    if isinstance(data, Problem):
        if data.kind == "missing":
            return None
        raise VerificationError(f"{root / path} {data.detail}.")
    partial, errors = parse_record(Partial, data)
    if partial is None:
        raise VerificationError(f"{root / path} is invalid:\n{format_list(errors)}\nUnpack the archives again.")
    return partial


def optional_files(manifest: Manifest, sets: Iterable[str]) -> frozenset[str]:
    """Return the files that may be missing if only some sets are present."""
    absent = {s.id for s in manifest.sets} - set(sets)
    shards = {f.path for f in manifest.files if set_of_shard(f.path) in absent}
    return frozenset({CONTACT, PAGE} | shards | set(map(set_path, absent)))
