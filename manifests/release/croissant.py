"""Croissant 1.0 (JSON-LD): the document of every croissant.json, and the one beside packed archives.

mlcroissant extracts an archive once for each ``contentUrl`` that it sees, whatever is in it. So archives with different
content need different names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..disk.jsonl import read_jsonl
from ..images.pictures import FORMATS
from ..layout import SAMPLES, own_names
from ..records.digests import sha256_bytes
from ..records.markdown import filled
from ..records.models import Manifest, SampleRecord, check_label
from .bag import IndexedArchive, title
from .contents import Contents, top_folder

CROISSANT = "croissant.json"
TABLE = "croissant-samples.json"
"""The samples once more, beside the archives: by column, as mlcroissant reads JSON without taking digits for numbers.
"""


@dataclass(frozen=True)
class StoredSet:
    """A set of single images in archives."""

    id: str
    count: int
    archives: Sequence[str]
    """Their ids."""
    includes: str
    """A glob of its images, in all archives."""
    fields: Mapping[str, str | None]
    """Field -> what it is of an image's path, by a regular expression with a group; None is the image itself."""


def croissant(
    manifest: Manifest, about: str, archives: Sequence[Mapping[str, Any]], sets: Sequence[StoredSet], **table: Any
) -> bytes:
    """Return the bytes of croissant.json.

    Parameters
    ----------
    manifest : Manifest
    about : str
        Says in words what it describes.
    archives : sequence of mappings
        The ``name``, ``url`` beside croissant.json, ``sha256`` and, where known, ``bytes`` of each file.
    sets : sequence of StoredSet
    **table
        The id ``table`` and the ``columns`` of a table of samples, which the sets are joined with.
    """
    if not own_names(manifest):
        suffix = FORMATS[manifest.encoding["format"]][1]
        sets = [replace(one, includes=f"{one.includes}.{suffix}") for one in sets]
    template, named = files(__package__).joinpath("croissant.jinja"), {"top": top_folder(manifest)}
    text = filled(
        template.read_text("utf-8"),
        m=manifest,
        title=title(manifest),
        about=about,
        files=archives,
        sets=sets,
        **named,
        **table,
    )
    return json.dumps(json.loads(text), ensure_ascii=False, indent=2).encode() + b"\n"


def packed_croissant(root: Path, contents: Contents, archives: Sequence[IndexedArchive]) -> dict[str, bytes]:
    """Return croissant.json of packed archives, and the table of samples that it reads, by name.

    The images of a set lie in archives sorted by path. A record set joins them with the table of samples, which has the
    labels and the order of the samples.
    """
    manifest, top = contents.manifest, f"{top_folder(contents.manifest)}/"
    table = _table(root, contents)
    text = json.dumps(table, ensure_ascii=False).encode() + b"\n"
    described: list[dict[str, Any]] = [{**a.as_json(), "name": a.name, "url": a.path} for a in archives]
    described.append({"name": TABLE, "url": TABLE, "type": "application/json", "sha256": sha256_bytes(text)})
    sets = []
    for one in manifest.sets:
        holding, place = [a.name for a in archives if one.id in a.sets], f"{top}{contents.places[one.id][0]}/"
        # a regex is matched from the beginning of the path in the archive
        fields = {"image": None, "path": rf"{re.escape(top)}(.+)$", "file": rf"{re.escape(place)}(.+)$"}
        if one.id in contents.single and holding:
            sets.append(StoredSet(one.id, one.count, holding, f"{place}*", fields))
    about = f"{len(manifest.sets)} sets of corrupted images"
    return {CROISSANT: croissant(manifest, about, described, sets, table=TABLE, columns=list(table)), TABLE: text}


def _table(root: Path, contents: Contents) -> dict[str, list[Any]]:
    """Return the columns of the table of samples.

    ``file`` is an image's path in the folder of its set, the same in every set.
    """
    samples, classes = list(read_jsonl(root / SAMPLES, SampleRecord)), contents.manifest.classes
    for s in samples:
        check_label(s, classes)
    table: dict[str, list[Any]] = {"index": [s.index for s in samples], "id": [s.id for s in samples]}
    if classes:
        table["label"] = [s.label for s in samples]
        table["class"] = [s.class_ for s in samples]
        table["folder"] = [classes[s.class_index].folder for s in samples]
    table |= {"sha256": [s.sha256 for s in samples], "pixels": [s.pixels for s in samples]}
    if contents.single:
        first = min(contents.single)
        place = f"{contents.places[first][0]}/"
        table["file"] = [f.path.removeprefix(place) for f in contents.images(root, first)]
    return table
