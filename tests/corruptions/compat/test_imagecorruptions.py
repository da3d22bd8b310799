"""imagecorruptions' two functions: signature, names, kinds of errors and results as its users know them."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import scipy.ndimage as ndi

import corruptset
from corruptset.compat import imagecorruptions
from corruptset.compat.imagecorruptions import corrupt, get_corruption_names
from corruptset.corruptions.calibrations import shipped
from pictures import painted

PHOTO = painted(48, 64)
NINETEEN = (
    "gaussian_noise shot_noise impulse_noise defocus_blur glass_blur motion_blur zoom_blur snow frost fog brightness "
    "contrast "
    "elastic_transform pixelate jpeg_compression speckle_noise gaussian_blur spatter saturate"
).split()
"""As imagecorruptions 1.1.2 numbers them."""


def test_names_and_signature_are_its() -> None:
    subsets = {
        "common": NINETEEN[:15], "validation": NINETEEN[15:], "all": NINETEEN, "noise": NINETEEN[:3],
        "blur": NINETEEN[3:7],
        "weather": NINETEEN[7:11], "digital": NINETEEN[11:15],
    }  # fmt: skip
    assert {subset: get_corruption_names(subset) for subset in subsets} == subsets
    assert get_corruption_names() == NINETEEN[:15]
    get_corruption_names().clear()
    assert get_corruption_names() == NINETEEN[:15]
    given = inspect.signature(corrupt).parameters
    assert {name: p.default for name, p in given.items() if name != "image"} == {
        "severity": 1, "corruption_name": None, "corruption_number": -1,
    }  # fmt: skip
    assert [*given] == ["image", "severity", "corruption_name", "corruption_number"]


@pytest.mark.parametrize("name", [n for n in NINETEEN if n != "elastic_transform"])
def test_each_has_the_parameters_of_imagenet_c_at_any_size(name: str) -> None:
    for image in (PHOTO, painted(32, 32)):
        before = image.copy()
        out = corrupt(image, 2, name)
        np.testing.assert_array_equal(
            out, corruptset.corrupt(image, name, **shipped("imagenet").row(name, 2).parameters)
        )
        np.testing.assert_array_equal(out, corrupt(image, severity=np.int64(2), corruption_number=NINETEEN.index(name)))
        np.testing.assert_array_equal(image, before)
    grey = PHOTO[:, :, 0]
    for given in (grey, grey[:, :, None]):
        np.testing.assert_array_equal(corrupt(given, 1, name), corrupt(np.dstack([grey] * 3), corruption_name=name))


@pytest.mark.parametrize(("severity", "strength"), [(1, 12.5), (2, 16.25), (3, 21.25), (4, 25.0), (5, 30.0)])
def test_elastic_transform_is_its_own(severity: int, strength: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A square image is moved by uniform noise up to 0.005 sides, smoothed over 0.01 sides, times the strength; there
    is no affine map.
    """
    side = 64
    image = painted(side, side)
    rng = np.random.default_rng(severity)
    fields = {"field_x": rng.uniform(-1, 1, (side, side)), "field_y": rng.uniform(-1, 1, (side, side))}
    whole = imagecorruptions.corrupt_image
    monkeypatch.setattr(imagecorruptions, "corrupt_image", lambda *a, **k: whole(*a, **k, **fields))
    out = corrupt(image, severity, "elastic_transform").astype(int)
    dx, dy = (
        ndi.gaussian_filter(field * 0.005 * side, 0.01 * side, mode="reflect", truncate=3) * strength
        for field in (fields["field_x"], fields["field_y"])
    )
    y, x = np.mgrid[:side, :side]
    moved = [
        ndi.map_coordinates(image[:, :, c].astype(float), [y + dy, x + dx], order=1, mode="reflect") for c in range(3)
    ]
    assert np.abs(out - np.floor(np.dstack(moved) + 1e-9)).max() <= 1


def test_an_image_always_becomes_the_same() -> None:
    state = np.random.get_state()[1].tolist()  # noqa: NPY002
    first = corrupt(PHOTO, 3, "gaussian_noise")
    assert np.random.get_state()[1].tolist() == state  # noqa: NPY002
    np.testing.assert_array_equal(corrupt(PHOTO.copy(), 3, "gaussian_noise"), first)
    assert not np.array_equal(corrupt(PHOTO[::-1], 3, "gaussian_noise")[::-1], first)


@pytest.mark.parametrize(
    ("image", "options", "kind", "says"),
    [
        ([1], {"corruption_name": "fog"}, AttributeError, "list; expected a numpy array"),
        (PHOTO / 255, {"corruption_name": "fog"}, AttributeError, r"np\.rint\(image \* 255\)"),
        (PHOTO[None], {"corruption_name": "fog"}, AttributeError, r"shape \(1, 48, 64, 3\)"),
        (PHOTO.transpose(2, 0, 1), {"corruption_name": "fog"}, AttributeError, "Channels first"),
        (PHOTO[:31], {"corruption_name": "fog"}, AttributeError, "31x64.*32x32"),
        (PHOTO, {"corruption_name": "fog", "severity": 0}, AttributeError, "severity is 0; expected"),
        (PHOTO, {"corruption_name": "fog", "severity": 6}, AttributeError, "severity is 6; expected"),
        (PHOTO, {"corruption_name": "fogg"}, KeyError, "^There is no corruption 'fogg'. Did you mean 'fog'"),
        (PHOTO, {"corruption_name": "rotate"}, KeyError, "There is no corruption 'rotate'"),
        (PHOTO, {"corruption_number": 19}, IndexError, "corruption_number is 19; expected 0 to 18"),
        (PHOTO, {}, ValueError, "Neither corruption_name nor corruption_number"),
    ],
)
def test_errors_are_of_its_kinds_and_of_ours(
    image: Any, options: dict[str, Any], kind: type[Exception], says: str
) -> None:
    with pytest.raises(kind, match=says) as raised:
        corrupt(image, **options)
    assert isinstance(raised.value, corruptset.errors.CorruptsetError)


def test_an_unknown_subset() -> None:
    with pytest.raises(ValueError, match=r"There is no subset 'wether'\. Did you mean 'weather'"):
        get_corruption_names("wether")


class Corrupt:
    """The transform of mmdetection's robustness benchmark: a step of a pipeline that hands on a dict of results."""

    def __init__(self, corruption: str, severity: int = 1) -> None:
        self.corruption, self.severity = corruption, severity

    def __call__(self, results: dict[str, Any]) -> dict[str, Any]:
        if corrupt is None:
            raise RuntimeError("imagecorruptions is not installed")
        if "img_fields" in results:
            assert results["img_fields"] == ["img"], "Only single img_fields is allowed"
        results["img"] = corrupt(
            results["img"].astype(np.uint8), corruption_name=self.corruption, severity=self.severity
        )
        return results


@pytest.mark.parametrize("name", NINETEEN)
def test_a_step_of_mmdetection(name: str) -> None:
    image = painted(60, 100).astype(np.float32)  # as LoadImageFromFile(to_float32=True) hands it on
    results = Corrupt(name, 3)({"img": image, "img_fields": ["img"], "gt_bboxes": [1, 2, 3, 4]})
    assert (results["img"].shape, results["img"].dtype) == ((60, 100, 3), np.uint8)
    assert not np.array_equal(results["img"], image)
    assert results["gt_bboxes"] == [1, 2, 3, 4]
