"""The text files of an export: labels, lists, JSON and descriptions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...manifests.images.arrays import npy_header
from ...manifests.release.croissant import StoredSet, croissant
from .layouts import Text
from .placement import Placement, SetSlice


def texts(placement: Placement, sha256s: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the bytes of each text file. `sha256s` maps the paths of archives to their hashes."""
    samples = placement.contents.samples
    for path, (text, slices) in placement.texts.items():
        if text.labels is not None:
            # Arrays that share a file of labels have the same labels, so the labels of the first array are written.
            rows = [index for images in slices if images.path == slices[0].path for index in images.samples]
            labels = np.array([samples[index].class_index for index in rows], text.labels)
            yield path, npy_header(labels.shape, labels.dtype.type) + labels.tobytes()
        elif text.made is not None:
            yield path, _shards(placement) if text.made == "shards" else _croissant(placement, sha256s)
        else:
            lines = (_line(placement, text, images, index) + b"\n" for images in slices for index in images.samples)
            yield path, b"".join(lines)


def members(placement: Placement, images: SetSlice, index: int) -> Iterator[tuple[str, bytes | None]]:
    """Yield the name and the bytes of each archive member that belongs to an image.

    The image itself comes first, with None instead of bytes. Its text files follow.
    """
    yield placement.image_name(images, index), None
    for text in placement.layout.with_each:
        yield text.path.format(**placement.words(images, index)), _line(placement, text, images, index)


def _line(placement: Placement, text: Text, images: SetSlice, index: int) -> bytes:
    """Return the line for one image in a text file."""
    if text.columns is None:
        return str(text.line).format(**placement.words(images, index)).encode()
    contents = placement.contents
    sample = contents.samples[index]
    row: dict[str, Any] = {
        "file_name": placement.path(images, index).removeprefix(f"{placement.top}/"),
        "label": sample.label,
        **contents.labels[images.set_id],
        "set": images.set_id,
        "class": contents.classes[sample.class_index].name,
        "id": sample.id,
        **({"split": sample.split} if contents.has_splits else {}),
        **({} if sample.group is None else {"group": sample.group}),
    }
    return json.dumps({column: row[column] for column in text.columns if column in row}, ensure_ascii=False).encode()


def _shards(placement: Placement) -> bytes:
    """Return the contents of _info.json, from which timm reads the archives of each set."""
    splits = {}
    for set_id, slices in placement.slices_of.items():
        lengths = [len(images.samples) for images in slices]
        files = [images.path for images in slices]
        splits[set_id] = {"name": set_id, "num_samples": sum(lengths), "filenames": files, "shard_lengths": lengths}
    return json.dumps({"splits": splits}, indent=2).encode() + b"\n"


def _croissant(placement: Placement, sha256s: Mapping[str, str]) -> bytes:
    """Return the contents of croissant.json, with one Croissant record set per set.

    The fields of a record are image, index, label, class and path.
    """
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
            "url": tar.path.removeprefix(f"{placement.top}/"),
            "sha256": sha256s.get(tar.path, ""),
        }
        for tar in placement.slices
    ]
    sets = [StoredSet(tar.set_id, len(tar.samples), [f"{tar.set_id}.tar"], "*", fields) for tar in placement.slices]
    about = f"{len(placement.contents.samples)} images in {len(placement.contents.sets)} sets of corruptions"
    return croissant(placement.contents.manifest, about, tars, sets)
