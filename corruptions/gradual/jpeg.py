"""The gradual degradation `jpeg`, whose quality decreases by one per level."""

from __future__ import annotations

from ...references import SWINGLER_2022
from ..digital.jpeg_compression import through_jpeg
from ..registry import Gradual, Images, Keys, Parameter, corruption


@corruption(
    reference=f"{SWINGLER_2022}, JPEG compression",
    parameters=(
        Parameter("start", int, 32, 101, "quality plus level, so that level 1 has the quality start - 1"),
        Parameter(
            "channel_order",
            str,
            choices=("rgb", "bgr"),
            about="order in which the encoder takes the channels R, G and B",
        ),
    ),
    deterministic=True,
    gradual=Gradual(
        lambda level, shape, parameters: f"quality {parameters['start'] - level}", accumulates=False, most=31
    ),
)
def jpeg(images: Images, keys: Keys, *, level: int, start: int, channel_order: str) -> Images:
    """Compress the clean image as JPEG with the quality ``start - level``, and decode it.

    The file has 4:2:0 chroma subsampling and the standard tables of libjpeg. The published ``start`` is 32, so level 30
    has a quality of 2.

    Raises
    ------
    ImageError
        If a side is longer than 65500 pixels, which JPEG does not support.

    Notes
    -----
    The loop in the published notebook compressed the result of the previous level. The paper, like corruptset, starts
    from the clean image. The notebook passes its RGB image to OpenCV, which expects BGR. Red and blue therefore get the
    wrong weights, which costs about 0.1 dB.
    """
    return through_jpeg(images, start - level, swapped=channel_order == "bgr")
