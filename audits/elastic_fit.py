"""Estimate the affine part of elastic transforms. Its size distinguishes severities that otherwise look alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtr
from scipy.stats import t as student

from ..corruptions.registry import Images
from .hypotheses import Hypothesis
from .storage import Steps, apply_storage

_SMOOTHING = ((3.0, 1.5, 0.0), (1.5, 0.0), (5.0, 2.0, 0.0))
"""The standard deviations of the smoothing in successive fits, for each attempt."""
_GOOD = 2.0
"""The mean square difference in grey levels below which no further attempt is made."""
_LARGEST_SIDE = 64
"""Larger images are reduced to this size before they are fitted."""
_ITERATIONS = 30
_SMALLEST_STEP = 0.003
"""The iteration ends at steps that move no pixel by more than this number of pixels."""
_SINGULAR = 0.05
"""The determinant below which an affine map cannot be inverted reliably."""
_ROUNDING = 0.5
"""A constant added to mean square differences in grey levels. It hides rounding."""
_FAR = 4.0
"""A fit that fails can give any displacement up to the limit of the transform plus this number of pixels."""
_NARROWEST = 0.02
"""The minimum bandwidth, in pixels, with which the errors of fits are smoothed."""
_REST_ERROR = 0.05
"""The difference in the logarithm of the unexplained part that library versions can cause."""
_REST_FREEDOM = 4
"""The degrees of freedom of the heavy-tailed distribution of the unexplained part."""
_OWN_SEED = 104_729
"""A seed that no dataset is likely to have."""
DRAWS = 8
"""The number of corruptset's own draws for each image from which the errors of fits are estimated."""
_REJECTED_NAME, _REJECTED_RIVAL = 4.0, 3.0
"""The number of standard errors at which the severity in a set's name is rejected, and at which another one is.

A wrong verdict on an unmodified set is the worst error, so rejecting the name requires stronger evidence.
"""


@dataclass(frozen=True)
class AffineFit:
    """Affine transforms that map clean images to the images in a set."""

    moves: NDArray[np.float64]
    """The displacements in pixels of the three points that elastic transforms move, (N, 6). NaN if a fit failed."""
    rest: NDArray[np.float64]
    """The logarithm of the part of each image that its transform does not explain, (N,)."""


def affine_fit(found: Images, clean: Images) -> AffineFit:
    """Fit an affine transform to each pair of a clean image and a found image, by least squares."""
    height, width = clean.shape[1:3]
    reach, rows, columns = min(height, width) // 3, height // 2, width // 2
    # The points that the published generator moves, as (x, y, 1). The generator does not distinguish rows from columns.
    points = np.array(
        [(rows + reach, columns + reach, 1), (rows + reach, columns - reach, 1), (rows - reach, columns - reach, 1)],
        np.float64,
    ).T
    scale = max(1.0, min(height, width) / _LARGEST_SIDE)
    points[:2] = (points[:2] + 0.5) / scale - 0.5
    moves, rest = np.full((len(clean), 6), np.nan), np.zeros(len(clean))
    for i, (image, own) in enumerate(zip(found, clean, strict=True)):
        error, inverse = _align(_reduced(own, scale), _reduced(image, scale))
        rest[i] = np.log(error + _ROUNDING)
        square = np.vstack([inverse, (0, 0, 1)])
        if abs(np.linalg.det(square)) > _SINGULAR:
            moves[i] = ((np.linalg.inv(square)[:2] @ points - points[:2]) * scale).ravel()
    return AffineFit(moves, rest)


def _reduced(image: NDArray[np.uint8], scale: float) -> NDArray[np.float32]:
    values = np.asarray(image, np.float32)
    if scale > 1:
        size = round(image.shape[1] / scale), round(image.shape[0] / scale)
        values = np.asarray(cv2.resize(values, size, interpolation=cv2.INTER_AREA), np.float32)
    return values.reshape(*values.shape[:2], -1)


def _align(clean: NDArray[np.float32], found: NDArray[np.float32]) -> tuple[float, NDArray[np.float64]]:
    """Return the mean square difference of two images after the best alignment.

    The second value is the affine map from positions in the found image to positions in the clean image, (2, 3).
    """
    best, matrix = np.inf, np.eye(2, 3)
    for sigmas in _SMOOTHING:
        tried = np.eye(2, 3)
        for sigma in sigmas:
            error, tried = _descent(_smoothed(clean, sigma), _smoothed(found, sigma), tried)
        # Two attempts with the same result have found the best alignment.
        sure = min(error, best) < _GOOD or abs(error - best) < 0.01 * error
        if error < best:
            best, matrix = error, tried
        if sure:
            break
    return best, matrix


