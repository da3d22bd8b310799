"""A small stream recipe, accuracies for it, and what its tars hold."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

from corruptset.generate.streams.accuracies import cells
from corruptset.generate.streams.stream_recipe import StreamRecipe, cell_id, parse_stream

RECIPE = """
name = "small"
version = "0.1"
calibration = "imagenet"
[preprocessing]
kind = "resize-crop"
resize = 48
crop = 40
[encoding]
format = "jpeg"
[stream]
corruptions = ["contrast", "brightness", "pixelate", "gaussian_noise"]
baseline = 35
step = 0.5
speed = 5
length = 64
tar = 12
"""


def small_stream(**changes: Any) -> StreamRecipe:
    """Return the recipe, with other settings of its stream."""
    recipe = parse_stream(RECIPE, "The recipe")
    return recipe.model_copy(update={"stream": recipe.stream.model_copy(update=changes)})


def made_accuracies(recipe: StreamRecipe) -> dict[str, float]:
    """Return accuracies (0..1) that fall with both severities, each corruption in its own way."""
    weight = {name: 1 + number / 3 for number, name in enumerate(recipe.stream.corruptions)}
    return {
        cell_id(cell): round(0.8 / (1 + 0.25 * weight[cell[0]] * cell[1] + 0.2 * weight[cell[2]] * cell[3] ** 1.5), 4)
        for cell in cells(recipe)
    }


def members(directory: Path) -> list[tuple[str, dict[str, Any], bytes, int]]:
    """Return (tar, info, JPEG, label) of every image of a stream, in order."""
    found = []
    for path in sorted(directory.glob("serial_*.tar")):
        with tarfile.open(path) as archive:
            entries = [(info.name, archive.extractfile(info).read()) for info in archive]
        for info, image, label in zip(entries[::3], entries[1::3], entries[2::3], strict=True):
            stem = info[0].partition(".")[0]
            assert [info[0], image[0], label[0]] == [f"{stem}.info", f"{stem}.input.jpg", f"{stem}.output.cls"]
            found.append((path.name, json.loads(info[1]), image[1], int(label[1])))
    return found
