"""Test that the two functions of imagecorruptions have the same signatures, names and kinds of results."""

from __future__ import annotations

import functools
import inspect

import numpy as np
import pytest
import scipy.ndimage as ndi

import corruptset
from corruptset.compat import imagecorruptions
from corruptset.compat.imagecorruptions import corrupt, get_corruption_names
from corruptset.corruptions.calibrations import shipped
from corruptset.errors import ImageError, ParameterError, UnknownCorruption
from example_images import synthetic_image

PHOTO = synthetic_image(48, 64)
NINETEEN = (
    "gaussian_noise shot_noise impulse_noise defocus_blur glass_blur motion_blur zoom_blur snow frost fog "
    "brightness contrast elastic_transform pixelate jpeg_compression speckle_noise gaussian_blur spatter saturate"
).split()
"""As imagecorruptions 1.1.2 numbers them."""


def test_names_and_signature_match_imagecorruptions():
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


def test_parameters_match_imagenet_c_at_any_size_and_output_is_deterministic():
    """Test a step of mmdetection, whose benchmark converts images to floats and passes the severity by name."""
    state, grey = np.random.get_state()[1].tolist(), PHOTO[:, :, 0]  # noqa: NPY002
    for number, name in enumerate(NINETEEN):
        for image in (PHOTO, synthetic_image(32, 32)):
            out = corrupt(image, 2, name)
            if name != "elastic_transform":
                row = shipped("imagenet").row(name, 2).parameters
                np.testing.assert_array_equal(out, corruptset.corrupt(image, name, **row))
            by_number = corrupt(
                image.astype(np.float32).astype(np.uint8), severity=np.int64(2), corruption_number=number
            )
            np.testing.assert_array_equal(out, by_number)
            assert not np.array_equal(out, image)
        for options in (grey, grey[:, :, None]):
            np.testing.assert_array_equal(
                corrupt(options, 1, name), corrupt(np.dstack([grey] * 3), corruption_name=name)
            )
    assert np.random.get_state()[1].tolist() == state  # noqa: NPY002


def test_elastic_transform_matches_imagecorruptions(monkeypatch):
    """Test uniform noise of up to 0.005 sides that is smoothed over 0.01 sides, without an affine map."""
    side, image = 64, synthetic_image(64, 64)
    fields = np.random.default_rng(5).uniform(-1, 1, (2, side, side))
    wrapped = functools.partial(imagecorruptions.corrupt_image, field_x=fields[0], field_y=fields[1])
    monkeypatch.setattr(imagecorruptions, "corrupt_image", wrapped)
    smoothed = [ndi.gaussian_filter(f * 0.005 * side, 0.01 * side, mode="reflect", truncate=3) for f in fields]
    for severity, strength in enumerate((12.5, 16.25, 21.25, 25.0, 30.0), 1):
        places = np.mgrid[:side, :side] + strength * np.stack(smoothed[::-1])
        planes = [ndi.map_coordinates(image[..., c].astype(float), places, order=1, mode="reflect") for c in range(3)]
        out = corrupt(image, severity, "elastic_transform").astype(int)
        assert np.abs(out - np.floor(np.dstack(planes) + 1e-9)).max() <= 1


def test_errors_are_corruptset_errors():
    fog = {"corruption_name": "fog"}
    for image, options, kind, message in (
        ([1], fog, ImageError, "list; expected a numpy array"),
        (PHOTO / 255, fog, ImageError, r"np\.rint\(image \* 255\)"),
        (PHOTO[None], fog, ImageError, r"shape \(1, 48, 64, 3\)"),
        (PHOTO.transpose(2, 0, 1), fog, ImageError, "Channels first"),
        (PHOTO[:31], fog, ImageError, "31x64.*32x32"),
        (PHOTO, fog | {"severity": 0}, ParameterError, "severity is 0; expected"),
        (PHOTO, {"corruption_name": "fogg"}, UnknownCorruption, "^There is no corruption 'fogg'. Did you mean 'fog'"),
        (PHOTO, {"corruption_name": "rotate"}, UnknownCorruption, "There is no corruption 'rotate'"),
        (PHOTO, {"corruption_number": 19}, ParameterError, "corruption_number is 19; expected 0 to 18"),
        (PHOTO, {}, ParameterError, "Neither corruption_name nor corruption_number"),
    ):
        with pytest.raises(kind, match=message) as exc_info:
            corrupt(image, **options)
        assert type(exc_info.value) is kind
