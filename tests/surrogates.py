"""Model files of small networks, for tests of what follows a model's gradient. PyTorch is imported when one is made."""

from __future__ import annotations

import functools
import json
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corruptset.corruptions.registry import get_corruption

if TYPE_CHECKING:
    import torch

    from corruptset.models.surrogate import Surrogate

CLASSES = 10


def write_model(
    folder: Path, network: torch.nn.Module, size: int | tuple[int, int], *, factory: str, weights: str = "weights.safetensors", **keys: Any
) -> Path:
    """Write a model file, with the weights of a network and a copy of `small_nets` beside it; `keys` replace or add keys."""
    import torch
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(Path(__file__).with_name("small_nets.py"), folder)
    (save_file if weights.endswith("safetensors") else torch.save)(network.state_dict(), folder / weights)
    channels = next(network.parameters()).shape[1]
    normal = {"mean": 0.5, "std": 0.25} if channels == 1 else {"mean": [0.5, 0.45, 0.4], "std": [0.25, 0.2, 0.3]}
    values: dict[str, Any] = {"name": folder.name, "factory": factory, "weights": weights}
    values |= {"input": {"size": size, **normal, "channels": "grey" if channels == 1 else "rgb"}} | keys
    file = folder / "model.toml"
    file.write_text("".join(f"{key} = {toml(value)}\n" for key, value in values.items()))
    return file


def toml(value: Any) -> str:
    """Return a value as TOML has it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(inner)}" for key, inner in value.items()) + "}"
    return json.dumps(value)


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="surrogates-")


@functools.cache
def smooth(height: int, width: int, channels: int) -> Surrogate:
    """Return a model with random weights for images of a size; its gradient is 0 nowhere."""
    import torch
    from small_nets import Smooth

    import corruptset

    with torch.random.fork_rng():
        torch.manual_seed(3)
        network = Smooth(channels, CLASSES)
    folder = Path(_folder().name) / f"smooth-{height}x{width}x{channels}"
    arguments = {"channels": channels, "classes": CLASSES}
    return corruptset.load_surrogate(write_model(folder, network, (height, width), factory="small_nets:Smooth", arguments=arguments))


def marked(names: Iterable[str]) -> list[Any]:
    """Return names of corruptions as parameters of a test; those that need a model, and so PyTorch, are marked ci."""
    import pytest

    return [pytest.param(name, marks=pytest.mark.ci) if get_corruption(name).needs_model else name for name in names]


def labels_of(images: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return a label for each image of a batch, which follows from its own pixels."""
    return images.sum(axis=(1, 2, 3), dtype=np.int64) % CLASSES


def needed(name: str, image: NDArray[np.uint8]) -> dict[str, Any]:
    """Return what `corrupt` must be given beside the parameters of a corruption, for an image or a batch: nothing, for most."""
    if not get_corruption(name).needs_model:
        return {}
    batch = image if image.ndim == 4 else image.reshape(1, *image.shape[:2], -1)
    labels = labels_of(batch)
    return {"surrogate": smooth(*batch.shape[1:])} | ({"labels": labels} if image.ndim == 4 else {"label": int(labels[0])})


def needed_resources(name: str, images: NDArray[np.uint8]) -> dict[str, Any]:
    """Return the resources that `apply_stage` must be given for a batch: none, for most corruptions."""
    return {"surrogate": smooth(*images.shape[1:]), "labels": labels_of(images)} if get_corruption(name).needs_model else {}
