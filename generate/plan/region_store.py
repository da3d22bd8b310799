"""How the regions of a build are stored: each as an image, or the whole images once and a table of regions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from ...errors import BuildError
from ...manifests.regions.grids import regions_of
from ..pixels.encoding import Encoding, PngEncoding
from ..pixels.preprocessing import Preprocessing, Unchanged
from ..recipes.recipe import Recipe
from ..recipes.region_table import RegionTable
from ..recipes.set_spec import SetSpec
from ..regions.block_draws import grids_of
from ..sinks.sink import stored_bytes
from ..sources.check import Checked
from .options import BuildOptions

Store = Literal["images", "table"]
TABLE_BELOW = 0.1
"""A build stores a table by itself where that takes at most this share of what images take."""
BY_ITSELF = (
    "Regions are stored as a table: the whole images, and which regions are cut from them, a tenth or less of the bytes. `predict` and "
    "`score` take regions that are images: build those with --store images."
)
ROW_BYTES = 250
"""About what a row of regions.jsonl takes."""


@dataclass(frozen=True)
class RegionStore:
    """The regions of a build before its images are checked."""

    table: RegionTable
    store: Store
    per_image: float
    """Regions of an image: the mean of a few."""
    grids_per_image: float
    """Rows of regions.jsonl of an image: likewise."""
    notes: tuple[str, ...]
    """What a user should know of them."""

    @property
    def record(self) -> dict[str, Any]:
        """What stands in the manifest's recipe."""
        return self.table.model_dump(mode="json", exclude_none=True) | {"store": self.store}

    def samples(self, images: int) -> int:
        """Return how many samples a build of so many images has (estimate, where they are of several sizes or blocks overlap)."""
        return round(self.per_image * images) if self.store == "images" else images

    def settings(self, recipe: Recipe, encoding: Encoding) -> tuple[Preprocessing, Encoding]:
        """Return how images are prepared and stored: whole images as they are, without loss."""
        if self.store == "images":
            return recipe.preprocessing, encoding
        return Unchanged(kind="none", channels="keep"), PngEncoding()


def region_store(
    recipe: Recipe, probed: Checked, images: int, options: BuildOptions, *, asked: Iterable[SetSpec], sets: Iterable[SetSpec]
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
        The sets that were asked for, and all of the recipe: a build is a table by itself only where it can never get corrupted sets.

    Raises
    ------
    BuildError
        The recipe has no regions, or what was asked for is more than a table holds.
    """
    if recipe.regions is None:
        if options.store is not None:
            raise BuildError(f"--store is for recipes with [regions]; {recipe.name} has none. Leave it out.")
        return None
    counts = [_counts(recipe.regions, options.seed, sample.id, w, h) for sample, _, w, h, _ in probed.good]
    per_image, grids = (sum(column) / max(1, len(counts)) for column in zip(*(counts or [(0, 0)]), strict=True))
    store: Store = options.store or "images"
    small = table_bytes(grids, probed) <= TABLE_BELOW * per_image * stored_bytes(recipe.encoding, (recipe.regions.size,) * 2)
    plain = options.view is None and not any(spec.stages for spec in asked)
    # whoever names a format wants images
    if options.store is None and options.format is None and small and plain and not any(spec.stages for spec in sets):
        store = "table"
    if store == "table" and not plain:
        what = f"the view {options.view}" if options.view is not None else "sets of corrupted regions"
        raise BuildError(f"--store table holds whole images and which regions to cut from them, not {what}. Use --store images.")
    notes = [BY_ITSELF] * (store == "table" and options.store is None)
    return RegionStore(recipe.regions, store, per_image, grids, (*notes, *_notes(recipe.regions, probed)))


def table_bytes(grids: float, probed: Checked) -> float:
    """Return about the bytes of a whole image and of its rows in a table, so many grids."""
    sizes = [(w, h) for _, _, w, h, _ in probed.good] or [(224, 224)]
    width, height = (round(sum(column) / len(sizes)) for column in zip(*sizes, strict=True))
    return stored_bytes(PngEncoding(), (width, height)) + grids * ROW_BYTES


def _counts(table: RegionTable, seed: int, sample_id: str, width: int, height: int) -> tuple[int, int]:
    grids = grids_of(table, seed, sample_id, width, height)
    return len(regions_of(sample_id, grids)), len(grids)


def _notes(table: RegionTable, probed: Checked) -> list[str]:
    taken = {(g.name, g.side, count) for _, _, w, h, _ in probed.good for g, count in table.all_taken(w, h)}
    notes = [
        f"Regions {name} (side {side}): an image has {count} places for a block, fewer than blocks = {table.blocks}, so all are taken."
        for name, side, count in sorted(taken, key=lambda entry: (entry[1], entry[2]))
    ]
    even = [str(side) for side in table.sides or () if side % 2 == 0]
    if even and table.kind == "crop":
        notes.append(f"Sides {', '.join(even)} are even: such regions have no middle pixel, unlike those of fractions, which are odd.")
    return notes
