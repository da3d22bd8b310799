"""The view ``croissant``: a tar for every set and ``croissant.json``, Croissant 1.0 (JSON-LD).

Each set is a record set of its own name, with the fields image, index, label, class and path; mlcroissant reads it without network. It
sorts an archive's members by path and can only read a path, so a member's path begins with the index and the label:
``<index>-label=<label>/<class folder>/<image>``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...canonical import canonical_sha256
from ...digests import digits
from ...manifests.layout import set_path
from ...manifests.records.models import Manifest
from ...manifests.release.croissant import CROISSANT, CroissantDocument, image_field
from ..sources.source import stored_path
from .layout import SetSlice, ViewOptions
from .subject import Subject
from .tar_layout import TarLayout


class Croissant(TarLayout):
    """``<name>-<version>/croissant.json`` and ``<name>-<version>/<twelve digits>/<set id>.tar``."""

    view = "croissant"

    def __init__(self, subject: Subject, options: ViewOptions) -> None:
        assert subject.manifest is not None  # nothing is built straight into this view
        self.manifest = subject.manifest
        folder = f"{subject.folder}/{_archives_id(self.manifest)}"
        samples = range(len(subject.samples))
        super().__init__(subject, subject.folder, (SetSlice(s.id, f"{folder}/{s.id}.tar", samples) for s in subject.sets))

    def member(self, index: int) -> str:
        """Return ``<index>-label=<label>/<class folder>/<image>``."""
        sample = self.subject.samples[index]
        digits = len(str(len(self.subject.samples) - 1))
        name = stored_path(sample.id, self.subject.classes[sample.class_index].folder)
        return f"{index:0{digits}d}-label={sample.class_index}/{name}.{self.subject.suffix}"

    def texts(self, hashes: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
        """Yield croissant.json."""
        document = CroissantDocument(self.manifest)
        for tar in self.slices:
            set_id = tar.set_id
            archive = f"{set_id}.tar"
            document.add_file(archive, tar.path.removeprefix(f"{self.top}/"), "application/x-tar", hashes.get(tar.path, ""))
            document.add_images(set_id, [archive], "*")
            fields = {
                "image": image_field(set_id),
                "index": image_field(set_id, r"(\d+)-"),
                "label": image_field(set_id, r"\d+-label=(\d+)/"),
                "class": image_field(set_id, r"\d+-label=\d+/([^/]+)/"),
                "path": image_field(set_id, r"\d+-label=\d+/(.+)$"),
            }
            document.add_records(set_id, f"The set {set_id}: {len(tar.samples)} images, in the order of the samples.", fields)
        about = f"{len(self.subject.samples)} images in {len(self.subject.sets)} sets of corruptions"
        yield f"{self.top}/{CROISSANT}", document.encode(about)


def _archives_id(manifest: Manifest) -> str:
    """Return twelve digits that differ where an archive has other images, labels or names.

    The pixels of lossless images follow from the digest, whichever library stored them. Those of JPEGs do not: their hashes are in the
    rows.
    """
    rows = {set_path(s.id) for s in manifest.sets} if manifest.encoding["format"] == "jpeg" else set()
    stored = [f.sha256 for f in manifest.files if f.path in rows]
    return digits(canonical_sha256([manifest.digest, manifest.encoding["format"], stored]))[:12]
