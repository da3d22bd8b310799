"""The gradual degradation `posterize`, which quantizes each channel to fewer values at every level."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...references import SWINGLER_2022
from ..levels import look_up
from ..registry import Gradual, Images, Keys, Parameter, corruption


def bin_values(bins: int, values: str) -> NDArray[np.uint8]:
    """Return the table that maps a grey value to the value of its bin.

    The bins divide 0..255 evenly, and 255 is in the last bin. With ``even``, bin i becomes floor(255 i / (bins - 1)),
    from black to white. With ``upper``, bin i becomes its upper end, floor(255 (i + 1) / bins).
    """
    number = np.minimum(np.arange(256) * bins // 255, bins - 1)
    value = number * 255 // (bins - 1) if values == "even" else (number + 1) * 255 // bins
    return value.astype(np.uint8)


@corruption(
    reference=f"{SWINGLER_2022}, posterize",
    parameters=(
        Parameter("start", int, 32, 256, "number of bins plus level, so that level 1 has start - 1 bins"),
        Parameter(
            "values",
            str,
            choices=("even", "upper"),
            about="values of the bins: evenly spaced from 0 to 255, or the upper end of each bin",
        ),
    ),
    deterministic=True,
    gradual=Gradual(
        lambda level, shape, parameters: f"{parameters['start'] - level} values per channel", accumulates=False, most=30
    ),
)
def posterize(images: Images, keys: Keys, *, level: int, start: int, values: str) -> Images:
    """Reduce each channel of the clean image to ``start - level`` distinct values.

    In the released notebook, bin i of b becomes 255 i / (b - 1). In the paper's text, it becomes 255 (i + 1) / b. Both
    values are floored. The published ``start`` is 32, so level 30 has two values.

    Notes
    -----
    The loop in the published notebook posterized the result of the previous level. The paper, like corruptset, starts
    from the clean image.
    """
    return look_up(images, bin_values(start - level, values))
