"""Error messages for inputs that are not valid images.

Each message names the input, the expected type or shape, and a line of code that converts it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

EXPECTED = "a numpy array of uint8 (RGB or grey, 0 to 255)"
SHAPES = "(H, W), (H, W, 1), (H, W, 3) or a batch (N, H, W, 1 or 3)"


def no_array(given: Any) -> str:
    """Return the error message for an object that is not an array of uint8."""
    if isinstance(given, np.ma.MaskedArray):
        return (
            "The image is a masked array, and corruptions know no mask. Give image.filled(value), or image.data "
            "without its mask."
        )
    if isinstance(given, np.ndarray):
        return f"The image is {given.dtype}; expected {EXPECTED}.{_conversion(given)}"
    hint = ""
    if isinstance(given, Mapping):
        hint = " Give the image that is in it, such as sample['image']."
    elif hasattr(given, "__array__") or hasattr(given, "__array_interface__"):
        hint = " np.asarray(image) makes one."
    elif isinstance(given, (list, tuple)):
        hint = " np.stack(images) makes a batch of images of one size; other images are given one by one."
    elif isinstance(given, (str, bytes)) or hasattr(given, "__fspath__"):
        hint = " Open the file: PIL.Image.open(path).convert('RGB')."
    return f"The image is {type(given).__name__}; expected {EXPECTED}, a PIL image or a torch tensor.{hint}"


def _conversion(image: NDArray[Any]) -> str:
    """Return advice on how to convert an array to uint8, depending on the range of its values."""
    if image.dtype.kind not in "biuf" or not image.size:
        return ""
    if image.dtype.kind == "b":
        return " Convert it: image.astype(np.uint8) * 255."
    low, high = image.min().item(), image.max().item()  # NumPy cannot compare float16 with 65535.
    values = f" Its values go from {low:g} to {high:g}"
    if not math.isfinite(low) or not math.isfinite(high):
        return f"{values}: mend those that are not finite."
    if low < 0 or high > 65535 or (image.dtype.kind == "f" and high > 255):
        return (
            f"{values}: undo their normalisation, so that they go from 0 to 255, and convert them: "
            "np.rint(image).astype(np.uint8)."
        )
    if high > 255:
        return f"{values}: np.rint(image / 257).astype(np.uint8) makes 0 to 255 of 0 to 65535."
    if image.dtype.kind == "f":
        return f"{values}: np.rint({'image * 255' if high <= 1 else 'image'}).astype(np.uint8) converts it."
    return f"{values}: image.astype(np.uint8) converts it."


def no_image(shape: tuple[int, ...]) -> str:
    """Return the error message for an array of uint8 with an invalid shape."""
    hint = ""
    if len(shape) in (3, 4) and shape[-3] in (1, 3):
        order = "1, 2, 0" if len(shape) == 3 else "0, 2, 3, 1"
        hint = f" Channels first? image.transpose({order}) puts them last."
    elif len(shape) in (3, 4) and shape[-1] in (2, 4):
        hint = " Leave alpha out: image[..., :-1]."
    elif len(shape) == 3:
        hint = " A batch of grey images needs a channel: images[..., None]."
    return f"The image has shape {shape}; expected {SHAPES}.{hint}"


def no_picture(mode: str) -> str:
    """Return the error message for a PIL image whose mode is neither RGB nor L."""
    better = "L" if mode in ("1", "LA", "La") or mode.startswith(("I", "F")) else "RGB"
    alpha = (
        " That leaves alpha out: paste it on a background before, where what is behind it matters."
        if mode[-1] in "Aa"
        else ""
    )
    wide = " That clips values above 255: scale them before." if mode.startswith(("I", "F")) else ""
    return (
        f"The image is a PIL image of mode {mode!r}; expected RGB or L. Convert it: "
        f"image.convert({better!r}).{alpha}{wide}"
    )


def no_tensor(tensor: Any) -> str:
    """Return the error message for a tensor that is not of uint8 with its channels first."""
    given = f"The image is a tensor of {tensor.dtype} and shape {tuple(tensor.shape)}"
    expected = "expected torch.uint8, (C, H, W) or a batch (N, C, H, W), with 1 or 3 channels"
    if tensor.is_floating_point():
        hint = (
            " Corrupt before the step that makes it a float (ToTensor, ToDtype, Normalize); values from 0 to 1 are "
            "converted by (image * 255).round().to(torch.uint8)."
        )
    elif tensor.ndim in (3, 4) and tensor.shape[-1] in (1, 3):
        hint = f" Channels last? image.permute({'2, 0, 1' if tensor.ndim == 3 else '0, 3, 1, 2'}) puts them first."
    else:
        hint = ""
    return f"{given}; {expected}.{hint}"
