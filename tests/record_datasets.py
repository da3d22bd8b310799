"""Datasets without images, which consist of records only. Scores need nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from small_builds import write_recipe

import corruptset
from corruptset.generate.recipes.recipe import load_recipe
from corruptset.manifests.manifest_file import manifest_bytes
from corruptset.manifests.reader import Dataset
from corruptset.manifests.records.models import Manifest
from corruptset.scores.outcomes import Outcome, Predictions

SHA256 = "sha256:" + "0" * 64
BLAKE3 = "blake3:" + "0" * 64


def write_records(
    folder: Path,
    recipe: str = "imagenet-c-all",
    count: int = 40,
    classes: int = 7,
    *,
    only: Callable[[str], bool] = lambda set_id: True,
    clean: bool = True,
    samples: Sequence[dict[str, Any]] = (),
    changed: Callable[[int | None], float | None] = lambda level: None,
    **fields: Any,
) -> Path:
    """Write manifest.json and samples.jsonl for the sets of a recipe that `only` accepts.

    `samples` and `fields` replace parts of the records.
    """
    resolved = load_recipe(recipe).resolve().merged(0, "independent")
    specs = [spec.as_json() for spec in resolved.sets if only(spec.id) and (clean or spec.id != "clean")]
    if clean and all(spec["id"] != "clean" for spec in specs):
        specs.append({"id": "clean", "aliases": [], "role": "test", "stages": []})
    arrays = {"count": count, "files": count, "bytes": count, "pixel_digest": BLAKE3}
    sets = []
    for spec in sorted(specs, key=lambda spec: spec["id"]):
        share = changed(spec["stages"][0]["level"] if spec["stages"] else None)
        sets.append(
            spec
            | arrays
            | {"metrics": None if share is None else {"images": 2, "psnr": None, "ssim": None, "changed": share}}
        )
    encoding = resolved.recipe.encoding.model_dump()
    manifest = {
        "schema_version": 3,
        "name": resolved.recipe.name,
        "version": resolved.recipe.version,
        "digest": SHA256,
        "seed": 0,
        "coupling": "independent",
        "scale": resolved.recipe.scale,
        "recipe": resolved.record,
        "source": {"name": "folder", "digest": SHA256, "license": None},
        "preprocessing": resolved.recipe.preprocessing.as_json(),
        "encoding": encoding,
        "storage": {"container": "folder"},
        "textures": [],
        "revisions": {},
        "classes": [{"index": i, "name": f"c{i}", "folder": f"c{i}"} for i in range(classes)],
        "sets": sets,
        "files": [],
        "excluded": [],
        "selection": {"chosen": count, "total": count},
        "metrics_images": 0,
        "environment": {},
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.json").write_bytes(manifest_bytes(Manifest.model_validate(manifest | fields)))
    with (folder / "samples.jsonl").open("w", encoding="utf-8") as file:
        for index in range(count):
            row = {
                "index": index,
                "id": f"image-{index:05d}",
                "label": index % classes,
                "class": f"c{index % classes}",
                "split": None,
            }
            row |= {"path": None, "sha256": SHA256, "width": 32, "height": 32, "pixels": BLAKE3}
            file.write(json.dumps(row | (samples[index] if samples else {})) + "\n")
    return folder


def records_dataset(folder: Path, recipe: str = "imagenet-c-all", count: int = 40, **options: Any) -> Dataset:
    """Return the dataset that `write_records` writes."""
    return corruptset.open(write_records(folder, recipe, count, **options))


def small_dataset(folder: Path, *sets: str, more: str = "", **fields: Any) -> Dataset:
    """Return a dataset of a small recipe with 20 images in ten classes, with some or all sets."""
    folder.mkdir(exist_ok=True)
    rows = [{"id": f"{i // 2:02d}_class/im.{i % 2}", "label": i // 2, "class": f"c{i // 2}"} for i in range(20)]
    chosen = lambda set_id: not sets or set_id in sets  # noqa: E731
    recipe = str(write_recipe(folder, more=more))
    return records_dataset(folder, recipe, 20, classes=10, samples=rows, only=chosen, clean=chosen("clean"), **fields)


def random_predictions(
    data: Dataset, seed: int = 0, model: str = "made up", *, clean: bool = False, best: float = 0.95
) -> Predictions:
    """Return random predictions for every set.

    The accuracy differs between sets and is at most `best`, which is the accuracy on clean images.
    """
    rng = np.random.default_rng(seed)
    count = len(data.samples)
    names = [*data.set_ids, *(["clean"] if clean and "clean" not in data else [])]
    outcomes = {}
    for name in names:
        correct = rng.random(count) < (best if name == "clean" else rng.uniform(0.05, best))
        rank = np.where(correct, 0, rng.integers(1, 7, count)).astype(np.int32)
        outcomes[name] = Outcome(
            correct, rank < 5, rank, rng.random(count, np.float32), rng.integers(0, 7, count, np.int32)
        )
    return Predictions(model, data.digest, outcomes)
