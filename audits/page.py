"""Write the report of an audit as an HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..manifests.disk.atomic import write_atomic
from ..pages.document import render
from ..pages.thumbnails import SMALL, data_uri, shrunk
from .records import GOOD, Audit
from .table import meanings, sentence, verdict_table

_SIDE = 160
_TITLES = ("clean", "found", "expected")


@dataclass(frozen=True)
class Picture:
    """An image of a set, as shown on the page."""

    title: str
    uri: str
    width: int
    height: int


@dataclass(frozen=True)
class AuditedSet:
    """A set that is shown on the page because it has findings or does not match its name."""

    id: str
    verdict: str
    sentence: str
    encoding: str
    checked: int
    images: int
    findings: Sequence[str]
    thumbnails: Sequence[Picture]


def write_page(path: Path, result: Audit, pictures: Mapping[str, Sequence[NDArray[np.uint8] | None]]) -> None:
    """Write the report, with thumbnails of the sets that do not match their names, replacing any earlier report."""
    shown = [
        AuditedSet(
            set_id,
            audited.verdict,
            sentence(set_id, audited) if audited.verdict not in GOOD else "",
            audited.encoding,
            audited.checked,
            audited.images,
            [finding.text for finding in audited.findings],
            [_picture(t, p) for t, p in zip(_TITLES, pictures.get(set_id, ()), strict=False) if p is not None],
        )
        for set_id, audited in result.sets.items()
        if not audited.good
    ]
    table = verdict_table(result)
    words = [line.split(": ", 1) for line in meanings(result) if ": " in line]
    page = render("audit.html", __package__, result=result, table=table, shown=shown, words=words)
    write_atomic(path, page)


def _picture(title: str, image: NDArray[np.uint8]) -> Picture:
    reduced = shrunk(np.ascontiguousarray(image), _SIDE, _SIDE)
    small = max(reduced.size) <= SMALL
    factor = _SIDE // max(reduced.size) if small else 1
    return Picture(title, data_uri(reduced, small=small), reduced.width * factor, reduced.height * factor)
