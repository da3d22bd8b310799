"""What a notebook shows of data sets: a line of text and a small picture."""

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
"""Pixels that a picture has at most."""
TILE, GAP, SHOWN = 128, 4, 6
"""Of a strip: pixels of the longer side of an image, where smaller ones are enlarged by whole factors; pixels between
images; how many.
"""


def figure(text: str, picture: Callable[[], Pixels | None], below: str = "") -> str:
    """Return HTML of a text and, if it can be had, a picture."""
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
    except Exception:  # damaged files of a stranger, of any kind
        shown = ""
    return f"<div><code>{html.escape(text)}</code>{shown}<small>{html.escape(below)}</small></div>"


def contact_sheet(directory: Path) -> Pixels:
    """Return the contact sheet of a data set."""
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
