"""The ``[regions]`` table of a recipe, which defines square regions of images as samples."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, ValidationError, model_validator

from ...errors import VerificationError, format_list
from ...manifests.records.parsing import field_errors
from ..pixels.preprocessing import Interpolation, Side
from .file_models import RecipeTable

MIN_REGION_SIDE = 3
"""Smallest side of a region, in pixels. A region is also compared with shrunk regions, which are two pixels smaller."""
RegionFraction = Annotated[float, Field(gt=0, le=1)]
RegionSide = Annotated[int, Field(strict=True, ge=MIN_REGION_SIDE, le=8192)]
DEFAULT_BLOCKS = {"blocks": 20, "block": 3}


class RegionGroup(NamedTuple):
    """The regions of one size in an image, which are scored together."""

    name: str
    """The name of the group, such as ``p20`` for a fraction of 0.2 or ``s12`` for a side of 12 pixels."""
    fraction: float | None
    """The fraction of the short side of the image, or None if the recipe gives sides in pixels."""
    side: int
    """The side of the regions in pixels."""


class RegionTable(RecipeTable):
    """The regions of a recipe: squares that are cut from images, or squares of images that are placed on a canvas."""

    kind: Literal["crop", "embed"] = "crop"
    fractions: Annotated[tuple[RegionFraction, ...], Field(min_length=1)] | None = None
    """Sides of regions as fractions of the short side of the image. The side for a fraction P is the odd number
    floor(P * short side / 2) * 2 + 1.
    """
    sides: Annotated[tuple[RegionSide, ...], Field(min_length=1)] | None = None
    """Sides of regions in pixels, as an alternative to fractions."""
    mode: Literal["sampled", "exhaustive"] = "sampled"
    blocks: Annotated[int, Field(strict=True, ge=1, le=10**6)] | None = None
    """The number of blocks that are drawn at random for each image and side."""
    block: Annotated[int, Field(strict=True, ge=3, le=1000)] | None = None
    """The number of adjacent region positions in a block, in each direction. The regions at all positions except the
    outermost are anchors, which are compared with their neighbours.
    """
    out: Side | None = None
    """The side, in pixels, to which every crop is resized or padded."""
    canvas: Side | None = None
    """The side of the canvas in pixels, for ``kind = "embed"``."""
    interpolation: Interpolation = "bilinear"
    fit: Literal["resize", "pad"] | None = None
    """``resize`` resizes a crop to `out` pixels. ``pad`` places the crop in the centre of a black canvas of `out`
    pixels.
    """
    channels: Literal["rgb", "keep"] = "rgb"

    @model_validator(mode="before")
    @classmethod
    def _with_defaults(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        defaults: dict[str, Any] = {} if data.get("mode") == "exhaustive" else dict(DEFAULT_BLOCKS)
        return defaults | ({} if data.get("kind") == "embed" else {"fit": "resize"}) | dict(data)

    @model_validator(mode="after")
    def _check_fields(self) -> RegionTable:
        needed, foreign = ("canvas", ("fractions", "out", "fit")) if self.kind == "embed" else ("out", ("canvas",))
        problems = [
            f'{name!r} cannot be used with kind = "{self.kind}"' for name in foreign if getattr(self, name) is not None
        ]
        if getattr(self, needed) is None:
            problems.append(f"{needed} is missing: give the side of the resulting images in pixels")
        given = [name for name in ("fractions", "sides") if getattr(self, name) is not None]
        if len(given) != 1:
            what = " and ".join(given) or "neither fractions nor sides"
            problems.append(f"has {what}; expected exactly one of fractions and sides")
        sizes: tuple[float, ...] = self.fractions or self.sides or ()
        problems += [f"{given[0]} contains {size:g} twice" for size in sorted({s for s in sizes if sizes.count(s) > 1})]
        max_side = self.out if self.fit == "pad" else self.canvas
        if max_side is not None and (too_large := [str(side) for side in self.sides or () if side > max_side]):
            problems.append(f"sides: {', '.join(too_large)} do not fit on the canvas of {max_side} pixels")
        if self.mode == "exhaustive" and (self.blocks is not None or self.block is not None):
            problems.append('blocks and block need mode = "sampled", because exhaustive uses every position')
        if problems:
            raise ValueError("; ".join(problems))
        return self

    def groups(self, width: int, height: int) -> list[RegionGroup]:
        """Return the groups of regions of an image, in the order of the table.

        Examples
        --------
        >>> RegionTable(fractions=(0.2, 0.8), out=224).groups(500, 375)
        [RegionGroup(name='p20', fraction=0.2, side=75), RegionGroup(name='p80', fraction=0.8, side=301)]
        """
        if self.sides is not None:
            return [RegionGroup(f"s{side}", None, side) for side in self.sides]
        short = min(width, height)
        return [RegionGroup(_percent(p), p, int(Fraction(str(p)) * short / 2) * 2 + 1) for p in self.fractions or ()]

    def area(self, width: int, height: int) -> tuple[int, int]:
        """Return the (width, height) of the area in which regions are placed: the image, or the canvas."""
        return (width, height) if self.canvas is None else (self.canvas, self.canvas)

    @property
    def size(self) -> int:
        """The side of the resulting images in pixels."""
        side = self.canvas if self.kind == "embed" else self.out
        assert side is not None
        return side

    def problem(self, width: int, height: int) -> str | None:
        """Return the reason why an image of this size cannot have these regions, or None."""
        groups, area = self.groups(width, height), self.area(width, height)
        problems = [f"side {g.side} of {g.name} {why}" for g in groups if (why := self._misfit(g.side, area))]
        for side in {g.side for g in groups}:
            names = [g.name for g in groups if g.side == side]
            problems += [f"{' and '.join(names)} have the same side, {side}"] * (len(names) > 1)
        if not problems:
            return None
        return (
            f"is {width}x{height}, too small for the recipe's regions ({'; '.join(problems)}): leave it out, or "
            "change the recipe"
        )

    def _misfit(self, side: int, area: tuple[int, int]) -> str | None:
        """Return the reason why regions of this side do not fit into an area, or None."""
        across, down = (length - side + 1 for length in area)
        if side < MIN_REGION_SIDE:
            return f"is below {MIN_REGION_SIDE}"
        if min(across, down) < 1:
            return "is larger than the image"
        if self.fit == "pad" and side > self.size:
            return f"does not fit on a canvas of {self.out}"
        if self.block is not None and min(across, down) < self.block:
            return f"has {across}x{down} positions, fewer than a block of {self.block}x{self.block}"
        return None

    def undrawn_groups(self, width: int, height: int) -> list[tuple[RegionGroup, int]]:
        """Return the groups that have fewer block positions than the recipe draws, with the number of positions.

        All block positions of such a group are used, so nothing is drawn.
        """
        if self.blocks is None or self.block is None:
            return []
        across, down = self.area(width, height)
        positions = [
            ((across - g.side - self.block + 2) * (down - g.side - self.block + 2), g)
            for g in self.groups(width, height)
        ]
        return [(g, count) for count, g in positions if count < self.blocks]

    @property
    def preprocessing(self) -> dict[str, Any]:
        """The ``[preprocessing]`` table of a recipe with these regions. It is applied to the pixels of each region."""
        if self.kind == "crop" and self.fit == "resize":
            return {"kind": "resize", "side": self.size, "interpolation": self.interpolation, "channels": self.channels}
        return {"kind": "pad", "side": self.size, "channels": self.channels}


def _percent(fraction: float) -> str:
    percent = float(Fraction(str(fraction)) * 100)
    return f"p{percent:02.0f}" if percent == round(percent) else f"p{percent:g}"


def parse_region_table(record: Mapping[str, Any]) -> RegionTable:
    """Return the regions that a manifest records. The field ``store`` is dropped, because recipes do not have it.

    Raises
    ------
    VerificationError
        The record is not valid.
    """
    try:
        return RegionTable.model_validate({key: value for key, value in record.items() if key != "store"})
    except ValidationError as e:
        raise VerificationError(
            f"The manifest's recipe has invalid regions, so samples cannot be computed from it:\n"
            f"{format_list(field_errors(e))}\nRun `corruptset verify` on the dataset, and fetch manifest.json again."
        ) from e
