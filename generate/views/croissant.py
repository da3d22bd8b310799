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
from ...manifests.release.croissant import CROISSANT, CroissantDocument, image_field
from ..sources.source import stored_path
from .layout import SetRef, Subject, ViewOptions
from .tar_layout import TarLayout, TarPlan

TAKES = ()


class Croissant(TarLayout):
    """``<name>-<version>/croissant.json`` and ``<name>-<version>/<twelve digits>/<set id>.tar``."""

    @cached_property
    def manifest(self) -> Manifest:
        """The manifest of the build, which exists: no build writes straight into this view."""
        assert self.subject.manifest is not None
        return self.subject.manifest

    @cached_property
    def folder(self) -> str:
        """The folder of the archives: its digits differ where an archive has other images, labels or names.

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
        document = CroissantDocument(self.manifest)
        for plan in self.archives():
            set_id, count = plan.ref.id, len(plan.samples)
            archive = f"{set_id}.tar"
            document.add_file(archive, plan.path.removeprefix(f"{self.top}/"), "application/x-tar", hashes.get(plan.path, ""))
            document.add_images(set_id, [archive], "*")
            fields = {
                "image": image_field(set_id),
                "index": image_field(set_id, r"(\d+)-"),
                "label": image_field(set_id, r"\d+-label=(\d+)/"),
                "class": image_field(set_id, r"\d+-label=\d+/([^/]+)/"),
                "path": image_field(set_id, r"\d+-label=\d+/(.+)$"),
            }
            document.add_records(set_id, f"The set {set_id}: {count} images, in the order of the samples.", fields)
        about = f"{len(self.subject.samples)} images in {len(self.subject.sets)} sets of corruptions"
        yield f"{self.top}/{CROISSANT}", document.encode(about)


def layout(subject: Subject, options: ViewOptions) -> Croissant:
    """Return the layout."""
    return Croissant(subject, f"{subject.name}-{subject.version}")
