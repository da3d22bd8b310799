"""Decide whether the regions of a build are stored as images or as a table, and list regions as samples."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal, overload

from ...errors import BuildError
from ...manifests.regions.grids import Regions, regions_of
from ..pixels.encoding import PngEncoding
from ..recipes.recipe import Recipe
from ..recipes.region_table import RegionTable
from ..recipes.set_spec import SetSpec
from ..regions.block_draws import grids_of
from ..regions.region_source import samples_of
from ..sinks.sink import stored_bytes
from ..sources.check import Checked
from .job import CheckedSample
from .options import BuildOptions

Store = Literal["images", "table"]
MAX_TABLE_RATIO = 0.1
"""By default, regions are stored as a table if the table takes at most this fraction of the bytes that region images
would take.
"""
TABLE_NOTE = (
    "Regions are stored as a table, which consists of the complete images and the positions of the regions and needs "
    "at most a tenth of the bytes. `predict` and `score` need regions that are stored as images. For them, build "
    "with --store images."
)
REGION_ROW_BYTES = 250
"""Approximate size of a row in regions.jsonl, in bytes."""


@dataclass(frozen=True)
class RegionStore:
    """How the regions of a build are stored, with estimates of their number and size from a few source images."""

    table: RegionTable
    store: Store
    regions_per_image: float = 0.0
    """Mean number of regions per image."""
    region_bytes: float = 0.0
    """Estimated size, in bytes, of a region that is stored as an image file."""
    table_bytes: float = 0.0
    """Estimated size, in bytes, of an image together with its rows in regions.jsonl."""
    notes: tuple[str, ...] = ()
    """Notes for users about the regions."""

    @property
    def record(self) -> dict[str, Any]:
        """The record of the regions in the manifest's recipe."""
        return self.table.model_dump(mode="json", exclude_none=True) | {"store": self.store}

    def samples(self, images: int) -> int:
        """Return the number of samples in a build from `images` images.

        The number is an estimate if the images differ in size or if blocks overlap.
        """
        return round(self.regions_per_image * images) if self.store == "images" else images


def region_store(
    recipe: Recipe,
    probed: Checked,
    images: int,
    options: BuildOptions,
    *,
    requested: Iterable[SetSpec],
    sets: Iterable[SetSpec],
) -> RegionStore | None:
    """Return how the regions of a recipe are stored, or None for a recipe without regions.

    Parameters
    ----------
    recipe : Recipe
        The recipe, which may have regions.
    probed : Checked
        The result of checking a few images. All of these images are large enough for the regions.
    images : int
        The number of selected images.
    options : BuildOptions
        The options of the build. Their `store` overrides the default.
    requested : iterable of SetSpec
        The requested sets.
    sets : iterable of SetSpec
        All sets of the recipe. The default is a table only if no set is corrupted, because a table cannot store
        corrupted regions that are added later.

    Raises
    ------
    BuildError
        The option `store` is given, but the recipe has no regions. The error is also raised if `store` is ``"table"``,
        but a table cannot store the requested sets or cannot use the requested encoding.
    """
    if recipe.regions is None:
        if options.store is not None:
            raise BuildError(f"--store is for recipes with [regions]; {recipe.name} has none. Leave it out.")
        return None
    table, sizes, regions, rows = recipe.regions, list[tuple[int, int]](), 0, 0
    for sample, _, width, height, _ in probed.good:
        grids = grids_of(table, options.seed, sample.id, width, height)
        sizes.append((width, height))
        regions, rows = regions + len(regions_of(sample.id, grids)), rows + len(grids)
    seen = max(1, len(sizes))
    width, height = (round(sum(column) / len(column)) for column in zip(*(sizes or [(224, 224)]), strict=True))
    region_bytes = stored_bytes(recipe.encoding, (table.size,) * 2)
    table_bytes = stored_bytes(PngEncoding(), (width, height)) + rows / seen * REGION_ROW_BYTES
    small = table_bytes <= MAX_TABLE_RATIO * regions / seen * region_bytes
    plain = not any(spec.stages for spec in requested)
    # A user who chooses the storage or the encoding expects images.
    explicit = options.storage is not None or options.encoding is not None
    use_table = small and plain and not explicit and not any(spec.stages for spec in sets)
    store: Store = options.store or ("table" if use_table else "images")
    if store == "table" and not plain:
        raise BuildError(
            "--store table stores complete images and the positions of their regions, so it cannot store corrupted "
            "regions. Use --store images."
        )
    if store == "table" and options.encoding not in (None, "png"):
        raise BuildError(
            f"--store table stores complete images as PNG, so --encoding {options.encoding} does not apply. Leave it "
            "out."
        )
    notes = [TABLE_NOTE] * (store == "table" and options.store is None)
    return RegionStore(table, store, regions / seen, region_bytes, table_bytes, (*notes, *_notes(table, probed)))


