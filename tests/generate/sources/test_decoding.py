"""Each rule of the table in decoding.py, with the result of decoding."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image, ImageFile, PngImagePlugin

from corruptset.generate.sources.decoding import decode
from corruptset.generate.sources.source import BadSample
from example_images import encode_image

RGB = (np.arange(40 * 30 * 3, dtype=np.uint32).reshape(30, 40, 3) * 7 % 256).astype(np.uint8)
GREY = RGB[:, :, 0].copy()
ALPHA = (np.arange(30 * 40).reshape(30, 40) % 256).astype(np.uint8)


def png(width, height, depth, colour, rows):
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def two_images(kind):
    """Return a file that contains two images."""
    return encode_image(Image.fromarray(RGB), kind, save_all=True, append_images=[Image.fromarray(255 - RGB)])


BOMB = png(50_000, 50_000, 8, 2, b"")


def check_pixels(data, expected, what=None):
    image = decode(data)
    assert (image.dtype, image.flags.c_contiguous, image.flags.writeable) == (np.uint8, True, True), what
    np.testing.assert_array_equal(image, expected, err_msg=str(what))


def test_every_image_mode_is_decoded_by_documented_rule():
    for kind in ("PNG", "BMP", "TIFF", "PPM"):
        check_pixels(encode_image(RGB, kind), RGB, kind)
        check_pixels(encode_image(GREY, kind), GREY[:, :, None], kind)
    exif = Image.Exif()
    exif[0x0112] = 6  # the orientation is ignored
    for options in ({}, {"progressive": True}, {"subsampling": 0}, {"quality": 10}, {"exif": exif}):
        for image in (RGB, GREY):
            data = encode_image(image, "JPEG", **options)
            check_pixels(data, np.asarray(Image.open(io.BytesIO(data))).reshape(30, 40, -1), options)
    # CMYK is converted by Pillow, and of a JPEG with several images the first is read
    for data in (encode_image(Image.fromarray(RGB).convert("CMYK"), "JPEG"), two_images("MPO")):
        check_pixels(data, np.asarray(Image.open(io.BytesIO(data)).convert("RGB")))
    # transparency is dropped, and the stored colour is kept
    check_pixels(encode_image(np.dstack([RGB, ALPHA])), RGB)
    check_pixels(encode_image(Image.fromarray(np.dstack([GREY, ALPHA]), "LA")), GREY[:, :, None])
    palette = Image.fromarray(GREY // 64).convert("P")
    palette.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 8, 7])
    colours = np.array([[255, 0, 0], [0, 255, 0], [0, 0, 255], [9, 8, 7]], np.uint8)[np.asarray(palette)]
    for options in ({}, {"transparency": 0}, {"transparency": bytes([0, 60, 120, 255])}):
        check_pixels(encode_image(palette, **options), colours, options)
    check_pixels(encode_image(Image.fromarray(GREY > 100)), ((GREY > 100) * np.uint8(255))[:, :, None])
    # 16-bit grey is scaled instead of clipped, and the high byte of 16-bit colour is kept
    values = np.linspace(0, 65535, 30 * 40).astype(np.uint16).reshape(30, 40)
    scaled = np.floor(values / 257 + 0.5).astype(np.uint8)[:, :, None]
    for data in (
        encode_image(values),
        encode_image(values, "TIFF"),
        b"P5 40 30 65535\n" + values.astype(">u2").tobytes(),
    ):
        check_pixels(data, scaled)
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in (RGB.astype(np.uint16) * 256 + 200))
    check_pixels(png(40, 30, 16, 2, rows), RGB)


def test_undecodable_images_are_listed(monkeypatch):
    tiff = encode_image(GREY.astype(np.uint16) * 16, "TIFF")

    def tagged(tag, value, other):
        entry = struct.pack("<HHI", tag, 3, 1)
        assert entry + bytes([value]) in tiff
        return tiff.replace(entry + bytes([value]), entry + bytes([other]))

    text = PngImagePlugin.PngInfo()
    text.add_text("notes", "x" * (PngImagePlugin.MAX_TEXT_CHUNK + 1), zip=True)
    for data, message in (
        (tagged(258, 16, 12), "a TIFF with 9 to 15 bits"),
        (tagged(262, 1, 0), "with white as 0, so the range"),
        (encode_image(RGB, pnginfo=text), "save it again without its text"),
        *((two_images(kind), "contains 2 images") for kind in ("GIF", "TIFF", "WEBP", "PNG")),
        *((encode_image(Image.fromarray(GREY).convert(m), "TIFF"), f"mode {m}.*8-bit") for m in "IF"),
        (b"", "empty"),
        (b"not an image, though it is called one\n", "does not have the content of an image"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n", "content of an image"),
        (b"\xff\xd8\xff", "(damaged|content of an image)"),
        (encode_image(np.zeros((1, 1, 3), np.uint8)), "is 1x1; both sides must have at least 8"),
        (encode_image(np.zeros((7, 100, 3), np.uint8), "JPEG"), "is 100x7"),
        (BOMB, "89,478,485 pixels that one image may have"),
    ):
        with pytest.raises(BadSample, match=message):
            decode(data)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)  # another library may have changed this setting
    with pytest.raises(BadSample, match="89,478,485 pixels"):
        decode(BOMB)


def test_jpeg_without_end_marker_is_rejected():
    """Pillow's decoder accepts some of these files, depending on the last bits."""
    preview = Image.Exif()
    preview[0x0201] = 0
    images = [Image.fromarray(np.full((16, 16, 3), i, np.uint8)) for i in range(0, 256, 5)]
    images += [Image.fromarray(RGB[:height, :width]) for height, width in ((30, 40), (8, 8), (17, 33))]
    for i, image in enumerate(images):
        for progressive in (False, True):
            data = encode_image(image, "JPEG", progressive=progressive, exif=preview)
            assert data.endswith(b"\xff\xd9")
            expected = decode(data)
            for truncated in (data[:-1], data[:-2], data[:-2] + bytes(64)):
                with pytest.raises(BadSample, match="lacks the marker that ends a JPEG"):
                    decode(truncated)
            # bytes after the end marker are ignored
            for more in (b"\n", bytes(512), b"\xff\xda" * 9):
                check_pixels(data + more, expected, i)


