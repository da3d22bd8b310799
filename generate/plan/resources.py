"""What a user gives to corruptions beside images and parameters: frost's textures, and the model whose gradients are
followed.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from ...corruptions.models.surrogate import load_surrogate
from ...corruptions.registry import get_corruption
from ...corruptions.stages import Stage, scaled_parameters
from ...corruptions.weather.textures import TextureSet, differences, load_textures
from ...errors import BuildError, listed
from ...manifests.records.models import ClassRecord
from ..recipes.recipe import load_recipe, recipe_names
from ..recipes.set_spec import SetSpec
from .tree import SetMaker


def load_resources(
    sets: Sequence[SetSpec],
    classes: Sequence[ClassRecord],
    *,
    frost_textures: str | Path | None,
    surrogate: str | Path | None,
    device: str | None,
    surrogate_batch: int | None = None,
    sized: bool = False,
) -> Mapping[str, Any]:
    """Return resource -> what corruptions are given.

    Parameters
    ----------
    sets : sequence of SetSpec
        Those that are asked for.
    classes : sequence of ClassRecord
        The data set's, in its order.
    frost_textures, surrogate, device, surrogate_batch
        As of `BuildOptions`; a device that is not named is the CPU.
    sized : bool
        Whether clean images have the surrogate's size.

    Raises
    ------
    SourceError
        Textures cannot be read.
    ModelError
        The surrogate cannot be used, or has no output for a class.
    BuildError
        Sets need a surrogate and none is given.
    """
    resources: dict[str, Any] = {}
    if frost_textures is not None:
        resources["textures"] = load_textures(frost_textures)
    followers = [spec.id for spec in sets if spec.needs_surrogate]
    if surrogate is None:
        if not followers and not sized:
            if device is not None:
                raise BuildError(
                    f"device is {device!r}, where a model computes, and there is none here. Leave --device out."
                )
            return resources
        more = f" and {len(followers) - 3} more" if len(followers) > 3 else ""
        use = (
            f"These sets follow the gradients of a model: {', '.join(followers[:3])}{more}"
            if followers
            else "Images have a model's size"
        )
        raise BuildError(
            f"{use}; and no model is given. Name its file with --surrogate FILE.toml (docs/models.md says how it is "
            "written)"
            f"{_without_model(sets, sized)}."
        )
    model = load_surrogate(surrogate, device="cpu" if device is None else device, batch=surrogate_batch or 1)
    return resources | {"surrogate": model.for_classes([c.folder for c in classes])}


def _without_model(sets: Sequence[SetSpec], sized: bool) -> str:
    """Return how the sets that follow no model are built without one; `sized` is whether images have a model's size."""
    rest = [spec for spec in sets if not spec.needs_surrogate and spec.stages]
    names = _corruptions(rest)
    if sized:
        # without a model nobody knows the size, so another recipe it is
        others = [name for name in recipe_names() if names and _corruptions(load_recipe(name).resolve().sets) == names]
        return (
            f", or build the other corruptions without a model: corruptset build {' or '.join(others)}"
            if others
            else ""
        )
    globs = dict.fromkeys(f"{spec.stages[0].corruption}/*" if len(spec.stages) == 1 else spec.id for spec in rest)
    chosen = " ".join(f"--sets {shlex.quote(glob)}" for glob in globs)
    return f", or leave them out: {chosen}" if rest else ", or choose other --sets"


def _corruptions(sets: Iterable[SetSpec]) -> set[str]:
    return {stage.corruption for spec in sets for stage in spec.stages}


def texture_notes(textures: TextureSet | None, sets: Iterable[SetSpec]) -> list[str]:
    """Return how textures differ from the published ones, where sets use them."""
    return differences(textures) if textures is not None and _textured(sets) else []


def refuse_small_textures(maker: SetMaker, sets: Iterable[SetSpec], shapes: Iterable[tuple[int, int]]) -> None:
    """Raise `BuildError` where the user's textures do not cover the images of sets, which have these (height,
    width).
    """
    textures = maker.resources.get("textures")
    if textures is None:
        return
    problems: dict[str, None] = {}
    for stage, (height, width) in product(_textured(sets), shapes):
        values = scaled_parameters(
            get_corruption(stage.corruption), stage.parameters, (height, width), maker.scale, maker.side
        )
        for small in textures.not_covering(values["texture_scale"], height, width):
            problems[
                f"{small}, at the texture scale {values['texture_scale']:g}, does not cover an image of "
                f"{height}x{width}"
            ] = None
    if problems:
        raise BuildError(
            f"These frost textures of {textures.origin[1]} are too small (height x width):\n{listed(list(problems))}\n"
            "Give larger pictures of frost, or leave --frost-textures out for corruptset's own. Nothing was written."
        )


def _textured(sets: Iterable[SetSpec]) -> list[Stage]:
    """Return the stages that take textures."""
    return [stage for spec in sets for stage in spec.stages if "textures" in get_corruption(stage.corruption).resources]
