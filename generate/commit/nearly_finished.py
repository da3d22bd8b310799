"""A data set that lacks nothing but its last files: those lie aside until all of them, the page among them, are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ...manifests.manifest_file import manifest_bytes, parse_manifest
from ...manifests.reader import DataSet
from ...manifests.records.models import Manifest


class NearlyFinished(DataSet):
    """A data set whose manifest is in memory; `aside` says where files lie that are not in their places yet."""

    def __init__(self, directory: Path, manifest: Manifest, aside: Mapping[str, Path]) -> None:
        # as its file will have it: parameters sorted, so that whoever makes the page later makes the same
        self._manifest, self._aside = parse_manifest(manifest_bytes(manifest)), aside
        super().__init__(directory)

    def _load_manifest(self) -> Manifest:
        return self._manifest

    def record_file(self, path: str) -> Path:
        """Return where a file of records lies, which may be aside."""
        return self._aside.get(path) or super().record_file(path)


def made_of(make: Callable[[DataSet], bytes], directory: Path, manifest: Manifest, aside: Mapping[str, Path]) -> bytes:
    """Return what is made of such a data set; a worker can be asked to."""
    return make(NearlyFinished(directory, manifest, aside))