def _notes(table: RegionTable, probed: Checked) -> list[str]:
    taken = {(g.name, g.side, count) for _, _, w, h, _ in probed.good for g, count in table.undrawn_groups(w, h)}
    notes = [
        f"Regions {name} (side {side}): an image has {count} positions for a block, which is fewer than blocks = "
        f"{table.blocks}, so all positions are used."
        for name, side, count in sorted(taken, key=lambda entry: (entry[1], entry[2]))
    ]
    even = [str(side) for side in table.sides or () if side % 2 == 0]
    if even and table.kind == "crop":
        notes.append(
            f"Sides {', '.join(even)} are even, so these regions have no central pixel. Regions whose sides are given "
            "as fractions have odd sides."
        )
    return notes


class RegionSamples(Sequence[CheckedSample]):
    """The regions of images as a sequence of samples, ordered by image.

    Records are computed on access, and the records of the last image are cached. A worker receives only the images and
    the number of regions in each image. Sending hundreds of thousands of records would take longer than computing them.

    Parameters
    ----------
    images : sequence of CheckedSample
        The images from which the regions are cut.
    table : RegionTable
        The definition of the regions.
    seed : int
        The seed of the build, which determines the random positions of blocks.
    """

    def __init__(self, images: Sequence[CheckedSample], table: RegionTable, seed: int) -> None:
        self.images = images
        self.table = table
        self.seed = seed
        self._cached: tuple[int, Regions] | None = None
        self._starts = [0, *accumulate(len(self._regions(number)) for number in range(len(images)))]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_cached": None}

    def __len__(self) -> int:
        return self._starts[-1]

    @overload
    def __getitem__(self, index: int) -> CheckedSample: ...
    @overload
    def __getitem__(self, index: slice) -> list[CheckedSample]: ...
    def __getitem__(self, index: int | slice) -> CheckedSample | list[CheckedSample]:
        if isinstance(index, slice):
            first, stop, _ = index.indices(len(self))
            return list(self._between(first, stop))
        number = range(len(self))[index]
        return next(self._between(number, number + 1))

    def __iter__(self) -> Iterator[CheckedSample]:
        return self._between(0, len(self))

    def _between(self, first: int, stop: int) -> Iterator[CheckedSample]:
        """Yield consecutive regions."""
        while first < stop:
            number = bisect_right(self._starts, first) - 1
            begin, end = self._starts[number], min(stop, self._starts[number + 1])
            image, regions = self.images[number], self._regions(number)
            for sample in samples_of(begin, image.sample, regions, first - begin, end - begin):
                side = sample.side if self.table.kind == "crop" else self.table.size
                yield CheckedSample(sample, image.sha256, side, side, image.channels)
            first = end

    def _regions(self, number: int) -> Regions:
        if self._cached is None or self._cached[0] != number:
            image = self.images[number]
            grids = grids_of(self.table, self.seed, image.sample.id, image.width, image.height)
            self._cached = number, regions_of(image.sample.id, grids)
        return self._cached[1]
