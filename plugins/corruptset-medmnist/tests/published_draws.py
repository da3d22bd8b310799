"""Make images, and convert the random draws of the published generator into arguments of `corruptset.corrupt`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.random import RandomState, default_rng
from numpy.typing import NDArray

PUBLISHED_NAMES = {
    "windowed_gaussian_blur": "gaussian_blur",
    "added_saturation": "saturate",
    "rgb_gaussian_noise": "gaussian_noise",
    "rgb_speckle_noise": "speckle_noise",
    "rgb_impulse_noise": "impulse_noise",
    "rgb_shot_noise": "shot_noise",
}


def image(which: int, *, grey: bool) -> NDArray[np.uint8]:
    """Return an image of 224x224 pixels with smooth areas, edges and texture, (H, W, 1 or 3)."""
    random = RandomState(which)
    y, x = np.mgrid[:224, :224] / 224
    planes = []
    for _ in range(1 if grey else 3):
        plane = 128 + 60 * np.sin(random.uniform(2, 9) * x + random.uniform(2, 9) * y + random.uniform(0, 6))
        for _ in range(6):
            inside = (x - random.uniform()) ** 2 + (y - random.uniform()) ** 2 < random.uniform(0.01, 0.2) ** 2
            plane += random.uniform(-120, 120) * inside
        planes.append(plane + random.normal(scale=8, size=x.shape))
    return np.clip(np.stack(planes, axis=2), 0, 255).astype(np.uint8)


def draw_arguments(
    name: str, parameters: Mapping[str, Any], draws: Mapping[str, Any], clean: NDArray[np.uint8]
) -> dict[str, Any]:
    """Return the arguments that replace a corruption's own draws.

    Parameters
    ----------
    name : str
        The name of the corruption in corruptset.
    parameters : mapping
        Its parameters.
    drawn : mapping
        ``seed`` of its noise, ``angle``, ``numbers`` (results of ``random.randint``) and ``letters``, in the order of
        the published calls.
    clean : ndarray of uint8
    """
    numbers, shape = list(draws.get("numbers", ())), (*clean.shape[:2], 3)
    if name == "motion_blur":
        return {"angle_deg": draws["angle"]}
    if name in ("rgb_gaussian_noise", "rgb_speckle_noise"):
        return {"normals": RandomState(draws["seed"]).standard_normal(shape)}
    if name == "rgb_impulse_noise":
        random = default_rng(draws["seed"])
        struck, salt = random.random(shape) <= parameters["amount"], random.random(shape) <= 0.5
        return {"chances": np.where(struck, salt * 1.0, 0.5)}
    if name == "rgb_shot_noise":
        from scipy.stats import poisson

        mean = np.broadcast_to(clean, shape) / 255.0 * parameters["photons"]
        counts = RandomState(draws["seed"]).poisson(mean)
        return {"chances": (poisson.cdf(counts - 1, mean) + poisson.cdf(counts, mean)) / 2}
    if name == "stain_deposit":
        rows = np.full((parameters["marks"], 3), -1)
        values = np.reshape(numbers[parameters["marks"] > 1 :], (-1, 3))
        rows[: len(values)] = values
        return {"stains": rows}
    if name == "bubble":
        rows = np.zeros((parameters["bubbles"], 3), int)
        rows[: numbers[0]] = np.reshape(numbers[1:], (-1, 3))
        return {"circles": rows}
    if name == "characters":
        rows, spelling = (
            np.zeros((parameters["words"], 7), int),
            np.zeros((parameters["words"], parameters["letters"]), int),
        )
        rows[: numbers[0]] = np.reshape(numbers[1:], (-1, 7))
        remaining = iter(draws["letters"])
        for row, (count, *_) in zip(spelling, rows, strict=True):
            row[:count] = [ord(next(remaining)) - ord("a") for _ in range(count)]
        return {"placed": rows, "spelling": spelling}
    return {}
