"""Copies of published benchmarks for the tests of audits, made by corruptset from the sample photographs."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
from PIL import Image

import corruptset
from corruptset.generate.sources.source import open_source

COUNT = 8
LARGE = 128
"""The side of photographs: the smallest one with the parameters of ImageNet-C."""


@functools.cache
def photographs(side: int) -> np.ndarray:
    """Return eight clean images, (8, side, side, 3)."""
    source = open_source("sample")
    images = [Image.fromarray(source.load(sample).image) for sample in source.samples]
    squares = [i.crop((0, 0, min(i.size), min(i.size))) for i in images]
    return np.stack([np.asarray(i.resize((side, side), Image.Resampling.BOX)) for i in squares])


@functools.cache
def corrupted_images(side: int, name: str, severity: int, seed: int = 5) -> np.ndarray:
    """Return the eight images under a corruption, with draws that an audit cannot know."""
    keys = [f"somebody {i}" for i in range(COUNT)]
    return corruptset.corrupt(photographs(side), name, severity=severity, seed=seed, key=keys)


def write_source(folder: Path, side: int = 32) -> str:
    """Write the clean images as arrays and return the source."""
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "images.npy", photographs(side))
    np.save(folder / "labels.npy", np.arange(COUNT) % 4)
    return f"npy:{folder / 'images.npy'},{folder / 'labels.npy'}"


def write_cifar(folder: Path, names: tuple[str, ...]) -> Path:
    """Write arrays as in CIFAR-10-C."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        np.save(folder / f"{name}.npy", np.concatenate([corrupted_images(32, name, s) for s in range(1, 6)]))
    np.save(folder / "labels.npy", np.tile(np.arange(COUNT) % 4, 5).astype(np.uint8))
    return folder


def write_folder_source(folder: Path, side: int = LARGE) -> str:
    """Write the clean images as PNG files in class folders and return the source."""
    for i, image in enumerate(photographs(side)):
        path = folder / f"n0000000{i % 4}" / f"val_{i:04d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(path)
    return f"folder:{folder}"


def write_tree(folder: Path, names: tuple[str, ...], severities: tuple[int, ...] = (1, 2, 3, 4, 5)) -> Path:
    """Write JPEG files as in ImageNet-C."""
    for name in names:
        for severity in severities:
            for i, image in enumerate(corrupted_images(LARGE, name, severity)):
                path = folder / name / str(severity) / f"n0000000{i % 4}" / f"val_{i:04d}.JPEG"
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(image).save(path, quality=85, optimize=True)
    return folder


def loader(side: int, names: tuple[str, ...], severities: tuple[int, ...] = (1, 2, 3, 4, 5)) -> dict[str, list]:
    """Return what a loader without mistakes returns: set ids with lists of (image, label)."""
    return {
        f"{name}/{severity}": [(image, i % 4) for i, image in enumerate(corrupted_images(side, name, severity))]
        for name in names
        for severity in severities
    }
