"""Test the command `corrupt`, which applies a corruption or chain to one image."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from surrogates import smooth_network_file

import corruptset
from example_images import synthetic_image


def read(path):
    return np.asarray(Image.open(path))


@pytest.fixture
def picture(tmp_path):
    """Return the pixels of a.png."""
    Image.fromarray(synthetic_image(40, 50)).save(tmp_path / "a.png")
    return synthetic_image(40, 50)


def test_corrupt_writes_same_pixels_as_library(run, picture, tmp_path):
    points = np.zeros((3, 2))
    np.save(tmp_path / "points.npy", points)
    for arguments, name, keywords in (
        ("gaussian_noise -s 3", "gaussian_noise", {"severity": 3}),
        ("gaussian_noise/3 --key 0 --seed 7", "gaussian_noise", {"severity": 3, "seed": 7, "key": "0"}),
        ("contrast-2+gaussian_noise-1", "contrast-2+gaussian_noise-1", {}),
        ("motion_blur -s 2 -p angle_deg=30", "motion_blur", {"severity": 2, "angle_deg": 30}),
        ("elastic_transform -s 5 -p points=points.npy", "elastic_transform", {"severity": 5, "points": points}),
        ("motion_blur -s 5 --scale side", "motion_blur", {"severity": 5, "scale": "side"}),
    ):
        key = run.succeeds(f"corrupt a.png {arguments} --out x.png --force --json").json["key"]
        assert key == keywords.setdefault("key", "a")
        assert np.array_equal(read(tmp_path / "x.png"), corruptset.corrupt(picture, name, **keywords)), arguments
    (tmp_path / "a.png").rename(tmp_path / "my cat é.png")
    assert "my cat é\n" in run.succeeds("corrupt 'my cat é.png' fog/1 --out x.png --force").out


def test_selected_calibration_is_printed_with_reason(run, picture, tmp_path):
    Image.fromarray(picture[:28, :28, 0]).save(tmp_path / "grey.png")
    for image, chosen in (
        ("a.png", "The calibration cifar was chosen, because the shorter side is 40 pixels."),
        ("grey.png", "The calibration mnist was chosen, because the shorter side is 28 pixels and the image is grey."),
    ):
        (note,) = run.succeeds(f"corrupt {image} contrast -s 3 --out x.png --force --json").json["notes"]
        assert note.startswith(chosen)
        assert f"Note: {chosen}" in run.succeeds(f"corrupt {image} contrast/3 --out x.png --force").out
    for arguments in (
        "contrast/3 --calibration cifar",
        "contrast/3 --recipe imagenet-c",
        "black_lines --level 3",
        "clean",
    ):
        assert run.succeeds(f"corrupt a.png {arguments} --out x.png --force --json").json["notes"] == []


def test_severity_0_returns_image_unchanged(run, picture, tmp_path):
    """Test the number 0 as a severity and as a level, on the command line, in ``--sets``, in recipes and in Python."""
    for call in ("fog --severity 0", "fog/0", "black_lines --level 0", "fog-0+black_lines-00"):
        run.succeeds(f"corrupt a.png --out x.png --force {call}")
        assert np.array_equal(read(tmp_path / "x.png"), picture)
    plan_record = run.succeeds("plan imagenet-c --sets fog/0,fog/2 --json").json
    assert [s["id"] for s in plan_record["sets"]] == ["clean", "fog/2"]


def test_output_has_suffix_and_default_name_and_is_not_overwritten(run, picture, tmp_path):
    original_bytes = (tmp_path / "a.png").read_bytes()
    call = "corrupt a.png contrast -s 1"
    run.succeeds(call)
    assert read(tmp_path / "a-contrast-1.png").shape == picture.shape
    run.succeeds("corrupt a.png black_lines --level 7")
    assert (tmp_path / "a-black_lines-7.png").exists()
    run.fails("--force", call)
    run.succeeds(call, "--force")
    run.fails("", call, "--out", "a.png")
    assert (tmp_path / "a.png").read_bytes() == original_bytes
    run.succeeds(call, "--out", "b.JPG")
    assert (tmp_path / "b.JPG").read_bytes().startswith(b"\xff\xd8")
    for out in ("c.gif", "nowhere/c.png"):
        run.fails(out, call, "--out", out)


def test_images_are_decoded_like_sources(run, picture, tmp_path):
    Image.fromarray(picture).convert("CMYK").save(tmp_path / "cmyk.jpg")
    run.succeeds("corrupt cmyk.jpg contrast/1 --out x.png")
    assert read(tmp_path / "x.png").shape == picture.shape
    content = (tmp_path / "cmyk.jpg").read_bytes()
    (tmp_path / "cut.jpg").write_bytes(content[: len(content) // 2])
    for name in ("cut.jpg", "missing.png"):
        run.fails(name, "corrupt", name, "contrast/1", "--out", "y.png")


def test_photo_is_rotated_upright(run, picture, tmp_path):
    """Test a photograph that is stored sideways with an EXIF orientation. The output has no orientation."""
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(picture).save(tmp_path / "phone.png", exif=exif)
    Image.fromarray(np.rot90(picture, -1)).save(tmp_path / "upright.png")
    for name in ("phone", "upright"):
        run.succeeds(f"corrupt {name}.png gaussian_noise/2 --key 0 --out {name}-noise.png")
        run.succeeds(f"corrupt {name}.png clean --out {name}-clean.jpg")
        run.succeeds(f"preview {name}.png --sets contrast/1 --key 0 --out {name}-sheet.png")
    for written in ("noise.png", "clean.jpg", "sheet.png"):
        assert (tmp_path / f"phone-{written}").read_bytes() == (tmp_path / f"upright-{written}").read_bytes()


def test_heic_photo_must_be_converted(run, tmp_path):
    (tmp_path / "a.heic").write_bytes(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(100))
    message = "a.heic is a HEIC file, which is not read: convert it to PNG or JPEG first, for example with ImageMagick"
    run.fails(message, "corrupt a.heic fog/1")
    run.fails(message, "preview a.heic")


def test_frost_accepts_custom_textures(run, picture, tmp_path):
    (tmp_path / "textures").mkdir()
    Image.fromarray(synthetic_image(400, 500)).save(tmp_path / "textures" / "mine.png")
    run.succeeds("corrupt a.png frost -s 2 --out default.png")
    run.succeeds("corrupt a.png frost -s 2 --frost-textures textures --out own.png")
    assert not np.array_equal(read(tmp_path / "own.png"), read(tmp_path / "default.png"))
    run.fails("frost", "corrupt a.png fog -s 2 --frost-textures textures --out x.png")


def test_corrupt_applies_recipe_preprocessing(run, tmp_path):
    """At 299 pixels the calibration does not follow from the size. The recipe determines it, unless the user does."""
    Image.fromarray(synthetic_image(320, 400)).save(tmp_path / "a.png")
    result = run.succeeds("corrupt a.png pixelate/4 --recipe imagenet-c-299 --out x.png --json").json
    assert (result["width"], result["height"]) == (299, 299)
    run.succeeds("corrupt a.png clean --recipe imagenet-c-299 --out clean.png")
    for arguments, calibration in (("", "inception"), ("--calibration tiny", "tiny")):
        run.succeeds(f"corrupt a.png pixelate/4 --recipe imagenet-c-299 --out x.png --force {arguments}")
        expected = corruptset.corrupt(read(tmp_path / "clean.png"), "pixelate", severity=4, calibration=calibration)
        assert np.array_equal(read(tmp_path / "x.png"), expected)


@pytest.mark.ci
def test_corrupt_uses_model(run, tmp_path):
    image = synthetic_image(24, 20)
    Image.fromarray(image).save(tmp_path / "a.png")
    surrogate = ["--surrogate", smooth_network_file(24, 20)]
    for arguments, name, keywords in (
        ("-s 3 -p norm=l2 -p eps=200", "pgd", {"severity": 3, "eps": 200, "norm": "l2"}),
        ("", "fog-2+model_gradient-05", {}),
    ):
        run.succeeds(f"corrupt a.png {name} {arguments} --label 4 --out x.png --force", *surrogate)
        expected = corruptset.corrupt(image, name, **keywords, surrogate=smooth_network_file(24, 20), label=4, key="a")
        assert np.array_equal(read(tmp_path / "x.png"), expected)
    message = "has classes 0 to 9, but some labels are outside this range: 10"
    run.fails(message, "corrupt a.png pgd-3 --label 10 --out y.png", *surrogate)


def test_missing_model_is_reported(run, picture):
    run.fails("pgd uses the gradients of a model, but surrogate is missing", "corrupt a.png pgd-3 --label 4")
    run.fails("'label' is not a parameter. It has a separate option", "corrupt a.png pgd-3 -p label=4")
