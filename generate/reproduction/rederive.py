"""Regenerate samples from the source, and compare them with the records of the dataset (`verify --rederive`)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from ...digests import digest_of, digits
from ...manifests.images.image_formats import decode
from ...manifests.paths import MANIFEST, SAMPLES, set_path
from ...manifests.reader import Dataset
from ...manifests.records.report import Problem, ProgressCallback
from ...manifests.release.release import has_rows
from ...pixels import pixel_digest
from ..pixels.encoding import Encoding, encoding_of
from ..sources.selection import spread
from .agreement import class_differences, clean_difference, differences, match_records, refuse_unrecorded_code
from .inputs import RemakeOptions
from .recorded_build import recorded_build, specs_of

MAX_CLASSES = 5
"""The largest number of class differences that are reported."""
TOLERATED = 0.01
"""The fraction of values that may differ in a set that was made with a model's gradients, because machines round
gradients differently.
"""


def rederive_samples(
    data: Dataset,
    count: int | None,
    options: RemakeOptions,
    *,
    side: int | None = None,
    progress: ProgressCallback,
    notes: list[str],
) -> Iterator[Problem]:
    """Regenerate samples in every set, and yield a problem for each difference.

    Parameters
    ----------
    data : Dataset
    count : int or None
        The number of evenly spaced samples to regenerate. None means all samples.
    options : RemakeOptions
        The source and its options.
    side : int, optional
        The reference side of the calibration, which overrides the recorded one.
    progress : callable
        Called with the step "rederive", the number of regenerated samples and the total.
    notes : list of str
        A list to which notes are appended. For each set made with a model's gradients, a note says how many values
        differ.

    Raises
    ------
    SourceError
        The ids, labels or files of the source differ from the recorded ones.
    VerificationError
        Corruptions or textures differ from the recorded ones, or the calibration is not known, so the pixels cannot be
        regenerated.
    """
    picks, specs = spread(range(len(data.samples)), count), specs_of(data.manifest)
    refuse_unrecorded_code(data)
    absent = {s.id for s in specs if s.needs_surrogate and s.id in data.absent}
    alone = {s.id for s in specs if not has_rows(data, s.id)} - absent  # only one digest of the whole set is recorded
    if absent:
        notes.append(
            f"{len(absent)} sets were made with the gradients of a model. Their images are missing, so they were not "
            "compared."
        )
    if alone and len(picks) < len(data.samples):
        notes.append(
            f"For {len(alone)} sets, only a digest of all images together is recorded. Use `--rederive all` to compare "
            "them."
        )
        absent, alone = absent | alone, set()
    sets = [s.id for s in specs if s.id not in absent]
    build = recorded_build(data, options, sets=sets, side=side, check_class_names=False)
    match_records(data, build.source, build.source.fingerprint)
    for difference in class_differences(data.manifest, build.source)[:MAX_CLASSES]:
        yield Problem(MANIFEST, "rederive", f"the classes of the source differ: {difference}")
    chosen = build.chosen(build.requested)
    tree, followers = build.maker.tree(chosen), {s.id: [(0, 0, 0)] for s in chosen if s.needs_surrogate}
    hashes = {set_id: blake3() for set_id in alone}
    stored_sets = {set_id: data[set_id] for set_id in followers}  # reused, so that their rows are read only once
    for done, index in enumerate(picks):
        progress("rederive", done, len(picks))
        record, clean = data.samples[index], build.clean(index)
        if (problem := clean_difference(data, index, clean)) is not None:
            yield Problem(SAMPLES, "rederive", problem)
            hashes = {}
            continue
        for set_id, (made, *_) in build.maker.images(tree, clean[None], [record.id], [record.label]):
            if set_id in followers:
                images = stored_sets[set_id]
                encoding = encoding_of(images.rows[index].files[0].path, build.encoding)
                followers[set_id].append(_deviation(images.image(index), made, encoding))
            elif set_id not in alone:
                for path, difference in differences(data, set_id, index, made, build.encoding, raw=True):
                    yield Problem(path, "rederive", difference)
            elif set_id in hashes:
                hashes[set_id].update(bytes.fromhex(digits(pixel_digest(made))))
    progress("rederive", len(picks), len(picks))
    recorded = {s.id: s.pixel_digest for s in data.manifest.sets}
    for set_id, hashed in hashes.items():
        if (digest := digest_of(hashed)) != recorded[set_id]:
            detail = f"the set {set_id} has the digest {digest}, but {recorded[set_id]} is recorded"
            yield Problem(MANIFEST, "rederive", detail)
    for set_id, deviations in followers.items():
        values, differing, largest = np.array(deviations).T
        share = differing.sum() / max(values.sum(), 1)
        deviation = f"{differing.sum()} of {values.sum()} values differ ({share:.2%}), by at most {largest.max()}"
        notes.append(f"{set_id}: {deviation}")
        if share > TOLERATED:
            detail = f"{deviation}; at most {TOLERATED:.0%} may differ between machines"
            yield Problem(set_path(set_id), "rederive", detail)


def _deviation(stored: NDArray[np.uint8], image: NDArray[np.uint8], encoding: Encoding) -> tuple[int, int, int]:
    """Return the number of values in an image, the number of values that differ, and the largest difference."""
    shown = image if encoding.lossless else decode(encoding.encode(image), encoding.format)
    if stored.shape != shown.shape:
        return stored.size, stored.size, 255
    difference = np.abs(stored.astype(np.int16) - shown)
    return difference.size, int(np.count_nonzero(difference)), int(difference.max())
