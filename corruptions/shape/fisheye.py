"""The corruption `fisheye`, which applies the barrel distortion of a wide lens as a polynomial."""

from __future__ import annotations

import numpy as np

from ...references import HENDRYCKS_2018
from ..border import EDGE
from ..kernels import kernel
from ..registry import Images, Keys, Parameter, corruption
from ..sample import rows_at_once, sample


@kernel
def _barrel(images, out, cubic, quadratic, linear):  # type: ignore[no-untyped-def]
    """Read each pixel at its distance from the centre times a factor, bilinearly and with edge padding."""
    count, height, width, channels = images.shape
    band = rows_at_once(height, width)
    places = np.empty((3, band * width), np.float64)
    weights = np.empty((4, band * width), np.float64)
    sums = np.empty(band * width * channels, np.float64)
    centre_x, centre_y = 0.5 * (width - 1), 0.5 * (height - 1)
    unit = 2.0 / min(height, width)
    rest = 1.0 - cubic - quadratic - linear
    for top in range(0, height, band):
        bottom = min(top + band, height)
        for y in range(top, bottom):
            dy = y - centre_y
            for x in range(width):
                dx = x - centre_x
                r = np.sqrt(dx * dx + dy * dy) * unit
                factor = ((cubic * r + quadratic) * r + linear) * r + rest
                p = (y - top) * width + x
                places[0, p] = min(max(dx * factor + centre_x, 0.0), width - 1.0)
                places[1, p] = min(max(dy * factor + centre_y, 0.0), height - 1.0)
        size = (bottom - top) * width
        for n in range(count):
            sample(images[n], places, size, weights, EDGE, 0.0, sums)
            target = out[n, top:bottom].reshape(size * channels)
            for p in range(np.uint64(size * channels)):
                target[p] = np.uint8(np.int32(sums[p] * 257.0 + 0.5) // np.int32(257))


def _coefficient(name: str, power: str) -> Parameter:
    return Parameter(
        name,
        low=-2.0,
        high=2.0,
        about=f"coefficient of the {power} of the distance; the factor shrinks with it if negative",
    )


@corruption(
    role="train",
    reference=f"{HENDRYCKS_2018}, section 3, names it; released make_imagenetd.py of April 2018, barrel (defined "
    "there, and not used)",
    parameters=(
        _coefficient("cubic", "third power"),
        _coefficient("quadratic", "square"),
        _coefficient("linear", "first power"),
    ),
    preserves_geometry=False,
    deterministic=True,
)
def fisheye(images: Images, keys: Keys, *, cubic: float, quadratic: float, linear: float) -> Images:
    """Distort the image like a fisheye lens.

    The centre of the image grows, and its corners are drawn inwards. The pixel at (x, y) from the centre is read at (x,
    y) times ``cubic r^3 + quadratic r^2 + linear r + 1 - cubic - quadratic - linear``. Here r is the pixel's distance
    from the centre divided by half the short side. Pixels at r = 1 do not move. Interpolation is bilinear with edge
    padding. The result is rounded to the 65,536 values of ImageMagick and then floored to uint8.

    Notes
    -----
    The paper names fisheye lens distortion and uniform noise as distortions for training, without a formula. The
    generator released with the paper contains ImageMagick's barrel distortion with five severities, although no
    published set uses it. corruptset uses these severities. By default, ImageMagick averages over ellipses. This
    function interpolates between four pixels, as ImageMagick does with ``-filter point -interpolate bilinear``. At
    224x224, the images that ImageMagick creates by default differ from those of this function by 0.8 to 1.2 grey values
    on average.

    References
    ----------
    ImageMagick, Examples of Usage: Distorting Images, Barrel (polynomial after Helmut Dersch's panotools).
    """
    out = np.empty_like(images)
    _barrel(images, out, float(cubic), float(quadratic), float(linear))
    return out
