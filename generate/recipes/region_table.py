"""``[regions]`` of a recipe: which square regions of every image its samples are."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, ValidationError, model_validator

from ...errors import VerificationError, listed
from ...manifests.records.parsing import field_errors
from ..pixels.preprocessing import Interpolation, Side
from .file_models import RecipeTable

LEAST_REGION = 3
"""Pixels of a side: a shrink has two fewer."""
RegionFraction = Annotated[float, Field(gt=0, le=1)]
RegionSide = Annotated[int, Field(strict=True, ge=LEAST_REGION, le=8192)]
DEFAULT_BLOCKS = {"blocks": 20, "block": 3}


class RegionGroup(NamedTuple):
    """The regions of one size in one image, which are scored together."""

    name: str
    """``p20`` or ``s12``."""
    fraction: float | None
    side: int


class RegionTable(RecipeTable):
    """Regions of a recipe: squares of the image, or the image embedded in a canvas."""

    kind: Literal["crop", "embed"] = "crop"
    fractions: Annotated[tuple[RegionFraction, ...], Field(min_length=1)] | None = None
    """Of the short side: a region of fraction P has floor(P * short side / 2) * 2 + 1 pixels, which is odd."""
    sides: Annotated[tuple[RegionSide, ...], Field(min_length=1)] | None = None
    """In pixels, in place of fractions."""
    mode: Literal["sampled", "exhaustive"] = "sampled"
    blocks: Annotated[int, Field(strict=True, ge=1, le=10**6)] | None = None
    """How many blocks of an image and side are drawn."""
    block: Annotated[int, Field(strict=True, ge=3, le=1000)] | None = None
    """Adjacent positions of a block in either direction; all but the outermost are anchors."""
    out: Side | None = None
    """Pixels of a side that every crop comes out with."""
    canvas: Side | None = None
    """Of ``embed``: pixels of a side."""
    interpolation: Interpolation = "bilinear"
    fit: Literal["resize", "pad"] | None = None
    """``pad``: the crop as it is, in the middle of a black canvas of `out`."""
    channels: Literal["rgb", "keep"] = "rgb"

    @model_validator(mode="before")
    @classmethod
    def _with_defaults(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        defaults: dict[str, Any] = {} if data.get("mode") == "exhaustive" else dict(DEFAULT_BLOCKS)
        return defaults | ({} if data.get("kind") == "embed" else {"fit": "resize"}) | dict(data)

    @model_validator(mode="after")
    def _agrees(self) -> RegionTable:
        needed, foreign = ("canvas", ("fractions", "out", "fit")) if self.kind == "embed" else ("out", ("canvas",))
        problems = [f'{name} is not of kind = "{self.kind}"' for name in foreign if getattr(self, name) is not None]
        if getattr(self, needed) is None:
            problems.append(f"{needed} is missing: the side, in pixels, of what comes out")
        given = [name for name in ("fractions", "sides") if getattr(self, name) is not None]
        if len(given) != 1:
            what = " and ".join(given) or "neither fractions nor sides"
            problems.append(f"has {what}; expected exactly one of fractions and sides")
        sizes: tuple[float, ...] = self.fractions or self.sides or ()
        problems += [
            f"{size:g} stands in {given[0]} twice" for size in sorted({s for s in sizes if sizes.count(s) > 1})
        ]
        most = self.out if self.fit == "pad" else self.canvas
        if most is not None and (beyond := [str(side) for side in self.sides or () if side > most]):
            problems.append(f"sides: {', '.join(beyond)} do not fit on the {most} pixels of the canvas")
        if self.mode == "exhaustive" and (self.blocks is not None or self.block is not None):
            problems.append('blocks and block go with mode = "sampled"; exhaustive takes every position')
        if problems:
            raise ValueError("; ".join(problems))
        return self

    def groups(self, width: int, height: int) -> list[RegionGroup]:
        """Return the groups of regions of an image, in the table's order.

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
        """Return the (width, height) in which an image's regions have their places."""
        return (width, height) if self.canvas is None else (self.canvas, self.canvas)

    @property
    def size(self) -> int:
        """Pixels of a side of what comes out."""
        side = self.canvas if self.kind == "embed" else self.out
        assert side is not None
        return side

    def problem(self, width: int, height: int) -> str | None:
        """Return why an image of this size has no such regions, or None."""
        groups, area = self.groups(width, height), self.area(width, height)
        problems = [f"side {g.side} of {g.name} {why}" for g in groups if (why := self._misfit(g.side, area))]
        for side in {g.side for g in groups}:
            names = [g.name for g in groups if g.side == side]
            problems += [f"{' and '.join(names)} fall on one side, {side}"] * (len(names) > 1)
        if not problems:
            return None
        return (
            f"is {width}x{height}, too small for the recipe's regions ({'; '.join(problems)}): leave it out, or "
            "change the recipe"
        )

    def _misfit(self, side: int, area: tuple[int, int]) -> str | None:
        """Return why regions of a side have too few places in an area, or None."""
        across, down = (length - side + 1 for length in area)
        if side < LEAST_REGION:
            return f"is below {LEAST_REGION}"
        if min(across, down) < 1:
            return "is above the image's"
        if self.fit == "pad" and side > self.size:
            return f"does not fit on a canvas of {self.out}"
        if self.block is not None and min(across, down) < self.block:
            return f"has {across}x{down} positions, fewer than a block of {self.block}x{self.block}"
        return None

    def all_taken(self, width: int, height: int) -> list[tuple[RegionGroup, int]]:
        """Return groups with fewer places than blocks are asked for, and how many."""
        if self.blocks is None or self.block is None:
            return []
        across, down = self.area(width, height)
        places = [
            ((across - g.side - self.block + 2) * (down - g.side - self.block + 2), g)
            for g in self.groups(width, height)
        ]
        return [(g, count) for count, g in places if count < self.blocks]

    @property
    def preprocessing(self) -> dict[str, Any]:
        """What a recipe's ``[preprocessing]`` is with these regions: what becomes of a region's own pixels."""
        if self.kind == "crop" and self.fit == "resize":
            return {"kind": "resize", "side": self.size, "interpolation": self.interpolation, "channels": self.channels}
        return {"kind": "pad", "side": self.size, "channels": self.channels}


def _percent(fraction: float) -> str:
    percent = float(Fraction(str(fraction)) * 100)
    return f"p{percent:02.0f}" if percent == round(percent) else f"p{percent:g}"


def parse_region_table(record: Mapping[str, Any]) -> RegionTable:
    """Return ``[regions]`` as it stands in a manifest's recipe, where ``store`` stands beside it.

    Raises
    ------
    VerificationError
        No build has such regions.
    """
    try:
        return RegionTable.model_validate({key: value for key, value in record.items() if key != "store"})
    except ValidationError as e:
        raise VerificationError(
            f"No build has the regions of the manifest's recipe, so nothing can be made again from it:\n"
            f"{listed(field_errors(e))}\nRun `corruptset verify` on the data set, and fetch manifest.json again."
        ) from e
