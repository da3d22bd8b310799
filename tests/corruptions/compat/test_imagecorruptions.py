"""imagecorruptions' two functions: signature, names, kinds of errors and results as its users know them."""

from __future__ import annotations

import inspect

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
    "gaussian_noise shot_noise impulse_noise defocus_blur glass_blur motion_blur zoom_blur snow frost fog "
    "brightness contrast elastic_transform pixelate jpeg_compression speckle_noise gaussian_blur spatter saturate"
).split()
"""As imagecorruptions 1.1.2 numbers them."""


def test_names_and_signature_are_its():
    subsets = {
        "common": NINETEEN[:15],
        "validation": NINETEEN[15:],
        "all": NINETEEN,
        "noise": NINETEEN[:3],
        "blur": NINETEEN[3:7],
        "weather": NINETEEN[7:11],
        "digital": NINETEEN[11:15],
    }
    assert {subset: get_corruption_names(subset) for subset in subsets} == subsets
    get_corruption_names().clear()
    assert get_corruption_names() == NINETEEN[:15]
    defaults = {name: p.default for name, p in inspect.signature(corrupt).parameters.items()}
    assert list(defaults.items())[1:] == [("severity", 1), ("corruption_name", None), ("corruption_number", -1)]
    with pytest.raises(ValueError, match=r"There is no subset 'wether'\. Did you mean 'weather'"):
        get_corruption_names("wether")


def test_each_has_the_parameters_of_imagenet_c_at_any_size_and_always_makes_the_same():
    state = np.random.get_state()[1].tolist()  # noqa: NPY002
    for name in NINETEEN:
        if name == "elastic_transform":
            continue
        for image in (PHOTO, painted(32, 32)):
            out = corrupt(image, 2, name)
            np.testing.assert_array_equal(
                out, corruptset.corrupt(image, name, **shipped("imagenet").row(name, 2).parameters)
            )
            by_number = corrupt(image.copy(), severity=np.int64(2), corruption_number=NINETEEN.index(name))
            np.testing.assert_array_equal(out, by_number)
        grey = PHOTO[:, :, 0]
        for given in (grey, grey[:, :, None]):
            np.testing.assert_array_equal(corrupt(given, 1, name), corrupt(np.dstack([grey] * 3), corruption_name=name))
    assert np.random.get_state()[1].tolist() == state  # noqa: NPY002


def test_elastic_transform_is_its_own(monkeypatch):
    """A square is moved by smoothed uniform noise, without an affine map.

    The noise is up to 0.005 sides, smoothed over 0.01 sides, times the strength.
    """
    side, image = 64, painted(64, 64)
    field_x, field_y = np.random.default_rng(5).uniform(-1, 1, (2, side, side))
    whole = imagecorruptions.corrupt_image
    monkeypatch.setattr(
        imagecorruptions, "corrupt_image", lambda *a, **k: whole(*a, **k, field_x=field_x, field_y=field_y)
    )
    y, x = np.mgrid[:side, :side]
    for severity, strength in enumerate((12.5, 16.25, 21.25, 25.0, 30.0), 1):
        fields = (f * 0.005 * side for f in (field_x, field_y))
        dx, dy = (ndi.gaussian_filter(f, 0.01 * side, mode="reflect", truncate=3) * strength for f in fields)
        planes = [
            ndi.map_coordinates(image[:, :, c].astype(float), [y + dy, x + dx], order=1, mode="reflect")
            for c in range(3)
        ]
        out = corrupt(image, severity, "elastic_transform").astype(int)
        assert np.abs(out - np.floor(np.dstack(planes) + 1e-9)).max() <= 1


def test_errors_are_of_its_kinds_and_of_ours():
    fog = {"corruption_name": "fog"}
    for image, options, kind, says in (
        ([1], fog, AttributeError, "list; expected a numpy array"),
        (PHOTO / 255, fog, AttributeError, r"np\.rint\(image \* 255\)"),
        (PHOTO[None], fog, AttributeError, r"shape \(1, 48, 64, 3\)"),
        (PHOTO.transpose(2, 0, 1), fog, AttributeError, "Channels first"),
        (PHOTO[:31], fog, AttributeError, "31x64.*32x32"),
        (PHOTO, fog | {"severity": 0}, AttributeError, "severity is 0; expected"),
        (PHOTO, {"corruption_name": "fogg"}, KeyError, "^There is no corruption 'fogg'. Did you mean 'fog'"),
        (PHOTO, {"corruption_name": "rotate"}, KeyError, "There is no corruption 'rotate'"),
        (PHOTO, {"corruption_number": 19}, IndexError, "corruption_number is 19; expected 0 to 18"),
        (PHOTO, {}, ValueError, "Neither corruption_name nor corruption_number"),
    ):
        with pytest.raises(kind, match=says) as raised:
            corrupt(image, **options)
        assert isinstance(raised.value, corruptset.errors.CorruptsetError)


def test_a_step_of_mmdetection():
    """Its robustness benchmark casts what LoadImageFromFile(to_float32=True) hands on, and passes severity by name."""
    image = painted(60, 100).astype(np.float32)
    for name in NINETEEN:
        out = corrupt(image.astype(np.uint8), corruption_name=name, severity=3)
        assert (out.shape, out.dtype) == ((60, 100, 3), np.uint8)
        assert not np.array_equal(out, image)
