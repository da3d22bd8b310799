"""Describe datasets in the Croissant 1.0 format (JSON-LD).

mlcroissant caches extracted archives by their ``contentUrl``, so archives with different content need different names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..disk.jsonl import read_jsonl
from ..images.image_formats import IMAGE_FORMATS
from ..paths import SAMPLES, image_folder, keeps_source_names
from ..records.digests import sha256_bytes
from ..records.models import Manifest, SampleRecord, check_label
from .archive_contents import SetFiles, top_folder
from .bag import IndexedArchive, title

CROISSANT = "croissant.json"
TABLE = "croissant-samples.json"
"""The table of samples in a release. It is stored as JSON by column, because mlcroissant converts ids that consist of
digits to numbers when it reads a CSV file.
"""


CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The JSON-LD context that the Croissant 1.0 specification prescribes."""
DATA_TYPES = {"image": "sc:ImageObject", "index": "sc:Integer", "label": "sc:Integer"}
"""Field -> type, for fields that are not text."""
Json = dict[str, Any]


@dataclass(frozen=True)
class StoredSet:
    """A set whose images are single files in archives."""

    id: str
    count: int
    archives: Sequence[str]
    """Ids of the archives."""
    includes: str
    """A glob that matches the set's images in all archives."""
    fields: Mapping[str, str | None]
    """Field -> regular expression whose group extracts the field from an image's path, or None for the image itself."""


def croissant(
    manifest: Manifest,
    about: str,
    archives: Sequence[Mapping[str, Any]],
    sets: Sequence[StoredSet],
    *,
    table: str = "",
    columns: Sequence[str] = (),
) -> bytes:
    """Return the bytes of croissant.json.

    Parameters
    ----------
    manifest : Manifest
    about : str
        One sentence that describes the content.
    archives : sequence of mappings
        The ``name``, ``url`` relative to croissant.json, ``sha256`` and, where known, ``bytes`` of each file.
    sets : sequence of StoredSet
    table : str, optional
        The id of the file with the table of samples, with which each set is joined. Without a table, all fields of an
        image are extracted from its path.
    columns : sequence of str, optional
        The columns of the table.
    """
    if not keeps_source_names(manifest):
        suffix = IMAGE_FORMATS[manifest.encoding["format"]][1]
        sets = [replace(one, includes=f"{one.includes}.{suffix}") for one in sets]
    release, name = f"{manifest.name} {manifest.version}", title(manifest)
    document: Json = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": top_folder(manifest),
        "description": f"{release}: {about}, built with corruptset; digest {manifest.digest}.",
        "version": manifest.version,
        "citeAs": f"{name} ({release}), {manifest.digest}",
    }
    if manifest.source.license:
        document["license"] = manifest.source.license
    document["distribution"] = [_file_object(file) for file in archives]
    document["distribution"] += [_file_set(one, manifest.encoding["format"]) for one in sets]
    document["recordSet"] = _table_records(manifest, table, columns) if columns else []
    for one in sets:
        document["recordSet"] += _set_records(one, joined=bool(columns), labelled=bool(manifest.classes))
    return json.dumps(document, ensure_ascii=False, indent=2).encode() + b"\n"


def _named_node(kind: str, name: str) -> Json:
    return {"@type": f"cr:{kind}", "@id": name, "name": name}


def _file_object(file: Mapping[str, Any]) -> Json:
    size = {"contentSize": f"{file['bytes']} B"} if "bytes" in file else {}
    return {
        **_named_node("FileObject", file["name"]),
        "contentUrl": file["url"],
        **size,
        "encodingFormat": file.get("type", "application/x-tar"),
        "sha256": file["sha256"].removeprefix("sha256:"),
    }


def _file_set(one: StoredSet, encoding: str) -> Json:
    containers = [{"@id": name} for name in one.archives]
    return {
        **_named_node("FileSet", f"{one.id}.images"),
        "containedIn": containers if len(containers) > 1 else containers[0],
        "encodingFormat": f"image/{encoding}",
        "includes": one.includes,
    }


def _record_set(name: str, about: str, fields: Sequence[Json]) -> Json:
    return {**_named_node("RecordSet", name), "description": about, "field": list(fields)}


