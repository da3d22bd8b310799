"""Frost: the image mixed with a crop of a picture of frost."""

from __future__ import annotations

import functools

import numpy as np

from ...errors import ParameterError
from ...references import HENDRYCKS_2019
from ..kernels import inlined, kernel
from ..levels import ROUNDING, half
from ..random.philox import draw_word
from ..registry import Draw, Images, Keys, Parameter, corruption
from .textures import Texture, TextureSet, default_textures

_TEXTURE = np.int64(0)
# Elements of the stream: which texture, then the crop's first row and first column.
_WHICH, _ROW, _COLUMN = np.int64(0), np.int64(1), np.int64(2)
# Pixels that enlarged default textures are larger than the image, so that crops differ
_MARGIN = 64
# Pixels of all resized textures up to which they are made whole and kept
_SMALL = 1 << 21


@kernel
def _crops(stage_key, sample_keys, picks, spans):  # type: ignore[no-untyped-def]
    """Return (N, 3): texture, first row, first column; `spans` (textures, 2) counts the first rows and columns."""
    out = np.empty((sample_keys.size, 3), np.int64)
    for i in range(sample_keys.size):
        texture = picks[(np.int64(draw_word(_WHICH, stage_key, sample_keys[i], _TEXTURE)) * picks.size) >> 32]
        out[i, 0] = texture
        out[i, 1] = (np.int64(draw_word(_ROW, stage_key, sample_keys[i], _TEXTURE)) * spans[texture, 0]) >> 32
        out[i, 2] = (np.int64(draw_word(_COLUMN, stage_key, sample_keys[i], _TEXTURE)) * spans[texture, 1]) >> 32
    return out


@kernel
def _mix(image, texture, image_weight, frost_weight, half, out):  # type: ignore[no-untyped-def]
    """All flat, of one length."""
    for p in range(image.size):
        out[p] = np.uint8(min(image_weight * image[p] + frost_weight * texture[p] + half, 255.0))


@inlined
def _sources(position, scale, size, clamped):  # type: ignore[no-untyped-def]
    """Return two source pixels and their weights in 1/2048, as OpenCV's linear resize has them: places are float32.

    Beyond the first and last pixel, columns take that pixel alone (`clamped`), rows take it twice.
    """
    where = np.float32((position + 0.5) * (1.0 / scale) - 0.5)
    first = np.int64(np.floor(where))
    part = np.float32(where - np.float32(first))
    if clamped and (first < 0 or first >= size - 1):
        part = np.float32(0.0)
        first = np.int64(min(max(first, 0), size - 1))
    before = np.int64(np.rint(np.float32(np.float32(1.0) - part) * np.float32(2048.0)))
    after = np.int64(np.rint(part * np.float32(2048.0)))
    return min(max(first, 0), size - 1), min(max(first + 1, 0), size - 1), before, after


@kernel
def _cut(texture, scale, row, column, out):  # type: ignore[no-untyped-def]
    """Cut `out` (H, W, C) from a texture (h, w, 3) resized by `scale`, without resizing all of it.

    Bit for bit ``cv2.resize(texture, (0, 0), fx=scale, fy=scale)``, which drops bits on its way, cut at (row, column).
    """
    height, width, channels = out.shape
    rows, columns = texture.shape[:2]
    across = np.empty((width, 4), np.int64)
    for x in range(width):
        across[x, 0], across[x, 1], across[x, 2], across[x, 3] = _sources(column + x, scale, columns, True)
    rgb = np.empty(3, np.int64)
    for y in range(height):
        top, bottom, upper, lower = _sources(row + y, scale, rows, False)
        for x in range(width):
            left, right, before, after = across[x, 0], across[x, 1], across[x, 2], across[x, 3]
            for c in range(3):
                a = np.int64(texture[top, left, c]) * before + np.int64(texture[top, right, c]) * after
                b = np.int64(texture[bottom, left, c]) * before + np.int64(texture[bottom, right, c]) * after
                rgb[c] = ((((a >> 4) * upper) >> 16) + (((b >> 4) * lower) >> 16) + 2) >> 2
            if channels == 3:
                out[y, x, 0], out[y, x, 1], out[y, x, 2] = rgb[0], rgb[1], rgb[2]
            else:
                out[y, x, 0] = (19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 32768) >> 16


@kernel
def _frost(images, out, texture, index, crops, scale, image_weight, frost_weight, half):  # type: ignore[no-untyped-def]
    """Frost the images whose crops are of texture `index`; at scale 0 it is cropped without resizing."""
    patch = np.empty(images.shape[1:], np.uint8)
    height, width = images.shape[1:3]
    for i in range(images.shape[0]):
        if crops[i, 0] != index:
            continue
        if scale == 0.0:
            for y in range(height):
                begin = crops[i, 2]
                strip = texture[crops[i, 1] + y, begin : begin + width].reshape(-1)
                _mix(images[i, y].reshape(-1), strip, image_weight, frost_weight, half, out[i, y].reshape(-1))
        else:
            _cut(texture, scale, crops[i, 1], crops[i, 2], patch)
            _mix(images[i].reshape(-1), patch.reshape(-1), image_weight, frost_weight, half, out[i].reshape(-1))


