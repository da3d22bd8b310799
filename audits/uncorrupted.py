"""Detect uncorrupted images without a source, by comparing sets that show the same images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..corruptions.registry import Images
from .hypotheses import hypothesis_of
from .searches import mismatch
from .set_images import SetImages
from .storage import ARRAY, Steps, apply_storage

REFERENCES = tuple((name, severity) for name in ("brightness", "contrast") for severity in (1, 2))
"""The sets that reveal whether other sets are clean. Their corruptions draw nothing at random and hide no details."""
_LEAST_SHARED = 2
_ROUNDING = 0.3
"""The maximum mean square difference that is due to different library versions."""
_TOLERANCE = 1.3
"""The maximum ratio of the observed difference to the difference that JPEG compression causes.

The ratio is about 1 for clean images. For the weakest corruption, spatter at severity 1, it is 1.6 or more.
"""
_SHIFT = 4
"""The shift in pixels that moves images off the grid of JPEG blocks."""


def is_uncorrupted(read: SetImages, clean: SetImages | None, references: Sequence[SetImages], calibration: str) -> bool:
    """Return whether the images of a set are clean.

    The images are clean if they equal the images in the set ``clean``, or if corrupting them gives the images in a
    reference set. Corrupted images fail the second test, because they would be corrupted twice.

    Parameters
    ----------
    read : SetImages
        The images of the set.
    clean : SetImages or None
        The images of the set ``clean``, if the data has it.
    references : sequence of SetImages
        The images of those sets in `REFERENCES` that the data contains.
    calibration : str
        The calibration of the benchmark.
    """
    if clean is not None:
        own, theirs = _shared_images(read, clean)
        if len(own) >= _LEAST_SHARED and mismatch(own, theirs) <= _ROUNDING:
            return True
    return any(_predicts(read, reference, calibration) for reference in references if reference.found is not read.found)


def _predicts(read: SetImages, reference: SetImages, calibration: str) -> bool:
    """Return whether corrupting the images of a set gives the images of a reference set."""
    expected = hypothesis_of(str(reference.found.corruption), reference.found.severity, calibration)
    own, theirs = _shared_images(read, reference)
    if expected is None or len(own) < _LEAST_SHARED or own.shape != theirs.shape:
        return False
    own_steps, steps = _steps(read), _steps(reference)

    def corrupted(images: Images) -> Images:
        return apply_storage(expected.images(images, [""] * len(images)), steps)

    # The clean images before compression are unknown. Compressing shifted images again shows the effect of compression.
    shifted = np.roll(own, (_SHIFT, _SHIFT), axis=(1, 2))
    caused = mismatch(corrupted(apply_storage(shifted, own_steps)), corrupted(shifted))
    return mismatch(corrupted(own), theirs) <= _TOLERANCE * caused + _ROUNDING


def _steps(read: SetImages) -> Steps:
    step = (read.encoding or ARRAY).step
    return () if step is None else (step,)


def _shared_images(first: SetImages, second: SetImages) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the images in two sets that have the same names or row numbers, in the same order."""
    nothing = np.empty((0, 1, 1, 1), np.uint8)
    if first.images is None or second.images is None or first.images.shape[1:] != second.images.shape[1:]:
        return nothing, nothing
    places = {second.found.keys[index]: number for number, index in enumerate(second.indices)}
    keys = [first.found.keys[index] for index in first.indices]
    pairs = [(number, places[key]) for number, key in enumerate(keys) if key in places]
    return first.images[[i for i, _ in pairs]], second.images[[j for _, j in pairs]]
