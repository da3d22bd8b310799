"""Provide the corruptions of ImageNet-C-bar and CIFAR-10-C-bar, which are perceptually far from those of ImageNet-C.

Each severity was published as a single factor, and lengths were published as fractions of the side of the image.
Therefore, the same table suits images of any size. If an image is not square, its side means the shorter side, and
random positions cover the whole image. Points are given as (x, y).
"""

from __future__ import annotations

from . import shapes, sparkles, spectra, splines, warps, waves

__all__ = ["shapes", "sparkles", "spectra", "splines", "warps", "waves"]
