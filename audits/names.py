"""Parse the corruptions and severities in set names, including the spellings of other packages."""

from __future__ import annotations

import re

from ..corruptions.index import MODULES
from ..corruptions.registry import is_corruption
from .archives import BAR

VARIANTS = {
    "frosted_glass_blur": "glass_blur",
    "glass": "glass_blur",
    "elastic": "elastic_transform",
    "jpeg": "jpeg_compression",
    "jpeg_compress": "jpeg_compression",
    "defocus": "defocus_blur",
    "motion": "motion_blur",
    "zoom": "zoom_blur",
    "gaussian": "gaussian_noise",
    "shot": "shot_noise",
    "impulse": "impulse_noise",
    "speckle": "speckle_noise",
    "original": "clean",
    "natural": "clean",
    "none": "clean",
    "identity": "clean",
    "cocentric_sine": "cocentric_sine_waves",
}
"""Name of a corruption in other packages, such as tensorflow_datasets -> corruptset's name for it."""
_SEVERITY = re.compile(r"(?:[/ _-]|^)(?:severity|sev|level|s)?[_ -]?([0-9])$")

_SCALED = re.compile(r"/[0-9]{1,2}\.[0-9]{2}$")
"""Folders that the generator of ImageNet-C-bar names after the strength of a corruption, such as ``2.35``."""


def corruption_name(name: str) -> str | None:
    """Return corruptset's name for the corruption that a name stands for, or None if there is no such corruption.

    Examples
    --------
    >>> corruption_name("Frosted Glass Blur"), corruption_name("elastic"), corruption_name("n01440764")
    ('glass_blur', 'elastic_transform', None)
    """
    plain = re.sub(r"[ .-]+", "_", name.strip().lower())
    plain = VARIANTS.get(plain, plain)
    if plain == "clean" or plain in MODULES or plain in BAR:
        return plain
    return plain if re.fullmatch("[a-z][a-z0-9_]*", plain) and is_corruption(plain) else None


def parsed_id(set_id: str) -> tuple[str | None, int | None]:
    """Return the corruption and the severity that a set name states. Each is None if the name does not state it.

    Examples
    --------
    >>> parsed_id("fog/3"), parsed_id("jpeg-5"), parsed_id("weather/snow/severity_2"), parsed_id("holidays")
    (('fog', 3), ('jpeg_compression', 5), ('snow', 2), (None, None))
    """
    severity, name = None, set_id.strip("/")
    if (found := _SEVERITY.search(name)) is not None:
        severity, name = int(found[1]), name[: found.start()]
    elif (scaled := _SCALED.search(name)) is not None:
        name = name[: scaled.start()]
    corruption = corruption_name(name.rpartition("/")[2])
    return corruption, severity if corruption is not None else None