def _field(owner: str, name: str, **rest: Any) -> Json:
    return {**_named_node("Field", f"{owner}/{name}"), "dataType": DATA_TYPES.get(name, "sc:Text"), **rest}


def _joined_field(owner: str, name: str, source: str, **rest: Any) -> Json:
    return _field(owner, name, source={"field": {"@id": source}}, **rest)


def _stored_fields(owner: str, one: StoredSet) -> Iterator[Json]:
    """Yield fields that are extracted from a set's files."""
    for name, regex in one.fields.items():
        source: Json = {
            "fileSet": {"@id": f"{one.id}.images"},
            "extract": {"fileProperty": "fullpath" if regex else "content"},
        }
        if regex:
            source["transform"] = {"regex": regex}
        yield _field(owner, name, source=source)


def _table_records(manifest: Manifest, table: str, columns: Sequence[str]) -> list[Json]:
    """Return the record sets of the samples and of the classes."""
    fields = [
        _field("samples", name, source={"fileObject": {"@id": table}, "extract": {"jsonPath": f"$.{name}[*]"}})
        for name in columns
    ]
    about = "The samples, in the order of the images of every set."
    records = [_record_set("samples", about, fields)]
    if manifest.classes:
        names = ("index", "name", "folder")
        classes = _record_set(
            "classes", "Label, class and the name of its folder.", [_field("classes", name) for name in names]
        )
        classes["data"] = [{f"classes/{name}": getattr(c, name) for name in names} for c in manifest.classes]
        records.append(classes)
    return records


def _set_records(one: StoredSet, *, joined: bool, labelled: bool) -> list[Json]:
    """Return the record sets of one set of images: its files, and its images joined with the table of samples."""
    about = f"The set {one.id}: {one.count} images, in the order of the samples."
    if not joined:
        return [_record_set(one.id, about, [*_stored_fields(one.id, one)])]
    files = f"{one.id}.files"
    fields = [_joined_field(one.id, "image", f"{files}/image")]
    if labelled:
        fields.append(_joined_field(one.id, "label", "samples/label"))
        fields.append(_joined_field(one.id, "class", "samples/folder"))
    fields.append(_joined_field(one.id, "id", "samples/id"))
    fields.append(_joined_field(one.id, "path", f"{files}/path"))
    fields.append(_joined_field(one.id, "file", "samples/file", references={"field": {"@id": f"{files}/file"}}))
    return [
        _record_set(files, f"The files of the set {one.id}, sorted by path.", [*_stored_fields(files, one)]),
        _record_set(one.id, about, fields),
    ]


def packed_croissant(root: Path, contents: SetFiles, archives: Sequence[IndexedArchive]) -> dict[str, bytes]:
    """Return the names and contents of two files: croissant.json, and the table of samples to which it refers.

    The images of a set are sorted by path in the archives. A record set joins these images with the table of samples,
    which contains the labels in the order of the samples.
    """
    manifest, top = contents.manifest, f"{top_folder(contents.manifest)}/"
    table = _table(root, contents)
    text = json.dumps(table, ensure_ascii=False).encode() + b"\n"
    described: list[dict[str, Any]] = [{**a.as_json(), "name": a.name, "url": a.path} for a in archives]
    described.append({"name": TABLE, "url": TABLE, "type": "application/json", "sha256": sha256_bytes(text)})
    sets = []
    for one in manifest.sets:
        holding, place = [a.name for a in archives if one.id in a.sets], f"{top}{image_folder(one.id)}/"
        # regular expressions are matched from the beginning of the path in the archive
        fields = {"image": None, "path": rf"{re.escape(top)}(.+)$", "file": rf"{re.escape(place)}(.+)$"}
        if contents.image_files and holding:
            sets.append(StoredSet(one.id, one.count, holding, f"{place}*", fields))
    about = f"{len(manifest.sets)} sets of corrupted images"
    return {CROISSANT: croissant(manifest, about, described, sets, table=TABLE, columns=list(table)), TABLE: text}


def _table(root: Path, contents: SetFiles) -> dict[str, list[Any]]:
    """Return the columns of the table of samples.

    ``file`` is the path of an image below the folder of its set, which is the same in every set.
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
    if contents.image_files:
        first = min(contents.sets)
        place = f"{image_folder(first)}/"
        table["file"] = [f.path.removeprefix(place) for f in contents.images(root, first)]
    return table
