"""The regions of a build: how they are stored, and the samples that they are."""

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
TABLE_BELOW = 0.1
"""A build stores a table by itself where that takes at most this share of what images take."""
BY_ITSELF = (
    "Regions are stored as a table: the whole images, and which regions are cut from them, a tenth or less of the "
    "bytes. `predict` and `score` take regions that are images: build those with --store images."
)
ROW_BYTES = 250
"""About what a row of regions.jsonl takes."""


@dataclass(frozen=True)
class RegionStore:
    """The regions of a build; the estimates are of its images before they are checked."""

    table: RegionTable
    store: Store
    per_image: float = 0.0
    """Regions of an image: the mean of a few."""
    region_bytes: float = 0.0
    """What a region takes as an image file."""
    table_bytes: float = 0.0
    """What an image and its rows of regions.jsonl take."""
    notes: tuple[str, ...] = ()
    """What a user should know of them."""

    @property
    def record(self) -> dict[str, Any]:
        """What stands in the manifest's recipe."""
        return self.table.model_dump(mode="json", exclude_none=True) | {"store": self.store}

    def samples(self, images: int) -> int:
        """Return how many samples a build of so many images has.

        An estimate, where they are of several sizes or blocks overlap.
        """
        return round(self.per_image * images) if self.store == "images" else images


def region_store(
    recipe: Recipe,
    probed: Checked,
    images: int,
    options: BuildOptions,
    *,
    asked: Iterable[SetSpec],
    sets: Iterable[SetSpec],
) -> RegionStore | None:
    """Return how the regions of a recipe are stored; None for a recipe without regions.

    Parameters
    ----------
    recipe : Recipe
    probed : Checked
        A few of the images; all of them are large enough.
    images : int
        How many are selected.
    options : BuildOptions
        With `store`, if the user chose one.
    asked, sets : iterable of SetSpec
        The sets that were asked for, and all of the recipe: a build is a table by itself only where it can never get
        corrupted sets.

    Raises
    ------
    BuildError
        The recipe has no regions, or what was asked for is more than a table holds.
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
    table_bytes = stored_bytes(PngEncoding(), (width, height)) + rows / seen * ROW_BYTES
    small = table_bytes <= TABLE_BELOW * regions / seen * region_bytes
    plain = not any(spec.stages for spec in asked)
    # whoever chooses storage or encoding wants images
    chosen = options.storage is not None or options.encoding is not None
    own = small and plain and not chosen and not any(spec.stages for spec in sets)
    store: Store = options.store or ("table" if own else "images")
    if store == "table" and not plain:
        raise BuildError(
            "--store table stores whole images and the regions to cut from them, so sets of corrupted regions need "
            "--store images."
        )
    if store == "table" and options.encoding not in (None, "png"):
        raise BuildError(
            f"--store table stores whole images as PNG, so --encoding {options.encoding} does not apply. Leave it out."
        )
    notes = [BY_ITSELF] * (store == "table" and options.store is None)
    return RegionStore(table, store, regions / seen, region_bytes, table_bytes, (*notes, *_notes(table, probed)))


def _notes(table: RegionTable, probed: Checked) -> list[str]:
    taken = {(g.name, g.side, count) for _, _, w, h, _ in probed.good for g, count in table.all_taken(w, h)}
    notes = [
        f"Regions {name} (side {side}): an image has {count} places for a block, fewer than blocks = {table.blocks}, "
        "so all are taken."
        for name, side, count in sorted(taken, key=lambda entry: (entry[1], entry[2]))
    ]
    even = [str(side) for side in table.sides or () if side % 2 == 0]
    if even and table.kind == "crop":
        notes.append(
            f"Sides {', '.join(even)} are even: such regions have no middle pixel, unlike those of fractions, which "
            "are odd."
        )
    return notes


class RegionSamples(Sequence[CheckedSample]):
    """The regions of images, image by image; those of the last image are kept.

    A worker gets the images and their numbers of regions: hundreds of thousands of records would take longer to send
    than to make again.

    Parameters
    ----------
    images : sequence of CheckedSample
    table : RegionTable
    seed : int
    """

    def __init__(self, images: Sequence[CheckedSample], table: RegionTable, seed: int) -> None:
        self.images = images
        self.table = table
        self.seed = seed
        self._held: tuple[int, Regions] | None = None
        self._firsts = [0, *accumulate(len(self._regions(number)) for number in range(len(images)))]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_held": None}

    def __len__(self) -> int:
        return self._firsts[-1]

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
            number = bisect_right(self._firsts, first) - 1
            begin, end = self._firsts[number], min(stop, self._firsts[number + 1])
            image, regions = self.images[number], self._regions(number)
            for sample in samples_of(begin, image.sample, regions, first - begin, end - begin):
                side = sample.side if self.table.kind == "crop" else self.table.size
                yield CheckedSample(sample, image.sha256, side, side, image.channels)
            first = end

    def _regions(self, number: int) -> Regions:
        if self._held is None or self._held[0] != number:
            image = self.images[number]
            grids = grids_of(self.table, self.seed, image.sample.id, image.width, image.height)
            self._held = number, regions_of(image.sample.id, grids)
        return self._held[1]
