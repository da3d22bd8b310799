"""Arrays, PIL images and tensors: one image in each type becomes the same pixels, in the type that came in."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

import corruptset
from corruptset.corruptions.image_types import take
from pictures import painted

PHOTO = painted(40, 56)
CHANGED = corruptset.corrupt(PHOTO, "gaussian_noise", severity=3)


def test_an_array_comes_back_with_its_dimensions() -> None:
    grey = PHOTO[:, :, 0]
    for image in (grey, grey[:, :, None], PHOTO, PHOTO[None]):
        before = image.copy()
        taken = take(image)
        assert (taken.batch.ndim, taken.single) == (4, image.ndim < 4)
        assert corruptset.corrupt(image, "gaussian_noise", severity=3).shape == image.shape
        np.testing.assert_array_equal(image, before)


@pytest.mark.parametrize("image", [PHOTO.copy(), PHOTO[:, ::-1], np.asfortranarray(PHOTO), PHOTO[:, :, ::-1]])
def test_any_layout_is_read_as_it_looks(image: NDArray[np.uint8]) -> None:
    plain = np.array(image, order="C")
    image.setflags(write=False)
    np.testing.assert_array_equal(
        corruptset.corrupt(image, "gaussian_noise", severity=3), corruptset.corrupt(plain, "gaussian_noise/3")
    )


def test_a_pil_image_keeps_its_mode() -> None:
    picture = Image.fromarray(PHOTO)
    out = corruptset.corrupt(picture, "gaussian_noise", severity=3)
    assert isinstance(out, Image.Image)
    assert (out.mode, out.size) == ("RGB", (56, 40))
    np.testing.assert_array_equal(np.asarray(out), CHANGED)
    np.testing.assert_array_equal(np.asarray(picture), PHOTO)
    grey = corruptset.corrupt(picture.convert("L"), "fog/3")
    assert grey.mode == "L"
    np.testing.assert_array_equal(np.asarray(grey), corruptset.corrupt(np.asarray(picture.convert("L")), "fog/3"))


@pytest.mark.parametrize(
    ("mode", "better"),
    [
        ("RGBA", "RGB"),
        ("P", "RGB"),
        ("CMYK", "RGB"),
        ("YCbCr", "RGB"),
        ("LA", "L"),
        ("1", "L"),
        ("F", "L"),
        ("I;16", "L"),
    ],
)
def test_other_modes_are_refused_with_what_helps(mode: str, better: str) -> None:
    picture = Image.new(mode, (32, 32))
    with pytest.raises(
        corruptset.errors.ImageError,
        match=f"mode '{mode}'; expected RGB or L. Convert it: image.convert\\('{better}'\\)",
    ):
        corruptset.corrupt(picture, "fog", severity=1)
    assert corruptset.corrupt(picture.convert(better), "fog", severity=1).mode == better


def test_neither_pil_nor_torch_is_imported() -> None:
    code = (
        "import sys, numpy, corruptset; corruptset.Corrupt('contrast', severity=1)(numpy.zeros((32, 32), numpy.uint8));"
        "print([m for m in ('torch', 'torchvision', 'albumentations', 'datasets') if m in sys.modules])"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip() == "[]"
    )


def tensors() -> dict[str, Any]:
    import torch

    chw = torch.from_numpy(PHOTO.transpose(2, 0, 1).copy())
    return {
        "as it is": chw,
        "channels last in memory": torch.from_numpy(PHOTO).permute(2, 0, 1),
        "turned": torch.from_numpy(PHOTO.transpose(2, 1, 0).copy()).transpose(1, 2),
        "part": torch.nn.functional.pad(chw, (3, 5, 2, 1))[:, 2:-1, 3:-5],
    }


@pytest.mark.ci
@pytest.mark.parametrize("layout", ["as it is", "channels last in memory", "turned", "part"])
def test_a_tensor_has_its_channels_first(layout: str) -> None:
    import torch

    tensor = tensors()[layout]
    before = tensor.clone()
    out = corruptset.corrupt(tensor, "gaussian_noise", severity=3)
    assert (out.dtype, out.shape) == (torch.uint8, tensor.shape)
    np.testing.assert_array_equal(out.numpy(), CHANGED.transpose(2, 0, 1))
    assert torch.equal(tensor, before)
    if layout != "turned" and layout != "part":
        assert out.stride() == tensor.stride()


@pytest.mark.ci
def test_tensors_of_greys_and_batches() -> None:
    import torch

    batch = torch.stack([tensors()["as it is"], tensors()["as it is"].flip(2)])
    arrays = batch.permute(0, 2, 3, 1).numpy()
    want = corruptset.corrupt(arrays, "fog", severity=3, key=["a", "b"])
    out = corruptset.corrupt(batch, "fog", severity=3, key=["a", "b"])
    np.testing.assert_array_equal(out.numpy(), want.transpose(0, 3, 1, 2))
    grey = torch.from_numpy(PHOTO[:, :, 0].copy())
    want = corruptset.corrupt(PHOTO[:, :, 0], "fog", severity=3)
    for tensor in (grey, grey[None], grey[None, None]):
        out = corruptset.corrupt(tensor, "fog", severity=3)
        assert out.shape == tensor.shape
        np.testing.assert_array_equal(out.numpy().reshape(want.shape), want)


@pytest.mark.ci
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda t: t.permute(1, 2, 0), r"shape \(40, 56, 3\).*Channels last\? image\.permute\(2, 0, 1\)"),
        (lambda t: t.permute(1, 2, 0)[None], r"Channels last\? image\.permute\(0, 3, 1, 2\)"),
        (lambda t: t / 255, r"torch\.float32.*Corrupt before .*\(image \* 255\)\.round\(\)\.to\(torch\.uint8\)"),
        (lambda t: t.long(), r"torch\.int64 and shape \(3, 40, 56\); expected torch\.uint8"),
        (lambda t: t[:2], r"shape \(2, 40, 56\); expected torch\.uint8, \(C, H, W\)"),
        (lambda t: t[:, :7], "7x56"),
    ],
)
def test_other_tensors_are_refused_with_what_helps(change: Any, says: str) -> None:
    with pytest.raises(corruptset.errors.ImageError, match=says):
        corruptset.corrupt(change(tensors()["as it is"]), "fog", severity=1)
