"""The public call: keys, chains, and what it says of mistakes."""

from __future__ import annotations

import numpy as np
import pytest

import corruptset
from pictures import painted


def test_without_a_key_other_images_draw_otherwise():
    flat = [np.full((32, 48, 3), level, np.uint8) for level in (128, 129, 128)]
    first, second, again = (
        corruptset.corrupt(image, "gaussian_noise", severity=3).astype(int) - image for image in flat
    )
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(first, again)
    # shape counts, as in the digest: the same bytes as another picture are another picture
    turned = corruptset.corrupt(flat[0].transpose(1, 0, 2).copy(), "gaussian_noise", severity=3).astype(int) - 128
    assert not np.array_equal(first.ravel(), turned.ravel())
    grey = flat[0][:, :, 0]
    np.testing.assert_array_equal(
        corruptset.corrupt(grey, "fog/3"), corruptset.corrupt(grey[:, :, None], "fog/3")[:, :, 0]
    )


def test_chains_equal_corrupting_the_corrupted():
    """The second stage of a chain has a key of its own, so only a deterministic second stage can be compared
    directly.
    """
    image = painted(48, 40)
    first = corruptset.corrupt(image, "gaussian_noise", severity=3, calibration="cifar")
    np.testing.assert_array_equal(
        corruptset.corrupt(image, "gaussian_noise-3+contrast-2", calibration="cifar"),
        corruptset.corrupt(first, "contrast", severity=2, calibration="cifar"),
    )
    same_twice = corruptset.corrupt(image, "gaussian_noise-3+gaussian_noise-3", calibration="cifar")
    once_more = corruptset.corrupt(first, "gaussian_noise", severity=3, calibration="cifar")
    assert not np.array_equal(same_twice, once_more), "both stages drew the same noise"
    np.testing.assert_array_equal(corruptset.corrupt(image, "clean"), image)
    forms = [
        "fog-3+gaussian_noise-5",
        ["fog-3", "gaussian_noise-5"],
        [("fog", 3), ("gaussian_noise", 5)],
        [{"corruption": "fog", "severity": 3}, {"corruption": "gaussian_noise", "severity": 5}],
        ["fog-3", {"corruption": "gaussian_noise", "parameters": {"sigma": 0.1}}],
    ]
    outs = [corruptset.corrupt(image, form, calibration="cifar") for form in forms]
    for out in outs[1:]:
        np.testing.assert_array_equal(outs[0], out)


@pytest.mark.parametrize(
    ("image", "name", "options", "says"),
    [
        (np.zeros((32, 32, 3), np.uint8), "gausian_noise", {"severity": 1}, "Did you mean 'gaussian_noise'"),
        (
            np.zeros((32, 32, 3), np.uint8),
            "fog",
            {"severity": -1},
            "severity is -1; expected a whole number from 1 to 5",
        ),
        (np.zeros((32, 32, 3), np.uint8), "fog", {"severity": 6}, "severity is 6"),
        (np.zeros((32, 32, 3), np.uint8), "fog", {"severity": 2.125}, "severity is 2.125"),
        (np.zeros((32, 32, 3), np.uint8), "fog", {"severity": True}, "severity is True"),
        (np.zeros((32, 32, 3), np.uint8), "fog", {}, "needs a severity"),
        (
            np.zeros((32, 32, 3), np.uint8),
            "salt_pepper",
            {},
            "no published severities and needs its parameters: density is missing",
        ),
        (
            np.zeros((32, 32, 3), np.uint8),
            "salt_pepper",
            {"severity": 3},
            "no published severities; give its parameters instead: density",
        ),
        (
            np.zeros((32, 32, 3), np.uint8),
            "salt_pepper/3",
            {},
            "no published severities; give its parameters instead: density",
        ),
        (np.zeros((32, 32, 3), np.uint8), "fog", {"level": 3}, "has no levels"),
        (
            np.zeros((32, 32, 3), np.uint8),
            "fog/3",
            {"severity": 3},
            "can be given only with the name of one corruption",
        ),
        (np.zeros((32, 32, 3), np.uint8), "fog-9", {}, "severity is 9"),
        (np.zeros((32, 32, 3), np.uint8), "fog-3+nothing-2", {}, "nothing"),
        (np.zeros((32, 32, 3), np.uint8), "+".join(["fog-1"] * 17), {}, "The chain has 17 stages; expected at most 16"),
        (np.zeros((32, 32, 3), np.uint8), ["fog-1"] * 17, {}, "The chain has 17 stages; expected at most 16"),
        (np.zeros((32, 32, 3), np.uint8), "fog", {"severity": 1, "seed": -1}, "seed is -1"),
        (np.zeros((32, 32, 3), np.uint8), "fog", {"severity": 1, "seed": 2**53}, "seed is 9007199254740992"),
        (np.zeros((32, 32, 3), np.uint8), "fog", {"severity": 1, "key": ["a", "b"]}, "2 keys for 1 image"),
        (np.zeros((32, 32, 3), np.uint8), "fog", {"severity": 1, "key": 5}, "key is 5; expected a string"),
        (np.zeros((32, 32, 3), np.uint8), "fog", {"severity": 1, "scale": "both"}, "scale is 'both'"),
        (np.zeros((32, 32, 3), np.uint8), "fog", {"severity": 1, "coupling": "none"}, "coupling is 'none'"),
        (np.zeros((32, 32, 3), np.uint8), "fog", {"severity": 1, "calibration": "imagnet"}, "Did you mean 'imagenet'"),
        (np.zeros((32, 32, 3), np.float32), "fog", {"severity": 1}, "float32; expected a numpy array of uint8"),
        (np.zeros((32, 32, 4), np.uint8), "fog", {"severity": 1}, r"shape \(32, 32, 4\); expected"),
        (np.zeros((7, 32), np.uint8), "fog", {"severity": 1}, "7x32"),
        (np.ma.masked_less(np.zeros((32, 32, 3), np.uint8), 9), "fog", {"severity": 1}, r"masked array.*image\.filled"),
        (np.zeros((32,), np.uint8), "fog", {"severity": 1}, "shape"),
        (np.zeros((7, 32, 3), np.uint8), "fog", {"severity": 1}, "at least 8x8"),
        ([[1, 2], [3, 4]], "fog", {"severity": 1}, "list; expected a numpy array"),
    ],
)
def test_mistakes_are_explained(image, name, options, says):
    with pytest.raises(corruptset.errors.CorruptsetError, match=says):
        corruptset.corrupt(image, name, **options)
