"""The view ``imagefolder``: images, and a ``metadata.jsonl`` that Hugging Face's imagefolder reads labels from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from .base import Subject, ViewOptions
from .folders import FolderLayout, lines

TAKES = ()


class ImageFolder(FolderLayout):
    """``<name>-<version>/metadata.jsonl`` and ``<name>-<version>/<set id>/<class folder>/<image>``."""

    def folders(self) -> Mapping[str, str]:
        """Return folder -> set id."""
        return {f"{self.top}/{s.id}": s.id for s in self.subject.sets}

    def texts(self, hashes: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
        """Yield metadata.jsonl: a row an image."""
        yield f"{self.top}/metadata.jsonl", lines(self._rows())

    def _rows(self) -> Iterator[str]:
        for ref in self.subject.sets:
            for index, sample in enumerate(self.subject.samples):
                row = {
                    "file_name": self.path(ref.id, index),
                    "label": sample.label,
                    **self.subject.labels(ref),
                    "set": ref.id,
                    "class": self.subject.classes[sample.label].name,
                    "id": sample.id,
                }
                yield json.dumps(row, ensure_ascii=False)


def layout(subject: Subject, options: ViewOptions) -> ImageFolder:
    """Return the layout."""
    return ImageFolder(subject, f"{subject.name}-{subject.version}")
