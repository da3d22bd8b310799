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
from .estimates import DECODE_ENCODES, STAGE_ENCODES, START_SECONDS, STORE_ENCODES, encode_seconds
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
REGION_ENCODES = 5.0
"""To crop and resize a region, in JPEG encodes of what comes out, as in `estimates`."""
PNG_ENCODES = 30.0
"""To encode it without loss."""
_UNIT = (224, 224)


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
    small = _table_bytes(grids, probed) <= TABLE_BELOW * per_image * stored_bytes(recipe.encoding, (recipe.regions.size,) * 2)
    plain = options.view is None and not any(spec.stages for spec in asked)
    # whoever names a format wants images
    if options.store is None and options.format is None and small and plain and not any(spec.stages for spec in sets):
        store = "table"
    if store == "table" and not plain:
        what = f"the view {options.view}" if options.view is not None else "sets of corrupted regions"
        raise BuildError(f"--store table holds whole images and which regions to cut from them, not {what}. Use --store images.")
    notes = [BY_ITSELF] * (store == "table" and options.store is None)
    return RegionStore(recipe.regions, store, per_image, grids, (*notes, *_notes(recipe.regions, probed)))


@dataclass(frozen=True)
class StoreEstimate:
    """What one way to store regions takes."""

    bytes: int
    seconds: float

    def as_json(self) -> dict[str, float]:
        """Return the estimate as JSON values."""
        return {"bytes": self.bytes, "seconds": round(self.seconds, 1)}


def store_estimates(
    regions: RegionStore, recipe: Recipe, probed: Checked, images: int, *, sets: int, stages: int, stored: int, jobs: int
) -> dict[Store, StoreEstimate]:
    """Return what both ways to store the regions of so many images take.

    Parameters
    ----------
    regions : RegionStore
    recipe : Recipe
    probed : Checked
        A few of the images.
    images : int
    sets, stages : int
        Of a region: sets that it is stored in, and stages applied for them.
    stored : int
        Bytes of one region as an image.
    jobs : int
    """
    unit = encode_seconds(_UNIT)
    whole = _whole(probed)
    count, out = regions.per_image * images, (regions.table.size,) * 2
    png, decoding = PNG_ENCODES * recipe.encoding.lossless, images * DECODE_ENCODES * _units(whole)
    each = REGION_ENCODES + stages * STAGE_ENCODES + sets * (1 + png + STORE_ENCODES)
    as_images = StoreEstimate(round(count * sets * stored), START_SECONDS + (decoding + count * each * _units(out)) * unit / jobs)
    table_bytes = images * _table_bytes(regions.grids_per_image, probed)
    work = decoding + images * (PNG_ENCODES + STORE_ENCODES) * _units(whole)
    return {"images": as_images, "table": StoreEstimate(round(table_bytes), START_SECONDS + work * unit / jobs)}


def _whole(probed: Checked) -> tuple[int, int]:
    """Return the mean (width, height) of whole images."""
    sizes = [(w, h) for _, _, w, h, _ in probed.good] or [_UNIT]
    return round(sum(w for w, _ in sizes) / len(sizes)), round(sum(h for _, h in sizes) / len(sizes))


def _table_bytes(grids: float, probed: Checked) -> float:
    """Return the bytes of a whole image and of its rows in a table, so many grids."""
    return stored_bytes(PngEncoding(), _whole(probed)) + grids * ROW_BYTES


def _units(size: tuple[int, int]) -> float:
    """Return how many images of the unit's size one is."""
    return size[0] * size[1] / (_UNIT[0] * _UNIT[1])


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
