"""Tasks to run in the environment of imagecorruptions-imaug: single corruptions, and all 75 outputs per image."""

from __future__ import annotations

import json
import statistics
import sys
import time
import warnings
from pathlib import Path

warnings.simplefilter("ignore")

import cv2  # noqa: E402
import numpy as np  # noqa: E402
from imagecorruptions import corrupt  # noqa: E402
from PIL import Image  # noqa: E402

cv2.setNumThreads(1)


def kernels(images: str, names: list[str], repeats: int) -> dict[str, float | None]:
    """Return the median milliseconds of each corruption, averaged over severities, or None for one that fails."""
    photographs = np.load(images)
    out: dict[str, float | None] = {}
    for name in names:
        try:
            corrupt(photographs[0], corruption_name=name, severity=1)
            severities = []
            for severity in range(1, 6):
                times = []
                for i in range(repeats if name != "glass_blur" else 2):
                    start = time.perf_counter()
                    corrupt(photographs[i % len(photographs)], corruption_name=name, severity=severity)
                    times.append(time.perf_counter() - start)
                severities.append(statistics.median(times))
            out[name] = statistics.mean(severities) * 1e3
        except Exception:
            out[name] = None
    return out


def pipeline(files: list[str], names: list[str], folder: str) -> dict[str, float]:
    """Return the median time to process a file: read the image, and corrupt, encode and write all outputs."""
    times = []
    for number, file in enumerate(files):
        start = time.perf_counter()
        image = Image.open(file).convert("RGB")
        width, height = image.size
        short = min(width, height)
        image = image.resize((int(256 * width / short), int(256 * height / short)), Image.Resampling.BILINEAR)
        left, top = round((image.width - 224) / 2), round((image.height - 224) / 2)
        pixels = np.array(image.crop((left, top, left + 224, top + 224)))
        for name in names:
            for severity in range(1, 6):
                path = Path(folder) / name / str(severity) / f"{number}.JPEG"
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(corrupt(pixels, corruption_name=name, severity=severity)).save(path, quality=85)
        times.append(time.perf_counter() - start)
    # The first image is left out, because its time includes compilation.
    return {"median_seconds": statistics.median(times[1:])}


if __name__ == "__main__":
    print(json.dumps({"kernels": kernels, "pipeline": pipeline}[sys.argv[1]](**json.loads(sys.argv[2]))))
