"""The corruption `jpeg_compression`, which encodes and decodes the image at a low quality."""

from __future__ import annotations

import numpy as np

from ...errors import ImageError
from ...references import HENDRYCKS_2019
from ..registry import Images, Keys, Parameter, corruption

_MAX_SIDE = 65500
"""The maximum height and width for libjpeg."""


def through_jpeg(images: Images, quality: int, *, swapped: bool = False) -> Images:
    """Encode every image as baseline JPEG, and decode it.

    OpenCV expects colour images as BGR. If `swapped` is true, the image is not converted, so the encoder takes red for
    blue and blue for red.
    """
    import cv2  # This is a local import, so that corruptions can be listed without OpenCV.

    height, width, channels = images.shape[1:]
    if max(height, width) > _MAX_SIDE:
        raise ImageError(
            f"The image is {height}x{width} (height x width); JPEG supports at most {_MAX_SIDE} pixels per side. Split "
            "the image first."
        )
    options, flag, converted = [cv2.IMWRITE_JPEG_QUALITY, quality], cv2.IMREAD_GRAYSCALE, False
    if channels == 3:
        options += [cv2.IMWRITE_JPEG_SAMPLING_FACTOR, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_420]
        flag, converted = cv2.IMREAD_COLOR, not swapped
    out = np.empty_like(images)
    for image, target in zip(images, out, strict=True):
        _, file = cv2.imencode(".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR) if converted else image, options)
        decoded = np.asarray(cv2.imdecode(file, flag))
        target[:] = (cv2.cvtColor(decoded, cv2.COLOR_BGR2RGB) if converted else decoded).reshape(target.shape)
    return out


@corruption(
    reference=f"{HENDRYCKS_2019}; released make_imagenet_c.py, jpeg_compression",
    parameters=(Parameter("quality", int, 1, 100, "JPEG quality of libjpeg, from 1 to 100"),),
    deterministic=True,
)
def jpeg_compression(images: Images, keys: Keys, *, quality: int) -> Images:
    """Compress the image as JPEG and decode it.

    The file is a baseline JPEG with the standard tables of libjpeg. Colour images have 4:2:0 chroma subsampling, and
    grey images stay grey.

    Raises
    ------
    ImageError
        If a side is longer than 65500 pixels, which JPEG does not support.

    Notes
    -----
    The pixels are those of Pillow's ``save(..., quality=quality)``, which the published generator calls. OpenCV is used
    instead, because it contains the same libjpeg-turbo and is faster to call.
    """
    return through_jpeg(images, int(quality))
