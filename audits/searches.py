"""Search for random draws that consist of a few numbers, such as motion-blur angles, frost crops and signs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from ..corruptions.blur.motion import motion_filter
from ..corruptions.registry import Images
from .hypotheses import Hypothesis
from .storage import Steps, apply_storage

Pixels = NDArray[np.uint8]
_GREATEST_ANGLE = 45.0
SIGNS = 24
"""The number of seeds after which every sign, or every pair of signs, has been drawn for nearly every image."""


def mismatch(found: Images, expected: Images) -> float:
    """Return the mean square difference between images in grey levels, or infinity if their shapes differ."""
    if found.shape != expected.shape:
        return float("inf")
    return float(np.square(found.astype(np.float32) - expected).mean())


def agreement(found: Images, clean: Images, expected: Images, steps: Steps) -> float | None:
    """Return the mismatch between found and expected images if they are equal up to rounding, or None otherwise.

    corruptset's kernels are within one grey level of the published generators, so the mean square difference is less
    than 0.1. A JPEG round trip increases it to at most 1.6. At 224 pixels, neighbouring severities differ by 17 or
    more. If a corruption hardly changes images, the found images must be much closer to the expected images than to
    the clean ones.
    """
    difference = mismatch(found, expected)
    limit = 2.5 if steps else 0.3
    if expected is not clean:
        limit = min(limit, 0.2 * mismatch(found, clean) + 0.02)
    return difference if difference <= limit else None


def nearest_motion(found: Images, clean: Images, hypothesis: Hypothesis, steps: Steps) -> Images:
    """Apply motion blur to clean images, with the angles that fit the found images best."""
    radius, sigma = (float(hypothesis.stage.parameters[name]) for name in ("radius", "sigma"))
    out = np.empty_like(clean)
    for i in range(len(clean)):
        low, high, best = -_GREATEST_ANGLE, _GREATEST_ANGLE, 0.0
        # Each step divides the interval by about 30. The last step is finer than the difference between two kernels.
        # Compression can move the best angle by several degrees, so the images are compressed too.
        for count in (61, 41, 21):
            angles = np.linspace(low, high, count)
            made = motion_filter(np.repeat(clean[i : i + 1], count, axis=0), radius, sigma, angles)
            made = apply_storage(made, steps)
            errors = np.square(made.astype(np.float32) - found[i]).mean(axis=(1, 2, 3))
            best, step = float(angles[int(errors.argmin())]), (high - low) / (count - 1)
            low, high = best - 1.5 * step, best + 1.5 * step
        out[i] = motion_filter(clean[i : i + 1], radius, sigma, np.array([best]))[0]
    return apply_storage(out, steps)


def nearest_frost(found: Images, clean: Images, hypothesis: Hypothesis, steps: Steps, textures: Any) -> Images:
    """Apply frost to clean images, with the textures and crops that fit the found images best.

    The clean part is subtracted from a found image, which leaves the crop of a texture. Masked template matching then
    finds this crop in a whole texture. The mask excludes pixels that were clipped.
    """
    parameters = hypothesis.stage.parameters
    image_weight, frost_weight = float(parameters["image_weight"]), float(parameters["frost_weight"])
    scale = float(parameters["texture_scale"])
    height, width = clean.shape[1:3]
    resized = [
        t if scale == 1.0 else np.asarray(cv2.resize(t, (0, 0), fx=scale, fy=scale), np.uint8) for t in textures.arrays
    ]
    fitting = [t for t in resized if t.shape[0] >= height and t.shape[1] >= width]
    out = np.empty_like(clean)
    for i in range(len(clean)):
        rest = (found[i].astype(np.float32) - image_weight * clean[i]) / frost_weight
        usable = (found[i] < 250) & (found[i] > 2)
        template = np.clip(rest, 0, 255).mean(axis=2).astype(np.float32)
        mask = usable.all(axis=2).astype(np.float32)
        best, crop = np.inf, np.zeros_like(clean[i])
        for texture in fitting:
            grey = texture.mean(axis=2).astype(np.float32)
            scores = cv2.matchTemplate(grey, template, cv2.TM_SQDIFF, mask=mask)
            score, _, (column, row), _ = cv2.minMaxLoc(scores)
            if score < best:
                best, crop = score, texture[row : row + height, column : column + width]
        out[i] = hypothesis.images(clean[i : i + 1], [""], draws={"texture": np.ascontiguousarray(crop)})[0]
    return apply_storage(out, steps)


def nearest_of_draws(found: Images, clean: Images, ids: Sequence[str], hypothesis: Hypothesis, steps: Steps) -> Images:
    """Return the nearest of several random draws for each found image. The corruption must draw only signs."""
    best, errors = np.zeros_like(found), np.full(len(found), np.inf)
    for seed in range(SIGNS):
        made = apply_storage(hypothesis.images(clean, ids, seed=seed), steps)
        error = np.square(made.astype(np.float32) - found).mean(axis=(1, 2, 3))
        nearer = error < errors
        best[nearer], errors[nearer] = made[nearer], error[nearer]
    return best
