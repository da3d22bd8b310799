"""Estimate the affine part of elastic transforms. Its size distinguishes severities that otherwise look alike."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from ..corruptions.registry import Images
from .hypotheses import Hypothesis

_SMOOTHING = ((9, 5, 1), (5, 3, 1), (3, 1))
"""The filter sizes of the successive fits, for each attempt."""
_GOOD = 0.99
"""The correlation above which no further attempt is made."""
_FAILED = 0.05
"""The assumed fraction of fits that fail. A failed fit can give any displacement of up to `_FAR` pixels."""
_FAR = 4.0
_LARGEST_LOG_ODDS = 8.0
"""The maximum contribution of the quality of the fits to the log-likelihood.

The contribution is limited, because the distribution of the quality is only roughly normal.
"""


@dataclass(frozen=True)
class AffineFit:
    """Affine transforms that map clean images to the images in a set."""

    moves: NDArray[np.float64]
    """The displacements in pixels of the three points that elastic transforms move, (N, 6). NaN if a fit failed."""
    rest: NDArray[np.float64]
    """The logarithm of the part of each image that its transform does not explain, (N,)."""


def affine_fit(found: Images, clean: Images) -> AffineFit:
    """Fit an affine transform to each pair of a clean image and a found image, by maximising their correlation."""
    height, width = clean.shape[1:3]
    reach, rows, columns = min(height, width) // 3, height // 2, width // 2
    # The points that the published generator moves, as (x, y, 1). The generator does not distinguish rows from columns.
    points = np.array(
        [(rows + reach, columns + reach, 1), (rows + reach, columns - reach, 1), (rows - reach, columns - reach, 1)],
        np.float64,
    ).T
    moves, rest = np.full((len(clean), 6), np.nan), np.zeros(len(clean))
    for i, (image, own) in enumerate(zip(found, clean, strict=True)):
        best, matrix = _align(np.asarray(own.mean(axis=2), np.float32), np.asarray(image.mean(axis=2), np.float32))
        rest[i] = np.log(max(1.0 - best, 1e-4))
        if matrix is not None:
            moves[i] = (matrix @ points - points[:2]).ravel()
    return AffineFit(moves, rest)


def _align(clean: NDArray[np.float32], found: NDArray[np.float32]) -> tuple[float, NDArray[np.float32] | None]:
    """Return the correlation of two images after the best alignment, and its affine matrix.

    The matrix is None if no fit succeeds.
    """
    best, matrix = 0.0, None
    for sizes in _SMOOTHING:
        tried, correlation = np.eye(2, 3, dtype=np.float32), 0.0
        try:
            for size in sizes:
                criteria = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_COUNT, 50, 1e-4)
                correlation, warp = cv2.findTransformECC(
                    clean,
                    found,
                    tried,
                    cv2.MOTION_AFFINE,
                    criteria,
                    None,
                    size,  # type: ignore[call-overload]
                )
                tried = np.asarray(warp, np.float32)
        except cv2.error:  # the iteration did not converge
            continue
        if correlation > best:
            best, matrix = correlation, tried
        if best > _GOOD:
            break
    return best, matrix


def log_likelihood(fit: AffineFit, own: AffineFit, hypothesis: Hypothesis) -> float:
    """Return the logarithm of the likelihood of a fit under a hypothesis.

    Parameters
    ----------
    fit : AffineFit
        The fit to the images in the set.
    own : AffineFit
        The fits to corruptset's own draws under the hypothesis, with one or more draws for each image in the set.
    hypothesis : Hypothesis
        An elastic transform whose displacements are distributed uniformly up to a limit.
    """
    parameters = hypothesis.stage.parameters
    limit, alpha = float(parameters["affine"]), float(parameters["alpha"])
    # The displacement field, which has smaller displacements, adds to the error of a fit.
    error = 0.07 + 0.03 * alpha
    moves = fit.moves[~np.isnan(fit.moves)]
    density = (ndtr((moves + limit) / error) - ndtr((moves - limit) / error)) / (2 * limit)
    likelihood = float(np.log((1 - _FAILED) * density + _FAILED / (2 * max(_FAR, limit))).sum())
    expected = own.rest.reshape(-1, len(fit.rest))
    difference = fit.rest - expected.mean(axis=0)
    # The variance of a median is this factor times the variance of a mean.
    spread = np.pi / 2 * float(np.square(difference - np.median(difference)).mean()) / len(difference) + 0.02**2
    return likelihood - min(float(np.median(difference)) ** 2 / spread / 2, _LARGEST_LOG_ODDS)
