"""The corruption `gaussian_blur`."""

from __future__ import annotations

from ...references import HENDRYCKS_2019
from ..gaussian_filter import AXES, gaussian_filter
from ..levels import ROUNDING, rounding_offset
from ..registry import Images, Keys, Parameter, corruption


@corruption(
    reference=f"{HENDRYCKS_2019}; released make_imagenet_c.py, gaussian_blur",
    parameters=(
        Parameter("sigma", low=0.01, high=200.0, length=True, at_least=0.01, about="standard deviation in pixels"),
        AXES,
        ROUNDING,
    ),
    role="validation",
    deterministic=True,
)
def gaussian_blur(images: Images, keys: Keys, *, sigma: float, axes: str = "both", rounding: str = "floor") -> Images:
    """Blur the image with a gaussian that is cut off at 4 sigma, using edge padding."""
    return gaussian_filter(images, sigma, axes, rounding_offset(rounding))
