"""Croissant 1.0 (JSON-LD): the document of every croissant.json, and the one beside packed archives.

mlcroissant extracts an archive once for each ``contentUrl`` that it sees, whatever is in it. So archives with different
content need different names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...digests import digits
from ..disk.jsonl import read_jsonl
from ..images.pictures import FORMATS
from ..layout import SAMPLES, own_names
from ..records.digests import sha256_bytes
from ..records.models import Manifest, SampleRecord
from .bag import IndexedArchive, title
from .contents import Contents, top_folder

CROISSANT = "croissant.json"
TABLE = "croissant-samples.json"
"""The samples once more, beside the archives: by column, as mlcroissant reads JSON without taking digits for numbers.
"""
_TERMS = (
    "citeAs column equivalentProperty extract field fileObject fileProperty fileSet format includes isLiveDataset "
    "jsonPath key md5 parentField path recordSet references regex repeated replace samplingRate separator source "
    "subField transform"
)
_SPECIAL: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
}
CONTEXT = dict(sorted({**_SPECIAL, **{term: f"cr:{term}" for term in _TERMS.split()}}.items()))
_TYPES = {"image": "sc:ImageObject", "index": "sc:Integer", "label": "sc:Integer"}
"""Name of a field -> its type; all others are ``sc:Text``."""

Source = Mapping[str, Any]
"""Where the values of a field come from."""


class CroissantDocument:
    """A croissant.json: archives and tables, the images in them, and record sets over both.

    Parameters
    ----------
    manifest : Manifest
    """

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self._files: list[dict[str, Any]] = []
        self._images: list[dict[str, Any]] = []
        self._records: list[dict[str, Any]] = []

    def add_file(self, name: str, url: str, media_type: str, sha256: str, **more: str) -> None:
        """Add a file: its id, its place beside croissant.json, media type and ``sha256:<hex>``."""
        file = {"@type": "cr:FileObject", "@id": name, "name": name, "contentUrl": url, **more}
        self._files.append({**file, "encodingFormat": media_type, "sha256": digits(sha256)})

    def add_images(self, set_id: str, archives: Sequence[str], pattern: str) -> None:
        """Add the images of a set: what archives, by their ids, have under a glob."""
        name, encoding = f"{set_id}.images", self.manifest.encoding["format"]
        inside = [{"@id": archive} for archive in archives]
        self._images.append(
            {
                "@type": "cr:FileSet",
                "@id": name,
                "name": name,
                "containedIn": inside[0] if len(inside) == 1 else inside,
                "encodingFormat": f"image/{encoding}",
                "includes": pattern if own_names(self.manifest) else f"{pattern}.{FORMATS[encoding][1]}",
            }
        )

    def add_records(self, name: str, about: str, sources: Mapping[str, Source], **more: Any) -> None:
        """Add a record set; `sources` are its fields."""
        fields = []
        for field, source in sources.items():
            field_id = f"{name}/{field}"
            fields.append(
                {
                    "@type": "cr:Field",
                    "@id": field_id,
                    "name": field_id,
                    "dataType": _TYPES.get(field, "sc:Text"),
                    **source,
                }
            )
        self._records.append(
            {"@type": "cr:RecordSet", "@id": name, "name": name, "description": about, "field": fields, **more}
        )

    def encode(self, about: str) -> bytes:
        """Return the bytes of croissant.json; `about` says in words what it describes."""
        m = self.manifest
        value = {
            "@context": CONTEXT,
            "@type": "sc:Dataset",
            "conformsTo": "http://mlcommons.org/croissant/1.0",
            "name": top_folder(m),
            "description": f"{m.name} {m.version}: {about}, made by corruptset; digest {m.digest}.",
            "version": m.version,
            "citeAs": f"{title(m)} ({m.name} {m.version}), {m.digest}",
            **({"license": m.source.license} if m.source.license else {}),
            "distribution": [*self._files, *self._images],
            "recordSet": self._records,
        }
        return json.dumps(value, ensure_ascii=False, indent=2).encode() + b"\n"


def image_field(set_id: str, regex: str | None = None) -> Source:
    """Return the source of a field: the images of a set, or a part of their paths.

    `regex` has a group that matches that part.
    """
    source: dict[str, Any] = {"fileSet": {"@id": f"{set_id}.images"}}
    if regex is None:
        return {"source": {**source, "extract": {"fileProperty": "content"}}}
    return {"source": {**source, "extract": {"fileProperty": "fullpath"}, "transform": {"regex": regex}}}


def joined_field(field: str, **more: str) -> Source:
    """Return the source of a field: that of another record set; ``references`` is the field that it has to equal."""
    return {key: {"field": {"@id": field_id}} for key, field_id in {"source": field, **more}.items()}


def packed_croissant(root: Path, contents: Contents, archives: Sequence[IndexedArchive]) -> dict[str, bytes]:
    """Return croissant.json of packed archives, and the table of samples that it reads, by name.

    The images of a set lie in archives sorted by path. A record set joins them with the table of samples, which has the
    labels and the order of the samples.
    """
    manifest = contents.manifest
    places = {set_id: paths[0] for set_id, paths in contents.places.items() if contents.in_single_files(set_id)}
    table = _table(root, contents, places)
    text = json.dumps(table, ensure_ascii=False).encode() + b"\n"
    document = CroissantDocument(manifest)
    for a in archives:
        document.add_file(a.name, a.path, "application/x-tar", a.sha256, contentSize=f"{a.bytes} B")
    document.add_file(TABLE, TABLE, "application/json", sha256_bytes(text))
    columns = {
        name: {"source": {"fileObject": {"@id": TABLE}, "extract": {"jsonPath": f"$.{name}[*]"}}} for name in table
    }
    document.add_records("samples", "The samples in their order, which is that of the images of every set.", columns)
    if manifest.classes:
        rows = [
            {"classes/index": c.index, "classes/name": c.name, "classes/folder": c.folder} for c in manifest.classes
        ]
        about = "Label, class and the name of its folder."
        document.add_records("classes", about, {"index": {}, "name": {}, "folder": {}}, data=rows)
    for record in manifest.sets:
        holding = [a.name for a in archives if record.id in a.sets]
        if record.id in places and holding:
            _add_set(document, record.id, record.count, f"{top_folder(manifest)}/", places[record.id], holding)
    return {CROISSANT: document.encode(f"{len(manifest.sets)} sets of corrupted images"), TABLE: text}


def _add_set(
    document: CroissantDocument, set_id: str, count: int, top: str, place: str, archives: Sequence[str]
) -> None:
    """Add the record set of a set's images, and that of its files in the archives."""
    document.add_images(set_id, archives, f"{top}{place}/*")
    files = f"{set_id}.files"
    # a regex is matched from the beginning of the path in the archive
    stored = {
        "image": image_field(set_id),
        "path": image_field(set_id, rf"{re.escape(top)}(.+)$"),
        "file": image_field(set_id, rf"{re.escape(f'{top}{place}')}/(.+)$"),
    }
    joined = {
        "image": joined_field(f"{files}/image"),
        **(
            {"label": joined_field("samples/label"), "class": joined_field("samples/folder")}
            if document.manifest.classes
            else {}
        ),
        "id": joined_field("samples/id"),
        "path": joined_field(f"{files}/path"),
        "file": joined_field("samples/file", references=f"{files}/file"),
    }
    document.add_records(files, f"The files of the set {set_id}, sorted by path.", stored)
    document.add_records(set_id, f"The set {set_id}: {count} images, in the order of the samples.", joined)


def _table(root: Path, contents: Contents, places: Mapping[str, str]) -> dict[str, list[Any]]:
    """Return the columns of the table of samples; ``file`` is an image's path in the folder of its set, the same in
    every set.
    """
    samples, classes = list(read_jsonl(root / SAMPLES, SampleRecord)), contents.manifest.classes
    table: dict[str, list[Any]] = {"index": [s.index for s in samples], "id": [s.id for s in samples]}
    if classes:
        table["label"] = [s.label for s in samples]
        table["class"] = [s.class_ for s in samples]
        table["folder"] = [classes[s.class_index].folder for s in samples]
    table["sha256"] = [s.sha256 for s in samples]
    table["pixels"] = [s.pixels for s in samples]
    for first, place in list(places.items())[:1]:
        table["file"] = [f.path.removeprefix(f"{place}/") for f in contents.images(root, first)]
    return table
