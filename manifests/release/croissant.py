"""Croissant 1.0 (JSON-LD): what every croissant.json is made of, and the one beside packed archives.

mlcroissant extracts an archive once for each ``contentUrl`` that it sees, whatever is in it. So the name of an archive has to be another
where its content is another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import VerificationError
from ..disk.jsonl import read_jsonl
from ..images.pictures import FORMATS
from ..layout import SAMPLES, set_path, set_places
from ..records.digests import sha256_bytes, sha256_file
from ..records.models import ImageRecord, Manifest, SampleRecord
from .bag import Packed
from .division import Contents, top_folder

CROISSANT = "croissant.json"
TABLE = "croissant-samples.json"
"""The samples once more, beside the archives: by column, as mlcroissant reads JSON without taking digits for numbers."""
CONTEXT: dict[str, Any] = {
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
_KINDS = {"image": "sc:ImageObject", "index": "sc:Integer", "label": "sc:Integer"}
"""Name of a field -> its type; of all others ``sc:Text``."""


def document(manifest: Manifest, about: str, distribution: Sequence[Mapping[str, Any]], records: Sequence[Mapping[str, Any]]) -> bytes:
    """Return croissant.json.

    Parameters
    ----------
    manifest : Manifest
    about : str
        What is in it, in words.
    distribution : sequence of mapping
        Of `file_object` and `file_set`.
    records : sequence of mapping
        Of `record_set`.
    """
    title = " ".join(str(manifest.recipe.get("title") or manifest.name).split())
    value = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": top_folder(manifest),
        "description": f"{manifest.name} {manifest.version}: {about}, made by corruptset; digest {manifest.digest}.",
        "version": manifest.version,
        "citeAs": f"{title} ({manifest.name} {manifest.version}), {manifest.digest}",
        **({"license": manifest.source.license} if manifest.source.license else {}),
        "distribution": distribution,
        "recordSet": records,
    }
    return json.dumps(value, ensure_ascii=False, indent=2).encode() + b"\n"


def file_object(name: str, url: str, media: str, sha256: str, **more: str) -> dict[str, Any]:
    """Return a file: its id, where it is beside croissant.json, media type and ``sha256:<hex>``."""
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": url,
        **more,
        "encodingFormat": media,
        "sha256": sha256.removeprefix("sha256:"),
    }


def file_set(name: str, archives: Sequence[str], encoding: str, pattern: str) -> dict[str, Any]:
    """Return the images that archives, by their ids, have under a glob."""
    inside = [{"@id": a} for a in archives]
    return {
        "@type": "cr:FileSet",
        "@id": name,
        "name": name,
        "containedIn": inside[0] if len(inside) == 1 else inside,
        "encodingFormat": f"image/{encoding}",
        "includes": pattern,
    }


def record_set(name: str, about: str, sources: Mapping[str, Mapping[str, Any]], **more: Any) -> dict[str, Any]:
    """Return a record set: `sources` are its fields, name -> what goes into the field beside its name and type."""
    fields = [
        {"@type": "cr:Field", "@id": f"{name}/{n}", "name": f"{name}/{n}", "dataType": _KINDS.get(n, "sc:Text"), **source}
        for n, source in sources.items()
    ]
    return {"@type": "cr:RecordSet", "@id": name, "name": name, "description": about, "field": fields, **more}


def of_files(name: str, what: str, regex: str | None = None) -> dict[str, Any]:
    """Return the source of a field: the content or the path of the files of a file set, of a path what a group of `regex` matches."""
    source: dict[str, Any] = {"fileSet": {"@id": name}, "extract": {"fileProperty": what}}
    return {"source": source if regex is None else {**source, "transform": {"regex": regex}}}


def of_field(field: str, **more: str) -> dict[str, Any]:
    """Return the source of a field: that of another record set; ``references`` is the field that it has to equal."""
    return {key: {"field": {"@id": of}} for key, of in {"source": field, **more}.items()}


def beside(root: Path, contents: Contents, archives: Sequence[Packed]) -> dict[str, bytes]:
    """Return the files that describe packed archives, by name: croissant.json, and the table of samples that it reads.

    The images of a set lie in archives sorted by path. A record set joins the table of samples with them, which is in the order of the
    samples and knows their labels.

    Parameters
    ----------
    root : Path
        The build.
    contents : Contents
    archives : sequence of Packed

    Raises
    ------
    VerificationError
        The build's records are not what its manifest says.
    """
    manifest = contents.manifest
    places = {one: paths[0] for one, paths in set_places(manifest).items() if contents.single(one)}
    table = _table(root, manifest, places)
    text = json.dumps(table, ensure_ascii=False).encode() + b"\n"
    distribution = [
        *(file_object(a.file.path, a.path, a.media, a.file.sha256, contentSize=f"{a.file.bytes} B") for a in archives),
        file_object(TABLE, TABLE, "application/json", sha256_bytes(text)),
    ]
    columns = {n: {"source": {"fileObject": {"@id": TABLE}, "extract": {"jsonPath": f"$.{n}[*]"}}} for n in table}
    records = [
        record_set("samples", "The samples in their order, which is that of the images of every set.", columns),
        record_set(
            "classes",
            "Label, class and the name of its folder.",
            {"index": {}, "name": {}, "folder": {}},
            data=[{"classes/index": c.index, "classes/name": c.name, "classes/folder": c.folder} for c in manifest.classes],
        ),
    ]
    top = top_folder(manifest)
    suffix = FORMATS[manifest.encoding["format"]][1]
    for one in manifest.sets:
        holding = [a.file.path for a in archives if one.id in a.sets]
        if one.id not in places or not holding:
            continue
        # what is left of a path after the class folder may have folders of its own
        distribution.append(file_set(f"{one.id}.images", holding, manifest.encoding["format"], f"{top}/{places[one.id]}/*.{suffix}"))
        records += _records(one.id, one.count, top, places[one.id])
    return {CROISSANT: document(manifest, f"{len(manifest.sets)} sets of corrupted images", distribution, records), TABLE: text}


def _records(set_id: str, count: int, top: str, place: str) -> list[dict[str, Any]]:
    """Return the record set of a set's images, and the one of its files as they lie in archives, which it is joined from."""
    files = f"{set_id}.files"
    # matched from the beginning of the path in the archive
    stored = {
        "image": of_files(f"{set_id}.images", "content"),
        "path": of_files(f"{set_id}.images", "fullpath", rf"{re.escape(top)}/(.+)$"),
        "file": of_files(f"{set_id}.images", "fullpath", rf"{re.escape(f'{top}/{place}')}/(.+)$"),
    }
    joined = {
        "image": of_field(f"{files}/image"),
        "label": of_field("samples/label"),
        "class": of_field("samples/folder"),
        "id": of_field("samples/id"),
        "path": of_field(f"{files}/path"),
        "file": of_field("samples/file", references=f"{files}/file"),
    }
    return [
        record_set(files, f"The files of the set {set_id}, sorted by path.", stored),
        record_set(set_id, f"The set {set_id}: {count} images, in the order of the samples.", joined),
    ]


def _table(root: Path, manifest: Manifest, places: Mapping[str, str]) -> dict[str, list[Any]]:
    """Return the columns of the table of samples; ``file`` is an image's path in the folder of its set, the same in every set."""
    known = {f.path: f.sha256 for f in manifest.files}
    for path in (SAMPLES, *map(set_path, list(places)[:1])):
        if sha256_file(root / path) != known[path]:
            raise VerificationError(f"{root / path} is not what the records say. Run `corruptset verify` on the build.")
    samples = list(read_jsonl(root / SAMPLES, SampleRecord))
    table: dict[str, list[Any]] = {
        "index": [s.index for s in samples],
        "id": [s.id for s in samples],
        "label": [s.label for s in samples],
        "class": [s.class_ for s in samples],
        "folder": [manifest.classes[s.label].folder for s in samples],
        "sha256": [s.sha256 for s in samples],
        "pixels": [s.pixels for s in samples],
    }
    for set_id, place in list(places.items())[:1]:
        rows = read_jsonl(root / set_path(set_id), ImageRecord)
        table["file"] = [f.path.removeprefix(f"{place}/") for row in rows for f in row.files if f.row is None]
    return table