def _smoothed(image: NDArray[np.float32], sigma: float) -> NDArray[np.float32]:
    if sigma == 0:
        return image
    smooth = cv2.GaussianBlur(image, (0, 0), sigma, borderType=cv2.BORDER_REFLECT_101)
    return np.asarray(smooth, np.float32).reshape(image.shape)


def _descent(
    clean: NDArray[np.float32], found: NDArray[np.float32], matrix: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """Refine an affine map with the Levenberg-Marquardt method, and return the mean square difference and the map.

    OpenCV's `findTransformECC` fails for many images with little texture, and ignores what is reflected at the border.
    """
    height, width, channels = clean.shape
    y, x = np.mgrid[:height, :width].reshape(2, -1).astype(np.float64)
    centre = np.array([(width - 1) / 2, (height - 1) / 2, 0])
    reach = max(height, width) / 2
    basis = np.stack([(x - centre[0]) / reach, (y - centre[1]) / reach, np.ones_like(x)])
    slopes = [
        np.asarray(cv2.Sobel(clean, cv2.CV_32F, *order, scale=1 / 8, borderType=cv2.BORDER_REFLECT_101), np.float32)
        for order in ((1, 0), (0, 1))
    ]
    places = np.stack([x, y, np.ones_like(x)])

    def sampled(image: NDArray[np.float32], at: NDArray[np.float64]) -> NDArray[np.float64]:
        maps = (at @ places).astype(np.float32).reshape(2, height, width)
        values = cv2.remap(image, maps[0], maps[1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT_101)
        return np.asarray(values, np.float64).reshape(-1, channels)

    target = found.reshape(-1, channels).astype(np.float64)
    difference = target - sampled(clean, matrix)
    error, damping = float(np.square(difference).mean()), 1e-3
    for _ in range(_ITERATIONS):
        across, down = (sampled(slope.reshape(clean.shape), matrix) for slope in slopes)
        squares = (across * across).sum(1), (across * down).sum(1), (down * down).sum(1)
        xx, xy, yy = ((basis * square) @ basis.T for square in squares)
        normal = np.block([[xx, xy], [xy, yy]])
        right = np.concatenate([basis @ (across * difference).sum(1), basis @ (down * difference).sum(1)])
        improved = False
        while not improved and damping < 1e4:
            step = np.linalg.solve(normal + damping * np.diag(np.diag(normal)) + 1e-6 * np.eye(6), right).reshape(2, 3)
            change = np.column_stack([step[:, :2] / reach, step[:, 2] - step[:, :2] @ centre[:2] / reach])
            tried = target - sampled(clean, matrix + change)
            lower = float(np.square(tried).mean())
            improved = lower < error
            damping = damping / 5 if improved else damping * 5
        if not improved:
            break
        matrix, difference, error = matrix + change, tried, lower
        if np.abs(step).sum(axis=1).max() < _SMALLEST_STEP:
            break
    return error, matrix


@dataclass(frozen=True)
class OwnFits:
    """Fits to elastic transforms that corruptset draws under a hypothesis. Their true displacements are known."""

    limit: float
    """The maximum displacement of the points. Displacements are distributed uniformly up to this limit."""
    moves: NDArray[np.float64]
    """The fitted displacements, (draws, N, 6). NaN if a fit failed."""
    errors: NDArray[np.float64]
    """The differences between the fitted and the true displacements, (draws, N, 6)."""
    rest: NDArray[np.float64]
    """The logarithm of the part of each image that its transform does not explain, (draws, N)."""


def own_fits(clean: Images, ids: Sequence[str], hypothesis: Hypothesis, steps: Steps) -> OwnFits:
    """Draw elastic transforms of clean images several times, and fit affine transforms to the results."""
    limit = float(hypothesis.stage.parameters["affine"])
    generator, fits, true = np.random.default_rng(_OWN_SEED), list[AffineFit](), list[NDArray[np.float64]]()
    for draw in range(DRAWS):
        points = generator.uniform(-1, 1, (len(clean), 3, 2))
        made = [
            hypothesis.images(clean[i : i + 1], [ids[i]], seed=_OWN_SEED + draw, draws={"points": points[i]})
            for i in range(len(clean))
        ]
        fits.append(affine_fit(apply_storage(np.concatenate(made), steps), clean))
        true.append(points.transpose(0, 2, 1).reshape(len(clean), 6) * limit)
    moves = np.stack([fit.moves for fit in fits])
    return OwnFits(limit, moves, moves - np.stack(true), np.stack([fit.rest for fit in fits]))


def _scores(fit: AffineFit, own: OwnFits, left_out: int | None = None) -> NDArray[np.float64]:
    """Return the log-likelihood of the fit to each image under a hypothesis, as an array of shape (N,).

    How precise a fit is depends on the texture of the image. The distribution of its errors is therefore estimated for
    each image separately, without the draw `left_out`.
    """
    kept = [draw for draw in range(len(own.rest)) if draw != left_out]
    errors, rest = own.errors[kept], own.rest[kept]
    out = np.zeros(len(fit.rest))
    succeeded = ~np.isnan(errors[:, :, 0])
    spread = np.nanmean([rest[succeeded[:, i], i].var(ddof=1) for i in range(len(out)) if succeeded[:, i].sum() > 2])
    for i in range(len(out)):
        usable = succeeded[:, i]
        if np.isnan(fit.moves[i]).any() or usable.sum() < 3:
            continue
        known = errors[usable, i].ravel()
        known = np.concatenate([known, -known])
        width = _NARROWEST + np.median(np.abs(known)) / 2
        centred = fit.moves[i][:, None] - known
        inside = ndtr((centred + own.limit) / width) - ndtr((centred - own.limit) / width)
        far = 1 / (len(known) / 2 + 1)
        density = (1 - far) * inside.mean(axis=1) / (2 * own.limit) + far / (2 * (own.limit + _FAR))
        values = rest[usable, i]
        variance = (values.var() * len(values) + 4 * spread) / (len(values) + 4) * (1 + 1 / len(values))
        scale = np.sqrt(variance + _REST_ERROR**2)
        out[i] = np.log(density).sum() + student.logpdf(fit.rest[i], _REST_FREEDOM, values.mean(), scale)
    return out


@dataclass(frozen=True)
class Test:
    """How strongly a set rejects a hypothesis in favour of another one, as standard errors of a normal distribution."""

    normal: float
    """An estimate that assumes a normal distribution."""
    skewed: float
    """An estimate from Chernoff's bound, which also holds for a skewed distribution."""


def not_rejected(found: AffineFit, own: Sequence[OwnFits], named: int | None) -> list[int]:
    """Return which of several hypotheses a set does not reject in favour of another one.

    The log-likelihood ratio of two hypotheses is compared with its distribution under the first hypothesis. This
    distribution is known from corruptset's own draws for the same images. `named` is the hypothesis in the set's name,
    and rejecting it requires stronger evidence.
    """
    observed = [float(_scores(found, one).sum()) for one in own]

    def rejected(h: int) -> bool:
        made = [AffineFit(moves, rest) for moves, rest in zip(own[h].moves, own[h].rest, strict=True)]
        expected = np.stack([_scores(each, own[h], draw) for draw, each in enumerate(made)])
        for r, rival in enumerate(own):
            if r == h:
                continue
            ratios = np.stack([_scores(each, rival) for each in made]) - expected
            test = _test(observed[r] - observed[h], ratios)
            if h == named:
                if test.normal > _REJECTED_RIVAL and test.skewed > _REJECTED_NAME:
                    return True
            elif max(test.normal, test.skewed) > _REJECTED_RIVAL:
                return True
        return False

    return [h for h in range(len(own)) if not rejected(h)]


def _test(observed: float, drawn: NDArray[np.float64]) -> Test:
    """Compare a sum over N images with its distribution, which is estimated from `drawn`, a (draws, N) array."""
    draws, mean = len(drawn), float(drawn.mean(axis=0).sum())
    error = float(np.sqrt(drawn.var(axis=0, ddof=1).sum() * (1 + 1 / draws))) + 1e-6
    normal = (observed - mean) / error
    if normal <= 0:
        return Test(normal, normal)
    exponents = np.geomspace(1e-3, 30, 60) / max(error, 1e-3)
    bounds = [float((logsumexp(t * drawn, axis=0) - np.log(draws)).sum() - t * observed) for t in exponents]
    return Test(normal, float(np.sqrt(2 * max(-min(bounds), 0.0))))
