"""Each corruption against one JPEG encode of its output, and against a peer: ``python -m benchmarks.kernels``.

One core, medians over repeats, mean over severities, everything in one run: read the ratios, not the milliseconds. Gradual
degradations have rows of their own: one level from the one before it, mean over levels 1 to 30.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from corruptset.corruptions.calibrations import shipped
from corruptset.corruptions.keys import sample_keys
from corruptset.corruptions.registry import corruption_names, get_corruption
from corruptset.corruptions.stages import Stage, apply_stage, chain_keys, check_images, resolve_stage
from corruptset.generate.sources.source import open_source

from .peer import NAME, run_peer


def photographs(size: int) -> NDArray[np.uint8]:
    """Return the eight sample photographs, shortest side 256, centre crop 224; for other sizes area-averaged."""
    from corruptset.generate.pixels.preprocessing import ResizeCrop, preprocess

    source = open_source("sample")
    spec = ResizeCrop(kind="resize-crop", resize=256, crop=224, interpolation="bilinear", channels="rgb")
    crops = [preprocess(source.load(sample).image, spec) for sample in source.samples]
    if size != 224:
        crops = [cv2.resize(crop, (size, size), interpolation=cv2.INTER_AREA) for crop in crops]
    return np.ascontiguousarray(np.stack(crops))


def median_ms(call: Callable[[], object], repeats: int) -> float:
    """Return the median milliseconds of a call, which is made once before."""
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def measure(size: int, batch: int, calibration: str, repeats: int) -> dict[str, dict[str, float]]:
    """Return per corruption: milliseconds an image, and of one JPEG encode of its output."""
    images = check_images(np.ascontiguousarray(np.resize(photographs(size), (batch, size, size, 3))))
    keys = sample_keys([str(i) for i in range(batch)])
    table = shipped(calibration)
    rows = {}
    for name in corruption_names():
        if name not in table.rows:
            continue
        ours, encode = [], []
        for severity in range(1, 6):
            stage = resolve_stage(name, table, severity=severity)
            (key,) = chain_keys([stage], 0)
            out = apply_stage(images, stage, key, keys, side=table.side)
            ours.append(median_ms(lambda s=stage, k=key: apply_stage(images, s, k, keys, side=table.side), repeats) / batch)
            some = out[: min(batch, 8)]
            encode.append(
                median_ms(lambda o=some: [cv2.imencode(".jpg", x, [cv2.IMWRITE_JPEG_QUALITY, 85]) for x in o], repeats) / len(some)
            )
        rows[name] = {"ms": statistics.mean(ours), "encode_ms": statistics.mean(encode), "worst_ms": max(ours)}
    return rows


LEVELS = 30


def measure_levels(size: int, batch: int, repeats: int) -> dict[str, dict[str, float]]:
    """Return per gradual degradation: milliseconds an image and level, and of one JPEG encode of that level."""
    images = check_images(np.ascontiguousarray(np.resize(photographs(size), (batch, size, size, 3))))
    keys = sample_keys([str(i) for i in range(batch)])
    table = shipped("imagenet")
    rows = {}
    for name in corruption_names():
        gradual = get_corruption(name).gradual
        if gradual is None:
            continue
        ours, encode = [], []
        below = images
        for level in range(1, LEVELS + 1):
            stage = resolve_stage(name, table, level=level)
            (key,) = chain_keys([stage], 0)
            done = level - 1 if gradual.accumulates else 0

            def step(source: NDArray[np.uint8] = below, s: Stage = stage, k: np.uint64 = key, d: int = done) -> NDArray[np.uint8]:
                return apply_stage(source, s, k, keys, side=table.side, done=d)

            ours.append(median_ms(step, repeats) / batch)
            out = step()
            some = out[: min(batch, 8)]
            encode.append(
                median_ms(lambda o=some: [cv2.imencode(".jpg", x, [cv2.IMWRITE_JPEG_QUALITY, 85]) for x in o], repeats) / len(some)
            )
            below = out if gradual.accumulates else images
        rows[name] = {"ms": statistics.mean(ours), "encode_ms": statistics.mean(encode), "worst_ms": max(ours)}
    return rows


def print_levels(console: Console, large: dict[str, dict[str, float]], small: dict[str, dict[str, float]]) -> None:
    """Print the rows of the gradual degradations."""
    table = Table(title="one core; one level, mean over 30 of medians; enc = one JPEG q85 encode of that level", title_justify="left")
    for heading in ("gradual degradation", "224: ms", "enc ms", "ours/enc", "32x32: us an image"):
        table.add_column(heading, justify="left" if heading == "gradual degradation" else "right")
    for name, row in large.items():
        ratio = row["ms"] / row["encode_ms"]
        table.add_row(name, f"{row['ms']:.3f}", f"{row['encode_ms']:.3f}", f"{ratio:.2f}", f"{small[name]['ms'] * 1e3:.1f}")
    console.print(table)
    ratios = sorted(row["ms"] / row["encode_ms"] for row in large.values())
    console.print(f"encodes a level at 224: median {statistics.median(ratios):.2f}, most {ratios[-1]:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--only-levels", action="store_true", help="only the gradual degradations")
    parser.add_argument("--no-peer", action="store_true", help="leave the peer out")
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    fewer = max(3, arguments.repeats // 3)
    levels = {"224": measure_levels(224, 8, fewer), "32": measure_levels(32, 1000, 3)}
    console = Console(width=110)
    if arguments.only_levels:
        print_levels(console, levels["224"], levels["32"])
        if arguments.json:
            arguments.json.write_text(json.dumps({"levels": levels}, indent=1) + "\n")
        return
    large, small = measure(224, 8, "imagenet", arguments.repeats), measure(32, 1000, "cifar", fewer)
    peer: dict[str, float | None] = {}
    if not arguments.no_peer:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "images.npy"
            np.save(file, photographs(224))
            peer = run_peer("kernels", images=str(file), names=list(large), repeats=arguments.repeats)
    table = Table(title="one core; mean over severities of medians; enc = one JPEG q85 encode of the output", title_justify="left")
    for heading in ("corruption", "224: ms", "enc ms", "ours/enc", f"{NAME} ms", "peer/ours", "32x32: us an image"):
        table.add_column(heading, justify="left" if heading == "corruption" else "right")
    for name, row in large.items():
        theirs = peer.get(name)
        table.add_row(
            name,
            f"{row['ms']:.3f}",
            f"{row['encode_ms']:.3f}",
            f"{row['ms'] / row['encode_ms']:.2f}",
            "-" if theirs is None else f"{theirs:.1f}",
            "-" if theirs is None else f"{theirs / row['ms']:.0f}",
            f"{small[name]['ms'] * 1e3:.1f}",
        )
    console.print(table)
    ratios = sorted(row["ms"] / row["encode_ms"] for row in large.values())
    console.print(f"encodes a corruption at 224: median {statistics.median(ratios):.2f}, most {ratios[-1]:.2f}")
    print_levels(console, levels["224"], levels["32"])
    if arguments.json:
        arguments.json.write_text(json.dumps({"224": large, "32": small, "peer": peer, "levels": levels}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
