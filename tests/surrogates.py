"""Models for tests of corruptions that use gradients: one in numpy, and model files of small networks in PyTorch."""

from __future__ import annotations

import functools
import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corruptset.corruptions.registry import get_corruption

if TYPE_CHECKING:
    import torch

CLASSES = 10
NORMAL = {"grey": {"mean": 0.5, "std": 0.25}, "rgb": {"mean": [0.5, 0.45, 0.4], "std": [0.25, 0.2, 0.3]}}


class Linear:
    """A linear softmax classifier in numpy with the interface of a model. It counts gradient computations."""

    def __init__(self, height: int, width: int, channels: int) -> None:
        shape = (height, width, channels, CLASSES)
        self.weights = np.random.default_rng([7, *shape]).normal(size=shape) / np.sqrt(height * width * channels)
        self.passes = 0

    def probabilities(self, image: NDArray[Any]) -> NDArray[np.float64]:
        logits = (image.ravel() / 255.0) @ self.weights.reshape(-1, CLASSES)
        powers = np.exp(logits - logits.max())
        return powers / powers.sum()

    def logits(self, images: NDArray[Any]) -> NDArray[np.float32]:
        return np.log([self.probabilities(image) for image in images]).astype(np.float32)

    def gradient(self, images: NDArray[Any], labels: NDArray[np.int64]) -> NDArray[np.float32]:
        self.passes += 1
        errors = np.array([self.probabilities(image) for image in images]).reshape(-1, CLASSES)
        errors[np.arange(len(images)), labels] -= 1
        return np.array([self.weights @ error / 255 for error in errors], np.float32).reshape(images.shape)


linear_model = functools.cache(Linear)


def labels_of(images: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return labels for a batch of images, computed from their pixels."""
    return images.sum(axis=(1, 2, 3), dtype=np.int64) % CLASSES


def model_arguments(name: str, image: NDArray[np.uint8]) -> dict[str, Any]:
    """Return the arguments that `corrupt` needs in addition to parameters, for an image or a batch. Most corruptions
    need none.
    """
    batch = image if image.ndim == 4 else image.reshape(1, *image.shape[:2], -1)
    resources = model_resources(name, batch)
    return (
        resources
        if image.ndim == 4 or not resources
        else {**resources, "labels": None, "label": int(resources["labels"][0])}
    )


def model_resources(name: str, images: NDArray[np.uint8]) -> dict[str, Any]:
    """Return the resources that `apply_stage` needs for a batch. Most corruptions need none."""
    if not get_corruption(name).needs_model:
        return {}
    return {"surrogate": linear_model(*images.shape[1:]), "labels": labels_of(images)}


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="surrogates-")


def write_model(
    folder: Path,
    network: torch.nn.Module,
    size: int | tuple[int, int],
    factory: str,
    *,
    weights: str = "weights.safetensors",
    channels: str = "rgb",
    **keys: Any,
) -> Path:
    """Write a model file, the weights of its network and a copy of `small_nets`. `keys` are added or replaced."""
    import torch
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(Path(__file__).with_name("small_nets.py"), folder)
    (save_file if weights.endswith("safetensors") else torch.save)(network.state_dict(), folder / weights)
    values = {"factory": factory, "weights": weights, "input": {"size": size, "channels": channels} | NORMAL[channels]}
    return write_file(folder, **values | keys)


def write_file(folder: Path, **keys: Any) -> Path:
    """Write a model file."""
    file = folder / "model.toml"
    file.write_text("".join(f"{key} = {_toml(value)}\n" for key, value in ({"name": "small"} | keys).items()))
    return file


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(inner)}" for key, inner in value.items()) + "}"
    return json.dumps(value)


def seeded_network(make: Any, seed: int = 3) -> torch.nn.Module:
    """Return the network that a function creates, with random weights of a seed."""
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return make().eval()


@functools.cache
def smooth_network_file(height: int, width: int, channels: int = 3) -> Path:
    """Return the model file of a network with random weights, whose gradient is never 0, for images of this size."""
    from small_nets import Smooth

    arguments = {"channels": channels, "classes": CLASSES}
    network = seeded_network(lambda: Smooth(**arguments))
    kind = "grey" if channels == 1 else "rgb"
    return write_model(
        Path(_folder().name, f"smooth-{height}-{width}-{channels}"),
        network,
        (height, width),
        "small_nets:Smooth",
        channels=kind,
        arguments=arguments,
    )


@dataclass(frozen=True)
class Digits:
    """A network that was trained on scikit-learn's digits, and digits that were not used for training."""

    model: Path
    network: torch.nn.Module
    images: NDArray[np.uint8]
    """The images, (450, 8, 8, 1)."""
    labels: NDArray[np.int64]


@functools.cache
def digits_model() -> Digits:
    """Train a network with two convolutions and a layer of 64 on three quarters of the digits, in about two seconds."""
    import torch
    from sklearn.datasets import load_digits
    from small_nets import Plain

    read = load_digits()
    images, labels = np.round(read.images * (255 / 16)).astype(np.uint8)[..., None], read.target.astype(np.int64)
    held_out = np.arange(len(images)) % 4 == 0
    pixels = torch.from_numpy(images[~held_out]).permute(0, 3, 1, 2).float() / 255
    pixels, classes = (pixels - NORMAL["grey"]["mean"]) / NORMAL["grey"]["std"], torch.from_numpy(labels[~held_out])
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = Plain()
        optimizer = torch.optim.Adam(network.parameters(), 2e-3)
        for batch in [batch for _ in range(8) for batch in torch.randperm(len(pixels)).split(32)]:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(network(pixels[batch]), classes[batch]).backward()
            optimizer.step()
    torch.set_num_threads(threads)
    network.eval()
    file = write_model(
        Path(_folder().name, "digits"),
        network,
        8,
        "small_nets:Plain",
        channels="grey",
        name="digits",
        least_accuracy=0.9,
    )
    return Digits(file, network, images[held_out], labels[held_out])
