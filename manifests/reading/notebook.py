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
TILE = 96
"""Pixels of the longer side of an image in a strip: smaller ones are enlarged by whole factors."""
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
    """Return images side by side, on white, each fitted into a square tile."""
    if not images:
        return None
    row = Image.new("RGB", ((TILE + 4) * len(images) - 4, TILE), "white")
    for place, image in enumerate(images):
        longer = max(image.shape[:2])
        factor = TILE // longer if longer <= TILE else TILE / longer
        size = (max(1, round(image.shape[1] * factor)), max(1, round(image.shape[0] * factor)))
        row.paste(
            picture_of(image).resize(size, Image.Resampling.NEAREST if factor >= 1 else Image.Resampling.BOX), (place * (TILE + 4), 0)
        )
    return np.asarray(row)


def _data_uri(pixels: Pixels) -> str:
    picture = picture_of(pixels).convert("RGB")
    picture.thumbnail((WIDTH, HEIGHT))
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=85)
    return f"data:image/jpeg;base64,{b64encode(out.getvalue()).decode()}"
