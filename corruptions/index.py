"""List the names of all corruptions, with the module that defines each of them.

Names and families can be listed without importing the modules, which need numba and OpenCV. Families are in the order
in which lists and tables show them, and corruptions are in alphabetical order within their family.
"""

from __future__ import annotations

from collections.abc import Mapping

MODULES: Mapping[str, str] = {
    "gaussian_noise": "noise.noise",
    "impulse_noise": "noise.noise",
    "salt_pepper": "noise.noise",
    "shot_noise": "noise.noise",
    "speckle_noise": "noise.noise",
    "uniform_noise": "noise.noise",
    "defocus_blur": "blur.defocus",
    "gaussian_blur": "blur.gaussian_blur",
    "glass_blur": "blur.glass",
    "motion_blur": "blur.motion",
    "zoom_blur": "blur.zoom",
    "brightness": "weather.brightness",
    "fog": "weather.fog",
    "frost": "weather.frost",
    "snow": "weather.snow",
    "spatter": "weather.spatter",
    "contrast": "digital.contrast",
    "elastic_transform": "digital.elastic",
    "inverse": "digital.inverse",
    "jpeg_compression": "digital.jpeg_compression",
    "pixelate": "digital.pixelate",
    "quantize": "digital.quantize",
    "saturate": "digital.saturate",
    "canny_edges": "shape.canny",
    "dotted_line": "shape.stroke",
    "fisheye": "shape.fisheye",
    "line": "shape.stroke",
    "rotate": "shape.affine",
    "scale": "shape.affine",
    "shear": "shape.affine",
    "stripe": "shape.stripe",
    "translate": "shape.affine",
    "zigzag": "shape.stroke",
    "adjacent_pixel_swap": "gradual.pixels",
    "black_lines": "gradual.lines",
    "fade_black": "gradual.fade",
    "fade_grey": "gradual.fade",
    "fade_white": "gradual.fade",
    "global_blur": "gradual.blur",
    "jpeg": "gradual.jpeg",
    "local_blur": "gradual.blur",
    "pixel_swap": "gradual.pixels",
    "posterize": "gradual.posterize",
    "random_boxes": "gradual.random_boxes",
    "random_noise": "gradual.pixels",
    "white_fog": "gradual.pixels",
    "white_lines": "gradual.lines",
    "model_gradient": "adversarial.model_gradient",
    "pgd": "adversarial.pgd",
}
"""The module of each corruption, as ``<family>.<module>``. A test compares it with the decorators in the modules."""

FAMILIES = tuple(dict.fromkeys(module.partition(".")[0] for module in MODULES.values()))
"""The families, which are the folders of corruptions."""
