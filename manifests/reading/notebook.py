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
from ..disk.atomic import inside
from ..images.pictures import decode, picture_of
from ..paths import CONTACT
from .image_store import Pixels

LARGEST = 960, 1440
"""Largest width and height of an image in pixels."""
TILE, GAP, SHOWN = 128, 4, 6
"""Layout of a strip of images: the longer side of each image in pixels (smaller images are enlarged by whole factors),
the gap between images in pixels, and the number of images.
"""


def figure(text: str, picture: Callable[[], Pixels | None], below: str = "") -> str:
    """Return HTML with a text and, if it is available, an image."""
    shown, file = "", io.BytesIO()
    try:
        if (pixels := picture()) is not None:
            image = picture_of(pixels).convert("RGB")
            image.thumbnail(LARGEST)
            image.save(file, "JPEG", quality=85)
            shown = (
                f'<div><img alt="{html.escape(below)}" '
                f'src="data:image/jpeg;base64,{b64encode(file.getvalue()).decode()}"></div>'
            )
    except Exception:  # a damaged dataset must not prevent the display of its text
        shown = ""
    return f"<div><code>{html.escape(text)}</code>{shown}<small>{html.escape(below)}</small></div>"


def contact_sheet(directory: Path) -> Pixels:
    """Return the contact sheet of a dataset."""
    return decode(read_regular(inside(directory, CONTACT), 64 << 20), "png")


def strip(images: Sequence[Pixels]) -> Pixels | None:
    """Return images side by side on white, each with a side of `TILE`."""
    tiles = [picture_of(image) for image in images]
    for number, tile in enumerate(tiles):
        if factor := TILE // max(tile.size):
            tiles[number] = tile.resize((tile.width * factor, tile.height * factor), Image.Resampling.NEAREST)
        tiles[number].thumbnail((TILE, TILE), Image.Resampling.BOX)
    height = max((tile.height for tile in tiles), default=0)
    blocks = [
        np.pad(np.asarray(t.convert("RGB")), ((0, height - t.height), (0, GAP), (0, 0)), constant_values=255)
        for t in tiles
    ]
    return np.hstack(blocks)[:, :-GAP] if blocks else None
