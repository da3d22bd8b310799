"""Resize and crop decoded images to the size of a benchmark.

The results equal those of torchvision's transforms for Pillow images.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from ...corruptions.models.surrogate import Surrogate
from ...errors import ImageError, VerificationError, format_list
from ...manifests.records.parsing import field_errors
from ..sources.decoding import MAX_PIXELS

Side = Annotated[int, Field(strict=True, ge=8, le=8192)]
Interpolation = Literal["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"]


class _Preprocessing(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    channels: Literal["rgb", "keep"] = "rgb"
    """With ``rgb``, grey images become R = G = B, as with ``convert("RGB")``. With ``keep``, they keep one channel."""

    @property
    def output_size(self) -> tuple[int, int] | None:
        """The (width, height) of every clean image, or None if it depends on the image."""
        raise NotImplementedError

    def problem(self, width: int, height: int) -> str | None:
        """Return the reason why an image of this size cannot be preprocessed, or None."""
        resized = self.resized(width, height)
        if resized == (width, height) or resized[0] * resized[1] <= MAX_PIXELS:
            return None
        return (
            f"is {width}x{height}: with its short side at {min(resized)} it would be {resized[0]}x{resized[1]}, which "
            f"is more than the {MAX_PIXELS:,} pixels that one image may have; crop it, or leave it out"
        )

    def resized(self, width: int, height: int) -> tuple[int, int]:
        """Return the (width, height) to which an image is resized before its centre is cropped."""
        return self.size(width, height)

    def size(self, width: int, height: int) -> tuple[int, int]:
        """Return the (width, height) of the clean image, given the size of the source image."""
        return self.output_size or (width, height)

    def as_json(self) -> dict[str, Any]:
        """Return the record of the preprocessing in a manifest: the kind, followed by all settings."""
        data = self.model_dump(mode="json")
        return {"kind": data.pop("kind"), **data}


class ResizeCrop(_Preprocessing):
    """Resize the short side to `resize` and crop the centre, as torchvision's ``Resize`` and ``CenterCrop`` do.

    ImageNet-C uses 256 and 224.
    """

    kind: Literal["resize-crop"]
    resize: Side
    crop: Side
    interpolation: Interpolation = "bilinear"

    def resized(self, width: int, height: int) -> tuple[int, int]:
        # the long side is rounded down, as in torchvision
        if width <= height:
            return self.resize, int(self.resize * height / width)
        return int(self.resize * width / height), self.resize

    @property
    def output_size(self) -> tuple[int, int]:
        return self.crop, self.crop


class CentralResize(_Preprocessing):
    """Crop the central `fraction` of each side, and resize the crop to `side` x `side` pixels.

    ImageNet-C for Inception uses 0.875 and 299.
    """

    kind: Literal["central-resize"]
    fraction: Annotated[float, Field(gt=0, le=1)]
    side: Side
    interpolation: Interpolation = "bilinear"

    @property
    def output_size(self) -> tuple[int, int]:
        return self.side, self.side


class Resize(_Preprocessing):
    """Resize to `side` x `side` pixels without keeping the aspect ratio. Tiny-ImageNet-C uses 64."""

    kind: Literal["resize"]
    side: Side
    interpolation: Interpolation = "bilinear"

    @property
    def output_size(self) -> tuple[int, int]:
        return self.side, self.side


class SurrogateInput(_Preprocessing):
    """Convert images to the input size and the channels of a model.

    An image that already has this size is not resized. Other images are resized to cover 256/224 of the input size, as
    in ImageNet-C, and their centre is cropped. Recipes omit the input size, and manifests record it.
    """

    kind: Literal["surrogate"]
    interpolation: Interpolation = "bilinear"
    channels: Literal["rgb", "grey"] = "rgb"  # type: ignore[assignment]
    width: Side | None = None
    height: Side | None = None

    def of(self, surrogate: Surrogate) -> SurrogateInput:
        """Return the preprocessing for a model."""
        height, width = surrogate.size
        return self.model_copy(
            update={"width": width, "height": height, "channels": "grey" if surrogate.channels == 1 else "rgb"}
        )

    @property
    def output_size(self) -> tuple[int, int] | None:
        # In a recipe, the size is not known before the model is loaded.
        return None if self.width is None or self.height is None else (self.width, self.height)

    def resized(self, width: int, height: int) -> tuple[int, int]:
        # the longer side is rounded down, as in torchvision
        wanted = self.size(width, height)
        if (width, height) == wanted:
            return wanted
        least = [side * 256 // 224 for side in wanted]
        if least[0] * height >= least[1] * width:
            return least[0], max(least[0] * height // width, wanted[1])
        return max(least[1] * width // height, wanted[0]), least[1]


class Pad(_Preprocessing):
    """Place the image in the centre of a black canvas of `side` x `side` pixels.

    If the margins cannot be equal, the right and lower ones are larger.
    """

    kind: Literal["pad"]
    side: Side

    def problem(self, width: int, height: int) -> str | None:
        if max(width, height) > self.side:
            return f"is {width}x{height}, larger than the canvas of {self.side}x{self.side} pixels; leave it out"
        return None

    def resized(self, width: int, height: int) -> tuple[int, int]:
        return width, height

    @property
    def output_size(self) -> tuple[int, int]:
        return self.side, self.side


class Unchanged(_Preprocessing):
    """Keep the decoded image unchanged."""

    kind: Literal["none"]

    @property
    def output_size(self) -> None:
        return None


AnyPreprocessing = ResizeCrop | CentralResize | Resize | Pad | SurrogateInput | Unchanged
Preprocessing = Annotated[AnyPreprocessing, Field(discriminator="kind")]


def parse_preprocessing(record: Mapping[str, Any]) -> AnyPreprocessing:
    """Return the preprocessing that a manifest records.

    Raises
    ------
    VerificationError
        The record is not valid. The message names the invalid settings.
    """
    try:
        preprocessing: AnyPreprocessing = TypeAdapter(Preprocessing).validate_python(dict(record))
    except ValidationError as e:
        raise VerificationError(
            "The manifest's preprocessing is not valid, so samples cannot be computed from it:\n"
            f"{format_list(field_errors(e))}\nRun `corruptset verify` on the dataset, and fetch manifest.json again."
        ) from e
    if isinstance(preprocessing, SurrogateInput) and (preprocessing.width is None or preprocessing.height is None):
        raise VerificationError(
            "The manifest's preprocessing is for a model but lacks its width and height, so samples cannot be computed "
            "from it. Fetch manifest.json again."
        )
    return preprocessing


def preprocess(image: NDArray[np.uint8], spec: AnyPreprocessing) -> NDArray[np.uint8]:
    """Return the clean image of a benchmark for a decoded image.

    Parameters
    ----------
    image : (H, W, 1) or (H, W, 3) ndarray of uint8
        The decoded image.
    spec : Preprocessing
        The steps to apply.

    Returns
    -------
    (H', W', C) ndarray of uint8
        A C-contiguous, writable array that does not share memory with the input.

    Raises
    ------
    ImageError
        The image is too large for this preprocessing, before or after it is resized.

    References
    ----------
    torchvision.transforms (Resize, CenterCrop) on PIL images; the fractions and sizes of the released generators
    (hendrycks/robustness, ImageNet-C/create_c: 224, 299 and 64).
    """
    pil_image = Image.fromarray(np.ascontiguousarray(image[:, :, 0] if image.shape[2] == 1 else image))
    problem = spec.problem(*pil_image.size)
    if problem:
        raise ImageError(f"The image {problem}.")
    if isinstance(spec, SurrogateInput) and spec.channels == "grey" and pil_image.mode != "L":
        pil_image = pil_image.convert("L")
    width, height = pil_image.size
    size = spec.size(width, height)
    if isinstance(spec, CentralResize):
        pil_image = _center_cropped(pil_image, max(1, int(width * spec.fraction)), max(1, int(height * spec.fraction)))
    if not isinstance(spec, Pad | Unchanged) and pil_image.size != (resized := spec.resized(width, height)):
        pil_image = pil_image.resize(resized, Image.Resampling[spec.interpolation.upper()])
    out = np.array(_center_cropped(pil_image, *size))
    if out.ndim == 2:
        out = out[:, :, None]
    if spec.channels == "rgb" and out.shape[2] == 1:
        out = np.repeat(out, 3, axis=2)
    return out


def _center_cropped(image: Image.Image, width: int, height: int) -> Image.Image:
    """Crop an image around its centre, or pad it with black if it is smaller.

    If the margins cannot be equal, the right and lower ones are larger.
    """
    if image.size == (width, height):
        return image
    # round() rounds half to even, as torchvision's crops do.
    left, top = (
        -((wanted - given) // 2) if wanted > given else round((given - wanted) / 2)
        for given, wanted in zip(image.size, (width, height), strict=True)
    )
    return image.crop((left, top, left + width, top + height))
