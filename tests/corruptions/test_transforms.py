"""Test that `Corrupt` gives the same bytes as `corrupt` in any order and any process."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import corruptset
from corruptset import Corrupt
from corruptset.errors import CorruptsetError
from example_images import synthetic_image

PHOTO = synthetic_image(40, 56)
BATCH = np.stack([PHOTO, PHOTO[::-1]])


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("gaussian_noise", {"severity": 3, "seed": 7, "calibration": "imagenet", "coupling": "severity"}),
        ("motion_blur", {"severity": 4, "angle_deg": 30.0, "scale": "side"}),
        ("black_lines", {"level": 7, "ladder": "text"}),
        ([("contrast", 3), {"corruption": "impulse_noise", "severity": 2}], {}),
        ("clean", {}),
    ],
)
def test_transform_equals_corrupt_with_resolved_options(name: Any, options: dict[str, Any]) -> None:
    transform = Corrupt(name, **options)
    unpickled = pickle.loads(pickle.dumps(transform))
    evaluated = eval(repr(transform), {"Corrupt": Corrupt})
    assert repr(unpickled) == repr(evaluated) == repr(transform)
    for image in (PHOTO, synthetic_image(28, 28, 1), synthetic_image(100, 120), BATCH):
        before, expected = image.copy(), corruptset.corrupt(image, name, **options)
        for result in (transform, unpickled, evaluated):
            np.testing.assert_array_equal(result(image), expected)
        np.testing.assert_array_equal(image, before)
        assert transform(image) is not image
    expected = corruptset.corrupt(BATCH, name, key=["a", "b"], **options)
    np.testing.assert_array_equal(transform(BATCH, key=["a", "b"]), expected)


def test_transform_has_short_repr_accepts_index_as_key_and_keeps_other_values() -> None:
    assert repr(Corrupt("fog", severity=3, seed=0, scale="none")) == "Corrupt('fog', severity=3)"
    transform = Corrupt("gaussian_noise", severity=3)
    for index in (7, np.int64(7)):
        np.testing.assert_array_equal(transform(PHOTO, key=index), transform(PHOTO, key="7"))
    assert len({transform(PHOTO, key=key).tobytes() for key in (7, 8, None)}) == 3
    label = object()
    image, *others = transform(PHOTO, label, "b")
    assert others == [label, "b"]
    np.testing.assert_array_equal(image, transform(PHOTO))


def test_transform_is_independent_of_later_changes_to_arguments() -> None:
    stages, normals = ["contrast-3"], np.zeros((40, 56))
    result = Corrupt(stages), Corrupt("spatter", severity=4, normals=normals)
    expected, digits = [transform(PHOTO) for transform in result], synthetic_image(28, 28, 1)
    stages.append("invert")
    normals[::2] = 3.0
    for transforms in (result, pickle.loads(pickle.dumps(result))):
        for transform, image in zip(transforms, expected, strict=True):
            np.testing.assert_array_equal(transform(PHOTO), image)
        np.testing.assert_array_equal(transforms[0](digits), corruptset.corrupt(digits, "contrast-3"))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Corrupt("fogg", severity=3), "Did you mean 'fog'"),
        (lambda: Corrupt("fog-1+pgd-2"), r"pgd-2' uses the gradients of a model.*surrogate=\.\.\., label="),
        (lambda: Corrupt("canny_edges", severity=1)(synthetic_image(300, 300)), "no rows in calibration"),
        *((lambda k=k: Corrupt("fog", severity=3)(PHOTO, key=k), "key is .*; expected a str") for k in (1.5, b"3")),
        (lambda: Corrupt("fog", severity=3)(PHOTO, key="\udce9.jpg"), "key is .*, which cannot be encoded as UTF-8"),
        (lambda: Corrupt("fog", severity=3)(BATCH, key="a"), "1 key for 2 images"),
        (lambda: Corrupt("fog", severity="3"), "severity is '3'"),
    ],
)
def test_transform_rejects_errors_when_created(make: Any, message: str) -> None:
    with pytest.raises(CorruptsetError, match=message):
        make()