@functools.lru_cache(maxsize=4)
def _shrunk(textures: TextureSet, scale: float, height: int, width: int, channels: int) -> tuple[Texture, ...]:
    """Return the textures resized by a scale of at most 1, with 1 or 3 channels, and no smaller than (height, width).

    A pixel of a resized texture is the same wherever a crop of it begins: so they are made once, not for each image.
    """
    resized = []
    for array in textures.arrays:
        rows, columns = np.rint(np.array(array.shape[:2]) * scale).astype(np.int64).tolist()
        resized.append(np.empty((max(rows, height), max(columns, width), channels), np.uint8))
        _cut(array, scale, np.int64(0), np.int64(0), resized[-1])
    return tuple(resized)


def _scale(textures: TextureSet, texture_scale: float, height: int, width: int) -> float:
    """Return the scale that is used: the given one, or for the default textures one that covers the image."""
    if textures.default:

        def covering(more: int) -> float:
            return float(
                max(
                    max((height + more) / rows, (width + more) / columns)
                    for rows, columns, _ in map(np.shape, textures.arrays)
                )
            )

        enlarged = covering(_MARGIN)
        return max(texture_scale, enlarged if enlarged > 1.0 else covering(1))
    if problems := textures.not_covering(texture_scale, height, width):
        raise ParameterError(
            f"frost: at texture_scale {texture_scale:g} these textures (height x width) do not cover an image of "
            f"{height}x{width}: {'; '.join(problems)}. Give larger textures, a larger texture_scale, or use the "
            "default ones."
        )
    return texture_scale


@corruption(
    revision=2,
    reference=f"{HENDRYCKS_2019}; released make_imagenet_c.py, frost",
    parameters=(
        Parameter("image_weight", float, 0.0, 100.0, "weight of the image"),
        Parameter("frost_weight", float, 0.0, 100.0, "weight of the frost"),
        Parameter("texture_scale", low=0.01, high=1000.0, length=True, about="factor on the texture's size"),
        ROUNDING,
    ),
    draws=(
        Draw("texture", "(H, W, C) uint8, the crop of frost itself", None, lambda shape, _: shape, np.uint8, 0, 255),
    ),
    resources={"textures": default_textures},
)
def frost(
    images: Images,
    keys: Keys,
    *,
    image_weight: float,
    frost_weight: float,
    texture_scale: float,
    rounding: str = "floor",
    texture: Images,
    textures: TextureSet | None = None,
) -> Images:
    """Add a weighted crop of a picture of frost to the weighted image.

    Which texture, and where the crop lies, are uniform. `textures` (a `TextureSet`) is what crops are taken from: by
    default `default_textures`, which are never smaller than the image: for images beyond 448x704 pixels they are
    enlarged.

    Raises
    ------
    ParameterError
        A given texture is smaller than the image.

    Notes
    -----
    The released generators crop six photographs, of which the sixth is never picked and the second and third are the
    same. The default textures here are drawn, four of them with weights 1:2:1:1; levels, skew, gradients and
    the contrast of crops are the photographs' within a tenth. Textures are resized as ``cv2.resize`` does it (bilinear,
    not smoothed), bit for bit. For grey images the crop becomes ``(19595 R + 38470 G + 7471 B + 32768) >> 16`` first.
    """
    height, width, channels = images.shape[1:]
    out = np.empty_like(images)
    weights = float(image_weight), float(frost_weight), half(rounding)
    if texture.size:
        _mix(images.reshape(-1), texture.reshape(-1), *weights, out.reshape(-1))
        return out
    chosen = default_textures(height, width) if textures is None else textures
    scale = _scale(chosen, float(texture_scale), height, width)
    sizes = np.array([a.shape[:2] for a in chosen.arrays])
    spans = np.maximum(np.rint(sizes * scale).astype(np.int64) - [height, width], 1)
    crops = _crops(*keys, np.array(chosen.picks, np.int64), spans)
    arrays, resized_by = chosen.arrays, scale
    if scale == 1.0 and channels == 3:
        resized_by = 0.0
    elif scale <= 1.0 and sizes.prod(axis=1).sum() * scale * scale <= _SMALL:
        arrays, resized_by = _shrunk(chosen, scale, height, width, channels), 0.0
    for index, array in enumerate(arrays):
        _frost(images, out, array, index, crops, resized_by, *weights)
    return out
