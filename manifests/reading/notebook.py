"""What a notebook shows of data sets: a line of text, and a small picture inside the page."""

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
from ..layout import CONTACT
from .image_store import Pixels

WIDTH, HEIGHT = 960, 720
"""Pixels that a picture has at most."""
TILE, GAP, SHOWN = 128, 4, 6
"""Of a strip: pixels of the longer side of an image, where smaller ones are enlarged by whole factors; pixels between images; how many."""
_CAP = 64 << 20


def figure(text: str, picture: Callable[[], Pixels | None], below: str = "") -> str:
    """Return HTML of a line of text and a picture under it; without the picture where it cannot be had, as a repr never raises."""
    try:
        pixels = picture()
    except Exception:  # damaged files of a stranger, of any kind
        pixels = None
    shown = "" if pixels is None or not pixels.size else f'<div><img alt="{html.escape(below)}" src="{_data_uri(pixels)}"></div>'
    return f"<div><code>{html.escape(text)}</code>{shown}<small>{html.escape(below)}</small></div>"


def contact_sheet(directory: Path) -> Pixels | None:
    """Return the contact sheet of a data set, or None where it has none."""
    path = inside(directory, CONTACT)
    return decode(read_regular(path, _CAP), "png") if path.is_file() else None


def strip(images: Sequence[Pixels]) -> Pixels | None:
    """Return images side by side on white, small ones enlarged and large ones reduced to a side of `TILE`; None of no image."""
    if not images:
        return None
    tiles = [_tile(picture_of(image)) for image in images]
    row = Image.new("RGB", (sum(tile.width + GAP for tile in tiles) - GAP, max(tile.height for tile in tiles)), "white")
    left = 0
    for tile in tiles:
        row.paste(tile, (left, 0))
        left += tile.width + GAP
    return np.asarray(row)


def _tile(picture: Image.Image) -> Image.Image:
    factor = TILE // max(picture.size)
    if factor:
        return picture.resize((picture.width * factor, picture.height * factor), Image.Resampling.NEAREST)
    picture.thumbnail((TILE, TILE), Image.Resampling.BOX)
    return picture


def _data_uri(pixels: Pixels) -> str:
    picture = picture_of(pixels).convert("RGB")
    picture.thumbnail((WIDTH, HEIGHT))
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=85)
    return f"data:image/jpeg;base64,{b64encode(out.getvalue()).decode()}"
