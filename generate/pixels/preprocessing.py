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
from ...errors import ImageError, VerificationError, listed
from ...manifests.records.parsing import field_errors
from ..sources.decoding import MAX_PIXELS

Side = Annotated[int, Field(strict=True, ge=8, le=8192)]
Interpolation = Literal["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"]


class _Preprocessing(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    channels: Literal["rgb", "keep"] = "rgb"
    """With ``rgb`` a grey image becomes R = G = B, as with ``convert("RGB")``. With ``keep`` it keeps one channel."""

    @property
    def output_size(self) -> tuple[int, int] | None:
        """The (width, height) of every clean image, or None if it depends on the image."""
        raise NotImplementedError

    def problem(self, width: int, height: int) -> str | None:
        """Return why an image of this size cannot be preprocessed, or None."""
        resized = self.resized(width, height)
        if resized == (width, height) or resized[0] * resized[1] <= MAX_PIXELS:
            return None
        return (
            f"is {width}x{height}: with its short side at {min(resized)} it would be {resized[0]}x{resized[1]}, above "
            f"the {MAX_PIXELS:,} pixels that one image may have; crop it, or leave it out"
        )

    def resized(self, width: int, height: int) -> tuple[int, int]:
        """Return the (width, height) that an image is resized to before its centre is taken."""
        return self.size(width, height)

    def size(self, width: int, height: int) -> tuple[int, int]:
        """Return the (width, height) of the clean image of an image of this size."""
        return self.output_size or (width, height)

    def as_json(self) -> dict[str, Any]:
        """Return the record in a manifest, with all settings, the kind first."""
        data = self.model_dump(mode="json")
        return {"kind": data.pop("kind"), **data}


class ResizeCrop(_Preprocessing):
    """torchvision's ``Resize(resize)`` (the short side) and ``CenterCrop(crop)``, with 256 and 224 for ImageNet-C."""

    kind: Literal["resize-crop"]
    resize: Side
    crop: Side
    interpolation: Interpolation = "bilinear"

    def resized(self, width: int, height: int) -> tuple[int, int]:
        # the long side is rounded down, as torchvision does
        if width <= height:
            return self.resize, int(self.resize * height / width)
        return int(self.resize * width / height), self.resize

    @property
    def output_size(self) -> tuple[int, int]:
        return self.crop, self.crop


class CentralResize(_Preprocessing):
    """Crop the central `fraction` of each side, then resize to `side` x `side`, for example 0.875 and 299."""

    kind: Literal["central-resize"]
    fraction: Annotated[float, Field(gt=0, le=1)]
    side: Side
    interpolation: Interpolation = "bilinear"

    @property
    def output_size(self) -> tuple[int, int]:
        return self.side, self.side


class Resize(_Preprocessing):
    """Resize to `side` x `side` without keeping the aspect ratio, with 64 for Tiny-ImageNet-C."""

    kind: Literal["resize"]
    side: Side
    interpolation: Interpolation = "bilinear"

    @property
    def output_size(self) -> tuple[int, int]:
        return self.side, self.side


class SurrogateInput(_Preprocessing):
    """Convert images to the input size and the channels of a model.

    An image that has this size is not changed. For other images, the short side is resized to 256/224 of the model's,
    as in ImageNet-C, and the centre is cropped. Recipes leave out the size, and manifests record it.
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
        # Before the model is known, in a recipe, there is no size of its own.
        return None if self.width is None or self.height is None else (self.width, self.height)

    def resized(self, width: int, height: int) -> tuple[int, int]:
        # the longer side is rounded down, as torchvision does
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
        The record is not valid. The message names the settings.
    """
    try:
        preprocessing: AnyPreprocessing = TypeAdapter(Preprocessing).validate_python(dict(record))
    except ValidationError as e:
        raise VerificationError(
            "No build has the manifest's preprocessing, so nothing can be made again from "
            f"it:\n{listed(field_errors(e))}\n"
            "Run `corruptset verify` on the data set, and fetch manifest.json again."
        ) from e
    if isinstance(preprocessing, SurrogateInput) and (preprocessing.width is None or preprocessing.height is None):
        raise VerificationError(
            "The manifest's preprocessing is that of a model, without its width and height: nothing can be made from "
            "it."
        )
    return preprocessing


def preprocess(image: NDArray[np.uint8], spec: AnyPreprocessing) -> NDArray[np.uint8]:
    """Return the clean image of a benchmark for a decoded image.

    Parameters
    ----------
    image : (H, W, 1) or (H, W, 3) ndarray of uint8
    spec : Preprocessing

    Returns
    -------
    (H', W', C) ndarray of uint8, C-contiguous, writable, never the input's memory

    Raises
    ------
    ImageError
        The image would become too large, or does not fit (`Preprocessing.problem`).

    References
    ----------
    torchvision.transforms (Resize, CenterCrop) on PIL images; the fractions and sizes of the released generators
    (hendrycks/robustness, ImageNet-C/create_c: 224, 299 and 64).
    """
    picture = Image.fromarray(np.ascontiguousarray(image[:, :, 0] if image.shape[2] == 1 else image))
    problem = spec.problem(*picture.size)
    if problem:
        raise ImageError(f"The image {problem}.")
    if isinstance(spec, SurrogateInput) and spec.channels == "grey" and picture.mode != "L":
        picture = picture.convert("L")
    width, height = picture.size
    size = spec.size(width, height)
    if isinstance(spec, CentralResize):
        picture = _center_cropped(picture, max(1, int(width * spec.fraction)), max(1, int(height * spec.fraction)))
    if not isinstance(spec, Pad | Unchanged) and picture.size != (resized := spec.resized(width, height)):
        picture = picture.resize(resized, Image.Resampling[spec.interpolation.upper()])
    out = np.array(_center_cropped(picture, *size))
    if out.ndim == 2:
        out = out[:, :, None]
    if spec.channels == "rgb" and out.shape[2] == 1:
        out = np.repeat(out, 3, axis=2)
    return out


def _center_cropped(picture: Image.Image, width: int, height: int) -> Image.Image:
    """Crop around the centre.

    Beside a smaller image comes black, the odd pixel to the right and below.
    """
    if picture.size == (width, height):
        return picture
    # round() goes to the even neighbour on a tie, and torchvision's crops depend on it.
    left, top = (
        -((wanted - given) // 2) if wanted > given else round((given - wanted) / 2)
        for given, wanted in zip(picture.size, (width, height), strict=True)
    )
    return picture.crop((left, top, left + width, top + height))
