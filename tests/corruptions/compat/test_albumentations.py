"""Test corruptset transforms as steps of an albumentations pipeline."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import corruptset
from example_images import synthetic_image

pytestmark = [pytest.mark.ci, pytest.mark.filterwarnings("ignore")]
PHOTO = synthetic_image(40, 56)
NOISE = corruptset.Corrupt("gaussian_noise", severity=2)


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_ALBUMENTATIONS_UPDATE", "1")


def test_transform_works_in_pipeline() -> None:
    import albumentations as A

    from corruptset.compat.albumentations import ImageTransform

    fog = corruptset.Corrupt("fog", severity=3)
    boxes = np.array([[0.3, 0.4, 0.2, 0.3, 1]])
    pipeline = A.Compose([ImageTransform(fog), A.HorizontalFlip(p=1.0)], bbox_params=A.BboxParams(format="yolo"))
    mask = np.arange(40 * 56, dtype=np.int32).reshape(40, 56)
    out = pipeline(image=PHOTO, mask=mask, bboxes=boxes)
    np.testing.assert_array_equal(out["image"], fog(PHOTO)[:, ::-1])
    np.testing.assert_array_equal(out["mask"], mask[:, ::-1])
    flip = A.Compose([A.HorizontalFlip(p=1.0)], bbox_params=A.BboxParams(format="yolo"))(image=PHOTO, bboxes=boxes)
    np.testing.assert_allclose(out["bboxes"], flip["bboxes"], atol=1e-6)


def test_draws_follow_image_or_key() -> None:
    import albumentations as A

    from corruptset.compat.albumentations import ImageTransform

    step: Any = ImageTransform(NOISE)
    pipeline = A.Compose([A.RandomBrightnessContrast(p=0.0), step], seed=3)
    unpickled = pickle.loads(pickle.dumps(pipeline))
    many = [synthetic_image(32, 32, which=i) for i in range(8)]
    expected = [NOISE(image) for image in many]
    for result in (pipeline, unpickled):
        for i in (5, 0, 5, 7, 2):
            np.testing.assert_array_equal(result(image=many[i])["image"], expected[i])
    for key in ("a", 7, "b"):
        np.testing.assert_array_equal(pipeline(image=PHOTO, key=key)["image"], NOISE(PHOTO, key=key))
    assert "Corrupt('gaussian_noise', severity=2)" in repr(step)


def test_p_skips_images() -> None:
    from corruptset.compat.albumentations import ImageTransform

    np.testing.assert_array_equal(
        ImageTransform(corruptset.Corrupt("fog", severity=3), p=0.0)(image=PHOTO)["image"], PHOTO
    )
    with pytest.raises(ValueError):
        ImageTransform(corruptset.Corrupt("fog", severity=3), p=2.0)


def test_albumentations_is_imported_on_demand() -> None:
    code = (
        "import sys, corruptset.compat.albumentations as c; print('albumentations' in sys.modules); "
        "c.ImageTransform; c.Other"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.strip() == "False"
    assert "AttributeError" in result.stderr
