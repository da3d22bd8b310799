"""What the shipped recipes are made from where they were published, and how large that makes them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ..pixels.preprocessing import CentralResize, Resize, ResizeCrop
from ..recipes.recipe import Recipe
from ..sinks.containers import SMALL_SIDE
from ..sinks.stored_size import stored_bytes


@dataclass(frozen=True)
class Published:
    """What a published set was made from."""

    source: str
    count: int | None = None
    """Images, where the publication says how many."""
    size: tuple[int, int] | None = None
    """(Width, height) of the images, where all are of one."""
    channels: int = 3


VALIDATION = Published("ImageNet's validation images", 50_000)
PHOTOGRAPHS = Published("photographs")
PUBLISHED = {
    "imagenet-c": VALIDATION,
    "imagenet-c-extra": VALIDATION,
    "imagenet-c-all": VALIDATION,
    "imagenet-c-299": VALIDATION,
    "two-factor-imagenet-c": VALIDATION,
    "flageval-noise": Published("ImageNet's validation images"),
    "tiny-imagenet-c": Published("ImageNet's bounding-box crops", 10_000),
    "cifar10-c": Published("CIFAR-10's test images", 10_000, (32, 32)),
    "cifar100-c": Published("CIFAR-100's test images", 10_000, (32, 32)),
    "mnist-c": Published("MNIST's test images", 10_000, (28, 28), 1),
    "two-factor-69": Published("CIFAR-10, CIFAR-100, MNIST", 500, (32, 32)),
    "two-factor-train": Published("their training images", None, (32, 32)),
    "image-degrade-30": PHOTOGRAPHS,
    "image-degrade-30-text": PHOTOGRAPHS,
}
"""Recipe -> what it is made from. A recipe that is missing here is shown without it; a test names those that ship."""


@dataclass(frozen=True)
class Outline:
    """A recipe in short."""

    name: str
    version: str
    aliases: tuple[str, ...]
    title: str
    description: str
    sets: int
    calibration: str
    size: tuple[int, int] | None
    """(Width, height) of an image; None where it is the source's own."""
    source: str
    """What it was published for, or is meant for, in words."""
    samples: int | None
    """Images of that source, where the number is known."""
    images: int | None
    """Sets times samples."""
    bytes_per_sample: int | None
    """Estimate, by the constants that `plan` has: of one sample's images in all sets."""
    bytes: int | None
    """Estimate: of all images, where their number is known."""

    def as_json(self) -> dict[str, Any]:
        """Return the outline as JSON values."""
        return asdict(self) | {"aliases": list(self.aliases), "size": None if self.size is None else list(self.size)}


def outline(recipe: Recipe) -> Outline:
    """Return a recipe in short: what it makes, from what, and how large that is.

    Parameters
    ----------
    recipe : Recipe

    Returns
    -------
    Outline
        Bytes are of HDF5 shards below 64 pixels and of image files else, as `plan` chooses for large builds.

    Examples
    --------
    >>> from .recipe import load_recipe
    >>> found = outline(load_recipe("imagenet-c"))
    >>> found.sets, found.size, found.samples, found.images
    (75, (224, 224), 50000, 3750000)
    """
    known = PUBLISHED.get(recipe.name, Published(""))
    spec = recipe.preprocessing
    size = spec.size(0, 0) if isinstance(spec, ResizeCrop | CentralResize | Resize) else known.size
    sets = len(recipe.resolve())
    one = None
    if size is not None:
        small = min(size) < SMALL_SIDE
        one = stored_bytes(recipe.encoding, size, "hdf5" if small else "folder")
        if small and recipe.encoding.lossless:
            # shards of lossless images are raw pixels
            one = one * known.channels // 3
    return Outline(
        name=recipe.name,
        version=recipe.version,
        aliases=recipe.aliases,
        title=recipe.title,
        description=recipe.description,
        sets=sets,
        calibration=recipe.calibration,
        size=size,
        source=known.source,
        samples=known.count,
        images=None if known.count is None else sets * known.count,
        bytes_per_sample=None if one is None else one * sets,
        bytes=None if one is None or known.count is None else one * sets * known.count,
    )
