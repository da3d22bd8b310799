"""The texts of a view: labels, lists, JSON and descriptions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...manifests.images.arrays import npy_header
from ...manifests.release.croissant import StoredSet, croissant
from .layouts import Text
from .placement import SetSlice, View


def texts(view: View, sha256s: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
    """Yield path and bytes of each text; `sha256s` are those of the archives."""
    samples = view.contents.samples
    for path, (text, slices) in view.texts.items():
        if text.labels is not None:
            # those of several arrays are the same
            rows = [index for images in slices if images.path == slices[0].path for index in images.samples]
            labels = np.array([samples[index].class_index for index in rows], text.labels)
            yield path, npy_header(labels.shape, labels.dtype.type) + labels.tobytes()
        elif text.made is not None:
            yield path, _shards(view) if text.made == "shards" else _croissant(view, sha256s)
        else:
            lines = (_line(view, text, images, index) + b"\n" for images in slices for index in images.samples)
            yield path, b"".join(lines)


def members(view: View, images: SetSlice, index: int) -> Iterator[tuple[str, bytes | None]]:
    """Yield name and bytes (None) of an image in a tar, then of its companions."""
    yield view.image_name(images, index), None
    for text in view.layout.with_each:
        yield text.path.format(**view.words(images, index)), _line(view, text, images, index)


def _line(view: View, text: Text, images: SetSlice, index: int) -> bytes:
    """Return what a text says of one image."""
    if text.columns is None:
        return str(text.line).format(**view.words(images, index)).encode()
    contents = view.contents
    sample = contents.samples[index]
    row: dict[str, Any] = {
        "file_name": view.path(images, index).removeprefix(f"{view.top}/"),
        "label": sample.label,
        **contents.labels[images.set_id],
        "set": images.set_id,
        "class": contents.classes[sample.class_index].name,
        "id": sample.id,
        **({"split": sample.split} if contents.has_splits else {}),
        **({} if sample.group is None else {"group": sample.group}),
    }
    return json.dumps({column: row[column] for column in text.columns if column in row}, ensure_ascii=False).encode()


def _shards(view: View) -> bytes:
    splits = {}
    for set_id, slices in view.slices_of.items():
        lengths = [len(images.samples) for images in slices]
        files = [images.path for images in slices]
        splits[set_id] = {"name": set_id, "num_samples": sum(lengths), "filenames": files, "shard_lengths": lengths}
    return json.dumps({"splits": splits}, indent=2).encode() + b"\n"


def _croissant(view: View, sha256s: Mapping[str, str]) -> bytes:
    """Return croissant.json, with a record set for each set.

    Its fields are image, index, label, class and path.
    """
    assert view.contents.manifest is not None  # nothing is built straight into tars
    fields = {
        "image": None,
        "index": r"(\d+)-",
        "label": r"\d+-label=(\d+)/",
        "class": r"\d+-label=\d+/([^/]+)/",
        "path": r"\d+-label=\d+/(.+)$",
    }
    tars = [
        {
            "name": f"{tar.set_id}.tar",
            "url": tar.path.removeprefix(f"{view.top}/"),
            "sha256": sha256s.get(tar.path, ""),
        }
        for tar in view.slices
    ]
    sets = [StoredSet(tar.set_id, len(tar.samples), [f"{tar.set_id}.tar"], "*", fields) for tar in view.slices]
    about = f"{len(view.contents.samples)} images in {len(view.contents.sets)} sets of corruptions"
    return croissant(view.contents.manifest, about, tars, sets)
