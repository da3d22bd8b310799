"""scikit-learn's handwritten digits as a data set and a small network that was trained on them: a model that knows something."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from surrogates import write_model

HELD_OUT = 360
"""Digits that the network was not trained on: the last ones."""


def digits() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return (1797, 8, 8, 1) images of uint8 and their labels."""
    from sklearn.datasets import load_digits

    data = load_digits()
    return np.round(data.images * (255 / 16)).astype(np.uint8)[..., None], data.target.astype(np.int64)


def write_digits(folder: Path, count: int) -> Path:
    """Write the first `count` digits that the network does not know, a folder a class."""
    images, labels = digits()
    for i, (image, label) in enumerate(zip(images[-HELD_OUT:][:count], labels[-HELD_OUT:][:count], strict=True)):
        (folder / str(label)).mkdir(parents=True, exist_ok=True)
        Image.fromarray(image[:, :, 0]).save(folder / str(label) / f"{i:04d}.png")
    return folder


def train(folder: Path, seed: int = 0) -> Path:
    """Train two convolutions and a layer of 64 on the digits that are not held out, in two seconds; return the model's file."""
    import torch
    from small_nets import Plain

    images, labels = digits()
    pixels = torch.from_numpy(images[:-HELD_OUT]).permute(0, 3, 1, 2).float().div(255).sub(0.5).div(0.25)
    targets = torch.from_numpy(labels[:-HELD_OUT])
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # two make this small network no faster, and a busy machine ten times as slow
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = Plain(1, 10, 8)
        optimizer = torch.optim.Adam(network.parameters(), lr=4e-3)
        epochs, size = 8, 32
        steps = epochs * -(-len(pixels) // size)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps)
        for _ in range(epochs):
            for batch in torch.randperm(len(pixels)).split(size):
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(network(pixels[batch]), targets[batch]).backward()
                optimizer.step()
                schedule.step()
    torch.set_num_threads(threads)
    arguments = {"channels": 1, "classes": 10, "side": 8}
    return write_model(folder, network.eval(), 8, factory="small_nets:Plain", arguments=arguments, least_accuracy=0.5)
