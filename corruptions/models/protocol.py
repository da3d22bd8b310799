"""The protocol that a model must implement for predictions, and for corruptions that use its gradient."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ...errors import ModelError
from ..keys import Int64Array


@runtime_checkable
class Model(Protocol):
    """A classifier of images, in any framework.

    `corrupt` takes any object with these two methods as its ``surrogate``. Images and gradients are NumPy arrays with
    channels last, RGB or grey, and pixel values from 0 to 255. The model itself scales and normalises the images.

    Examples
    --------
    >>> class Brightness:
    ...     '''Prefer class 1 for bright images.'''
    ...
    ...     def logits(self, images):
    ...         mean = images.mean(axis=(1, 2, 3), dtype=np.float32)
    ...         return np.stack([-mean, mean], axis=1)
    ...
    ...     def gradient(self, images, labels):
    ...         away = np.where(labels == 1, -1, 1).astype(np.float32)
    ...         return np.broadcast_to(away[:, None, None, None], images.shape)
    >>> isinstance(Brightness(), Model)
    True
    """

    def logits(self, images: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the logits of images.

        Parameters
        ----------
        images : (N, H, W, C) ndarray of uint8
            C is 3 (RGB) or 1 (grey).

        Returns
        -------
        (N, K) ndarray of float32
            The logits, with one column per class. All values are finite.
        """
        ...

    def gradient(self, images: NDArray[np.float32], labels: Int64Array) -> NDArray[np.float32]:
        """Return the gradient of each image's cross-entropy loss with respect to its pixels.

        Parameters
        ----------
        images : (N, H, W, C) ndarray of float32
            Pixel values from 0 to 255, which need not be whole numbers.
        labels : (N,) ndarray of int64
            The class of each image, from 0 to K - 1.

        Returns
        -------
        (N, H, W, C) ndarray of float32
            The derivative of the loss of image n with respect to its own pixel values. All values are finite.
        """
        ...


def loss_gradient(model: Model, images: NDArray[np.float32], labels: Int64Array) -> NDArray[np.float32]:
    """Return a model's gradient as a new array, or raise `ModelError` if its shape is wrong or it is not finite."""
    gradient = np.array(model.gradient(images, labels), np.float32)
    if gradient.shape != images.shape:
        raise ModelError(
            f"The model's gradient has the shape {gradient.shape}; expected that of the images, {images.shape}."
        )
    finite = np.isfinite(gradient).all(axis=(1, 2, 3))
    if not finite.all():
        raise ModelError(
            f"The model's gradient is not finite (NaN or infinity) for {int((~finite).sum())} of {len(images)} images. "
            "Check its code for a division by 0, or for a root or logarithm of 0."
        )
    return gradient


def check_logits(logits: Any, name: str, count: int) -> int:
    """Return the number of classes.

    Raise `ModelError` if the logits are not finite or do not have the shape (count, classes).
    """
    if logits.ndim != 2 or len(logits) != count or logits.shape[1] < 2:
        raise ModelError(
            f"The model {name} returns an array of shape {logits.shape} for {count} image{'s' * (count != 1)}; "
            f"expected ({count}, classes), with at least two classes."
        )
    if not np.isfinite(logits).all():
        raise ModelError(
            f"The model {name} returns values that are not finite (NaN or infinity). Check the weights, and the mean "
            "and std of its input."
        )
    return int(logits.shape[1])
