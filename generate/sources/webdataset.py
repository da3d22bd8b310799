"""The source ``webdataset:PATTERN``: images and labels in tar shards, as the webdataset library writes them.

Members of a tar belong together if their names begin with the same key: ``cat.jpg`` is an image, and ``cat.cls``
contains its label. In the library, a key ends at the first dot of a file name. In this source, a key can contain dots
if the names of the image and the label differ only in the suffix (``1.5.jpg`` and ``1.5.cls``).
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from ...errors import SourceError, first_few
from ...files import open_regular
from .decoding import BadSample
from .image_listing import ImageListing, is_ignored
from .labels import MAX_LABEL, class_problems, nfc
from .shard_names import named_shards
from .source import MemberLocation, Sample, Source
from .tar_archives import list_tar, read_member, reading_errors

SUFFIXES = ("jpg", "jpeg", "png", "webp")
MAX_LABEL_BYTES = 1 << 20
"""Limit on the size of a .cls or .json file in bytes."""
EMPTY_SHARD = "contains no image: download it again, or remove it"
SEVERAL = "is one of several images of the key {}: name the one to use with --images, for example --images {}"
NO_LABEL = "has no label: expected a {} with the same key"
NO_IMAGE = f"has no image with the same key ({', '.join(SUFFIXES)}): download the shard again, or leave it out"
FRACTION = re.compile(r"[-+]?[0-9.,]+(e[-+]?[0-9]+)?", re.IGNORECASE)
"""Labels that are written as numbers, including fractions and negative numbers."""


class ShardLocation(NamedTuple):
    """The location of an image in one of several tars."""

    shard: int
    """The position of the tar in the list of tars."""
    offset: int
    size: int


class _Image(NamedTuple):
    """An image in a shard, and the member that contains its label."""

    key: str
    """The part of the image's name that all members of the sample have in common."""
    name: str
    label: str | None


def open(path: Path, *, labels: str | None = None, images: str | None = None) -> Source:
    """List the images of tar shards and read their labels.

    Parameters
    ----------
    path : Path
        A tar, a folder of tars, or a pattern such as ``train-{000..127}.tar``.
    labels : str, optional
        The JSON key of the label in .json files. By default, labels are in .cls files, or have the JSON key ``label``
        or ``cls`` in .json files.
    images : str, optional
        The suffix of the images to use if a key has several, such as ``left.jpg``. The suffix is the part of a name
        after the key.

    Raises
    ------
    SourceError
        A shard is missing or is not a complete tar, the labels mix numbers and names, or no image can be used.
    """
    shards = named_shards(str(path))
    listing = ImageListing(shards[0].parent)
    ids: dict[str, str] = {}
    label_of: dict[str, str] = {}
    for number, shard in enumerate(shards):
        found = list_tar(shard)
        listing.notes += [(f"{shard.name}/{name}", problem) for name, problem in found.notes]
        members = {
            name: location for name, location in found.files.items() if not any(map(is_ignored, name.split("/")))
        }
        chosen, notes = _images(members, labels, images)
        listing.notes += [(f"{shard.name}/{name}", problem) for name, problem in notes]
        if not chosen and not notes:
            listing.notes.append((shard.name, EMPTY_SHARD))
        with reading_errors(shard), open_regular(shard) as file:
            for image in chosen:
                path_of = f"{shard.name}/{image.name}"
                try:
                    label_of[path_of] = _label(cast(BinaryIO, file), image, members, labels)
                except ValueError as e:
                    listing.notes.append((path_of, str(e)))
                    continue
                ids[path_of] = nfc(image.key)
                listing.locations[path_of] = ShardLocation(number, *members[image.name])
    if not label_of:
        raise listing.error("has no shard with an image and its label")
    source = listing.source("webdataset", _numbers_or_names(label_of, listing.path), ids.__getitem__)
    source.read = partial(_read, tuple(shards))
    return source


