"""JPEG compression: encoded at a low quality and decoded again."""

from __future__ import annotations

import cv2
import numpy as np

from ...errors import ImageError
from ..kernels import kernel
from ..keys import Keys
from ..registry import Images, Parameter, corruption

_MAX_SIDE = 65500


@kernel
def _reversed_channels(image, out):  # type: ignore[no-untyped-def]
    source = image.reshape(-1, 3)
    target = out.reshape(-1, 3)
    for p in range(source.shape[0]):
        target[p, 0] = source[p, 2]
        target[p, 1] = source[p, 1]
        target[p, 2] = source[p, 0]


def through_jpeg(images: Images, quality: int, *, swapped: bool = False) -> Images:
    """Encode every image as JPEG and decode it again.

    Parameters
    ----------
    images : (N, H, W, C) ndarray of uint8, RGB or grey
    quality : int
        1..100.
    swapped : bool
        Whether the encoder takes red for blue and blue for red.

    Returns
    -------
    (N, H, W, C) ndarray of uint8
    """
    height, width, channels = images.shape[1:]
    if max(height, width) > _MAX_SIDE:
        raise ImageError(f"The image is {height}x{width} (height x width); a JPEG holds at most {_MAX_SIDE} pixels a side. Split it first.")
    out = np.empty_like(images)
    options = [cv2.IMWRITE_JPEG_QUALITY, int(quality)]
    bgr = np.empty((height, width, 3), np.uint8)
    for i in range(len(images)):
        if channels == 3 and swapped:
            _, encoded = cv2.imencode(".jpg", images[i], options)
            out[i] = np.asarray(cv2.imdecode(encoded, cv2.IMREAD_COLOR))
        elif channels == 3:
            _reversed_channels(images[i], bgr)
            _, encoded = cv2.imencode(".jpg", bgr, options)
            _reversed_channels(cv2.imdecode(encoded, cv2.IMREAD_COLOR), out[i])
        else:
            _, encoded = cv2.imencode(".jpg", images[i, :, :, 0], options)
            out[i, :, :, 0] = np.asarray(cv2.imdecode(encoded, cv2.IMREAD_GRAYSCALE))
    return out


@corruption(
    family="digital",
    revision=1,
    reference="Hendrycks & Dietterich 2019, ImageNet-C; released make_imagenet_c.py, jpeg_compression",
    parameters=(Parameter("quality", int, low=1, high=100, about="libjpeg's quality"),),
    deterministic=True,
)
def jpeg_compression(images: Images, keys: Keys, *, quality: int) -> Images:
    """Encode as JPEG (baseline, 4:2:0, libjpeg's standard tables) and decode again.

    Nothing is drawn at random.

    Parameters
    ----------
    images : (N, H, W, C) ndarray of uint8, RGB or grey
    keys : Keys
        Not used.
    quality : int
        1..100, on libjpeg's scale.

    Returns
    -------
    (N, H, W, C) ndarray of uint8
        A grey image is stored, and comes back, as grey.

    Raises
    ------
    ImageError
        A side above 65500 pixels, which JPEG cannot hold.

    Notes
    -----
    OpenCV's encoder writes the very bytes of Pillow's ``save(..., quality=quality)``, and all libjpeg decoders
    return the same pixels.

    References
    ----------
    Hendrycks and Dietterich, ICLR 2019, section 3; ``jpeg_compression`` of the released ``make_imagenet_c.py``.
    """
    return through_jpeg(images, int(quality))
