"""The view ``imagefolder``: images, and a ``metadata.jsonl`` that Hugging Face's imagefolder reads labels from.

Hugging Face takes words such as ``train``, ``test`` and ``val`` in a path for the name of a split; then it drops what is in no split, and
with it ``metadata.jsonl``. So no name of the source stands in a path: an image is called by its index, and such a word in a set id is
marked. All images are one split, which is called ``train`` there; the split that a sample had in its source is a column, and so
is its group, where it has one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from .file_layout import FileLayout, lines
from .layout import SetSlice, ViewOptions
from .subject import Subject

_SPLIT = re.compile(r"(?<![a-z])(train|training|validation|valid|val|dev|test|testing|eval|evaluation)(?![a-z])|(?<![^/])__")
"""What names a split (``SPLIT_KEYWORDS`` in data_files.py of `datasets`), and how a folder begins that it does not look into."""


class ImageFolder(FileLayout):
    """``<name>-<version>/metadata.jsonl`` and ``<name>-<version>/<set id>/<index>.<suffix>``."""

    view = "imagefolder"
    numbered = True

    def __init__(self, subject: Subject, options: ViewOptions) -> None:
        samples = range(len(subject.samples))
        super().__init__(subject, subject.folder, (SetSlice(s.id, f"{subject.folder}/{_folder(s.id)}", samples) for s in subject.sets))

    def path(self, folder: str, index: int) -> str:
        """Return where an image goes: digits alone, which sort in the order of the samples."""
        digits = max(5, len(str(len(self.subject.samples) - 1)))
        return f"{folder}/{index:0{digits}d}.{self.subject.suffix}"

    def texts(self, hashes: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
        yield f"{self.top}/metadata.jsonl", lines(self._rows())

    def _rows(self) -> Iterator[str]:
        splits = any(sample.split for sample in self.subject.samples)
        for ref in self.subject.sets:
            for index, sample in enumerate(self.subject.samples):
                row = {
                    "file_name": self.path(_folder(ref.id), index),
                    "label": sample.class_index,
                    **self.subject.labels(ref.id),
                    "set": ref.id,
                    "class": self.subject.classes[sample.class_index].name,
                    "id": sample.id,
                    **({"split": sample.split} if splits else {}),
                    **({} if sample.group is None else {"group": sample.group}),
                }
                yield json.dumps(row, ensure_ascii=False)


def _folder(set_id: str) -> str:
    """Return the folder of a set: its id, with a sign that is in no id before a word that names a split."""
    return _SPLIT.sub(r"=\g<0>", set_id)
