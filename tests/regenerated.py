"""Helpers for tests that regenerate images: releases without images, small sources, and changed corruptions."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from packs import archive_paths, pack_dataset
from PIL import Image

from corruptset.corruptions.registry import _registered
from corruptset.generate.plan import tree
from corruptset.manifests.release.unpack import unpack


def write_photos(folder: Path, each: int = 3) -> str:
    """Write two classes of noise images of 90x80 pixels, and return the source."""
    rng = np.random.default_rng(5)
    for name in ("a", "b"):
        (folder / name).mkdir(parents=True)
        for i in range(each):
            Image.fromarray(rng.integers(0, 256, (80, 90, 3), np.uint8)).save(folder / name / f"{i}.png")
    return f"folder:{folder}"


def copy_records(directory: Path, place: Path) -> Path:
    """Copy the records of a dataset, as in a release without images, and return the folder."""
    place.mkdir(parents=True)
    for name in ("manifest.json", "samples.jsonl", "SHA256SUMS"):
        shutil.copyfile(directory / name, place / name)
    shutil.copytree(directory / "sets", place / "sets")
    return place


def pack_records(directory: Path, out: Path, digests: str = "images") -> Path:
    """Pack the records of a data set, and return the folder."""
    return pack_dataset(directory, out, manifest_only=True, digests=digests).path


def pack_and_unpack_records(directory: Path, folder: Path, digests: str = "sets") -> Path:
    """Return a release without images that has one digest per set."""
    bag = pack_dataset(directory, folder / "bag", manifest_only=True, digests=digests)
    return unpack(archive_paths(bag), folder / "small").path


@contextmanager
def changed_pixels(set_id: str | None = None) -> Iterator[None]:
    """Let the corruptions of one set, or of all sets, compute different pixels."""
    original = tree.walk

    def walk(*arguments: Any, **options: Any) -> Any:
        for name, images in original(*arguments, **options):
            yield name, images ^ np.uint8(set_id in (None, name))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree, "walk", walk)
        yield


@contextmanager
def changed_revision(name: str = "contrast") -> Iterator[None]:
    """Set the revision of a corruption to 2."""
    from dataclasses import replace

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(_registered, name, replace(_registered[name], revision=2))
        yield
