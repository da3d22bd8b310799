"""The two functions of the package imagecorruptions (Michaelis et al. 2019), implemented with corruptset.

The functions have the same names and signatures, so that only the import in existing code needs to change. There are
three differences. Equal images always give equal results, because random draws depend on the pixels instead of NumPy's
global generator. Frost uses different textures. Invalid arguments raise corruptset's errors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..corruptions.call import corrupt as corrupt_image
from ..corruptions.image_errors import array_error
from ..corruptions.stages import check_images
from ..errors import ImageError, ParameterError, UnknownCorruption, suggest

_NOISE = ["gaussian_noise", "shot_noise", "impulse_noise"]
_BLUR = ["defocus_blur", "glass_blur", "motion_blur", "zoom_blur"]
_WEATHER = ["snow", "frost", "fog", "brightness"]
_DIGITAL = ["contrast", "elastic_transform", "pixelate", "jpeg_compression"]
_VALIDATION = ["speckle_noise", "gaussian_blur", "spatter", "saturate"]
_COMMON = [*_NOISE, *_BLUR, *_WEATHER, *_DIGITAL]
_SUBSETS = {
    "common": _COMMON,
    "validation": _VALIDATION,
    "all": [*_COMMON, *_VALIDATION],
    "noise": _NOISE,
    "blur": _BLUR,
    "weather": _WEATHER,
    "digital": _DIGITAL,
}
_MIN_SIDE = 32


def get_corruption_names(subset: str = "common") -> list[str]:
    """Return the names of corruptions in the order of imagecorruptions.

    Parameters
    ----------
    subset : {"common", "validation", "all", "noise", "blur", "weather", "digital"}
        The group of corruptions.

    Returns
    -------
    list of str

    Raises
    ------
    ParameterError
        If the subset is unknown.

    Examples
    --------
    >>> get_corruption_names("noise")
    ['gaussian_noise', 'shot_noise', 'impulse_noise']
    """
    if subset not in _SUBSETS:
        raise ParameterError(
            f"There is no subset {subset!r}.{suggest(str(subset), _SUBSETS)} Known: {', '.join(_SUBSETS)}."
        )
    return list(_SUBSETS[subset])


def corrupt(
    image: NDArray[np.uint8], severity: int = 1, corruption_name: str | None = None, corruption_number: int = -1
) -> NDArray[np.uint8]:
    """Corrupt one image, as the function of the same name in imagecorruptions does.

    The parameters do not depend on the size of the image, except those of elastic_transform.

    Parameters
    ----------
    image : (H, W), (H, W, 1) or (H, W, 3) ndarray of uint8
        An RGB or grey image of at least 32x32 pixels.
    severity : int
        The severity, from 1 to 5.
    corruption_name : str, optional
        One of the names of `get_corruption_names("all")`.
    corruption_number : int
        The index of the corruption in `get_corruption_names("all")`. It is used if no name is given.

    Returns
    -------
    (H, W, 3) ndarray of uint8
        The corrupted image. A grey image is converted to three channels and corrupted like a colour image.

    Raises
    ------
    ImageError
        If the image has an unsupported type, dtype or shape, or is too small.
    UnknownCorruption
        If there is no corruption of this name.
    ParameterError
        If the severity or the number is out of range, or if neither a name nor a number is given.

    Examples
    --------
    >>> corrupt(np.full((40, 60), 128, np.uint8), 3, "fog").shape
    (40, 60, 3)
    """
    colour = _colour(image)
    if severity not in (1, 2, 3, 4, 5):
        raise ParameterError(f"severity is {severity!r}; expected a whole number from 1 to 5.")
    names = _SUBSETS["all"]
    if corruption_name is not None:
        if corruption_name not in names:
            raise UnknownCorruption(
                f"There is no corruption {corruption_name!r}.{suggest(str(corruption_name), names)} Known: "
                f"{', '.join(names)}."
            )
        name = corruption_name
    elif corruption_number == -1:
        raise ParameterError("Neither corruption_name nor corruption_number is given; one of them must be passed.")
    else:
        try:
            name = names[corruption_number]
        except IndexError:
            raise ParameterError(f"corruption_number is {corruption_number}; expected 0 to {len(names) - 1}.") from None
    if name == "elastic_transform":
        return corrupt_image(colour, name, **_elastic(int(severity), *colour.shape[:2]))
    return corrupt_image(colour, name, severity=int(severity), calibration="imagenet")


def _elastic(severity: int, height: int, width: int) -> dict[str, Any]:
    """Return the parameters of elastic_transform in imagecorruptions.

    Lengths depend on the image size, and there is no affine map. In imagecorruptions, the standard deviation of the
    smoothing is a hundredth of the height along y, and of the width along x. Here both directions have the same
    standard deviation, which does not change the size of displacements.
    """
    strength = 250 * (0.05, 0.065, 0.085, 0.1, 0.12)[severity - 1]
    return {"alpha": strength * 0.005 * height, "sigma": 0.01 * (height * width) ** 0.5, "affine": 0.0}


def _colour(image: Any) -> NDArray[np.uint8]:
    """Return an image as RGB, or raise an error if imagecorruptions does not support it."""
    check_images(image)
    if image.ndim == 4:
        raise ImageError(array_error(image))
    if min(image.shape[:2]) < _MIN_SIDE:
        raise ImageError(
            f"The image is {image.shape[0]}x{image.shape[1]} (height x width); imagecorruptions needs at least "
            f"{_MIN_SIDE}x{_MIN_SIDE}. Use corruptset.corrupt for smaller images."
        )
    return (
        image if image.ndim == 3 and image.shape[2] == 3 else np.repeat(image.reshape(*image.shape[:2], 1), 3, axis=2)
    )
