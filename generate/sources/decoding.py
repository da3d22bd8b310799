"""Decode image files to pixels.

The format of a file is determined by its content, not by its suffix. In this table, "listed" means that the file is
not decoded but listed as a problem.

=============================================  ====================================================================
file                                           result
=============================================  ====================================================================
JPEG, PNG, BMP, GIF, TIFF, WebP, PPM/PGM/PBM   decoded
8-bit RGB                                      unchanged
8-bit grey                                     one channel; a recipe with ``channels = "rgb"`` makes it R = G = B
CMYK, YCbCr                                    converted to RGB by Pillow, as in torchvision's loader
palette                                        converted to RGB
alpha, or a transparent palette entry          transparency dropped, the stored colour kept, as in torchvision's loader
1-bit                                          0 and 255, one channel
16-bit grey                                    scaled: round(v / 257), one channel (Pillow's own conversion clips)
16-bit colour PNG                              the high byte, as Pillow reads it
EXIF orientation                               ignored, as in torchvision's loader, and counted in a note of a build.
                                               `corrupt` and `preview` rotate the image. Pillow always rotates a TIFF
colour profiles, gamma                         ignored, as in torchvision's loader
a JPEG that contains further images (MPO)      the first image
several frames or pages (GIF, TIFF, WebP...)   listed
32-bit integer or float grey, Lab              listed, because their value range is not known
12-bit TIFF, 16-bit TIFF with white as 0       listed, because their value range is not known
HEIC, AVIF, JPEG XL, JPEG 2000                 listed, with how to convert them
empty, text, other formats                     listed
truncated, or damaged as far as Pillow notices listed
a JPEG without its end marker                  listed, even if it has all its pixels
a side below 8 pixels                          listed, because corruptions need 8x8 pixels
above 89,478,485 pixels, or above 512 MiB      listed before any pixel is decoded
=============================================  ====================================================================
"""

from __future__ import annotations

import io
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import ExifTags, Image, ImageFile, ImageOps, UnidentifiedImageError

from ...corruptions.stages import MIN_SIDE

MAX_PIXELS = 89_478_485
"""Largest number of pixels in an image. It is Pillow's own limit, above which Pillow warns of a decompression bomb."""
MAX_FILE_BYTES = 512 * 2**20
PILLOW_FORMATS = ("JPEG", "PNG", "BMP", "GIF", "TIFF", "WEBP", "PPM")
"""Pillow's names of the formats that are read. Other formats are excluded, because some run programs (EPS) and some are
containers.
"""

_CONVERTED = {"1": "L", "RGBA": "RGB", "RGBX": "RGB", "CMYK": "RGB", "YCbCr": "RGB"}
"""Pillow modes, each with the mode to which torchvision's loader converts it."""
TOO_LARGE = f"has more than the {MAX_FILE_BYTES:,} bytes that one image file may have: leave it out"
_TOO_MANY = f"has more than the {MAX_PIXELS:,} pixels that one image may have: shrink it, or leave it out"
CONVERT = (
    "is a {} file, which is not read: convert it to PNG or JPEG first, for example with ImageMagick (magick photo.heic "
    "photo.png) or on a Mac (sips -s format png photo.heic --out photo.png)"
)
UNREAD_SUFFIXES = {
    **dict.fromkeys(("heic", "heif", "hif"), "HEIC"),
    **{"avif": "AVIF", "jxl": "JPEG XL"},
    **dict.fromkeys(("jp2", "j2k", "jpx"), "JPEG 2000"),
}
"""Suffixes of image formats that are not read, with the names of the formats."""
_pillow = threading.RLock()
_blocks = 0
"""Number of nested blocks of `pillow_settings` in the thread that has the lock."""


class BadSample(Exception):
    """An error for a sample that cannot be used. The message says why, and what to do."""


class Decoded(NamedTuple):
    """The pixels of an image file, and whether the file's EXIF tag asks viewers to rotate the image."""

    pixels: NDArray[np.uint8]
    has_orientation: bool


def decode(data: bytes, *, upright: bool = False) -> NDArray[np.uint8]:
    """Return the pixels of an image file.

    Parameters
    ----------
    data : bytes
        The content of the file.
    upright : bool
        True to rotate and mirror the pixels according to the EXIF orientation tag.

    Returns
    -------
    (H, W, C) ndarray of uint8
        C = 1 for grey, 3 for RGB; C-contiguous and writable.

    Raises
    ------
    BadSample
        The file cannot be used. The message says why, and what to do.
    """
    return decode_with_orientation(data, upright=upright).pixels


@contextmanager
def pillow_settings() -> Iterator[None]:
    """Set Pillow's global settings to the values that decoding needs, for the duration of a block.

    Changing the settings takes a tenth of the time that decoding 32x32 pixels takes, so one block can decode many
    images.
    """
    global _blocks
    with _pillow:
        _blocks += 1
        truncated, ImageFile.LOAD_TRUNCATED_IMAGES = ImageFile.LOAD_TRUNCATED_IMAGES, False
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # most warnings are about metadata, which is not used
                warnings.simplefilter("error", Image.DecompressionBombWarning)
                yield
        finally:
            _blocks -= 1
            ImageFile.LOAD_TRUNCATED_IMAGES = truncated


def decode_with_orientation(data: bytes, *, upright: bool = False) -> Decoded:
    """Return the pixels of an image file as `decode` does, and whether its EXIF orientation is not upright."""
    with _pillow:
        if _blocks:  # this thread has the lock, so these are its blocks
            return _decode(data, upright)
        with pillow_settings():
            return _decode(data, upright)


