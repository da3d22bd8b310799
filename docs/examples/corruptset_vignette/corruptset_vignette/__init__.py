"""Two corruptions for corruptset: `vignette` draws nothing at random, `film_grain` does. Both are plain numpy."""

from __future__ import annotations

import numpy as np

from corruptset.corruptions.plugins import Images, Keys, Parameter, corruption


@corruption(
    revision=1,
    reference="corruptset's documentation, an example",
    parameters=(Parameter("strength", low=0.0, high=1.0, about="how much darker a corner is, 0..1"),),
    deterministic=True,
    tables="tables",
)
def vignette(images: Images, keys: Keys, *, strength: float) -> Images:
    """Darken the corners with the square of the distance from the centre."""
    height, width = images.shape[1:3]
    # whole numbers as far as they go: + - * / are equal on every machine
    down = (2 * np.arange(height) + 1 - height)[:, None] ** 2
    across = (2 * np.arange(width) + 1 - width)[None, :] ** 2
    gain = 1.0 - strength * (down + across) / (height * height + width * width)
    return (images * gain[None, :, :, None]).astype(np.uint8)


@corruption(
    revision=1,
    reference="corruptset's documentation, an example",
    parameters=(Parameter("amount", low=0.0, high=255.0, about="standard deviation in the mid-tones, in grey levels"),),
    tables="tables",
)
def film_grain(images: Images, keys: Keys, *, amount: float) -> Images:
    """Add grain, the same in all channels, that is strongest in the mid-tones."""
    levels = images.astype(np.float64)
    grain = keys.normals(*images.shape[1:3])[..., None]  # one layer for each image, drawn from its key alone
    middle = 1.0 - np.abs(levels - 127.5) / 127.5
    return np.clip(levels + amount * middle * grain, 0, 255).astype(np.uint8)
