"""Test arrays, PIL images and tensors, and the messages for inputs that are not images."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import corruptset
from corruptset.compat import imagecorruptions
from corruptset.errors import ImageError
from example_images import synthetic_image

PHOTO = synthetic_image(40, 56)
CHANGED = corruptset.corrupt(PHOTO, "gaussian_noise", severity=3)


def test_arrays_and_pil_images_are_returned_as_same_type():
    grey, pil_image = PHOTO[:, :, 0], Image.fromarray(PHOTO)
    for image in (grey, grey[:, :, None], PHOTO, PHOTO[None]):
        assert corruptset.corrupt(image, "gaussian_noise", severity=3).shape == image.shape
    out = corruptset.corrupt(pil_image, "gaussian_noise", severity=3)
    assert (out.mode, out.size) == ("RGB", (56, 40))
    np.testing.assert_array_equal(np.asarray(out), CHANGED)
    np.testing.assert_array_equal(np.asarray(pil_image), PHOTO)
    luma = pil_image.convert("L")
    out = corruptset.corrupt(luma, "fog/3")
    assert out.mode == "L"
    np.testing.assert_array_equal(np.asarray(out), corruptset.corrupt(np.asarray(luma), "fog/3"))
    for mode, better in (("RGBA", "RGB"), ("P", "RGB"), ("LA", "L"), ("I;16", "L")):
        other = Image.new(mode, (32, 32))
        message = f"mode '{mode}'; expected RGB or L. Convert it: image.convert\\('{better}'\\)"
        with pytest.raises(ImageError, match=message):
            corruptset.corrupt(other, "fog", severity=1)
        assert corruptset.corrupt(other.convert(better), "fog", severity=1).mode == better


@pytest.mark.ci
def test_tensors_have_channels_first():
    import torch

    chw = torch.from_numpy(PHOTO.transpose(2, 0, 1).copy())
    turned = torch.from_numpy(PHOTO.transpose(2, 1, 0).copy()).transpose(1, 2)
    for tensor in (chw, torch.from_numpy(PHOTO).permute(2, 0, 1), turned):
        before, out = tensor.clone(), corruptset.corrupt(tensor, "gaussian_noise", severity=3)
        assert (out.dtype, out.shape) == (torch.uint8, tensor.shape)
        np.testing.assert_array_equal(out.numpy(), CHANGED.transpose(2, 0, 1))
        assert torch.equal(tensor, before)
        assert tensor is turned or out.stride() == tensor.stride()
    batch = torch.stack([chw, chw.flip(2)])
    expected = corruptset.corrupt(batch.permute(0, 2, 3, 1).numpy(), "fog", severity=3, key=["a", "b"])
    result = corruptset.corrupt(batch, "fog", severity=3, key=["a", "b"])
    np.testing.assert_array_equal(result.numpy(), expected.transpose(0, 3, 1, 2))
    expected = corruptset.corrupt(PHOTO[:, :, 0], "fog", severity=3)
    for grey in (chw[0], chw[None, :1]):
        out = corruptset.corrupt(grey, "fog", severity=3)
        assert out.shape == grey.shape
        np.testing.assert_array_equal(out.numpy().reshape(expected.shape), expected)
    for invalid, message in (
        (chw.permute(1, 2, 0), r"shape \(40, 56, 3\).*Channels last\? image\.permute\(2, 0, 1\)"),
        (chw / 255, r"torch\.float32.*Corrupt before .*\(image \* 255\)\.round\(\)\.to\(torch\.uint8\)"),
        (chw[:2], r"shape \(2, 40, 56\); expected torch\.uint8, \(C, H, W\)"),
        (chw[:, :7], "7x56"),
    ):
        with pytest.raises(ImageError, match=message):
            corruptset.corrupt(invalid, "fog", severity=1)


LINE = re.compile(r"(np\.\w+\(.*\)\.astype\(np\.uint8\)|image(?:\.\w+\([^)]*\)|\[[^]]*\]))")
MENDED = [
    (PHOTO.transpose(2, 0, 1), PHOTO),
    (PHOTO.transpose(2, 0, 1)[None], PHOTO[None]),
    (PHOTO[None, :, :, 0], PHOTO[:, :, :1]),
    (np.dstack([PHOTO, PHOTO[:, :, :1]]), PHOTO),
    (PHOTO / 255, PHOTO),
    (PHOTO.astype(np.float32), PHOTO),
    (PHOTO.astype(np.int64), PHOTO),
    (PHOTO.astype(np.uint16) * 257, PHOTO),
]


@pytest.mark.parametrize(("image", "expected"), MENDED, ids=[f"{image.dtype} {image.shape}" for image, _ in MENDED])
def test_suggested_line_fixes_error(image, expected):
    with pytest.raises(ImageError) as exc_info:
        corruptset.Corrupt("fog", severity=1)(image)
    message = str(exc_info.value)
    assert str(image.shape) in message or f"{image.dtype}; expected a numpy array of uint8" in message
    result = LINE.search(message)
    assert result, message
    np.testing.assert_array_equal(eval(result[0], {"np": np, "image": image}), expected)


def test_message_names_argument_type():
    for image, message in (
        (PHOTO / 127.5 - 1, r"values go from -?[\d.]+ to [\d.]+\. Undo their normalisation"),
        (np.full((40, 56), np.nan), "not finite"),
        (np.ma.masked_less(PHOTO, 9), r"masked array.*image\.filled"),
        (np.zeros((5, 40, 56), np.uint8), r"A batch of grey images needs a channel: images\[\.\.\., None\]"),
        (PHOTO[:7], "at least 8x8|32x32"),
        (PHOTO > 9, r"bool.*image\.astype\(np\.uint8\) \* 255"),
        ({"image": PHOTO}, r"dict.*sample\['image'\]"),
        ([PHOTO, PHOTO], r"list; expected a numpy array.*np\.stack"),
        (Path("photo.png"), r"PIL\.Image\.open\(path\)"),
        (type("Other", (), {"__array__": lambda self: PHOTO})(), r"Other.*np\.asarray\(image\)"),
        (None, "NoneType"),
    ):
        for call in (
            lambda i: corruptset.corrupt(i, "fog", severity=1),
            corruptset.Corrupt("fog", severity=1),
            imagecorruptions.corrupt,
        ):
            with pytest.raises(ImageError, match=f"(?s){message}"):
                call(image)


def test_image_with_values_beyond_32_bits_is_rejected_before_copy():
    for shape in ((2**16, 2**16), (40_000, 40_000, 3), (2, 40_000, 40_000, 3)):
        image = np.broadcast_to(np.uint8(7), shape)
        for name in ("elastic_transform", "rotate"):
            with pytest.raises(ImageError, match=r"fewer than 4,294,967,296\. Corrupt a smaller image"):
                corruptset.corrupt(image, name, severity=1)
