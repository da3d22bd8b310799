"""Provide a small stream recipe, accuracies for it, and a reader of its tars."""

from __future__ import annotations

import json
import tarfile
from itertools import permutations, product
from pathlib import Path
from typing import Any

from corruptset_streams.walks import StreamTable, cell_id

NAMES = ("contrast", "brightness", "pixelate", "gaussian_noise")
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
TABLE = StreamTable(corruptions=NAMES, baseline=35, step=0.5, speed=5, length=64, tar=12)


def small_recipe(folder: Path, **changes: Any) -> Path:
    """Write the recipe with the given settings of its stream."""
    text = RECIPE
    for name, value in changes.items():
        other_lines = [line for line in text.splitlines() if not line.startswith(f"{name} = ")]
        text = "\n".join([*other_lines, f"{name} = {json.dumps(value)}"])
    path = folder / "small.toml"
    path.write_text(text)
    return path


def example_accuracies() -> dict[str, float]:
    """Return accuracies from 0 to 1 that fall with both severities, differently for each corruption."""
    weight = {name: 1 + number / 3 for number, name in enumerate(NAMES)}
    return {
        cell_id(one, s1, two, s2): round(0.8 / (1 + 0.25 * weight[one] * s1 + 0.2 * weight[two] * s2**1.5), 4)
        for (one, two), s1, s2 in product(permutations(NAMES, 2), TABLE.severities, TABLE.severities)
        if s1 or s2
    }


def accuracies_file(folder: Path) -> Path:
    """Write the accuracies as a CSV file."""
    path = folder / "accuracies.csv"
    path.write_text("set,accuracy\n" + "".join(f"{name},{value}\n" for name, value in example_accuracies().items()))
    return path


def members(directory: Path) -> list[tuple[str, dict[str, Any], bytes, int]]:
    """Return (tar, info, JPEG, label) of every image of a stream in order."""
    results = []
    for path in sorted(directory.glob("serial_*.tar")):
        with tarfile.open(path) as archive:
            entries = [(info.name, archive.extractfile(info).read()) for info in archive]  # type: ignore[union-attr]
        for info, image, label in zip(entries[::3], entries[1::3], entries[2::3], strict=True):
            stem = info[0].partition(".")[0]
            assert [info[0], image[0], label[0]] == [f"{stem}.info", f"{stem}.input.jpg", f"{stem}.output.cls"]
            results.append((path.name, json.loads(info[1]), image[1], int(label[1])))
    return results
