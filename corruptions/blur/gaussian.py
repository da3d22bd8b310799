"""Gaussian blur."""

from __future__ import annotations

from ..keys import Keys
from ..registry import Images, Parameter, corruption
from ..rounding import ROUNDING, half
from ..separable import AXES, gaussian_filter


@corruption(
    family="blur",
    revision=1,
    reference="Hendrycks & Dietterich 2019, ImageNet-C (extra); released make_imagenet_c.py, gaussian_blur",
    parameters=(Parameter("sigma", low=0.01, high=200.0, length=True, at_least=0.01, about="pixels"), AXES, ROUNDING),
    role="validation",
    deterministic=True,
)
def gaussian_blur(images: Images, keys: Keys, *, sigma: float, axes: str = "both", rounding: str = "floor") -> Images:
    """Blur with a gaussian, edges replicated.

    Parameters
    ----------
    images : (N, H, W, C) ndarray of uint8
    keys : Keys
        Not used: nothing is drawn.
    sigma : float
        Pixels, 0.01..200; the filter ends at 4 sigma.
    axes : {"both", "rows"}
        "rows" blurs across rows only (each column by itself), as MNIST-C's generator does: its library took the columns
        of a grey image for channels.
    rounding : {"floor", "round"}
        How the result becomes whole: floored, as ImageNet-C's generator does, or rounded, as MNIST-C's.

    Returns
    -------
    (N, H, W, C) ndarray of uint8

    References
    ----------
    Hendrycks and Dietterich 2019, released ImageNet-C code, gaussian_blur
    """
    return gaussian_filter(images, sigma, axes, half(rounding))
