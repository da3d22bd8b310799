"""A network of one hidden layer that needs no framework: trained here on small images, it gives every score something
to say.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corruptset.manifests.reader import DataSet

SIDE = 8
HIDDEN = 32
STEPS = 300
Weights = NDArray[np.float64]


def features(image: NDArray[np.uint8]) -> Weights:
    """Return the means of 8x8 cells of an image, from -0.5 to 0.5."""
    height, width = (side // SIDE * SIDE for side in image.shape[:2])
    cells = image[:height, :width].reshape(SIDE, height // SIDE, SIDE, width // SIDE, -1).mean(axis=(1, 3, 4)) / 255
    return (cells - 0.5).ravel()


@dataclass(frozen=True)
class TinyNet:
    """Features -> tanh -> classes."""

    hidden: Weights
    out: Weights

    def logits(self, points: Weights) -> NDArray[np.float32]:
        """Return the scores of the classes, of features (n, 64)."""
        return (np.tanh(4 * points @ self.hidden) @ self.out).astype(np.float32)


def trained(data: DataSet, set_id: str) -> TinyNet:
    """Return a network that was trained on a set, by descending the gradient of its cross entropy with momentum."""
    points = np.stack([features(image) for image in data[set_id].images()])
    wanted = np.eye(len(data.classes))[data[set_id].labels]
    rng = np.random.default_rng(0)
    weights = [rng.normal(0, 0.3, (SIDE**2, HIDDEN)), rng.normal(0, 0.3, (HIDDEN, len(data.classes)))]
    moving = [np.zeros_like(w) for w in weights]
    for _ in range(STEPS):
        inner = np.tanh(4 * points @ weights[0])
        powers = np.exp(inner @ weights[1] - (inner @ weights[1]).max(axis=1, keepdims=True))
        error = (powers / powers.sum(axis=1, keepdims=True) - wanted) / len(points)
        slopes = [4 * points.T @ (error @ weights[1].T * (1 - inner**2)), inner.T @ error]
        for i, slope in enumerate(slopes):
            moving[i] = 0.9 * moving[i] - 0.5 * slope
            weights[i] = weights[i] + moving[i]
    return TinyNet(weights[0], weights[1])


def write_predictions(data: DataSet, folder: Path, net: TinyNet, model: str = "tiny net") -> Path:
    """Write the logits of every set as ``<set id>.npz``, and predictions.json."""
    for name in data:
        file = folder / f"{name}.npz"
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez(file, logits=net.logits(np.stack([features(image) for image in data[name].images()])))
    (folder / "predictions.json").write_text(json.dumps({"model": model, "digest": data.digest}))
    return folder
