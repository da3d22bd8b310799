"""A data set without pixels, and predictions of it: scores need no more."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np

DIGEST = f"sha256:{'0' * 64}"
PIXELS = f"blake3:{'0' * 64}"
SEVERITIES = range(1, 6)
CORRUPTIONS = (
    *(
        "gaussian_noise",
        "shot_noise",
        "impulse_noise",
        "defocus_blur",
        "glass_blur",
        "motion_blur",
        "zoom_blur",
        "snow",
        "frost",
        "fog",
    ),
    *("brightness", "contrast", "elastic_transform", "pixelate", "jpeg_compression"),
    *("speckle_noise", "gaussian_blur", "spatter", "saturate"),
)
ACCURACY = 0.4
"""Of the predictions, about: that of a ResNet-50 on ImageNet-C."""


def set_ids(count: int) -> list[str]:
    """Return the ids of the first of ImageNet-C's 95 sets."""
    return [f"{name}/{severity}" for name in CORRUPTIONS for severity in SEVERITIES][:count]


def write_data_set(folder: Path, sets: list[str], images: int, classes: int) -> Path:
    """Write a manifest and samples.jsonl of sorted classes; return their folder."""
    folder.mkdir()
    tested = set_ids(75)
    record = {"aliases": [], "count": images, "files": images, "bytes": images, "pixel_digest": PIXELS, "metrics": None}
    manifest = {
        "schema_version": 2,
        "name": "imagenet-c",
        "version": "1.0.0",
        "digest": DIGEST,
        "seed": 0,
        "coupling": "independent",
        "scale": "none",
        "recipe": {"name": "imagenet-c"},
        "source": {"name": "imagenet", "digest": DIGEST, "license": None},
        "preprocessing": {},
        "encoding": {"format": "png", "containers": ["hdf5"]},
        "textures": [],
        "revisions": {},
        "classes": [{"index": k, "name": f"class {k}", "folder": f"n{k:08d}"} for k in range(classes)],
        "sets": [
            record | {"id": name, "role": "test" if name in tested else "validation", "stages": [_stage(name)]}
            for name in sorted(sets)
        ],
        "files": [],
        "excluded": [],
        "selection": {},
        "views": [],
        "environment": {},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with open(folder / "samples.jsonl", "w") as lines:
        for row in range(images):
            label = row * classes // images
            sample = {
                "index": row,
                "id": f"ILSVRC2012_val_{row + 1:08d}",
                "label": label,
                "class": f"class {label}",
                "split": None,
            }
            pixels = {"path": None, "sha256": DIGEST, "width": 224, "height": 224, "pixels": PIXELS}
            lines.write(json.dumps(sample | pixels) + "\n")
    return folder


def _stage(set_id: str) -> dict[str, object]:
    name, severity = set_id.split("/")
    return {"corruption": name, "revision": 1, "severity": int(severity), "level": None, "parameters": {}}


def write_logits(
    folder: Path, sets: list[str], images: int, classes: int, dtype: str = "float16", *, compressed: bool = False
) -> None:
    """Write <set id>.npz for each set: the same logits in each."""
    rng = np.random.default_rng(0)
    logits = np.empty((images, classes), dtype)
    labels = np.arange(images) * classes // images
    for first in range(0, images, 1000):
        block = rng.standard_normal((min(1000, images - first), classes), np.float32) * 2
        known = rng.random(len(block)) < ACCURACY
        block[known, labels[first : first + len(block)][known]] += 12
        logits[first : first + len(block)] = block
    for name in sets:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if name == sets[0]:
            (np.savez_compressed if compressed else np.savez)(folder / f"{name}.npz", logits=logits)
        else:
            shutil.copyfile(folder / f"{sets[0]}.npz", folder / f"{name}.npz")
