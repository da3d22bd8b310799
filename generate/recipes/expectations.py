"""The size and channels of the images that a recipe or an export layout expects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median_low
from typing import Literal

from pydantic import model_validator

from ...errors import format_list
from ..pixels.preprocessing import Side
from .file_models import RecipeTable

Shape = tuple[int, int, int]
"""(width, height, channels), with 1 channel for grey and 3 for colour."""
NamedShape = tuple[str, Shape]
"""The path or id of an image, and its shape."""
_CHANNELS = {"rgb": 3, "grey": 1}
_COLOURS = {1: "grey", 3: "in colour"}
MAX_SIZES_SHOWN = 3
IN_CHECKED_IMAGES = ", but in the checked images:"
"""The words of `expectation_error` before the list of problems."""


class Expects(RecipeTable):
    """The images that a recipe (``[expects]``) or an export layout expects."""

    sizes: tuple[tuple[Side, Side], ...] = ()
    """The allowed sizes (width, height). If it is empty, all sizes are allowed."""
    least_side: Side | None = None
    """The minimum length of the short side, in pixels, which at least half of the images must reach.

    The other images may be smaller, because ImageNet contains a few small images.
    """
    channels: Literal["rgb", "grey"] | None = None
    """The colour of all images, or None if both are allowed."""

    @model_validator(mode="after")
    def _check_size_condition(self) -> Expects:
        if self.sizes and self.least_side is not None:
            raise ValueError("has sizes and least_side; give one of them")
        return self

    @property
    def description(self) -> str:
        """A description of the expected images for messages.

        Examples
        --------
        >>> Expects(sizes=((28, 28),), channels="grey").description, Expects(least_side=128).description
        ('grey images of 28x28 pixels', 'images with a short side of at least 128 pixels')
        """
        colour = {"rgb": "colour ", "grey": "grey ", None: ""}[self.channels]
        sizes = f" of {' or '.join(f'{w}x{h}' for w, h in self.sizes)} pixels" if self.sizes else ""
        short = f" with a short side of at least {self.least_side} pixels" if self.least_side is not None else ""
        return f"{colour}images{sizes}{short}"

    def problems(self, images: Sequence[NamedShape], *, complete: bool = True) -> list[str]:
        """Return messages about unexpected sizes and unexpected channels, at most one message for each condition.

        `least_side` is checked only if the list of images is complete, because it applies to the median of the short
        sides of all images.

        Examples
        --------
        >>> Expects(sizes=((32, 32),)).problems([("a", (500, 375, 3)), ("b", (32, 32, 1))])
        ['1 of 2 images is 500x375 (the first is a)']
        >>> Expects(least_side=128).problems([("a", (32, 32, 3)), ("b", (200, 64, 1)), ("c", (500, 375, 3))])
        ['2 of 3 images have a short side below 128 pixels: 32x32, 200x64']
        """
        problems = []
        if self.sizes and (wrong := [image for image in images if image[1][:2] not in self.sizes]):
            problems.append(_line(wrong, images, _sizes(wrong)))
        if self.least_side is not None and images and complete:
            small = [image for image in images if min(image[1][:2]) < self.least_side]
            if median_low(min(shape[:2]) for _, shape in images) < self.least_side:
                problems.append(
                    f"{len(small)} of {len(images)} images have a short side below {self.least_side} pixels: "
                    f"{_sizes(small)}"
                )
        if self.channels is not None and (
            wrong := [image for image in images if image[1][2] != _CHANNELS[self.channels]]
        ):
            problems.append(_line(wrong, images, _COLOURS[wrong[0][1][2]]))
        return problems


def expectation_error(what: str, expects: Expects, problems: Sequence[str], instead: str) -> str:
    """Return an error message that says what was expected, what was found, what fits, and how to proceed anyway."""
    text = f"{what} is made for {expects.description}{IN_CHECKED_IMAGES}\n{format_list(problems)}\n{instead}"
    return f"{text} To use these images anyway, add --any-shape."


def _line(wrong: Sequence[NamedShape], images: Sequence[NamedShape], are: str) -> str:
    first = f" (the first is {wrong[0][0]})" if len(wrong) < len(images) else ""
    return f"{len(wrong)} of {len(images)} images {'is' if len(wrong) == 1 else 'are'} {are}{first}"


def _sizes(images: Sequence[NamedShape]) -> str:
    """Return the sizes of images, the most frequent first."""
    sizes = [f"{w}x{h}" for (w, h), _ in Counter(shape[:2] for _, shape in images).most_common()]
    further = len(sizes) - MAX_SIZES_SHOWN
    return ", ".join(sizes[:MAX_SIZES_SHOWN]) + (
        f" and {further} other size{'s' * (further > 1)}" if further > 0 else ""
    )
