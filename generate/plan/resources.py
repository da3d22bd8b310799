"""Load the resources that corruptions need in addition to images: frost textures and a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from ...corruptions.models.surrogate import load_surrogate
from ...corruptions.registry import get_corruption
from ...corruptions.stages import Stage, scaled_parameters
from ...corruptions.weather.textures import TextureSet, load_textures
from ...errors import BuildError, first_few, format_list
from ...manifests.records.models import ClassRecord
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
    model_sized: bool = False,
) -> Mapping[str, Any]:
    """Load the resources that the corruptions of sets use, and return them by name.

    Parameters
    ----------
    sets : sequence of SetSpec
        The sets that are to be built.
    classes : sequence of ClassRecord
        The classes of the source. The model needs an output for each class.
    frost_textures, surrogate, surrogate_batch
        As in `BuildOptions`.
    device : str or None
        The device of the model, by default the CPU.
    model_sized : bool
        True if preprocessing resizes images to the model's input size. A surrogate is then required.

    Raises
    ------
    SourceError
        The textures cannot be read.
    ModelError
        The surrogate cannot be used, or has no output for a class.
    BuildError
        A surrogate is needed but not given, or a device is given but no surrogate is needed.
    """
    resources: dict[str, Any] = {}
    if frost_textures is not None:
        resources["textures"] = load_textures(frost_textures)
    followers = [spec.id for spec in sets if spec.needs_surrogate]
    if surrogate is None:
        if not followers and not model_sized:
            if device is not None:
                raise BuildError(f"device is {device!r}, but no set needs a model to run on it. Leave --device out.")
            return resources
        use = "The recipe resizes images to the size of a model"
        if followers:
            use = f"These sets are made with the gradients of a model: {first_few(followers)}"
        raise BuildError(
            f"{use}. No model was given. Pass the model file with --surrogate FILE.toml (docs/models.md describes its "
            f"format), or choose {'another recipe' if model_sized else 'other --sets'}."
        )
    model = load_surrogate(surrogate, device="cpu" if device is None else device, batch=surrogate_batch or 1)
    return resources | {"surrogate": model.for_classes([c.folder for c in classes])}


def texture_notes(textures: TextureSet | None, sets: Iterable[SetSpec]) -> list[str]:
    """Return a note if sets use frost textures that differ from the published textures."""
    if textures is None or textures.published or not _stages_with_textures(sets):
        return []
    return [
        "The frost textures are not the published ones, so results on frost are not comparable with results on the "
        "published sets (docs/frost.md)."
    ]


def refuse_small_textures(maker: SetMaker, sets: Iterable[SetSpec], shapes: Iterable[tuple[int, int]]) -> None:
    """Raise `BuildError` if the user's textures are too small to cover images of these shapes (height, width)."""
    textures = maker.resources.get("textures")
    if textures is None:
        return
    problems: dict[str, None] = {}
    for stage, (height, width) in product(_stages_with_textures(sets), shapes):
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
            f"These frost textures of {textures.origin[1]} are too small (height x "
            f"width):\n{format_list(list(problems))}\nUse larger images of frost, or omit --frost-textures to use the "
            "textures of corruptset. Nothing was written."
        )


def _stages_with_textures(sets: Iterable[SetSpec]) -> list[Stage]:
    """Return the stages that use textures."""
    return [stage for spec in sets for stage in spec.stages if "textures" in get_corruption(stage.corruption).resources]
