"""Compare glass blur, with copied and with exchanged pixels, with a slow implementation of its definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter, gaussian_filter1d
from specification import plain

import corruptset
from corruptset.corruptions.keys import sample_keys
from corruptset.corruptions.registry import get_corruption
from corruptset.errors import ParameterError
from example_images import synthetic_image

STAGE = np.uint64(0x1234567)


def blur(image, sigma, axes="both", half=0.0):
    if axes == "rows":
        blurred = gaussian_filter1d(image / 255.0, sigma, axis=0, mode="nearest")
    else:
        blurred = gaussian_filter(image / 255.0, (sigma, sigma, 0), mode="nearest", truncate=4.0)
    return (np.clip(blurred, 0, 1) * 255 + half).astype(np.uint8)


def reference_glass_blur(image, sigma, reach, deltas, swaps=None, axes="both", half=0.0):
    """Apply the definition to one pixel after the other, with exchanges where `swaps` is 1."""
    height, width = image.shape[:2]
    x = blur(image, sigma, axes)
    for i, once in enumerate(deltas):
        for row, h in enumerate(range(height - reach, reach, -1)):
            for column, w in enumerate(range(width - reach, reach, -1)):
                dx, dy = once[row, column].tolist()
                here, there = x[h, w].copy(), x[h + dy, w + dx].copy()
                if swaps is None or swaps[i, row, column]:
                    x[h, w] = there
                if swaps is not None and swaps[i, row, column]:
                    x[h + dy, w + dx] = here
    return blur(x, sigma, axes, half)


def random_draws(shape, reach, iterations):
    """Return the displacements and exchanges of sample "a", from the words of the specification."""
    size = (iterations, shape[0] - 2 * reach, shape[1] - 2 * reach)
    count = int(np.prod(size))
    pick = np.array(plain.words(count, int(STAGE), "a", 0)) * (2 * reach) ** 2 >> 32
    deltas = np.stack([pick % (2 * reach) - reach, pick // (2 * reach) - reach], axis=-1)
    return deltas.reshape(*size, 2), (np.array(plain.words(count, int(STAGE), "a", 1)) >> 31).reshape(size)


@pytest.mark.parametrize(("sigma", "reach", "iterations"), [(0.7, 1, 2), (1.0, 2, 3), (1.5, 4, 2)])
def test_glass_blur_matches_definition_with_specified_random_words(sigma, reach, iterations):
    """Test drawn and given displacements, in scan order from the lower right corner."""
    parameters = {"sigma": sigma, "max_delta": reach, "iterations": iterations}
    options = {"axes": "rows", "exchange": "swap", "rounding": "round"}
    for shape in ((12, 9, 1), (21, 33, 3)):
        image = synthetic_image(*shape)
        deltas, swaps = random_draws(shape, reach, iterations)
        for more, arguments, expected in (
            ({}, {"deltas": deltas}, reference_glass_blur(image, sigma, reach, deltas)),
            (
                options,
                {"deltas": deltas, "swaps": swaps},
                reference_glass_blur(image, sigma, reach, deltas, swaps, "rows", 0.5),
            ),
        ):
            result = get_corruption("glass_blur").apply(image[None], parameters | more, STAGE, sample_keys(["a"]))[0]
            np.testing.assert_array_equal(result, expected, str(shape))
            np.testing.assert_array_equal(
                corruptset.corrupt(image, "glass_blur", **parameters, **more, **arguments), expected
            )


def test_large_reach_leaves_only_two_blurs_and_scaling_stops_at_127():
    image = synthetic_image(8, 40)
    for reach in (4, 100):
        result = corruptset.corrupt(image, "glass_blur", sigma=1.0, max_delta=reach, iterations=2)
        np.testing.assert_array_equal(result, blur(blur(image, 1.0), 1.0))
    # Scaling would increase 100 pixels at a side of 32 to 938 pixels, but displacements are int8.
    large, deltas = synthetic_image(300, 310, 1), np.zeros((1, 300 - 254, 310 - 254, 2), np.int8)
    options = {"sigma": 0.01, "max_delta": 100, "iterations": 1, "deltas": deltas}
    out = corruptset.corrupt(large, "glass_blur", **options, calibration="cifar", scale="side")
    np.testing.assert_array_equal(out, blur(blur(large, 0.09375), 0.09375))


def test_unsuitable_draws_are_rejected():
    row = {"sigma": 0.7, "max_delta": 1, "iterations": 2}
    for arguments, message in (
        ({"max_delta": 1.5}, "max_delta"),
        ({"deltas": np.full((2, 7, 7, 2), 1, np.int8)}, "deltas"),
        ({"swaps": np.ones((2, 7, 7), np.uint8)}, "it is used only if exchange is 'swap'"),
    ):
        with pytest.raises(ParameterError, match=message):
            corruptset.corrupt(synthetic_image(9, 9), "glass_blur", **row | arguments)
