"""A recipe in short: what it makes, from what, and how large that is."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ..recipes.recipe import Recipe
from ..sinks.containers import SMALL_SIDE
from ..sinks.sink import stored_bytes
from .recipe_build import own_sizes


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
    """What it was published for, or is made for, in words."""
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
    """Return a recipe in short.

    Parameters
    ----------
    recipe : Recipe

    Returns
    -------
    Outline
        Bytes are of HDF5 shards below 64 pixels and of image files else, as `plan` chooses for large builds.

    Examples
    --------
    >>> from corruptset.generate.recipes.recipe import load_recipe
    >>> short = outline(load_recipe("imagenet-c"))
    >>> short.sets, short.size, short.samples, short.images
    (76, (224, 224), 50000, 3800000)
    """
    published = recipe.published
    size = recipe.preprocessing.size(0, 0) if not own_sizes(recipe.preprocessing) else published.size if published is not None else None
    sets = len(recipe.resolve().sets)
    samples = None if published is None else published.images
    bytes_per_sample = None
    if size is not None:
        small = min(size) < SMALL_SIDE
        bytes_per_sample = sets * stored_bytes(recipe.encoding, size, "hdf5" if small else "folder")
        if small and recipe.encoding.lossless and published is not None and published.channels == "grey":
            bytes_per_sample //= 3  # shards of lossless images are raw pixels
    return Outline(
        name=recipe.name,
        version=recipe.version,
        aliases=recipe.aliases,
        title=recipe.title,
        description=recipe.description,
        sets=sets,
        calibration=recipe.calibration,
        size=size,
        source="" if published is None else published.source,
        samples=samples,
        images=None if samples is None else sets * samples,
        bytes_per_sample=bytes_per_sample,
        bytes=None if bytes_per_sample is None or samples is None else bytes_per_sample * samples,
    )
