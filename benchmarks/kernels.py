"""Compare the time of each corruption with JPEG encoding and with another package: ``python -m benchmarks.kernels``.

All of corruptset's times are measured on one core in the same process, so the ratios are more meaningful than the
milliseconds. Each row is a mean over severities, and the time of a severity is a median over repetitions. A second
table contains the gradual degradations. It shows the time to make a level from the previous one, averaged over levels 1
to 30.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from corruptset.corruptions.calibrations import shipped
from corruptset.corruptions.keys import sample_keys
from corruptset.corruptions.registry import corruption_names, get_corruption
from corruptset.corruptions.stages import apply_stage, chain_keys, check_images, resolve_stage
from corruptset.generate.pixels.preprocessing import ResizeCrop, preprocess
from corruptset.generate.sources.source import open_source

from .peer import NAME, run_peer
from .timing import median_seconds, options, save, show

LEVELS = 30
Figures = dict[str, dict[str, float]]
Call = Callable[[], NDArray[np.uint8]]


def photographs(size: int, count: int = 8) -> NDArray[np.uint8]:
    """Return the eight sample photographs, repeated until there are `count` images.

    The shorter side of each photograph is resized to 256 pixels. The central 224x224 pixels are cropped, and resized to
    `size` x `size`.
    """
    source = open_source("sample")
    spec = ResizeCrop(kind="resize-crop", resize=256, crop=224, interpolation="bilinear", channels="rgb")
    crops = [preprocess(source.load(sample).image, spec) for sample in source.samples]
    if size != 224:
        crops = [cv2.resize(crop, (size, size), interpolation=cv2.INTER_AREA) for crop in crops]
    return check_images(np.ascontiguousarray(np.resize(np.stack(crops), (count, size, size, 3))))


def severities(name: str, calibration: str, images: NDArray[np.uint8], keys: NDArray[np.uint64]) -> Iterator[Call]:
    """For each severity of a corruption, yield a function that applies the corruption to the images."""
    table = shipped(calibration)
    for severity in range(1, 6) if name in table.rows else ():
        stage = resolve_stage(name, table, severity=severity)
        yield partial(apply_stage, images, stage, chain_keys([stage], 0)[0], keys, side=table.side)


def levels(name: str, calibration: str, images: NDArray[np.uint8], keys: NDArray[np.uint64]) -> Iterator[Call]:
    """For each level of a gradual degradation, yield a function that makes this level from the previous one."""
    gradual, table = get_corruption(name).gradual, shipped(calibration)
    for level in range(1, LEVELS + 1) if gradual is not None else ():
        stage = resolve_stage(name, table, level=level)
        done = level - 1 if gradual.accumulates else 0
        call = partial(apply_stage, images, stage, chain_keys([stage], 0)[0], keys, side=table.side, start_level=done)
        yield call
        if gradual.accumulates:
            images = call()


def measure(steps: Callable[..., Iterator[Call]], size: int, batch: int, calibration: str, repeats: int) -> Figures:
    """Return the milliseconds per image for each corruption, and for JPEG encoding of its output.

    `steps` is `severities` or `levels`.
    """
    images, keys = photographs(size, batch), sample_keys([str(i) for i in range(batch)])
    rows = {}
    for name in (name for name in corruption_names() if not get_corruption(name).needs_model):
        ours, encodes = [], []
        for call in steps(name, calibration, images, keys):
            ours.append(median_seconds(call, repeats) / batch * 1e3)
            outputs = call()[:8]
            encode = partial(encode_all, outputs)
            encodes.append(median_seconds(encode, repeats) / len(outputs) * 1e3)
        if ours:
            rows[name] = {"ms": statistics.mean(ours), "encode_ms": statistics.mean(encodes), "worst_ms": max(ours)}
    return rows


def encode_all(images: NDArray[np.uint8]) -> None:
    """Encode images as JPEG."""
    for image in images:
        cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 85])


def show_rows(
    kind: str, statistic: str, large: Figures, small: Figures, peer: dict[str, float | None] | None = None
) -> None:
    """Print a table of corruptions or gradual degradations. `large` is for 224x224 images, and `small` for 32x32."""
    headings = [kind, "224: ms", "encode ms", "ours / encode", "32x32: us per image"]
    rows = []
    ratios = {name: row["ms"] / row["encode_ms"] for name, row in large.items()}
    for name, row in large.items():
        us = f"{small[name]['ms'] * 1e3:.1f}" if name in small else "-"
        rows.append([name, f"{row['ms']:.3f}", f"{row['encode_ms']:.3f}", f"{ratios[name]:.2f}", us])
        if peer:
            peer_ms = peer.get(name)
            rows[-1] += ["-", "-"] if peer_ms is None else [f"{peer_ms:.1f}", f"{peer_ms / row['ms']:.0f}"]
    show(
        f"one core, {statistic} of medians, encode = one JPEG of quality 85 of the output",
        [*headings, *([f"{NAME} ms", "peer / ours"] if peer else [])],
        rows,
    )
    median, largest = statistics.median(ratios.values()), max(ratios.values())
    print(f"encodes per {kind} at 224: median {median:.2f}, largest {largest:.2f}")


def main() -> None:
    parser = options(__doc__, repeats=15)
    parser.add_argument("--only-levels", action="store_true", help="measure only the gradual degradations")
    parser.add_argument("--no-peer", action="store_true", help=f"do not compare with {NAME}")
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    repeats, fewer = arguments.repeats, max(3, arguments.repeats // 3)
    figures: dict[str, object] = {}
    if not arguments.only_levels:
        large, small = measure(severities, 224, 8, "imagenet", repeats), measure(severities, 32, 1000, "cifar", fewer)
        peer: dict[str, float | None] = {}
        if not arguments.no_peer:
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "images.npy"
                np.save(file, photographs(224))
                peer = run_peer("kernels", images=str(file), names=list(large), repeats=repeats)
        show_rows("corruption", "mean over severities", large, small, peer)
        figures |= {"224": large, "32": small, "peer": peer}
    large, small = measure(levels, 224, 8, "imagenet", fewer), measure(levels, 32, 1000, "imagenet", 3)
    show_rows("level", f"one level, mean over {LEVELS}", large, small)
    save(arguments.json, {**figures, "levels": {"224": large, "32": small}})


if __name__ == "__main__":
    main()
