"""Display datasets and sets in notebooks, as a line of text and a small image."""

from __future__ import annotations

import html
import io
from base64 import b64encode
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from ...files import read_regular
from ..disk.atomic import path_inside
from ..images.image_formats import decode, to_pil
from ..paths import CONTACT
from .image_store import Pixels

MAX_SIZE = 960, 1440
"""Largest width and height of an image in pixels."""
TILE_SIDE, TILE_GAP, TILE_COUNT = 128, 4, 6
"""Layout of a strip of images: the longer side of each image and the gap between images, both in pixels, and the number
of images. Smaller images are enlarged by integer factors.
"""


def figure(text: str, image_of: Callable[[], Pixels | None], caption: str = "") -> str:
    """Return HTML with text, an image if it is available, and a caption."""
    shown, file = "", io.BytesIO()
    try:
        if (pixels := image_of()) is not None:
            image = to_pil(pixels).convert("RGB")
            image.thumbnail(MAX_SIZE)
            image.save(file, "JPEG", quality=85)
            shown = (
                f'<div><img alt="{html.escape(caption)}" '
                f'src="data:image/jpeg;base64,{b64encode(file.getvalue()).decode()}"></div>'
            )
    except Exception:  # a damaged dataset must not prevent the display of its text
        shown = ""
    return f"<div><code>{html.escape(text)}</code>{shown}<small>{html.escape(caption)}</small></div>"


def contact_sheet(directory: Path) -> Pixels:
    """Return the contact sheet of a dataset."""
    return decode(read_regular(path_inside(directory, CONTACT), 64 << 20), "png")


def image_strip(images: Sequence[Pixels]) -> Pixels | None:
    """Return images side by side on white, each with a longer side of at most `TILE_SIDE` pixels."""
    tiles = [to_pil(image) for image in images]
    for number, tile in enumerate(tiles):
        if factor := TILE_SIDE // max(tile.size):
            tiles[number] = tile.resize((tile.width * factor, tile.height * factor), Image.Resampling.NEAREST)
        tiles[number].thumbnail((TILE_SIDE, TILE_SIDE), Image.Resampling.BOX)
    height = max((tile.height for tile in tiles), default=0)
    blocks = [
        np.pad(np.asarray(t.convert("RGB")), ((0, height - t.height), (0, TILE_GAP), (0, 0)), constant_values=255)
        for t in tiles
    ]
    return np.hstack(blocks)[:, :-TILE_GAP] if blocks else None
