"""What a build is made with: the releases that its manifest names."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import version

LIBRARIES = ("corruptset", "numpy", "numba", "opencv-python-headless", "pillow", "scipy", "scikit-image", "h5py")


@cache
def environment() -> Mapping[str, str]:
    """Return library -> version, read once: that takes longer than many a small set."""
    return {name: version(name) for name in LIBRARIES}
