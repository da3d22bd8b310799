"""The corruptions of ImageNet-C-bar and CIFAR-10-C-bar: chosen to be perceptually far from ImageNet-C's.

Their severities were published as one factor each, and their lengths as shares of the image's side, so a table fits any
size. Where an image is not square, the side is the shorter one, and places are drawn all over the image. Points are (x,
y).
"""

from __future__ import annotations

from . import shapes, sparkles, spectra, splines, warps, waves

__all__ = ["shapes", "sparkles", "spectra", "splines", "warps", "waves"]
