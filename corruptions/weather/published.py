"""The pictures of frost that the published sets were made with, and how a user's own differ from them."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from ...errors import listed
from ...published_frost import PUBLISHED_FROST as PUBLISHED
from .textures import Texture, TextureSet

SIDES = (150, 1200)
"""Short sides from half of the least to twice the largest of the published pictures, 315 to 600 pixels."""
MEANS = (85, 225)
"""Mean grey levels; the published pictures' are 123 to 207."""
CONTRASTS = (9, 86)
"""Standard deviations of the grey levels, from half of the least to twice the largest of the published pictures, 18 to 43."""


def differences(textures: TextureSet) -> list[str]:
    """Return one note that says how textures differ from the published ones; none where they are the published ones."""
    drawn = Counter(textures.sha256[i] for i in textures.picks)
    if {sha256: Fraction(times, len(textures.picks)) for sha256, times in drawn.items()} == PUBLISHED:
        return []
    notes = []
    if set(drawn) == set(PUBLISHED):
        notes.append("these are the published pictures, drawn otherwise: give all six, under their names frost1.png to frost6.jpg")
    elif len(drawn) != len(PUBLISHED):
        notes.append(f"different pictures to draw from: {len(drawn)}; the published sets have {len(PUBLISHED)}")
    for name, array in zip(textures.names, textures.arrays, strict=True):
        notes += [f"{name}: {what}" for what in _unlike(array)]
    summary = "The frost textures are not the published ones: results on frost are not those on the published sets (docs/frost.md)"
    return [f"{summary}.\n{listed(notes, 12)}" if notes else f"{summary}."]


def _unlike(texture: Texture) -> list[str]:
    """Return in what a picture is unlike all published ones."""
    height, width = texture.shape[:2]
    red, _, blue = texture.mean(axis=(0, 1)).tolist()
    grey = texture.mean(axis=2)
    unlike = []
    if not SIDES[0] <= min(height, width) <= SIDES[1]:
        unlike.append(f"is {width}x{height} (width x height); the published ones are 527x350 to 900x600, and are cropped, not resized")
    if not CONTRASTS[0] <= grey.std() <= CONTRASTS[1]:
        unlike.append(f"has a contrast (standard deviation of grey) of {grey.std():.0f}; the published ones have 18 to 43")
    if not MEANS[0] <= grey.mean() <= MEANS[1]:
        unlike.append(f"has a mean grey level of {grey.mean():.0f}; the published ones have 123 to 207")
    if blue < red:
        unlike.append(f"is more red ({red:.0f}) than blue ({blue:.0f}); the published ones are bluish, by 13 to 88 levels")
    return unlike
