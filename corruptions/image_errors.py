"""Error messages for inputs that are not valid images, with one function per kind of input.

Each message names the input, the expected type or shape, and, if possible, a line of code that converts the input.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

EXPECTED = "a numpy array of uint8 (RGB or grey, 0 to 255)"
SHAPES = "(H, W), (H, W, 1), (H, W, 3) or a batch (N, H, W, 1 or 3)"


def array_error(array: NDArray[Any]) -> str:
    """Return the error message for an array that is masked, is not of uint8, or has an invalid shape."""
    if isinstance(array, np.ma.MaskedArray):
        return (
            "The image is a masked array, but corruptions do not support masks. Pass image.filled(value), or "
            "image.data to ignore the mask."
        )
    if array.dtype != np.uint8:
        return f"The image is {array.dtype}; expected {EXPECTED}.{_conversion(array)}"
    shape, hint = array.shape, ""
    if len(shape) in (3, 4) and shape[-3] in (1, 3):
        order = "1, 2, 0" if len(shape) == 3 else "0, 2, 3, 1"
        hint = f" Channels first? image.transpose({order}) puts them last."
    elif len(shape) in (3, 4) and shape[-1] in (2, 4):
        hint = " To remove the alpha channel, pass image[..., :-1]."
    elif len(shape) == 3:
        hint = " A batch of grey images needs a channel: images[..., None]."
    return f"The image has shape {shape}; expected {SHAPES}.{hint}"


def object_error(given: Any) -> str:
    """Return the error message for an object that is not an array, a PIL image or a tensor."""
    hint = ""
    if isinstance(given, Mapping):
        hint = " Pass the image in it, such as sample['image']."
    elif hasattr(given, "__array__") or hasattr(given, "__array_interface__"):
        hint = " Convert it with np.asarray(image)."
    elif isinstance(given, (list, tuple)):
        hint = " Use np.stack(images) for a batch of images of one size, and pass images of different sizes one by one."
    elif isinstance(given, (str, bytes)) or hasattr(given, "__fspath__"):
        hint = " Open the file: PIL.Image.open(path).convert('RGB')."
    return f"The image is {type(given).__name__}; expected {EXPECTED}, a PIL image or a torch tensor.{hint}"


def pil_error(mode: str) -> str:
    """Return the error message for a PIL image whose mode is neither RGB nor L."""
    target = "L" if mode in ("1", "LA", "La") or mode.startswith(("I", "F")) else "RGB"
    hint = ""
    if mode[-1] in "Aa":
        hint = " This removes the alpha channel. If the background matters, paste the image on one first."
    elif mode.startswith(("I", "F")):
        hint = " This clips values above 255, so scale them first."
    return f"The image is a PIL image of mode {mode!r}; expected RGB or L. Convert it: image.convert({target!r}).{hint}"


def tensor_error(tensor: Any) -> str:
    """Return the error message for a tensor that is not of uint8 with its channels first."""
    given = f"The image is a tensor of {tensor.dtype} and shape {tuple(tensor.shape)}"
    expected = "expected torch.uint8, (C, H, W) or a batch (N, C, H, W), with 1 or 3 channels"
    if tensor.is_floating_point():
        hint = (
            " Corrupt before the step that converts the image to floats (ToTensor, ToDtype, Normalize), or convert "
            "values from 0 to 1 back by (image * 255).round().to(torch.uint8)."
        )
    elif tensor.ndim in (3, 4) and tensor.shape[-1] in (1, 3):
        hint = f" Channels last? image.permute({'2, 0, 1' if tensor.ndim == 3 else '0, 3, 1, 2'}) puts them first."
    else:
        hint = ""
    return f"{given}; {expected}.{hint}"


def _conversion(image: NDArray[Any]) -> str:
    """Return advice on how to convert an array to uint8, depending on the range of its values."""
    if image.dtype.kind not in "biuf" or not image.size:
        return ""
    if image.dtype.kind == "b":
        return " Convert it: image.astype(np.uint8) * 255."
    low, high = image.min().item(), image.max().item()  # NumPy cannot compare float16 with 65535.
    if not math.isfinite(low) or not math.isfinite(high):
        return " Some of its values are not finite. Replace the NaN or infinite values first."
    values = f" Its values go from {low:g} to {high:g}."
    if low < 0 or high > 65535 or (image.dtype.kind == "f" and high > 255):
        return (
            f"{values} Undo their normalisation, so that they go from 0 to 255, and convert them: "
            "np.rint(image).astype(np.uint8)."
        )
    if high > 255:
        return f"{values} Convert them from 0..65535 to 0..255: np.rint(image / 257).astype(np.uint8)."
    if image.dtype.kind == "f":
        return f"{values} Convert them: np.rint({'image * 255' if high <= 1 else 'image'}).astype(np.uint8)."
    return f"{values} Convert them: image.astype(np.uint8)."
