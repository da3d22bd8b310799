"""croissant.json of packed archives: Croissant 1.0 (JSON-LD), read without network and without unpacking.

A record set for each set of single images; ``samples`` (id, label, class, hash) from samples.jsonl, which also covers data sets of shards.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from .bag import Packed
from .consistency import set_places
from .division import METADATA, top_folder
from .files import SAMPLES
from .models import Manifest
from .pictures import FORMATS

CROISSANT = "croissant.json"


def croissant(manifest: Manifest, archives: Sequence[Packed], context: Mapping[str, Any]) -> bytes:
    """Return croissant.json.

    Parameters
    ----------
    manifest : Manifest
    archives : sequence of Packed
    context : mapping
        Croissant's JSON-LD context, as the view has it.
    """
    top = top_folder(manifest)
    distribution: list[dict[str, Any]] = [
        {
            "@type": "cr:FileObject",
            "@id": a.file.path,
            "name": a.file.path,
            "contentUrl": a.path,
            "contentSize": f"{a.file.bytes} B",
            "encodingFormat": a.media,
            "sha256": a.file.sha256.removeprefix("sha256:"),
        }
        for a in archives
    ]
    # the only archive that is always there
    (metadata,) = [a for a in archives if a.file.path.startswith(f"{top}-{METADATA}.")]
    rows = next(f for f in manifest.files if f.path == SAMPLES)
    distribution.append(
        {
            "@type": "cr:FileObject",
            "@id": SAMPLES,
            "name": SAMPLES,
            "containedIn": {"@id": metadata.file.path},
            "contentUrl": f"{top}/{SAMPLES}",
            "encodingFormat": "application/jsonlines",
            "sha256": rows.sha256.removeprefix("sha256:"),
        }
    )
    fields = {"index": "sc:Integer", "id": "sc:Text", "label": "sc:Integer", "class": "sc:Text", "sha256": "sc:Text", "pixels": "sc:Text"}
    records: list[dict[str, Any]] = [
        {
            "@type": "cr:RecordSet",
            "@id": "samples",
            "name": "samples",
            "description": "The samples in their order, which is that of the images of every set.",
            "field": [_field("samples", {"fileObject": {"@id": SAMPLES}}, n, kind, {"column": n}) for n, kind in fields.items()],
        }
    ]
    records.append(
        {
            "@type": "cr:RecordSet",
            "@id": "classes",
            "name": "classes",
            "description": "Label, class and the name of its folder, which is an image's class in the sets below.",
            "field": [
                {"@type": "cr:Field", "@id": f"classes/{n}", "name": f"classes/{n}", "dataType": kind}
                for n, kind in (("index", "sc:Integer"), ("name", "sc:Text"), ("folder", "sc:Text"))
            ],
            "data": [{"classes/index": c.index, "classes/name": c.name, "classes/folder": c.folder} for c in manifest.classes],
        }
    )
    suffix = FORMATS[manifest.encoding["format"]][1]
    places = set_places(manifest)
    for one in manifest.sets:
        holding = [a for a in archives if one.id in a.sets]
        place = places[one.id][0]
        # a pattern of one set's folder would take in the images of a set that lies in it
        if any(other.id.startswith(f"{one.id}/") for other in manifest.sets):
            continue
        if manifest.encoding["containers"] == ["hdf5"] or place.endswith(".npy") or not holding:
            continue
        name = f"{one.id}.images"
        # matched from the beginning of the path in the archive
        top_start, start = re.escape(top), re.escape(f"{top}/{place}")
        files = {"fileSet": {"@id": name}}
        # what is left of a path after the class folder may have folders of its own
        distribution.append(_file_set(name, holding, f"image/{manifest.encoding['format']}", f"{top}/{place}/*.{suffix}"))
        records.append(
            {
                "@type": "cr:RecordSet",
                "@id": one.id,
                "name": one.id,
                "description": f"The set {one.id}: {one.count} images.",
                "field": [
                    _field(one.id, files, "image", "sc:ImageObject", {"fileProperty": "content"}),
                    _field(one.id, files, "class", "sc:Text", {"fileProperty": "fullpath"}, rf"{start}/([^/]+)/"),
                    _field(one.id, files, "path", "sc:Text", {"fileProperty": "fullpath"}, rf"{top_start}/(.+)$"),
                ],
            }
        )
    value = {
        "@context": dict(context),
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": top,
        "description": f"{manifest.name} {manifest.version}: {len(manifest.sets)} sets of corrupted images, made by corruptset; "
        f"digest {manifest.digest}.",
        "version": manifest.version,
        "citeAs": f"{manifest.name} {manifest.version}, {manifest.digest}",
        **({"license": manifest.source.license} if manifest.source.license else {}),
        "distribution": distribution,
        "recordSet": records,
    }
    return json.dumps(value, ensure_ascii=False, indent=2).encode() + b"\n"


def _file_set(name: str, archives: Sequence[Packed], media: str, pattern: str) -> dict[str, Any]:
    inside: Any = [{"@id": a.file.path} for a in archives]
    return {
        "@type": "cr:FileSet",
        "@id": name,
        "name": name,
        "containedIn": inside[0] if len(inside) == 1 else inside,
        "encodingFormat": media,
        "includes": pattern,
    }


def _field(
    record_set: str, files: Mapping[str, Any], name: str, kind: str, extract: Mapping[str, str], regex: str | None = None
) -> dict[str, Any]:
    source: dict[str, Any] = {**files, "extract": dict(extract)}
    if regex is not None:
        source["transform"] = {"regex": regex}
    return {"@type": "cr:Field", "@id": f"{record_set}/{name}", "name": f"{record_set}/{name}", "dataType": kind, "source": source}
