"""The images that a recipe or a layout is made for: their size and channels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median_low
from typing import Literal

from pydantic import model_validator

from ...errors import listed
from ..pixels.preprocessing import Side
from .file_models import RecipeTable

Shape = tuple[int, int, int]
"""(width, height, channels): 1 is grey, 3 is colour."""
Named = tuple[str, Shape]
"""What an image is called, and its shape."""
_CHANNELS = {"rgb": 3, "grey": 1}
_COLOURS = {1: "grey", 3: "in colour"}
_SHOWN = 3
AMONG_CHECKED = "Among the checked images:"
"""The words of a refusal that precede its list of problems."""


class Expects(RecipeTable):
    """The images that a recipe or a layout is made for: ``[expects]`` of a recipe."""

    sizes: tuple[tuple[Side, Side], ...] = ()
    """(width, height) that every image has one of."""
    least_side: Side | None = None
    """The short side, in pixels, of half of the images or more: genuine ImageNet has a few very small ones."""
    channels: Literal["rgb", "grey"] | None = None
    """What every image is; None is both."""

    @model_validator(mode="after")
    def _one_way(self) -> Expects:
        if self.sizes and self.least_side is not None:
            raise ValueError("has sizes and least_side; give one of them")
        return self

    @property
    def words(self) -> str:
        """The expected images, in words.

        Examples
        --------
        >>> Expects(sizes=((28, 28),), channels="grey").words, Expects(least_side=128).words
        ('grey images of 28x28 pixels', 'images with a short side of at least 128 pixels')
        """
        colour = {"rgb": "colour ", "grey": "grey ", None: ""}[self.channels]
        sizes = f" of {' or '.join(f'{w}x{h}' for w, h in self.sizes)} pixels" if self.sizes else ""
        short = f" with a short side of at least {self.least_side} pixels" if self.least_side is not None else ""
        return f"{colour}images{sizes}{short}"

    def problems(self, images: Sequence[Named], *, complete: bool = True) -> list[str]:
        """Return what contradicts this, one line for sizes and one for channels.

        Where not all images are seen (`complete`), the short side, which is judged over all of them, is left aside.

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


def refusal(what: str, expects: Expects, problems: Sequence[str], instead: str) -> str:
    """Return an error's text: what was expected and given, what fits, how to insist."""
    text = f"{what} is made for {expects.words}. {AMONG_CHECKED}\n{listed(problems)}\n{instead}"
    return f"{text} With --any-shape they are taken all the same."


def _line(wrong: Sequence[Named], images: Sequence[Named], are: str) -> str:
    first = f" (the first is {wrong[0][0]})" if len(wrong) < len(images) else ""
    return f"{len(wrong)} of {len(images)} images {'is' if len(wrong) == 1 else 'are'} {are}{first}"


def _sizes(images: Sequence[Named]) -> str:
    """Return the sizes of images, the most frequent first."""
    sizes = [f"{w}x{h}" for (w, h), _ in Counter(shape[:2] for _, shape in images).most_common()]
    more = len(sizes) - _SHOWN
    return ", ".join(sizes[:_SHOWN]) + (f" and {more} other size{'s' * (more > 1)}" if more > 0 else "")
