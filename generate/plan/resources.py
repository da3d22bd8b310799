"""The resources that corruptions need in addition to images: textures of frost, and a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from ...corruptions.models.surrogate import load_surrogate
from ...corruptions.registry import get_corruption
from ...corruptions.stages import Stage, scaled_parameters
from ...corruptions.weather.textures import TextureSet, load_textures
from ...errors import BuildError, first_few, listed
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
    sized: bool = False,
) -> Mapping[str, Any]:
    """Return resource -> what corruptions of sets are given.

    Textures, model, device and batch are as of `BuildOptions`; a device that is not named is the CPU. `sized` says that
    clean images have the model's size.

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
                    f"device is {device!r}, but no set needs a model, which would compute there. Leave --device out."
                )
            return resources
        use = "Images have a model's size"
        if followers:
            use = f"These sets follow the gradients of a model: {first_few(followers)}"
        raise BuildError(
            f"{use}; and no model is given. Name its file with --surrogate FILE.toml (docs/models.md says how it is "
            f"written), or choose {'another recipe' if sized else 'other --sets'}."
        )
    model = load_surrogate(surrogate, device="cpu" if device is None else device, batch=surrogate_batch or 1)
    return resources | {"surrogate": model.for_classes([c.folder for c in classes])}


def texture_notes(textures: TextureSet | None, sets: Iterable[SetSpec]) -> list[str]:
    """Return a note where sets use other textures than the published ones."""
    if textures is None or textures.published or not _textured(sets):
        return []
    return [
        "The frost textures are not the published ones: results on frost are not those on the published sets "
        "(docs/frost.md)."
    ]


def refuse_small_textures(maker: SetMaker, sets: Iterable[SetSpec], shapes: Iterable[tuple[int, int]]) -> None:
    """Raise `BuildError` where the user's textures do not cover images of (height, width)."""
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
            "Give larger images of frost, or leave --frost-textures out for corruptset's own. Nothing was written."
        )


def _textured(sets: Iterable[SetSpec]) -> list[Stage]:
    """Return the stages that take textures."""
    return [stage for spec in sets for stage in spec.stages if "textures" in get_corruption(stage.corruption).resources]
