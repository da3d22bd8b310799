"""Each rule of decoding.py: what comes, and what becomes of it."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image, ImageFile

from corruptset.generate.sources.decoding import MAX_PIXELS, decode
from corruptset.generate.sources.source import BadSample
from pictures import encoded

RAMP = np.arange(40 * 30 * 3, dtype=np.uint32).reshape(30, 40, 3) * 7 % 256
RGB = RAMP.astype(np.uint8)
GREY = RGB[:, :, 0].copy()


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(width, height, depth, colour, rows):
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def same(data, expected):
    image = decode(data)
    assert image.dtype == np.uint8
    assert image.flags.c_contiguous
    assert image.flags.writeable
    np.testing.assert_array_equal(image, expected)


@pytest.mark.parametrize("kind", ["PNG", "BMP", "TIFF", "PPM"])
def test_rgb_and_grey_come_as_they_are(kind):
    same(encoded(RGB, kind), RGB)
    same(encoded(GREY, kind), GREY[:, :, None])


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"subsampling": 0}, {"quality": 10}], ids=str)
def test_jpeg_is_decoded_as_pillow_does(options):
    for image in (RGB, GREY):
        data = encoded(image, "JPEG", **options)
        expected = np.asarray(Image.open(io.BytesIO(data)))
        same(data, expected if expected.ndim == 3 else expected[:, :, None])


def test_cmyk_jpeg_is_converted_as_torchvisions_loader_does():
    data = encoded(Image.fromarray(RGB).convert("CMYK"), "JPEG")
    same(data, np.asarray(Image.open(io.BytesIO(data)).convert("RGB")))


def test_alpha_is_dropped_and_the_stored_colour_stays():
    alpha = (np.arange(30 * 40).reshape(30, 40) % 256).astype(np.uint8)
    same(encoded(np.dstack([RGB, alpha]), "PNG"), RGB)
    same(encoded(Image.fromarray(np.dstack([GREY, alpha]), "LA"), "PNG"), GREY[:, :, None])


@pytest.mark.filterwarnings("error")
def test_a_palette_with_alpha_keeps_its_colours():
    picture = Image.fromarray(GREY // 64).convert("P")
    picture.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 8, 7])
    colours = np.array([[255, 0, 0], [0, 255, 0], [0, 0, 255], [9, 8, 7]], np.uint8)
    expected = colours[np.asarray(picture)]
    same(encoded(picture, "PNG"), expected)
    same(encoded(picture, "PNG", transparency=0), expected)
    same(encoded(picture, "PNG", transparency=bytes([0, 60, 120, 255])), expected)


def test_one_bit_becomes_black_and_white():
    bits = GREY > 100
    same(encoded(Image.fromarray(bits), "PNG"), (bits * np.uint8(255))[:, :, None])


def test_sixteen_bit_grey_is_scaled_not_clipped():
    values = np.linspace(0, 65535, 30 * 40).astype(np.uint16).reshape(30, 40)
    expected = np.floor(values / 257 + 0.5).astype(np.uint8)[:, :, None]
    assert abs(int(expected.mean()) - 127) <= 1
    same(encoded(values, "PNG"), expected)
    same(encoded(values, "TIFF"), expected)
    same(b"P5 40 30 65535\n" + values.astype(">u2").tobytes(), expected)


def test_sixteen_bit_colour_keeps_the_high_byte():
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in (RGB.astype(np.uint16) * 256 + 200))
    same(png(40, 30, 16, 2, rows), RGB)


def test_exif_orientation_is_ignored():
    exif = Image.Exif()
    exif[0x0112] = 6
    data = encoded(RGB, "JPEG", exif=exif)
    same(data, np.asarray(Image.open(io.BytesIO(data))))
    assert decode(data).shape == (30, 40, 3)


def test_the_first_picture_of_an_mpo_is_taken():
    first, second = Image.fromarray(RGB), Image.fromarray(255 - RGB)
    data = encoded(first, "MPO", save_all=True, append_images=[second])
    assert Image.open(io.BytesIO(data)).n_frames == 2
    same(data, np.asarray(Image.open(io.BytesIO(data)).convert("RGB")))


@pytest.mark.parametrize("kind", ["GIF", "TIFF", "WEBP", "PNG"])
def test_several_frames_are_listed(kind):
    frames = [Image.fromarray(RGB), Image.fromarray(255 - RGB)]
    with pytest.raises(BadSample, match="holds 2 pictures"):
        decode(encoded(frames[0], kind, save_all=True, append_images=frames[1:]))


@pytest.mark.parametrize("mode", ["I", "F"])
def test_values_without_a_known_range_are_listed(mode):
    data = encoded(Image.fromarray(GREY).convert(mode), "TIFF")
    with pytest.raises(BadSample, match=f"mode {mode}.*8-bit"):
        decode(data)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "empty"),
        (b"not an image, though it is called one\n", "is not an image by its bytes"),
        (b"\x00\x01\x02" * 100, "not an image"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n", "not an image"),
        (b"\xff\xd8\xff", "(damaged|not an image)"),
        (encoded(np.zeros((1, 1, 3), np.uint8), "PNG"), "is 1x1; both sides must have at least 8"),
        (encoded(np.zeros((7, 100, 3), np.uint8), "JPEG"), "is 100x7"),
        (png(50_000, 50_000, 8, 2, b""), "pixels that one image may have"),
        (png(10_000, 9_500, 8, 2, b""), "pixels that one image may have"),
        (b"BM" + struct.pack("<IHHIIiiHHIIiiII", 54, 0, 0, 54, 40, 60_000, 60_000, 1, 24, 0, 0, 0, 0, 0, 0), "pixels"),
    ],
    ids=["empty", "text", "bytes", "eps", "stub", "1x1", "100x7", "bomb", "large", "bmp-bomb"],
)
def test_what_is_listed(data, said):
    with pytest.raises(BadSample, match=said):
        decode(data)


def test_the_pixel_cap_is_pillows_and_does_not_depend_on_its_setting(monkeypatch):
    assert Image.MAX_IMAGE_PIXELS == MAX_PIXELS
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)
    with pytest.raises(BadSample, match="89,478,485 pixels"):
        decode(png(50_000, 50_000, 8, 2, b""))


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("JPEG", {}),
        ("JPEG", {"progressive": True}),
        ("PNG", {}),
        ("BMP", {}),
        ("GIF", {}),
        ("TIFF", {}),
        ("WEBP", {}),
        ("PPM", {}),
    ],
    ids=str,
)
def test_a_truncated_image_is_never_half_an_image(kind, options, monkeypatch):
    """Cut anywhere, it is listed; where only bytes after the pixels are missing, the pixels are whole."""
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)  # what some other library may have done
    data = encoded(Image.fromarray(RGB).convert("P") if kind == "GIF" else RGB, kind, **options)
    whole = decode(data)
    cuts = sorted({*range(0, len(data), max(1, len(data) // 40)), *range(len(data) - 14, len(data))})
    listed = 0
    for cut in cuts:
        try:
            got = decode(data[:cut])
        except BadSample:
            listed += 1
        else:
            assert kind in ("PNG", "GIF")
            np.testing.assert_array_equal(got, whole)
    assert listed >= len(cuts) - 20
    assert ImageFile.LOAD_TRUNCATED_IMAGES is True
