"""The corruption `frost`, which mixes the image with a crop of a frost texture."""

from __future__ import annotations

import functools

import numpy as np

from ...errors import ParameterError
from ...references import HENDRYCKS_2019
from ..kernels import kernel
from ..levels import ROUNDING, rounding_offset
from ..random.philox import draw_word
from ..registry import Draw, Images, Keys, Parameter, corruption
from .textures import Texture, TextureSet, default_textures

_TEXTURE = np.int64(0)
# The elements of the stream are the index of the texture, and the first row and the first column of the crop.
_WHICH, _ROW, _COLUMN = np.int64(0), np.int64(1), np.int64(2)
# Enlarged default textures exceed the image by this number of pixels, so that crops differ.
_MARGIN = 64
# Resized textures are cached up to this total number of pixels.
_SMALL = 1 << 22


@kernel
def _crops(stage_key, sample_keys, picks, spans):  # type: ignore[no-untyped-def]
    """Draw the texture, first row and first column of each image's crop, and return them as (N, 3).

    `spans`, (textures, 2), contains the numbers of possible first rows and columns.
    """
    out = np.empty((sample_keys.size, 3), np.int64)
    for i in range(sample_keys.size):
        texture = picks[(np.int64(draw_word(_WHICH, stage_key, sample_keys[i], _TEXTURE)) * picks.size) >> 32]
        out[i, 0] = texture
        out[i, 1] = (np.int64(draw_word(_ROW, stage_key, sample_keys[i], _TEXTURE)) * spans[texture, 0]) >> 32
        out[i, 2] = (np.int64(draw_word(_COLUMN, stage_key, sample_keys[i], _TEXTURE)) * spans[texture, 1]) >> 32
    return out


@kernel
def _mix(image, texture, image_weight, frost_weight, half, out):  # type: ignore[no-untyped-def]
    """Mix an image and a texture, which are flat arrays of one length."""
    for p in range(image.size):
        out[p] = np.uint8(min(image_weight * image[p] + frost_weight * texture[p] + half, 255.0))


@kernel
def _frost(images, out, texture, index, crops, image_weight, frost_weight, half):  # type: ignore[no-untyped-def]
    """Add frost to the images whose crops are from the texture with this index."""
    height, width = images.shape[1:3]
    for i in range(images.shape[0]):
        for y in range(height if crops[i, 0] == index else 0):
            begin = crops[i, 2]
            strip = texture[crops[i, 1] + y, begin : begin + width].reshape(-1)
            _mix(images[i, y].reshape(-1), strip, image_weight, frost_weight, half, out[i, y].reshape(-1))


@kernel
def _grey(texture):  # type: ignore[no-untyped-def]
    out = np.empty((texture.shape[0], texture.shape[1], 1), np.uint8)
    source, target = texture.reshape(-1), out.reshape(-1)
    for p in range(np.uint64(target.size)):
        q = np.uint64(3) * p
        r, g, b = np.int32(source[q]), np.int32(source[q + np.uint64(1)]), np.int32(source[q + np.uint64(2)])
        target[p] = np.uint8(np.int32(19595 * r + 38470 * g + 7471 * b + 32768) >> 16)
    return out


def _resized(texture: Texture, scale: float, channels: int) -> Texture:
    """Return a texture after resizing, converted to grey if the images have one channel."""
    import cv2  # This is a local import, so that corruptions can be listed without OpenCV.

    if scale != 1.0:
        texture = np.asarray(cv2.resize(texture, (0, 0), fx=scale, fy=scale), np.uint8)
    if channels == 1:
        texture = np.asarray(_grey(texture))
    return texture


@functools.lru_cache(maxsize=4)
def _kept(textures: TextureSet, scale: float, channels: int) -> tuple[Texture, ...]:
    return tuple(_resized(array, scale, channels) for array in textures.arrays)


def _scale(textures: TextureSet, texture_scale: float, height: int, width: int) -> float:
    """Return the scale factor for the textures.

    The scale is the given factor, unless the default textures do not cover the image and have to be enlarged further.
    """
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
            f"{height}x{width}: {'; '.join(problems)}. Use larger textures, a larger texture_scale, or the default "
            "textures."
        )
    return texture_scale


@corruption(
    revision=2,
    reference=f"{HENDRYCKS_2019}; released make_imagenet_c.py, frost",
    parameters=(
        Parameter("image_weight", float, 0.0, 100.0, "weight of the image"),
        Parameter("frost_weight", float, 0.0, 100.0, "weight of the frost"),
        Parameter("texture_scale", low=0.01, high=1000.0, length=True, about="scale factor of the texture"),
        ROUNDING,
    ),
    draws=(
        Draw("texture", "crop of a frost texture, (H, W, C) uint8", None, lambda shape, _: shape, np.uint8, 0, 255),
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
    """Add a weighted crop of a frost texture to the weighted image.

    The textures are `default_textures`, or a folder of textures that is passed as `textures`. For images larger than
    448x704 pixels, the default textures are enlarged.

    Raises
    ------
    ParameterError
        If a given texture is smaller than the image.

    Notes
    -----
    The texture and the position of the crop are drawn at random. The position is uniform.

    The released generators have six photographs. The sixth is never used, and the second and third are equal. The
    default textures of corruptset are four drawings with the weights 1:2:1:1. The grey values, skew, gradients and crop
    contrast of the drawings agree with those of the photographs to within a tenth.

    Textures are resized by ``cv2.resize`` (bilinear, not smoothed). For grey images, the crop is converted by
    ``(19595 R + 38470 G + 7471 B + 32768) >> 16``.
    """
    height, width, channels = images.shape[1:]
    out = np.empty_like(images)
    weights = float(image_weight), float(frost_weight), rounding_offset(rounding)
    if texture.size:
        _mix(images.reshape(-1), texture.reshape(-1), *weights, out.reshape(-1))
        return out
    chosen = default_textures(height, width) if textures is None else textures
    scale = _scale(chosen, float(texture_scale), height, width)
    sizes = np.array([a.shape[:2] for a in chosen.arrays])
    spans = np.maximum(np.rint(sizes * scale).astype(np.int64) - [height, width], 1)
    crops = _crops(*keys, np.array(chosen.picks, np.int64), spans)
    small = sizes.prod(axis=1).sum() * scale * scale <= _SMALL
    for index in np.unique(crops[:, 0]):
        if small:
            texture = _kept(chosen, scale, channels)[index]
        else:
            texture = _resized(chosen.arrays[index], scale, channels)
        _frost(images, out, texture, index, crops, *weights)
    return out
