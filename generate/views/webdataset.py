"""The view ``webdataset``: ``<name>-<version>/<set id>/<000000>.tar``, for webdataset and for Hugging Face's webdataset builder.

A sample's key is its index, eight digits: a key ends at the first dot of a name, and ids may have dots. Beside the image stand ``.cls``
(the label) and ``.json`` (id, set, corruption, severity, label, class; level, where a set has one).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from .layout import SetRef, Subject, ViewOptions
from .tar_layout import TarLayout, TarPlan

TAKES = ()
SHARD = 5000
"""Samples of one archive: 125 MB of photographs, 15 MB of 32-pixel images."""


class WebDataset(TarLayout):
    """The layout."""

    def archives(self) -> Sequence[TarPlan]:
        """Return the archives, set by set."""
        total = len(self.subject.samples)
        return [
            TarPlan(f"{self.top}/{ref.id}/{k:06d}.tar", ref, range(start, min(start + SHARD, total)))
            for ref in self.subject.sets
            for k, start in enumerate(range(0, total, SHARD))
        ]

    def member(self, ref: SetRef, index: int) -> str:
        """Return ``<index>.<png|jpg>``."""
        return f"{index:08d}.{'png' if self.subject.encoding == 'png' else 'jpg'}"

    def beside(self, ref: SetRef, index: int) -> Iterator[tuple[str, bytes]]:
        """Yield the label and the metadata of a sample."""
        sample = self.subject.samples[index]
        record = {
            "id": sample.id,
            "set": ref.id,
            **self.subject.labels(ref),
            "label": sample.label,
            "class": self.subject.classes[sample.label].name,
        }
        yield f"{index:08d}.cls", str(sample.label).encode()
        yield f"{index:08d}.json", json.dumps(record, ensure_ascii=False).encode()


def layout(subject: Subject, options: ViewOptions) -> WebDataset:
    """Return the layout."""
    return WebDataset(subject, f"{subject.name}-{subject.version}")
