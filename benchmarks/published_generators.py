"""Load the functions of the published generators from clones of their repositories.

The code of the generators is not part of corruptset. `benchmarks.audit_bench` needs a folder with clones of

* https://github.com/hendrycks/robustness as ``robustness`` (ImageNet-C at 224 pixels and CIFAR-10-C at 32 pixels),
* https://github.com/google-research/mnist-c as ``mnist-c``.

It also needs the package imagecorruptions or its maintained fork, which
``pip install --no-deps imagecorruptions-imaug`` installs. The two clones need Wand and ImageMagick 6.
"""

from __future__ import annotations

import io
import os
import pickle
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

NINETEEN = (
    "gaussian_noise shot_noise impulse_noise speckle_noise gaussian_blur defocus_blur glass_blur motion_blur zoom_blur "
    "snow frost fog brightness spatter contrast elastic_transform pixelate jpeg_compression saturate"
).split()
MNIST_SIXTEEN = (
    "identity shot_noise impulse_noise glass_blur motion_blur shear scale rotate brightness translate stripe fog "
    "spatter dotted_line zigzag canny_edges"
).split()
_CREATE = Path("robustness/ImageNet-C/create_c")
_SCRIPTS = {"imagenet": _CREATE / "make_imagenet_c.py", "cifar": _CREATE / "make_cifar_c.py"}


def _functions(script: Path, frost: Path, end: str) -> dict[str, Any]:
    """Return the functions that a script defines between the comment about helpers and the comment `end`.

    The code is adapted to current versions of the libraries. `frost` is the folder with the frost textures.
    """
    text = script.read_text(encoding="utf-8")
    start = re.search(r"# /+ (Distortion|Corruption) Helpers /+", text)
    assert start is not None, f"{script} has no helpers"
    body = text[start.start() :].split(f"# /////////////// {end}")[0]
    body = body.replace("multichannel=True", "channel_axis=-1").replace("np.float_", "np.float64")
    body = body.replace("scipy.ndimage.interpolation", "scipy.ndimage")
    body = re.sub(r"\bnp\.int\(", "int(", body)
    body = body.replace("np.fromstring", "np.frombuffer").replace("from pkg_resources import resource_filename", "")
    body = body.replace('open("pessimal', f'open("{script.parent}/pessimal')
    body = re.sub(r"'\./frost(\d)", rf"'{frost}/frost\1", body)
    names: dict[str, Any] = {
        "np": np,
        "Image": Image,
        "BytesIO": io.BytesIO,
        "os": os,
        "pickle": pickle,
        "resource_filename": lambda _, path: str(frost.parent / path),
    }
    exec(compile(body, str(script), "exec"), names)
    return names


def hendrycks(folder: Path, calibration: str) -> Mapping[str, Callable[[np.ndarray, int], np.ndarray]]:
    """Return a mapping from corruptions to functions that take an image and a severity.

    The functions are those of ImageNet-C (``imagenet``) or CIFAR-10-C (``cifar``).
    """
    names = _functions(folder / _SCRIPTS[calibration], folder / _CREATE, "End Distortions")

    def corrupted(name: str) -> Callable[[np.ndarray, int], np.ndarray]:
        return lambda image, severity: np.uint8(names[name](Image.fromarray(image), severity))

    return {name: corrupted(name) for name in NINETEEN}


def imagecorruptions() -> Mapping[str, Callable[[np.ndarray, int], np.ndarray]]:
    """Return the functions of the installed package imagecorruptions, in the same form as `hendrycks`."""
    from imagecorruptions import corrupt

    def corrupted(name: str) -> Callable[[np.ndarray, int], np.ndarray]:
        return lambda image, severity: corrupt(image, severity, name)

    return {name: corrupted(name) for name in NINETEEN}


def mnist_c(folder: Path) -> Mapping[str, Callable[[np.ndarray], np.ndarray]]:
    """Return a mapping from names to functions that take an image.

    The functions are the fifteen corruptions of MNIST-C, each at its published severity, and the identity.
    """
    names = _functions(folder / "mnist-c" / "corruptions.py", folder / "mnist-c" / "frost", "End Corruptions")

    def corrupted(name: str) -> Callable[[np.ndarray], np.ndarray]:
        return lambda image: np.round(np.array(names[name](Image.fromarray(image)))).astype(np.uint8)

    return {name: corrupted(name) for name in MNIST_SIXTEEN}
