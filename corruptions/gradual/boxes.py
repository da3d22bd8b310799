"""Black boxes: more of them over the image at every level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import kernel
from ..keys import Keys
from ..references import SWINGLER_2022
from ..registry import Gradual, Images, Shape, corruption
from .counts import counted, plural
from .rectangles import COLUMNS, DRAWS, draw_rectangles, of_level


def _boxes(level: int, shape: Shape, parameters: Mapping[str, Any]) -> str:
    return plural(level * counted(parameters["density"], shape[0] + shape[1]), "box")


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
    gradual=Gradual(_boxes),
)
def random_boxes(
    images: Images, keys: Keys, *, level: int, density: float, least: int, most: int, boxes: NDArray[np.int64] | None = None
) -> Images:
    """Black out small rectangles, ``floor(density * (H + W))`` a level.

    Parameters
    ----------
    images : (N, H, W, C) ndarray of uint8
        At the level before.
    keys : Keys
    level : int
        1, 2, ...
    density : float
        0..10: rectangles over height plus width. Published: 0.1, 44 rectangles at 224x224.
    least, most : int
        Pixels, 1..1000: the shortest and the longest side. Published: 3 and 6 (the paper's text: 2 and 5).
    boxes : (L, K, 4) ndarray of int64, optional
        The rectangles of each level as (x, y, width, height), L at least `level`; given, they serve every image. Drawn:
        sides uniform between `least` and `most`, each by itself, places uniform over those where the whole rectangle lies
        in the image.

    Returns
    -------
    (N, H, W, C) ndarray of uint8

    References
    ----------
    The incremental degradation operators (30 levels); released notebook.
    """
    count, height, width, _ = images.shape
    if boxes is None:
        rectangles = draw_rectangles(keys, level, counted(density, height + width), least, most, height, width)
    else:
        rectangles = of_level(boxes, level, count)
    out = images.copy()
    _blacken(out, rectangles)
    return out