def test_embedded_preview_does_not_end_image():
    preview = encode_image(Image.fromarray(GREY), "JPEG")
    original = encode_image(Image.fromarray(RGB), "JPEG", exif=b"Exif\0\0" + preview)
    check_pixels(original, decode(encode_image(Image.fromarray(RGB), "JPEG")))
    with pytest.raises(BadSample, match="the marker that ends a JPEG"):
        decode(original[:-2])


def test_truncated_image_is_never_partly_decoded(monkeypatch):
    """A file that is truncated anywhere is listed, unless it still has all of its pixels."""
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)  # another library may have changed this setting
    kinds = [(kind, {}) for kind in ("JPEG", "PNG", "BMP", "GIF", "TIFF", "WEBP", "PPM")]
    for kind, options in (*kinds, ("JPEG", {"progressive": True})):
        data = encode_image(Image.fromarray(RGB).convert("P") if kind == "GIF" else RGB, kind, **options)
        original, failure_count = decode(data), 0
        cuts = sorted({*range(0, len(data), max(1, len(data) // 40)), *range(len(data) - 14, len(data))})
        for cut in cuts:
            try:
                result = decode(data[:cut])
            except BadSample:
                failure_count += 1
            else:
                assert kind in ("PNG", "GIF")
                np.testing.assert_array_equal(result, original)
        assert failure_count >= len(cuts) - 20, kind
    assert ImageFile.LOAD_TRUNCATED_IMAGES is True


TURNS = {
    2: lambda image: image[:, ::-1],
    3: lambda image: image[::-1, ::-1],
    4: lambda image: image[::-1],
    5: lambda image: image.transpose(1, 0, 2),
    6: lambda image: np.rot90(image, -1),
    7: lambda image: image[::-1, ::-1].transpose(1, 0, 2),
    8: np.rot90,
}
"""EXIF orientation -> the function that a viewer applies to the pixels."""


def test_orientation_is_ignored_unless_upright_image_is_requested():
    for orientation, turn in TURNS.items():
        exif = Image.Exif()
        exif[0x0112] = orientation
        for kind, image in (("PNG", RGB), ("PNG", GREY[..., None]), ("PNG", GREY.astype(np.uint16)[..., None])):
            data = encode_image(image[..., 0] if image.shape[2] == 1 else image, kind, exif=exif)
            decoded = np.asarray(Image.open(io.BytesIO(data)))
            pixels = decode(data)
            assert pixels.shape[:2] == decoded.shape[:2]
            np.testing.assert_array_equal(decode(data, upright=True), turn(pixels), err_msg=f"{kind} {orientation}")
        for kind in ("JPEG", "WEBP"):
            data = encode_image(RGB, kind, exif=exif)
            np.testing.assert_array_equal(decode(data), np.asarray(Image.open(io.BytesIO(data))))
            np.testing.assert_array_equal(decode(data, upright=True), turn(decode(data)))
        # Pillow already rotates a TIFF when it reads it
        tiff = encode_image(RGB, "TIFF", tiffinfo={0x0112: orientation})
        np.testing.assert_array_equal(decode(tiff), turn(RGB))
        np.testing.assert_array_equal(decode(tiff, upright=True), turn(RGB))


def test_upright_or_damaged_orientation_changes_nothing():
    for value in (0, 1, 9, 65535):
        exif = Image.Exif()
        exif[0x0112] = value
        data = encode_image(RGB, exif=exif)
        np.testing.assert_array_equal(decode(data, upright=True), RGB)
    for damaged in (b"Exif\0\0", b"Exif\0\0MM\0*\0\0\0\x08\xff\xff", b"\xff" * 40):
        np.testing.assert_array_equal(decode(encode_image(RGB, exif=damaged), upright=True), RGB)


def iso_header(brand, *compatible):
    """Return the first bytes of a file in the ISO base media format."""
    body = brand + bytes(4) + b"".join(compatible)
    return struct.pack(">I", len(body) + 8) + b"ftyp" + body + bytes(100)


def test_convertible_formats_are_named():
    for data, name in (
        *((iso_header(brand, b"mif1"), "HEIC") for brand in (b"heic", b"heix", b"mif1", b"msf1", b"hevc")),
        (iso_header(b"mif1", b"miaf", b"heic"), "HEIC"),
        *((iso_header(brand, b"mif1", b"miaf"), "AVIF") for brand in (b"avif", b"avis")),
        (b"\xff\x0a" + bytes(40), "JPEG XL"),
        (b"\0\0\0\x0cjP  \r\n\x87\n" + bytes(40), "JPEG 2000"),
    ):
        with pytest.raises(
            BadSample, match=f"is a {name} file, which is not read: convert it to PNG or JPEG first.*magick"
        ):
            decode(data)
    with pytest.raises(BadSample, match="does not have the content of an image"):
        decode(iso_header(b"isom", b"mp41"))  # a video file
