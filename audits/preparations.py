"""Define preparations: the possible ways in which a benchmark's clean images were made from source images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..generate.pixels.preprocessing import (
    AnyPreprocessing,
    CentralResize,
    Interpolation,
    Resize,
    ResizeCrop,
    Unchanged,
    preprocess,
)

Pixels = NDArray[np.uint8]
INTERPOLATIONS: tuple[Interpolation, ...] = ("bilinear", "bicubic", "lanczos", "box", "hamming", "nearest")


@dataclass(frozen=True)
class Preparation:
    """A sequence of preprocessing steps, and a description that continues the sentence "The images were ..."."""

    words: str
    steps: tuple[AnyPreprocessing, ...]

    def clean(self, image: Pixels) -> Pixels:
        """Apply the preparation to a source image, and return the clean image that is then corrupted."""
        for step in self.steps:
            image = preprocess(image, step)
        return image

    def with_interpolation(self, interpolation: Interpolation) -> Preparation:
        """Return this preparation with a different interpolation."""
        steps = tuple(
            step if isinstance(step, Unchanged) else step.model_copy(update={"interpolation": interpolation})
            for step in self.steps
        )
        return Preparation(f"{self.words}, with {interpolation} interpolation", steps)


UNCHANGED = Preparation("left at the size of the source", (Unchanged(kind="none", channels="keep"),))


def candidates(sizes: Sequence[tuple[int, int]], height: int, width: int) -> list[Preparation]:
    """Return the preparations by which source images can get a given size, the published preparation first.

    Parameters
    ----------
    sizes : sequence of (int, int)
        The heights and widths of some source images.
    height, width : int
        The size of the corrupted images.
    """
    if height != width or not 8 <= height <= 4096:
        return [UNCHANGED] if all(size == (height, width) for size in sizes) else []
    side, larger = height, height * 256 // 224
    cropped = ResizeCrop(kind="resize-crop", resize=larger, crop=side, channels="keep")
    squashed = Resize(kind="resize", side=side, channels="keep")
    central = CentralResize(kind="central-resize", fraction=0.875, side=side, channels="keep")
    whole = ResizeCrop(kind="resize-crop", resize=side, crop=side, channels="keep")
    out = [
        Preparation(f"resized to {larger} on the short side and cropped to {side}x{side}", (cropped,)),
        Preparation(f"squashed to {side}x{side} without regard to their shape", (squashed,)),
        Preparation(f"resized to {side} on the short side and cropped to {side}x{side}", (whole,)),
        Preparation(f"cropped to the central 87.5 % of each side and squashed to {side}x{side}", (central,)),
        Preparation(f"resized to {larger} and cropped to {side}x{side} twice", (cropped, cropped)),
        Preparation(
            f"squashed to {larger}x{larger} and cropped to {side}x{side}",
            (Resize(kind="resize", side=larger, channels="keep"), cropped),
        ),
    ]
    if side == 299:
        out.insert(0, out.pop(3))
    elif side < 128:
        out.insert(0, out.pop(1))
    if all(size == (height, width) for size in sizes):
        # Squashing and resizing change nothing at this size. Only crops do.
        out = [UNCHANGED, *(p for p in out if p.steps in ((cropped,), (cropped, cropped)))]
    return out
