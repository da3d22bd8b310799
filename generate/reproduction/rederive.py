"""Samples made again from the source, held against those that are stored."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from ...digests import digest_of, digits
from ...manifests.images.pictures import decode
from ...manifests.layout import MANIFEST, SAMPLES, set_path
from ...manifests.reader import DataSet
from ...manifests.records.models import SampleRecord
from ...manifests.records.report import Problem, Progress
from ...manifests.release.release import has_rows
from ...pixels import pixel_digest
from ..pixels.encoding import Encoding, encoding_of
from ..pixels.preprocessing import preprocess
from ..sources.selection import spread
from ..sources.source import Sample, Source
from .agreement import clean_difference, differences, differing_classes, held_to_records, refuse_unrecorded_code
from .source_options import RemakeOptions
from .recorded_build import recorded_build, specs_of

MOST_CLASSES = 5
"""Differing classes that are named."""
TOLERATED = 0.01
"""Share of a set's values that may differ where it follows a model's gradients: another machine rounds them otherwise.
"""


def made_again(
    data: DataSet,
    count: int | None,
    options: RemakeOptions,
    *,
    side: int | None = None,
    progress: Progress,
    notes: list[str],
) -> Iterator[Problem]:
    """Make samples again under every set and yield what differs.

    `notes` gets how much sets that follow a model differ.

    Raises
    ------
    SourceError
        The source is not the one that the build was made from: ids, labels and hashes must be equal.
    VerificationError
        Corruptions, textures or the calibration differ from the build's, so its pixels cannot be made here.
    """
    picks = spread(range(len(data.samples)), count)
    refuse_unrecorded_code(data)
    sets, alone = _comparable(data, whole=len(picks) == len(data.samples), notes=notes)
    build = recorded_build(data, options, sets=sets, side=side, named_alike=False)
    held_to_records(data, build.source, build.source.fingerprint)
    for difference in differing_classes(data.manifest, build.source)[:MOST_CLASSES]:
        yield _problem(MANIFEST, f"the source has other classes: {difference}")
    for record, sample in zip(data.samples, build.selected, strict=True):
        if not _same_path(data, build.source, record, sample):
            yield _problem(
                SAMPLES, f"{record.id}: its path in the source is {sample.path!r}, recorded is {record.path!r}"
            )
    chosen = build.chosen(build.asked)
    tree, followers = build.maker.tree(chosen), {s.id: [(0, 0, 0)] for s in chosen if s.needs_surrogate}
    hashes = {set_id: blake3() for set_id in alone}
    stored_sets = {set_id: data[set_id] for set_id in followers}  # each reads its rows once
    for done, index in enumerate(picks):
        progress("rederive", done, len(picks))
        sample, record = build.selected[index], data.samples[index]
        image = build.source.load(sample).image
        if (size := (image.shape[1], image.shape[0])) != (record.width, record.height):
            yield _problem(
                SAMPLES,
                f"{record.id}: is {size[0]}x{size[1]} in the source, recorded is {record.width}x{record.height}",
            )
        clean = preprocess(image, build.preprocessing)
        if (other := clean_difference(data, index, clean)) is not None:
            yield _problem(SAMPLES, other)
            hashes = {}
            continue
        for set_id, (made, *_) in build.maker.images(tree, clean[None], [record.id], [record.label]):
            if set_id in followers:
                images = stored_sets[set_id]
                encoding = encoding_of(images.rows[index].files[0].path, build.encoding)
                followers[set_id].append(_deviation(images.image(index), made, encoding))
            elif set_id not in alone:
                for path, difference in differences(data, set_id, index, made, build.encoding, raw=True):
                    yield _problem(path, difference)
            elif set_id in hashes:
                hashes[set_id].update(bytes.fromhex(digits(pixel_digest(made))))
    progress("rederive", len(picks), len(picks))
    recorded = {s.id: s.pixel_digest for s in data.manifest.sets}
    for set_id, hashed in hashes.items():
        if (digest := digest_of(hashed)) != recorded[set_id]:
            yield _problem(MANIFEST, f"the set {set_id} has the digest {digest}, not {recorded[set_id]}")
    for set_id, deviations in followers.items():
        values, differing, largest = np.array(deviations).T
        share = differing.sum() / max(values.sum(), 1)
        deviation = f"{differing.sum()} of {values.sum()} values differ ({share:.2%}), by at most {largest.max()}"
        notes.append(f"{set_id}: {deviation}")
        if share > TOLERATED:
            yield _problem(set_path(set_id), f"{deviation}; at most {TOLERATED:.0%} may differ between machines")


def _problem(path: str, detail: str) -> Problem:
    return Problem(path, "rederive", detail)


def _same_path(data: DataSet, source: Source, record: SampleRecord, sample: Sample) -> bool:
    """Whether a sample has its recorded path.

    Those of another kind of source are not compared.

    ImageNet's images are laid out flat or in class folders, and have the same ids.
    """
    if source.scheme != data.manifest.source.name or record.path == sample.path:
        return True
    if source.scheme != "imagenet" or sample.path is None or sample.label is None:
        return False
    name = sample.path.rpartition("/")[2]
    return record.path in (name, f"{source.classes[sample.label].folder}/{name}")


def _comparable(data: DataSet, *, whole: bool, notes: list[str]) -> tuple[list[str], set[str]]:
    """Return the sets that can be compared, and those that need all samples.

    A release has one digest of each of the latter.
    """
    specs = specs_of(data.manifest)
    followers = {s.id for s in specs if s.needs_surrogate and s.id in data.absent}
    alone = {s.id for s in specs if not has_rows(data, s.id)} - followers
    if followers:
        notes.append(f"{len(followers)} sets follow a model, and their images are not there: they are not compared.")
    if alone and not whole:
        notes.append(f"{len(alone)} sets have one digest each: `--rederive all` compares them.")
    return [s.id for s in specs if s.id not in followers and (whole or s.id not in alone)], alone if whole else set()


def _deviation(stored: NDArray[np.uint8], image: NDArray[np.uint8], encoding: Encoding) -> tuple[int, int, int]:
    """Return an image's values, how many differ from the stored ones, and the largest difference."""
    again = image if encoding.lossless else decode(encoding.encode(image), encoding.format)
    difference = (
        np.abs(stored.astype(np.int16) - again) if stored.shape == again.shape else np.full(stored.shape, 255, np.int16)
    )
    return difference.size, int(np.count_nonzero(difference)), int(difference.max())
