"""A classifier that needs no framework: the nearest of the classes' mean images. It gives every score something to say."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corruptset.manifests.reader import DataSet

SIDE = 8


def features(image: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the means of 8x8 cells of an image, in 0..1, without its mean brightness."""
    height, width = (side // SIDE * SIDE for side in image.shape[:2])
    cells = image[:height, :width].reshape(SIDE, height // SIDE, SIDE, width // SIDE, -1).mean(axis=(1, 3, 4)) / 255
    return (cells - cells.mean()).ravel()


def logits(images: list[NDArray[np.uint8]], centres: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the scores of the classes, the nearest highest."""
    points = np.stack([features(image) for image in images])
    return (-10 * ((points[:, None] - centres) ** 2).sum(axis=2)).astype(np.float32)


def centres_of(data: DataSet, set_id: str) -> NDArray[np.float64]:
    """Return the mean features of each class in a set; a class without images is far from all."""
    points = np.stack([features(image) for image in data[set_id].images()])
    labels = data[set_id].labels
    return np.stack([points[labels == k].mean(axis=0) if (labels == k).any() else np.full(SIDE**2, 9.0) for k in range(len(data.classes))])


def write_predictions(data: DataSet, folder: Path, centres: NDArray[np.float64], model: str = "centroids") -> Path:
    """Write the logits of every set as ``<set id>.npz``, and predictions.json."""
    for name in data:
        file = folder / f"{name}.npz"
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez(file, logits=logits(list(data[name].images()), centres))
    (folder / "predictions.json").write_text(json.dumps({"model": model, "digest": data.digest}))
    return folder
