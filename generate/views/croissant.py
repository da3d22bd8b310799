"""The view ``croissant``: a tar for every set and ``croissant.json``, Croissant 1.0 (JSON-LD).

Each set is a record set of its own name, with the fields image, index, label, class and path; mlcroissant reads it without network. It
sorts an archive's members by path and can only read a path, so a member's path begins with the index and the label:
``<index>-label=<label>/<class folder>/<image>``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from ...canonical import canonical_sha256
from ...manifests.layout import set_path
from ...manifests.records.models import Manifest
from ...manifests.release.croissant import document, file_object, file_set, of_files, record_set
from ..sources.source import stored_path
from .layout import SetRef, Subject, ViewOptions
from .tar_layout import TarLayout, TarPlan

TAKES = ()


class Croissant(TarLayout):
    """``<name>-<version>/croissant.json`` and ``<name>-<version>/<twelve digits>/<set id>.tar``."""

    @cached_property
    def manifest(self) -> Manifest:
        """The manifest of the build, which there is: nothing is built straight into this view."""
        assert self.subject.manifest is not None
        return self.subject.manifest

    @cached_property
    def folder(self) -> str:
        """The folder of the archives: its digits are others where an archive has other images, labels or names.

        The pixels of lossless images follow from the digest, whichever library stored them. Those of JPEGs do not: their hashes are in the
        rows.
        """
        m = self.manifest
        rows = {set_path(s.id) for s in m.sets} if m.encoding["format"] == "jpeg" else set()
        stored = [f.sha256 for f in m.files if f.path in rows]
        return canonical_sha256([m.digest, m.encoding["format"], stored]).removeprefix("sha256:")[:12]

    def archives(self) -> Sequence[TarPlan]:
        """Return an archive a set."""
        return [TarPlan(f"{self.top}/{self.folder}/{ref.id}.tar", ref, range(len(self.subject.samples))) for ref in self.subject.sets]

    def member(self, ref: SetRef, index: int) -> str:
        """Return ``<index>-label=<label>/<class folder>/<image>``."""
        sample = self.subject.samples[index]
        digits = len(str(len(self.subject.samples) - 1))
        name = stored_path(sample.id, self.subject.classes[sample.label].folder)
        return f"{index:0{digits}d}-label={sample.label}/{name}.{self.subject.suffix}"

    def texts(self, hashes: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
        """Yield croissant.json."""
        archives, images, records = [], [], []
        for plan in self.archives():
            name = plan.ref.id
            path = plan.path.removeprefix(f"{self.top}/")
            archives.append(file_object(f"{name}.tar", path, "application/x-tar", hashes.get(plan.path, "")))
            images.append(file_set(f"{name}.images", [f"{name}.tar"], self.subject.encoding, f"*.{self.subject.suffix}"))
            fields = {
                "image": of_files(f"{name}.images", "content"),
                "index": of_files(f"{name}.images", "fullpath", r"(\d+)-"),
                "label": of_files(f"{name}.images", "fullpath", r"\d+-label=(\d+)/"),
                "class": of_files(f"{name}.images", "fullpath", r"\d+-label=\d+/([^/]+)/"),
                "path": of_files(f"{name}.images", "fullpath", r"\d+-label=\d+/(.+)$"),
            }
            records.append(record_set(name, f"The set {name}: {len(plan.samples)} images, in the order of the samples.", fields))
        about = f"{len(self.subject.samples)} images in {len(self.subject.sets)} sets of corruptions"
        yield f"{self.top}/croissant.json", document(self.manifest, about, [*archives, *images], records)


def layout(subject: Subject, options: ViewOptions) -> Croissant:
    """Return the layout."""
    return Croissant(subject, f"{subject.name}-{subject.version}")
