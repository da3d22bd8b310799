"""A user's own frost textures: a difference from the published ones is noted, one that is too small is an error."""

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
    return differences(textures) if textures is not None and _textured(sets) else []


def refuse_small_textures(
    textures: TextureSet | None, sets: Iterable[SetSpec], shapes: Iterable[tuple[int, int]], *, scale: Scale, side: int
) -> None:
    """Raise `BuildError` where textures do not cover the images of sets, which have these (height, width)."""
    if textures is None:
        return
    problems: dict[str, None] = {}
    for stage, (height, width) in product(_textured(sets), shapes):
        values = scaled_parameters(get_corruption(stage.corruption), stage.parameters, (height, width), scale, side)
        for small in textures.not_covering(values["texture_scale"], height, width):
            problems[f"{small}, at the texture scale {values['texture_scale']:g}, does not cover an image of {height}x{width}"] = None
    if problems:
        raise BuildError(
            f"These frost textures of {textures.origin[1]} are too small (height x width):\n{listed(list(problems))}\n"
            "Give larger pictures of frost, or leave --frost-textures out for corruptset's own. Nothing was written."
        )


def _textured(sets: Iterable[SetSpec]) -> list[Stage]:
    """Return the stages that take textures."""
    return [stage for spec in sets for stage in spec.stages if "textures" in get_corruption(stage.corruption).resources]