def _images(
    members: Mapping[str, MemberLocation], label_key: str | None, wanted: str | None
) -> tuple[list[_Image], list[tuple[str, str]]]:
    """Return the images in a shard, and notes about keys with several images and labels without an image."""
    found: dict[str, list[_Image]] = defaultdict(list)
    kinds = ("json",) if label_key is not None else ("cls", "json")
    for name in members:
        stem, dot, suffix = name.rpartition(".")
        if not dot or suffix.lower() not in SUFFIXES or (wanted is not None and not name.endswith(f".{wanted}")):
            continue
        folder, slash, base = name.rpartition("/")
        first_dot = f"{folder}{slash}{base.partition('.')[0]}"
        keys = (stem, first_dot) if wanted is None else (name.removesuffix(f".{wanted}"),)
        labelled = [(key, f"{key}.{kind}") for key in keys for kind in kinds if f"{key}.{kind}" in members]
        key, label = labelled[0] if labelled else (keys[-1], None)
        found[key].append(_Image(key, name, label))
    notes = [
        (image.name, SEVERAL.format(image.key, image.name.removeprefix(f"{image.key}.")))
        for images in found.values()
        if len(images) > 1
        for image in images
    ]
    notes += [
        (name, NO_IMAGE)
        for name in members
        if name.rpartition(".")[2] in kinds and name.rpartition(".")[0] not in found
    ]
    return [images[0] for images in found.values() if len(images) == 1], notes


def _label(file: BinaryIO, image: _Image, members: Mapping[str, MemberLocation], label_key: str | None) -> str:
    """Return the label of an image as text, or raise ValueError with the reason why the label cannot be used."""
    if image.label is None:
        raise ValueError(NO_LABEL.format(".json" if label_key is not None else ".cls or .json"))
    location = members[image.label]
    if location.size > MAX_LABEL_BYTES:
        raise ValueError(f"has a label file of more than {MAX_LABEL_BYTES:,} bytes")
    file.seek(location.offset)
    try:
        text = file.read(location.size).decode()
    except UnicodeDecodeError:
        raise ValueError("has a label file that is not UTF-8 text") from None
    given = _from_json(text, label_key) if image.label.endswith(".json") else text.strip()
    label = nfc(str(given))
    number = FRACTION.fullmatch(label) is not None
    if (
        isinstance(given, bool)
        or not isinstance(given, str | int)
        or not label
        or (number and not (label.isdigit() and len(label) < 10 and int(label) <= MAX_LABEL))
    ):
        raise ValueError(
            f"has the label {label[:40]!r}; expected a whole number from 0 to {MAX_LABEL}, or the name of a class"
        )
    return label


def _from_json(text: str, label_key: str | None) -> object:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise ValueError(f"has a .json file that cannot be read ({str(e)[:90]})") from None
    if not isinstance(values, dict):
        raise ValueError("has a .json file that is not an object with keys")
    for key in ("label", "cls") if label_key is None else (label_key,):
        if key in values:
            return values[key]
    known = first_few(sorted(map(str, values)), 8)
    raise ValueError(f"has a .json file without a label; it has the keys {known}: name one with --labels")


def _numbers_or_names(label_of: Mapping[str, str], where: Path) -> dict[str, str | int | None]:
    """Return labels that are all numbers or all names, or raise `SourceError`."""
    numbers = {path: label for path, label in label_of.items() if label.isdigit()}
    if numbers and len(numbers) < len(label_of):
        number, other = next(iter(numbers)), next(path for path in label_of if path not in numbers)
        raise SourceError(
            f"The labels of {where} mix whole numbers ({number}: {numbers[number]}) with text ({other}: "
            f"{label_of[other][:40]!r}). Expected numbers from 0 to {MAX_LABEL}, or names of classes."
        )
    if numbers:
        return {path: int(label) for path, label in numbers.items()}
    if problems := class_problems(sorted(set(label_of.values()))):
        raise SourceError(f"The labels of {where} are not names of classes: {first_few(problems)}.")
    return dict(label_of)


def _read(shards: Sequence[Path], sample: Sample) -> bytes:
    location = cast(ShardLocation, sample.location)
    try:
        return read_member(shards[location.shard], MemberLocation(location.offset, location.size))
    except SourceError as e:
        raise BadSample(f"cannot be read any more: {e}") from None
