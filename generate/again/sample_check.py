"""Samples made again from the source, held against those that are stored."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from ...digests import digest_of, digits
from ...manifests.disk.atomic import inside
from ...manifests.disk.jsonl import row_at
from ...manifests.images.pictures import decode
from ...manifests.layout import MANIFEST, SAMPLES, set_path
from ...manifests.reader import DataSet
from ...manifests.records.digests import sha256_bytes
from ...manifests.records.models import ImageRecord, SampleRecord
from ...manifests.records.report import Problem, Progress
from ...manifests.release.release import has_rows
from ...pixels import pixel_digest
from ..pixels.encoding import Encoding, encoding_of, parse_encoding
from ..pixels.preprocessing import parse_preprocessing, preprocess
from ..recipes.set_spec import SetSpec
from ..sources.selection import spread
from .agreement import differing_classes, differing_paths, matched, refuse_unrecorded_code, refuse_unrecorded_textures
from .from_manifest import maker_of, opened_source, specs_of
from .remake_options import RemakeOptions

MOST_CLASSES = 5
"""Differing classes that are named."""
TOLERATED = 0.01
"""Share of a set's values that may differ where it follows a model's gradients: another machine rounds them otherwise."""


def made_again(
    data: DataSet,
    count: int | None,
    options: RemakeOptions,
    *,
    side: int | None = None,
    progress: Progress,
    notes: list[str],
) -> Iterator[Problem]:
    """Make samples again under every set and yield what differs; `notes` gets how much sets that follow a model differ.

    Raises
    ------
    SourceError
        The source is not the one that the build was made from: ids, labels and hashes must be equal.
    VerificationError
        Corruptions, textures or the calibration differ from the build's, so its pixels cannot be made here.
    """
    manifest, source = data.manifest, opened_source(data, options)
    samples = matched(data, source)
    classes = differing_classes(manifest, source)[:MOST_CLASSES]
    yield from (Problem(MANIFEST, "rederive", f"the source has other classes: {difference}") for difference in classes)
    yield from (Problem(SAMPLES, "rederive", difference) for difference in differing_paths(data, source, samples))
    refuse_unrecorded_code(data)
    refuse_unrecorded_textures(data, options.frost_textures)
    preprocessing = parse_preprocessing(manifest.preprocessing)
    encoding = parse_encoding(manifest.encoding)
    picks = spread(range(len(data.samples)), count)
    sets, hashes = _comparable(data, whole=len(picks) == len(data.samples), notes=notes)
    maker = maker_of(data, options, sets, side)
    tree = maker.tree(sets)
    alone = {*hashes}
    followers: dict[str, list[tuple[int, int, int]]] = {s.id: [(0, 0, 0)] for s in sets if s.needs_surrogate}
    for done, index in enumerate(picks):
        progress("rederive", done, len(picks))
        sample = data.samples[index]
        image = source.load(samples[index]).image
        if (size := (image.shape[1], image.shape[0])) != (sample.width, sample.height):
            reason = f"is {size[0]}x{size[1]} in the source, recorded is {sample.width}x{sample.height}"
            yield Problem(SAMPLES, "rederive", f"{sample.id}: {reason}")
        clean = preprocess(image, preprocessing)
        digest = pixel_digest(clean)
        if digest != sample.pixels:
            reason = f"the clean pixels are {digest}, not {sample.pixels}: another release of Pillow decodes or resizes differently"
            yield Problem(SAMPLES, "rederive", f"{sample.id}: {reason}")
            hashes = {}
            continue
        for set_id, images in maker.images(tree, clean[None], [sample.id], [sample.label]):
            if set_id in followers:
                stored = encoding_of(data[set_id].rows[index].files[0].path, encoding)
                followers[set_id].append(_difference(data[set_id].image(index), images[0], stored))
            elif set_id in hashes:
                hashes[set_id].update(bytes.fromhex(digits(pixel_digest(images[0]))))
            elif set_id not in alone:
                row = row_at(inside(data.path, set_path(set_id)), ImageRecord, index)
                yield from _compare(set_id, sample, row, images[0], encoding)
    progress("rederive", len(picks), len(picks))
    for record in manifest.sets:
        if record.id in hashes and (made := digest_of(hashes[record.id])) != record.pixel_digest:
            yield Problem(MANIFEST, "rederive", f"the set {record.id} has the digest {made}, not {record.pixel_digest}")
    for set_id, differences in followers.items():
        values, differing, largest = np.array(differences).T
        share = differing.sum() / max(values.sum(), 1)
        deviation = f"{differing.sum()} of {values.sum()} values differ ({share:.2%}), by at most {largest.max()}"
        notes.append(f"{set_id}: {deviation}")
        if share > TOLERATED:
            yield Problem(set_path(set_id), "rederive", f"{deviation}; at most {TOLERATED:.0%} may differ between machines")


def _comparable(data: DataSet, *, whole: bool, notes: list[str]) -> tuple[list[SetSpec], dict[str, blake3]]:
    """Return the sets that can be compared, and the hash of each that a release has one digest of: then all samples are needed."""
    specs = specs_of(data.manifest)
    followers = {s.id for s in specs if s.needs_surrogate and s.id in data.absent}
    alone = {s.id for s in specs if not has_rows(data, s.id)} - followers
    if followers:
        notes.append(f"{len(followers)} sets follow a model, and their images are not there: they are not compared.")
    if alone and not whole:
        notes.append(f"{len(alone)} sets have one digest each: `--rederive all` compares them.")
    left_out = followers if whole else followers | alone
    return [s for s in specs if s.id not in left_out], {s.id: blake3() for s in specs if whole and s.id in alone}


def _difference(stored: NDArray[np.uint8], image: NDArray[np.uint8], encoding: Encoding) -> tuple[int, int, int]:
    """Return how many values an image has, how many of them differ from those that are stored, and by how much at most."""
    again = image if encoding.lossless else decode(encoding.encode(image), encoding.format)
    difference = np.abs(stored.astype(np.int16) - again) if stored.shape == again.shape else np.full(stored.shape, 255, np.int16)
    return difference.size, int(np.count_nonzero(difference)), int(difference.max())


def _compare(set_id: str, sample: SampleRecord, record: ImageRecord, image: NDArray[np.uint8], encoding: Encoding) -> Iterator[Problem]:
    got = pixel_digest(image)
    if got != record.pixels:
        yield Problem(set_path(set_id), "rederive", f"{sample.id}: the pixels are {got}, not {record.pixels}")
        return
    for stored in record.files:
        raw = stored.row is not None and encoding.lossless
        sha256 = sha256_bytes(np.ascontiguousarray(image).data if raw else encoding_of(stored.path, encoding).encode(image))
        if sha256 != stored.sha256:
            where = stored.path if stored.row is None else f"{stored.path}#{stored.row}"
            yield Problem(where, "rederive", f"{sample.id}: the same pixels, encoded again, are {sha256}, not {stored.sha256}")
