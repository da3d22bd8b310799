"""Convert arrays, PIL images and torch tensors to batches, and convert results back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from ..errors import ImageError
from .image_errors import pil_error, tensor_error
from .registry import Images
from .stages import check_images


class ImageBatch(NamedTuple):
    """An input image or batch that was converted to the form that corruptions expect."""

    batch: Images
    """The images as a C-contiguous array (N, H, W, C)."""
    single: bool
    """Whether the input was one image."""
    restore: Callable[[Images], Any]
    """A function that converts a result (N, H', W', C) to the type and dimensions of the input."""


def to_batch(image: Any) -> ImageBatch:
    """Convert an array, a PIL image or a tensor to a batch, or raise `ImageError`.

    PIL and torch are not imported here. A PIL image or a tensor can exist only if its package has been imported.
    """
    if not isinstance(image, np.ndarray):
        pil, torch = sys.modules.get("PIL.Image"), sys.modules.get("torch")
        if pil is not None and isinstance(image, pil.Image):
            return _from_pil(image, pil)
        if torch is not None and isinstance(image, torch.Tensor):
            return _from_tensor(image, torch)
    batch = check_images(image)
    return ImageBatch(batch, image.ndim < 4, _RESTORE_ARRAY[image.ndim])


_RESTORE_ARRAY: dict[int, Callable[[Images], Images]] = {
    2: lambda out: out[0, :, :, 0],
    3: lambda out: out[0],
    4: lambda out: out,
}


def _from_pil(image: Any, pil: Any) -> ImageBatch:
    if image.mode not in ("RGB", "L"):
        raise ImageError(pil_error(image.mode))
    array = np.array(image)
    return ImageBatch(check_images(array), True, lambda out: pil.fromarray(_RESTORE_ARRAY[array.ndim](out)))


def _from_tensor(tensor: Any, torch: Any) -> ImageBatch:
    if (
        tensor.dtype != torch.uint8
        or tensor.ndim not in (2, 3, 4)
        or (tensor.ndim > 2 and tensor.shape[-3] not in (1, 3))
    ):
        raise ImageError(tensor_error(tensor))
    array = tensor.detach().cpu().numpy()
    first = array.reshape((1,) * (4 - array.ndim) + array.shape)
    # A tensor can be a view of an array with its channels last, as torchvision creates one from a PIL image. In this
    # case, the result is such a view as well.
    viewed = first.transpose(0, 2, 3, 1).flags.c_contiguous

    def restore(out: Images) -> Any:
        result = out.transpose(0, 3, 1, 2) if viewed else _channels_first(out)
        result = result if tensor.ndim == 4 else result[0] if tensor.ndim == 3 else result[0, 0]
        # as_subclass keeps the type of torchvision's Image.
        return torch.from_numpy(result).to(tensor.device).as_subclass(type(tensor))

    return ImageBatch(
        check_images(first.transpose(0, 2, 3, 1) if viewed else _channels_last(first)), tensor.ndim < 4, restore
    )


# OpenCV's copies are over ten times as fast as those of NumPy and torch, which copy single bytes.
def _channels_last(images: NDArray[np.uint8]) -> Images:
    count, channels, height, width = images.shape
    if channels == 1 or not count:
        return images.reshape(count, height, width, channels)
    out = np.empty((count, height, width, channels), np.uint8)
    for image, target in zip(np.ascontiguousarray(images), out, strict=True):
        cv2.merge(list(image), target)
    return out


def _channels_first(images: Images) -> NDArray[np.uint8]:
    count, height, width, channels = images.shape
    if channels == 1 or not count:
        return images.reshape(count, channels, height, width)
    out = np.empty((count, channels, height, width), np.uint8)
    for image, target in zip(images, out, strict=True):
        cv2.mixChannels([image], list(target), [0, 0, 1, 1, 2, 2])
    return out
