"""What stands beside the images of a view: labels, lists, lines of JSON, and the descriptions that single loaders read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...manifests.images.arrays import npy_header
from ...manifests.release.croissant import CroissantDocument, image_field
from .layouts import Text

if TYPE_CHECKING:
    from .view import SetSlice, View


def text_bytes(view: View, text: Text, slices: Sequence[SetSlice], sha256s: Mapping[str, str]) -> bytes:
    """Return a text beside slices of a view; `sha256s` are those of its archives by path."""
    if text.labels is not None:
        return _labels(view, text.labels, slices)
    if text.made == "shards":
        return _shards(view)
    if text.made == "croissant":
        return _croissant(view, sha256s)
    return b"".join(line_of(view, text, images, index) + b"\n" for images in slices for index in images.samples)


def line_of(view: View, text: Text, images: SetSlice, index: int) -> bytes:
    """Return what a text says of one image."""
    if text.columns is None:
        return str(text.line).format(**view.words(images, index)).encode()
    return json.dumps(_row(view, text.columns, images, index), ensure_ascii=False).encode()


def beside(view: View, images: SetSlice, index: int) -> Iterator[tuple[str, bytes]]:
    """Yield the members of a tar that go with an image."""
    for text in view.layout.with_each:
        yield text.path.format(**view.words(images, index)), line_of(view, text, images, index)


def _row(view: View, columns: Iterable[str], images: SetSlice, index: int) -> dict[str, Any]:
    subject = view.subject
    sample = subject.samples[index]
    row = {
        "file_name": view.path(images, index).removeprefix(f"{view.top}/"),
        "label": sample.label,
        **subject.labels(images.set_id),
        "set": images.set_id,
        "class": subject.classes[sample.class_index].name,
        "id": sample.id,
        **({"split": sample.split} if subject.has_splits else {}),
        **({} if sample.group is None else {"group": sample.group}),
    }
    return {column: row[column] for column in columns if column in row}


def _labels(view: View, dtype: str, slices: Sequence[SetSlice]) -> bytes:
    """Return the labels of the rows of an array; those of several arrays are the same."""
    rows = [index for images in slices if images.path == slices[0].path for index in images.samples]
    labels = np.array([view.subject.samples[index].class_index for index in rows], dtype)
    return npy_header(labels.shape, labels.dtype.type) + labels.tobytes()


def _shards(view: View) -> bytes:
    splits = {}
    for set_id, slices in view.slices_of.items():
        lengths = [len(images.samples) for images in slices]
        files = [images.path for images in slices]
        splits[set_id] = {"name": set_id, "num_samples": sum(lengths), "filenames": files, "shard_lengths": lengths}
    return json.dumps({"splits": splits}, indent=2).encode() + b"\n"


def _croissant(view: View, sha256s: Mapping[str, str]) -> bytes:
    """Return croissant.json: each set is a record set of its own name, with the fields image, index, label, class and path."""
    assert view.subject.manifest is not None  # nothing is built straight into tars
    document = CroissantDocument(view.subject.manifest)
    for tar in view.slices:
        set_id = tar.set_id
        archive = f"{set_id}.tar"
        document.add_file(archive, tar.path.removeprefix(f"{view.top}/"), "application/x-tar", sha256s.get(tar.path, ""))
        document.add_images(set_id, [archive], "*")
        fields = {
            "image": image_field(set_id),
            "index": image_field(set_id, r"(\d+)-"),
            "label": image_field(set_id, r"\d+-label=(\d+)/"),
            "class": image_field(set_id, r"\d+-label=\d+/([^/]+)/"),
            "path": image_field(set_id, r"\d+-label=\d+/(.+)$"),
        }
        document.add_records(set_id, f"The set {set_id}: {len(tar.samples)} images, in the order of the samples.", fields)
    return document.encode(f"{len(view.subject.samples)} images in {len(view.subject.sets)} sets of corruptions")
