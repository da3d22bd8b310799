"""Encode images as JPEG or PNG, for image files and shards."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from ...errors import BuildError, MachineError
from ...manifests.images.image_formats import IMAGE_FORMATS, stored_format
from ...manifests.records.fields import Jpeg, Png


class ImageEncoding(BaseModel):
    """Base class of the encodings in recipes and manifests."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: str
    lossless: ClassVar[bool]

    @property
    def suffix(self) -> str:
        """The suffix of file names, without the dot."""
        return IMAGE_FORMATS[self.format][1]

    def encode(self, image: NDArray[np.uint8]) -> bytes:
        """Return the encoded bytes of an (H, W, C) uint8 image, RGB or grey.

        Raises
        ------
        MachineError
            OpenCV cannot encode the image.
        """
        import cv2  # not at the top, because reading and exporting a dataset do not need it

        colour = image.shape[2] == 3
        pixels = cv2.cvtColor(image, cv2.COLOR_RGB2BGR) if colour else image
        success, data = cv2.imencode(f".{self.format}", pixels, self._options(cv2, colour))
        if not success:
            raise MachineError(f"OpenCV could not encode an image of {image.shape} as {self.format}.")
        return bytes(data)

    def _options(self, cv2: Any, colour: bool) -> list[int]:
        raise NotImplementedError


class JpegEncoding(ImageEncoding):
    """JPEG, the format of the published datasets.

    OpenCV and Pillow use the same libjpeg-turbo. A test checks that their JPEG bytes are equal at every quality, plain
    and optimised, colour and grey. OpenCV is used because it is faster to call.
    """

    lossless: ClassVar[bool] = False

    format: Literal["jpeg"] = "jpeg"
    quality: Annotated[int, Field(strict=True, ge=1, le=100)] = 85
    optimize: Annotated[bool, Field(strict=True)] = False
    """True to optimise the Huffman tables. Encoding takes twice as long, and files are about 5 % smaller. The pixels do
    not change.
    """
    subsampling: Literal["4:2:0", "4:2:2", "4:4:4"] = "4:2:0"

    def _options(self, cv2: Any, colour: bool) -> list[int]:
        options = [cv2.IMWRITE_JPEG_QUALITY, self.quality, cv2.IMWRITE_JPEG_OPTIMIZE, int(self.optimize)]
        if not colour:
            return options
        factor = getattr(cv2, f"IMWRITE_JPEG_SAMPLING_FACTOR_{self.subsampling.replace(':', '')}")
        return [*options, cv2.IMWRITE_JPEG_SAMPLING_FACTOR, factor]


class PngEncoding(ImageEncoding):
    """PNG, a lossless format."""

    lossless: ClassVar[bool] = True

    format: Literal["png"] = "png"

    def _options(self, cv2: Any, colour: bool) -> list[int]:
        return [cv2.IMWRITE_PNG_COMPRESSION, 3]


def encoding_of(path: str, encoding: JpegEncoding | PngEncoding) -> JpegEncoding | PngEncoding:
    """Return the encoding of the image at a path in a dataset: PNG, or the encoding of the dataset."""
    return PngEncoding() if stored_format(path, encoding.format) == "png" else encoding


Encoding = Annotated[JpegEncoding | PngEncoding, Field(discriminator="format")]


_NAMED = re.compile(r"png|jpeg(?::(100|[1-9][0-9]?))?")


def named_encoding(text: str, default: JpegEncoding | PngEncoding) -> JpegEncoding | PngEncoding:
    """Return the encoding that a string names: ``png``, ``jpeg`` or ``jpeg:QUALITY``.

    If `default` is JPEG, settings that the string does not contain are taken from `default`.

    Raises
    ------
    BuildError
        The string does not name an encoding.

    Examples
    --------
    >>> named_encoding("jpeg:95", PngEncoding())
    JpegEncoding(format='jpeg', quality=95, optimize=False, subsampling='4:2:0')
    """
    match = _NAMED.fullmatch(text)
    if match is None:
        raise BuildError(f"encoding is {text!r}; expected png, jpeg, or jpeg with a quality from 1 to 100 (jpeg:95).")
    if text == "png":
        return PngEncoding()
    jpeg = default if isinstance(default, JpegEncoding) else JpegEncoding()
    return jpeg if match[1] is None else jpeg.model_copy(update={"quality": int(match[1])})


def encoding_record(encoding: JpegEncoding | PngEncoding) -> Jpeg | Png:
    """Return the record of the encoding in a manifest."""
    return cast("Jpeg | Png", encoding.model_dump())


def parse_encoding(record: Mapping[str, Any]) -> JpegEncoding | PngEncoding:
    """Return the encoding that a manifest records. The record was validated when the manifest was read."""
    encoding: JpegEncoding | PngEncoding = TypeAdapter(Encoding).validate_python(record)
    return encoding
