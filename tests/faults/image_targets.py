"""Fuzz targets for readers of images. The oracle is Pillow with strict settings."""

from __future__ import annotations

import io
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image, ImageFile
from target import RGB, Target

from corruptset.generate.sources.decoding import decode


class Images(Target):
    """The function `decode`."""

    def make(self):
        return [save(kind, **options) for kind, options in self.variants]

    variants: Sequence[tuple[str, dict[str, Any]]] = ()

    def try_one(self, data):
        pixels = decode(data)
        expected = strict(data)
        if expected is not None:
            assert np.array_equal(pixels, expected)


def strict(data: bytes) -> np.ndarray | None:
    """Return the pixels that Pillow decodes with strict settings, or None if corruptset converts the mode."""
    assert not ImageFile.LOAD_TRUNCATED_IMAGES
    image = Image.open(io.BytesIO(data))
    image.load()
    if image.mode in ("I;16", "I;16B"):
        return np.rint(np.asarray(image).astype(np.float64) / 257).astype(np.uint8)[..., None]
    if image.mode in ("1", "L", "LA"):
        return np.asarray(image.convert("L"))[..., None]
    if image.mode in ("P", "RGBA"):
        return np.asarray(image.convert("RGBA"))[..., :3]
    return np.asarray(image.convert("RGB")) if image.mode in ("RGB", "CMYK", "YCbCr") else None


def save(kind: str, *, mode: str = "RGB", which: int = 0, **options: Any) -> bytes:
    out = io.BytesIO()
    image = Image.fromarray(RGB[which])
    if mode == "I;16":
        image = Image.fromarray(RGB[which][..., 0].astype(np.uint16) * 257)
    elif mode == "RGBA":
        image.putalpha(Image.fromarray(RGB[1 - which][..., 0]))
    else:
        image = image.convert(mode)
    image.save(out, kind, **options)
    return out.getvalue()


class Jpeg(Images):
    variants = (
        ("JPEG", {"quality": 85}), ("JPEG", {"which": 1, "quality": 95, "subsampling": 0}), ("JPEG", {"mode": "L"}),
        ("JPEG", {"progressive": True}), ("JPEG", {"mode": "CMYK"}), ("JPEG", {"optimize": True,
        "restart_marker_blocks": 1}),
    )  # fmt: skip


class Png(Images):
    variants = (
        ("PNG", {}), ("PNG", {"mode": "L"}), ("PNG", {"mode": "P"}), ("PNG", {"mode": "RGBA"}), ("PNG",
        {"mode": "I;16"}),
        ("PNG", {"mode": "1"}), ("PNG", {"mode": "LA", "which": 1}),
    )  # fmt: skip

    def mutated(self, rng):
        data = super().mutated(rng)
        return sealed_png(data) if rng.random() < 0.6 else data


def sealed_png(data: bytes) -> bytes:
    """Return a PNG with valid checksums, so that readers get beyond them."""
    out, offset = bytearray(data), 8
    while offset + 12 <= len(out):
        size = int.from_bytes(out[offset : offset + 4], "big")
        end = offset + 8 + size
        if end + 4 > len(out):
            break
        out[end : end + 4] = zlib.crc32(out[offset + 4 : end]).to_bytes(4, "big")
        offset = end + 4
    return bytes(out)


class Others(Images):
    variants = (
        ("GIF", {}), ("GIF", {"mode": "L"}), ("GIF", {"which": 1, "interlace": 0}),
        ("TIFF", {}), ("TIFF", {"compression": "tiff_lzw"}), ("TIFF", {"compression": "tiff_adobe_deflate"}),
        ("TIFF", {"compression": "packbits", "mode": "L"}), ("TIFF", {"mode": "I;16"}),
        ("TIFF", {"compression": "jpeg"}), ("TIFF", {"mode": "1", "compression": "group4"}), ("TIFF", {"mode": "CMYK"}),
        ("WEBP", {}), ("WEBP", {"lossless": True, "which": 1}), ("WEBP", {"mode": "RGBA"}),
        ("BMP", {}), ("BMP", {"mode": "P"}), ("PPM", {}), ("PPM", {"mode": "L"}), ("PPM", {"mode": "1"}),
    )  # fmt: skip