def _decode(data: bytes, upright: bool) -> Decoded:
    kind = "image"
    try:
        image = _open_image(data)
        kind = image.format or kind
        image.load()
        has_orientation = _has_orientation(image)  # after loading, because a PNG may have the tag after its pixels
        array = np.array(_eight_bit(ImageOps.exif_transpose(image) if has_orientation and upright else image))
    except BadSample:
        raise
    except Exception as e:  # Pillow's readers raise many kinds of errors, including struct.error and MemoryError
        message = (str(e).strip() or type(e).__name__)[:200]
        advice = "it is truncated or damaged; copy the original file again"
        advice = "save it again without its text" if "MAX_TEXT" in message else advice
        raise BadSample(f"cannot be decoded as {kind} ({message}): {advice}") from None
    return Decoded(array[:, :, None] if array.ndim == 2 else array, has_orientation)


def _has_orientation(image: Image.Image) -> bool:
    """Return whether a loaded image still has an EXIF orientation other than upright.

    The result is False for a TIFF, because Pillow has already applied the orientation.
    """
    if image.format == "TIFF" or not {"exif", "xmp", "XML:com.adobe.xmp", "Raw profile type exif"} & set(image.info):
        return False
    try:
        return image.getexif().get(ExifTags.Base.Orientation, 1) in range(2, 9)
    except Exception:  # Pillow's EXIF reader raises many kinds of errors for damaged tags, and such tags are ignored
        return False


def _open_image(data: bytes) -> Image.Image:
    """Open an image and check its header without decoding the pixels."""
    if not data:
        raise BadSample("is empty (zero bytes): copy the original file again")
    if len(data) > MAX_FILE_BYTES:
        raise BadSample(TOO_LARGE)
    try:
        image = Image.open(io.BytesIO(data), formats=PILLOW_FORMATS)
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        raise BadSample(_TOO_MANY) from None
    except UnidentifiedImageError:
        if (name := _unread_format(data)) is not None:
            raise BadSample(CONVERT.format(name)) from None
        raise BadSample(
            f"does not have the content of an image; expected {', '.join(PILLOW_FORMATS)}: replace it or remove it"
        ) from None
    width, height = image.size
    if width * height > MAX_PIXELS:  # Pillow's own limit may have been changed by other code
        raise BadSample(_TOO_MANY)
    if min(width, height) < MIN_SIDE:
        raise BadSample(f"is {width}x{height}; both sides must have at least {MIN_SIDE} pixels: leave it out")
    if image.format in ("JPEG", "MPO") and not _has_end(data):
        raise BadSample(
            "is truncated, or lacks the marker that ends a JPEG (FF D9): copy the original file again, or, if the "
            "image is complete, save it again"
        )
    frames = 1 if image.format == "MPO" else getattr(image, "n_frames", 1)
    if frames != 1:
        raise BadSample(
            f"contains {frames} images (an animation or several pages): save the one you want as a separate file"
        )
    return image


def _has_end(data: bytes) -> bool:
    """Return whether an end marker follows the first scan of a JPEG. Embedded previews have their own end markers.

    Without this check, Pillow's decoder would accept one in twelve files that lack an end marker. Which files it would
    accept depends on their last few bits.
    """
    at = 2
    while data[at : at + 1] == b"\xff":
        marker = data[at + 1 : at + 2]
        if marker == b"\xda":
            return data.find(b"\xff\xd9", at) >= 0
        if marker == b"\xff" or not marker:  # a fill byte
            at += 1
        else:
            at += 2 + max(int.from_bytes(data[at + 2 : at + 4], "big"), 2)
    return True  # the header is damaged, and the decoder's message is more precise


def _unread_format(data: bytes) -> str | None:
    """Return the name of an image format that is not read but can be converted, or None."""
    if data[4:8] == b"ftyp":
        brands = data[8 : max(12, min(int.from_bytes(data[:4], "big"), 256))]
        if b"avif" in brands or b"avis" in brands:
            return "AVIF"
        known = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs", b"mif1", b"msf1")
        return "HEIC" if any(brand in brands for brand in known) else None
    if data.startswith((b"\xff\x0a", b"\0\0\0\x0cJXL \r\n\x87\n")):
        return "JPEG XL"
    return "JPEG 2000" if data.startswith((b"\xff\x4f\xff\x51", b"\0\0\0\x0cjP  \r\n\x87\n")) else None


def _eight_bit(image: Image.Image) -> Image.Image:
    """Convert a decoded image to Pillow's mode L or RGB, as the table of this module describes."""
    mode = image.mode
    if mode in ("L", "RGB"):
        return image
    if mode in ("LA", "La"):
        return image.convert("LA").getchannel("L")
    if mode.startswith("I;16") or (mode == "I" and image.format == "PPM"):
        tags = getattr(image, "tag_v2", {})  # TIFF tags: 258 is bits per sample, 262 is photometric interpretation
        if tags.get(258, (16,)) != (16,) or tags.get(262) == 0:
            raise BadSample(
                "is a TIFF with 9 to 15 bits or with white as 0, so the range of its values is not known: save it as "
                "8-bit or 16-bit grey with black as 0"
            )
        values = np.asarray(image).astype(np.uint32)
        return Image.fromarray(((values + 128) // 257).astype(np.uint8))
    if mode in ("P", "PA", "RGBa"):
        return image.convert("RGBA").convert("RGB")
    if mode in _CONVERTED:
        return image.convert(_CONVERTED[mode])
    raise BadSample(
        f"has pixels of Pillow's mode {mode}, so the range of its values is not known: save it as 8-bit RGB or grey, "
        "or as 16-bit grey"
    )
