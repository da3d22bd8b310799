"""Determine how images were stored: their encoding, and the steps that followed the corruption."""

from __future__ import annotations

import functools
import io
from dataclasses import dataclass
from typing import Any, BinaryIO

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, JpegImagePlugin

from ..corruptions.registry import Images
from ..generate.pixels.encoding import JpegEncoding
from ..generate.pixels.preprocessing import ResizeCrop, preprocess

_SAMPLINGS = {0: "4:4:4", 1: "4:2:2", 2: "4:2:0"}
Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class StoredAs:
    """The encoding of an image file, according to its header."""

    format: str
    """The format in lower case, such as ``jpeg`` or ``png``, or ``array`` for raw pixels."""
    quality: int | None = None
    """The quality of libjpeg's standard tables, or None if the file has other tables or is not JPEG."""
    subsampling: str | None = None
    """For JPEG, the chroma subsampling: ``4:2:0``, ``4:2:2``, ``4:4:4``, ``grey`` or ``other``."""

    @property
    def words(self) -> str:
        """A description of the encoding, such as "JPEG quality 85, 4:2:0"."""
        if self.format == "array":
            return "raw pixels"
        if self.format != "jpeg":
            return self.format.upper()
        quality = "other tables" if self.quality is None else f"quality {self.quality}"
        return f"JPEG {quality}, {self.subsampling}"

    @property
    def step(self) -> JpegEncoding | None:
        """The encoding as a step to apply to pixels, or None if it is lossless or cannot be applied."""
        if self.format != "jpeg" or self.quality is None or self.subsampling == "other":
            return None
        sampling = "4:2:0" if self.subsampling == "grey" else self.subsampling
        return JpegEncoding.model_validate({"quality": self.quality, "subsampling": sampling})


ARRAY = StoredAs("array")
PUBLISHED = StoredAs("jpeg", 85, "4:2:0")
"""The encoding of published sets that are stored as image files."""


@functools.cache
def _standard_tables() -> dict[tuple[tuple[int, ...], ...], int]:
    """Return a mapping from libjpeg's quantisation tables, for colour and for grey images, to their quality."""
    found: dict[tuple[tuple[int, ...], ...], int] = {}
    for quality in range(100, 0, -1):
        for mode in ("RGB", "L"):
            out = io.BytesIO()
            Image.new(mode, (8, 8)).save(out, "JPEG", quality=quality)
            with Image.open(io.BytesIO(out.getvalue())) as picture:
                found[_tables(picture)] = quality
    return found


def _tables(picture: Image.Image) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(table) for table in picture.quantization.values())  # type: ignore[attr-defined]


def stored_as(data: bytes | BinaryIO) -> StoredAs:
    """Return the encoding that the header of an image file states. The format is ``unknown`` if it cannot be read."""
    try:
        with Image.open(io.BytesIO(data) if isinstance(data, bytes) else data) as picture:
            if not isinstance(picture, JpegImagePlugin.JpegImageFile):
                return StoredAs((picture.format or "unknown").lower())
            sampling = JpegImagePlugin.get_sampling(picture)
            subsampling = "grey" if picture.mode == "L" else _SAMPLINGS.get(sampling, "other")
            return StoredAs("jpeg", _standard_tables().get(_tables(picture)), subsampling)
    except Exception:  # Pillow's readers raise many types of errors. The error is reported when the pixels are read.
        return StoredAs("unknown")


@dataclass(frozen=True)
class Resized:
    """A step in which a loader resizes stored images and crops their centre."""

    resize: int
    crop: int


@dataclass(frozen=True)
class RedBlueExchanged:
    """A step in which a program mistakes RGB for BGR."""


@dataclass(frozen=True)
class ConvertedToGrey:
    """A step in which a program converts colour images to grey before storing them."""


Step = JpegEncoding | Resized | RedBlueExchanged | ConvertedToGrey
Steps = tuple[Step, ...]
"""The steps that an image went through after it was corrupted, in order."""


def apply_storage(images: Images, steps: Steps) -> Images:
    """Apply storage steps to images (N, H, W, C)."""
    for step in steps:
        images = np.stack([_apply_step(image, step) for image in images])
    return images


def _apply_step(image: Pixels, step: Step) -> Pixels:
    if isinstance(step, RedBlueExchanged):
        return np.ascontiguousarray(image[..., ::-1])
    if isinstance(step, ConvertedToGrey):
        return np.repeat(np.asarray(Image.fromarray(image).convert("L"))[:, :, None], 3, axis=2)
    if isinstance(step, Resized):
        spec = ResizeCrop(kind="resize-crop", resize=step.resize, crop=step.crop, channels="keep")
        return preprocess(image, spec)
    decoded: Any = cv2.imdecode(np.frombuffer(step.encode(image), np.uint8), cv2.IMREAD_UNCHANGED)
    return np.asarray(decoded[:, :, None] if decoded.ndim == 2 else cv2.cvtColor(decoded, cv2.COLOR_BGR2RGB), np.uint8)


def exchanged_steps(steps: Steps) -> Steps:
    """Return the storage steps for images that were stored with red and blue exchanged and later corrected.

    JPEG compresses blue more strongly than red, so the exchange affects the stored pixels.
    """
    return (RedBlueExchanged(), *steps, RedBlueExchanged()) if steps else ()


def likely_steps(stored: StoredAs, published: StoredAs, side: int) -> list[Steps]:
    """Return the sequences of steps that may have led to files with the given encoding, the likeliest first.

    Parameters
    ----------
    stored : StoredAs
        The encoding of the files in the set.
    published : StoredAs
        The published encoding of the benchmark.
    side : int
        The length of the short side of the images.
    """
    first, last = published.step, stored.step
    first_steps: Steps = () if first is None else (first,)
    last_steps: Steps = () if last is None else (last,)
    resized: Steps = (Resized(side * 256 // 224, side),)
    if stored == published:
        out = [last_steps, (*first_steps, *last_steps)]
    elif first is None:
        out = [last_steps, ()]
    else:
        out = [last_steps, (*first_steps, *last_steps)]
    if side >= 128:
        out += [(*first_steps, *resized, *last_steps), (*resized, *last_steps)]
    return list(dict.fromkeys(out))


def steps_of(steps: Steps) -> tuple[JpegEncoding, ...]:
    """Return the JPEG encodings among storage steps."""
    return tuple(step for step in steps if isinstance(step, JpegEncoding))
