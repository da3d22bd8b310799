"""Black boxes: more of them over the image at every level."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...references import SWINGLER_2022
from ..kernels import kernel
from ..keys import Keys
from ..registry import Gradual, Images, corruption
from .rectangles import COLUMNS, DRAWS, described, rectangles_of


@kernel
def _blacken(images, boxes):  # type: ignore[no-untyped-def]
    channels = images.shape[3]
    for n in range(images.shape[0]):
        for k in range(boxes.shape[1]):
            left = boxes[n, k, 0]
            top = boxes[n, k, 1]
            for y in range(top, top + boxes[n, k, 3]):
                for x in range(left, left + boxes[n, k, 2]):
                    for c in range(channels):
                        images[n, y, x, c] = np.uint8(0)


@corruption(
    revision=1,
    reference=f"{SWINGLER_2022}, occluding boxes",
    parameters=COLUMNS,
    draws=DRAWS,
    gradual=Gradual(lambda level, shape, parameters: described(level, shape, parameters, "box")),
)
def random_boxes(
    images: Images, keys: Keys, *, level: int, density: float, least: int, most: int, boxes: NDArray[np.int64] | None = None
) -> Images:
    """Black out small rectangles, ``floor(density * (H + W))`` a level.

    Sides are uniform between `least` and `most`, each by itself, places uniform over those where the whole rectangle lies in the image.
    Published: density 0.1 (44 rectangles at 224x224), sides from 3 to 6 (the paper's text: 2 to 5).
    """
    out = images.copy()
    _blacken(out, rectangles_of(images, keys, level, density, least, most, boxes))
    return out
