"""The report of an audit as an HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..manifests.disk.atomic import write_atomic
from ..pages.document import render
from ..pages.jpeg import data_uri, jpeg, resized
from .records import GOOD, Audit
from .table import meanings, sentence, verdict_table

_SIDE = 160
_TITLES = ("clean", "found", "expected")


@dataclass(frozen=True)
class Thumbnail:
    """One image of a set on the page."""

    title: str
    uri: str
    width: int
    height: int


@dataclass(frozen=True)
class AuditedSet:
    """A set that is not as it should be."""

    id: str
    verdict: str
    sentence: str
    encoding: str
    checked: int
    images: int
    findings: Sequence[str]
    thumbnails: Sequence[Thumbnail]


def write_page(path: Path, result: Audit, pictures: Mapping[str, Sequence[NDArray[np.uint8] | None]]) -> None:
    """Write the report with thumbnails of every set that is not as it should be, and replace an earlier one."""
    shown = [
        AuditedSet(
            set_id,
            audited.verdict,
            sentence(set_id, audited) if audited.verdict not in GOOD else "",
            audited.encoding,
            audited.checked,
            audited.images,
            [finding.text for finding in audited.findings],
            [_thumbnail(t, p) for t, p in zip(_TITLES, pictures.get(set_id, ()), strict=False) if p is not None],
        )
        for set_id, audited in result.sets.items()
        if not audited.good
    ]
    table = verdict_table(result)
    words = [line.split(": ", 1) for line in meanings(result) if ": " in line]
    page = render("audit.html", __package__, result=result, table=table, shown=shown, words=words)
    write_atomic(path, page)


def _thumbnail(title: str, image: NDArray[np.uint8]) -> Thumbnail:
    small = resized(np.ascontiguousarray(image), _SIDE)
    factor = max(1, _SIDE // max(small.shape[:2]))
    return Thumbnail(title, data_uri(jpeg(small, 90, fine=True)), small.shape[1] * factor, small.shape[0] * factor)
