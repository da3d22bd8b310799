"""Regions without corruptset: ``python -m benchmarks.region_loops '{"which": "floor", "source": ..., "like": ...}'``.

``floor`` crops, resizes (Pillow) and encodes the regions of a finished build, `like`, with the same encoder; each image is decoded once,
and nothing is hashed, recorded or written. ``plain`` does what a loop over torchvision's ``resized_crop`` does with Pillow's pictures:
every region opens its image, is cropped and resized, and Pillow's ``save`` makes a file of it. Seconds and processor seconds are printed
as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from PIL import Image

import corruptset
from corruptset.generate.pixels.encoding import parse_encoding
from corruptset.generate.sources.source import open_source
from corruptset.manifests.records.models import SampleRecord

from .timing import clocked


def floor(samples: list[SampleRecord], source: str, like: str) -> None:
    """Crop, resize and encode every region."""
    manifest = corruptset.open(like).manifest
    encoding, out = parse_encoding(manifest.encoding), manifest.recipe["regions"]["out"]
    images = open_source(source)
    by_id = {s.id: s for s in images.samples}
    picture, name = Image.new("RGB", (1, 1)), ""
    for sample in samples:
        region = sample.region
        assert region is not None
        if region.source != name:
            name = region.source
            picture = Image.fromarray(images.load(by_id[name]).image)
        box = (region.x, region.y, region.x + region.side, region.y + region.side)
        encoding.encode(np.asarray(picture.crop(box).resize((out, out), Image.Resampling.BILINEAR)))


def plain(samples: list[SampleRecord], source: str, folder: str, out: int = 224) -> None:
    """Open, crop, resize and save, region by region."""
    root = Path(source.partition(":")[2])
    for number, sample in enumerate(samples):
        region = sample.region
        assert region is not None
        assert sample.path is not None
        with Image.open(root / sample.path) as picture:
            crop = picture.convert("RGB").crop((region.x, region.y, region.x + region.side, region.y + region.side))
        crop.resize((out, out), Image.Resampling.BILINEAR).save(Path(folder) / f"{number:06d}.png")


def main() -> None:
    cv2.setNumThreads(1)
    task: dict[str, Any] = json.loads(sys.argv[1])
    samples = corruptset.open(task["like"]).samples
    if task["which"] == "floor":
        spent, used = clocked(lambda: floor(samples, task["source"], task["like"]))
    else:
        names = sorted({s.region.source for s in samples if s.region is not None})[: task["images"]]
        samples = [s for s in samples if s.region is not None and s.region.source in names]
        spent, used = clocked(lambda: plain(samples, task["source"], task["folder"]))
    print(json.dumps({"seconds": spent, "cpu_seconds": used, "regions": len(samples)}))


if __name__ == "__main__":
    main()
