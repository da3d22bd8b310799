"""The view ``croissant``: a tar for every set and ``croissant.json``, Croissant 1.0 (JSON-LD).

Each set is a record set of its own name, with the fields image, set, label and class; mlcroissant reads it without network. The label
stands in a member's path, ``label=<index>/<class folder>/<image>``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..sources.base import stored_path
from .base import SetRef, Subject, ViewOptions
from .tars import TarLayout, TarPlan

TAKES = ()
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


class Croissant(TarLayout):
    """``<name>-<version>/croissant.json`` and ``<name>-<version>/<set id>.tar``."""

    def archives(self) -> Sequence[TarPlan]:
        """Return an archive a set."""
        return [TarPlan(f"{self.top}/{ref.id}.tar", ref, range(len(self.subject.samples))) for ref in self.subject.sets]

    def member(self, ref: SetRef, index: int) -> str:
        """Return ``label=<index>/<class folder>/<image>``."""
        sample = self.subject.samples[index]
        folder = self.subject.classes[sample.label].folder
        return f"label={sample.label}/{stored_path(sample.id, folder)}.{self.subject.suffix}"

    def texts(self, hashes: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
        """Yield croissant.json."""
        data = json.dumps(self._record(hashes), ensure_ascii=False, indent=2)
        yield f"{self.top}/croissant.json", data.encode() + b"\n"

    def _record(self, hashes: Mapping[str, str]) -> dict[str, Any]:
        distribution: list[dict[str, Any]] = []
        records: list[dict[str, Any]] = []
        for plan in self.archives():
            name = plan.ref.id
            inside = plan.path.removeprefix(f"{self.top}/")
            distribution += [
                {
                    "@type": "cr:FileObject",
                    "@id": f"{name}.tar",
                    "name": f"{name}.tar",
                    "contentUrl": inside,
                    "encodingFormat": "application/x-tar",
                    "sha256": hashes.get(plan.path, "").removeprefix("sha256:"),
                },
                {
                    "@type": "cr:FileSet",
                    "@id": f"{name}.images",
                    "name": f"{name}.images",
                    "containedIn": {"@id": f"{name}.tar"},
                    "encodingFormat": f"image/{self.subject.encoding}",
                    "includes": f"*.{self.subject.suffix}",
                },
            ]
            records.append(
                {
                    "@type": "cr:RecordSet",
                    "@id": name,
                    "name": name,
                    "description": f"The set {name}: {len(plan.samples)} images.",
                    "field": [
                        _field(name, "image", "sc:ImageObject", {"fileProperty": "content"}),
                        _field(name, "label", "sc:Integer", {"fileProperty": "fullpath"}, r"label=(\d+)/"),
                        _field(name, "class", "sc:Text", {"fileProperty": "fullpath"}, r"label=\d+/([^/]+)/"),
                        _field(name, "path", "sc:Text", {"fileProperty": "fullpath"}, r"label=\d+/(.+)$"),
                    ],
                }
            )
        return {
            "@context": CONTEXT,
            "@type": "sc:Dataset",
            "conformsTo": "http://mlcommons.org/croissant/1.0",
            "name": self.top,
            "description": f"{self.subject.name} {self.subject.version}: {len(self.subject.samples)} images in "
            f"{len(self.subject.sets)} sets of corruptions, made by corruptset.",
            "version": self.subject.version,
            **({"license": self.subject.license} if self.subject.license else {}),
            "distribution": distribution,
            "recordSet": records,
        }


def _field(record_set: str, name: str, kind: str, extract: Mapping[str, str], regex: str | None = None) -> dict[str, Any]:
    source: dict[str, Any] = {"fileSet": {"@id": f"{record_set}.images"}, "extract": dict(extract)}
    if regex is not None:
        source["transform"] = {"regex": regex}
    return {"@type": "cr:Field", "@id": f"{record_set}/{name}", "name": f"{record_set}/{name}", "dataType": kind, "source": source}


def layout(subject: Subject, options: ViewOptions) -> Croissant:
    """Return the layout."""
    return Croissant(subject, f"{subject.name}-{subject.version}")
