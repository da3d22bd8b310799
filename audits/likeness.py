"""Measure the similarity of corrupted and clean images in their coarse structure, which most corruptions preserve."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

Descriptors = NDArray[np.float32]
"""For each image, a unit vector of its coarse structure and a unit vector of its finer details, (N, 2, 256)."""
_SIDE = 16


def descriptors(images: Sequence[NDArray[np.uint8]]) -> Descriptors:
    """Return the descriptors of images, which may have different sizes."""
    out = np.empty((len(images), 2, _SIDE * _SIDE), np.float32)
    for i, image in enumerate(images):
        grey = image.mean(axis=2, dtype=np.float32)
        small = cv2.resize(grey, (_SIDE, _SIDE), interpolation=cv2.INTER_AREA)
        smooth = cv2.GaussianBlur(small, (0, 0), 2.0, borderType=cv2.BORDER_REFLECT)
        out[i] = _unit(small), _unit(small - smooth)
    return out


def _unit(values: NDArray[np.float32]) -> NDArray[np.float32]:
    centred = values.ravel() - values.mean()
    return np.asarray(centred / (np.linalg.norm(centred) + 1e-3), np.float32)


def likeness(found: Descriptors, clean: Descriptors) -> NDArray[np.float32]:
    """Return the similarity of each found image to each clean image, from -1 to 1, as an array (N, M)."""
    coarse, fine = (found[:, k] @ clean[:, k].T for k in (0, 1))
    return np.asarray(0.5 * (coarse + fine), np.float32)


_DETAIL_SIDE = 64
_DETAIL_LEAD = 0.1
"""The difference in similarity between the best and the second-best match above which the best match is clear."""


def detail_matches(found: Sequence[NDArray[np.uint8]], predicted: Sequence[NDArray[np.uint8]]) -> list[int] | None:
    """Match found images with predicted images by their finest details.

    The result is the index of the best match for each found image, or None if many matches are not clear. This
    function is slower than `likeness`, but it also finds matches in fog and in images that were moved.

    Parameters
    ----------
    found : sequence of ndarray
        The images in the set.
    predicted : sequence of (N, H, W, C) ndarray
        The images to choose from, in one or more variants.
    """
    own = _details(found)
    matrix = np.max([own @ _details(list(images)).T for images in predicted], axis=0)
    if matrix.shape[1] < 2:
        return None
    second, best = np.sort(matrix, axis=1)[:, -2:].T
    return matrix.argmax(axis=1).tolist() if np.mean(best - second > _DETAIL_LEAD) >= 0.6 else None


_NEARER = 0.25
"""The ratio between the smallest and the second-smallest difference below which the best match is clear."""


def pixel_matches(found: Sequence[NDArray[np.uint8]], predicted: Sequence[NDArray[np.uint8]]) -> list[int] | None:
    """Match found images with predicted images like `detail_matches`, but by their pixels."""
    if not predicted:
        return None
    own = np.stack([image.ravel() for image in found]).astype(np.float32)
    differences = []
    for images in predicted:
        if images.shape[1:] != found[0].shape:
            return None
        made = images.reshape(len(images), -1).astype(np.float32)
        squares = np.square(own).sum(axis=1)[:, None] + np.square(made).sum(axis=1) - 2 * own @ made.T
        differences.append(squares / own.shape[1])
    least = np.maximum(np.min(differences, axis=0), 0)
    if least.shape[1] < 2:
        return None
    best, second = np.sort(least, axis=1)[:, :2].T
    return least.argmin(axis=1).tolist() if np.mean(best < _NEARER * second) >= 0.6 else None


def _details(images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
    out = []
    for image in images:
        grey = image.mean(axis=2, dtype=np.float32)
        side = min(_DETAIL_SIDE, *grey.shape)
        small = cv2.resize(grey, (side, side), interpolation=cv2.INTER_AREA)
        out.append(_unit(small - cv2.GaussianBlur(small, (0, 0), 1.5, borderType=cv2.BORDER_REFLECT)))
    return np.stack(out)
