"""A user's own frost textures: what is unlike the published ones is noted, what is too small is refused before anything is written."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from ...corruptions.registry import get_corruption
from ...corruptions.stages import Scale, Stage, scaled_parameters
from ...corruptions.weather.published import differences
from ...corruptions.weather.textures import TextureSet
from ...errors import BuildError, listed
from ..recipes.set_spec import SetSpec


def texture_notes(textures: TextureSet | None, sets: Iterable[SetSpec]) -> list[str]:
    """Return how textures differ from the published ones, where sets use them."""
    return differences(textures) if textures is not None and _frosted(sets) else []


def refuse_small_textures(
    textures: TextureSet | None, sets: Iterable[SetSpec], shapes: Iterable[tuple[int, int]], *, scale: Scale, side: int
) -> None:
    """Raise `BuildError` where textures do not cover the images of sets, which have these (height, width)."""
    if textures is None:
        return
    found: dict[str, None] = {}
    for stage, (height, width) in product(_frosted(sets), shapes):
        values = scaled_parameters(get_corruption(stage.corruption), stage.parameters, (height, width), scale, side)
        for small in textures.not_covering(values["texture_scale"], height, width):
            found[f"{small}, at the texture scale {values['texture_scale']:g}, does not cover an image of {height}x{width}"] = None
    if found:
        raise BuildError(
            f"These frost textures of {textures.origin[1]} are too small (height x width):\n{listed(list(found))}\n"
            "Give larger pictures of frost, or leave --frost-textures out for corruptset's own. Nothing was written."
        )


def _frosted(sets: Iterable[SetSpec]) -> list[Stage]:
    """Return the stages that take textures."""
    return [stage for one in sets for stage in one.stages if "textures" in get_corruption(stage.corruption).resources]
