"""The view ``webdataset``: ``<name>-<version>/<set id>/<000000>.tar``, for webdataset and for Hugging Face's webdataset builder.

A sample's key is its index, eight digits: a key ends at the first dot of a name, and ids may have dots. Beside the image stand ``.cls``
(the label) and ``.json`` (id, set, corruption, severity, label, class; level, where a set has one; group, where
samples have groups). ``_info.json`` names the shards of every set, for timm's ``wds/``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from .layout import SetSlice, ViewOptions
from .subject import Subject
from .tar_layout import TarLayout

SHARD = 5000
"""Samples of one archive: 125 MB of photographs, 15 MB of 32-pixel images."""


class WebDataset(TarLayout):
    """The layout."""

    view = "webdataset"

    def __init__(self, subject: Subject, options: ViewOptions) -> None:
        total = len(subject.samples)
        slices = (
            SetSlice(ref.id, f"{subject.folder}/{ref.id}/{k:06d}.tar", range(start, min(start + SHARD, total)))
            for ref in subject.sets
            for k, start in enumerate(range(0, total, SHARD))
        )
        super().__init__(subject, subject.folder, slices)

    def member(self, index: int) -> str:
        """Return ``<index>.<png|jpg>``."""
        return f"{index:08d}.{'png' if self.subject.format == 'png' else 'jpg'}"

    def beside(self, set_id: str, index: int) -> Iterator[tuple[str, bytes]]:
        sample = self.subject.samples[index]
        record = {
            "id": sample.id,
            "set": set_id,
            **self.subject.labels(set_id),
            "label": sample.class_index,
            "class": self.subject.classes[sample.class_index].name,
            **({} if sample.group is None else {"group": sample.group}),
        }
        yield f"{index:08d}.cls", str(sample.class_index).encode()
        yield f"{index:08d}.json", json.dumps(record, ensure_ascii=False).encode()

    def texts(self, hashes: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
        """Yield the list of shards, a split a set, as timm reads it."""
        splits = {}
        for set_id, slices in self.slices_of.items():
            lengths = [len(images.samples) for images in slices]
            files = [images.path for images in slices]
            splits[set_id] = {"name": set_id, "num_samples": sum(lengths), "filenames": files, "shard_lengths": lengths}
        yield "_info.json", json.dumps({"splits": splits}, indent=2).encode() + b"\n"
