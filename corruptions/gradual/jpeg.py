"""JPEG compression whose quality falls by one at every level."""

from __future__ import annotations

from ...references import SWINGLER_2022
from ..digital.jpeg_compression import through_jpeg
from ..registry import Gradual, Images, Keys, Parameter, corruption


@corruption(
    reference=f"{SWINGLER_2022}, JPEG compression",
    parameters=(
        Parameter("start", int, 32, 101, "quality at level 0, if there were one; each level has one less"),
        Parameter(
            "channel_order", str, choices=("rgb", "bgr"), about="as which three channels the encoder takes R, G and B"
        ),
    ),
    deterministic=True,
    gradual=Gradual(
        lambda level, shape, parameters: f"quality {parameters['start'] - level}", accumulates=False, most=31
    ),
)
def jpeg(images: Images, keys: Keys, *, level: int, start: int, channel_order: str) -> Images:
    """Encode as JPEG at quality start - level and decode again, from the clean image.

    4:2:0, libjpeg's standard tables.

    Published: 32, so that level 30 has quality 2.

    Raises
    ------
    ImageError
        A side above 65500 pixels, which JPEG cannot hold.

    Notes
    -----
    The notebook's own loop compressed what it had compressed before; the paper starts from the clean image. It hands
    its RGB image to OpenCV, which expects BGR: so red and blue are weighed wrongly, which costs about 0.1 dB.
    """
    return through_jpeg(images, start - level, swapped=channel_order == "bgr")
