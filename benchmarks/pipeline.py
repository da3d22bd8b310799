"""The real build of imagenet-c against its floor and against a peer: ``python -m benchmarks.pipeline``.

The floor is what any generator must do: the same reads, decodes, resizes, encodes (of the very same corrupted pixels)
and writes, with no corruption, no digest, no record. One core, everything in one run; read the ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cv2
import numpy as np
from PIL import Image
from rich.console import Console
from rich.table import Table

import corruptset
from corruptset.corruptions.keys import sample_keys
from corruptset.corruptions.stages import apply_chain
from corruptset.generate.decoding import decode
from corruptset.generate.preprocessing import preprocess
from corruptset.generate.recipe import load_recipe
from corruptset.generate.sources.base import open_source

from .peer import NAME, run_peer


def write_photographs(folder: Path, count: int) -> list[Path]:
    """Write `count` JPEGs of 500x375 (what an ImageNet image is like) cut from the sample photographs, in 4 class folders."""
    source = open_source("sample")
    pictures = [Image.fromarray(source.load(sample).image) for sample in source.samples]
    files = []
    for i in range(count):
        picture = pictures[i % len(pictures)]
        scale = 1 - 0.03 * (i // len(pictures))
        width, height = int(picture.width * scale), int(picture.height * scale)
        crop = picture.crop((0, 0, width, height)).resize((500, 375), Image.Resampling.LANCZOS)
        path = folder / f"class_{i % 4}" / f"picture_{i:05d}.JPEG"
        path.parent.mkdir(parents=True, exist_ok=True)
        crop.save(path, quality=90)
        files.append(path)
    return files


BUILD = """
import sys, time, json, corruptset
start = time.perf_counter()
built = corruptset.build("imagenet-c", "folder:" + sys.argv[1], sys.argv[2], jobs=1, format="folder", optimize=sys.argv[3] == "1")
print(json.dumps({"seconds": time.perf_counter() - start, "digest": built.digest, "images": built.images}))
"""


def build_seconds(source: Path, out: Path, optimize: bool) -> dict[str, float]:
    """Return the seconds of a whole build (its process's start and imports left out), kernels already compiled."""
    shutil.rmtree(out, ignore_errors=True)
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(source), str(out), str(int(optimize))], check=True, capture_output=True, text=True, env=os.environ
    )
    return json.loads(done.stdout.splitlines()[-1])


def floor_seconds(files: list[Path], out: Path, optimize: bool) -> float:
    """Return the seconds of reading, decoding, resizing, encoding and writing alone; corrupted pixels are made beforehand, untimed."""
    recipe = load_recipe("imagenet-c")
    sets = recipe.resolve()
    quality = [cv2.IMWRITE_JPEG_QUALITY, 85, cv2.IMWRITE_JPEG_OPTIMIZE, int(optimize)]
    total = 0.0
    for spec in sets:
        for label in range(4):
            (out / spec.id / f"class_{label}").mkdir(parents=True, exist_ok=True)
    for number, file in enumerate(files):
        start = time.perf_counter()
        pixels = preprocess(decode(file.read_bytes()), recipe.preprocessing)
        total += time.perf_counter() - start
        outs = [
            apply_chain(pixels[None], s.stages, sample_keys([file.stem]), seed=0, coupling="independent", side=224, scale="none")[0]
            for s in sets
        ]
        start = time.perf_counter()
        for spec, one in zip(sets, outs, strict=True):
            _, data = cv2.imencode(".jpg", cv2.cvtColor(one, cv2.COLOR_RGB2BGR), quality)
            (out / spec.id / file.parent.name / f"{number}.JPEG").write_bytes(data)
        total += time.perf_counter() - start
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--no-peer", action="store_true", help="leave the peer out")
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    console = Console(width=110)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        files = write_photographs(work / "source", arguments.images)
        build_seconds(work / "source", work / "warm", False)
        figures: dict[str, float] = {}
        table = Table(
            title=f"imagenet-c, 75 outputs of {arguments.images} JPEGs of 500x375, one core, medians of {arguments.repeats}",
            title_justify="left",
        )
        for heading in ("what", "ms an image", "against the floor"):
            table.add_column(heading, justify="left" if heading == "what" else "right")
        for optimize in (False, True):
            name = "optimised Huffman" if optimize else "plain Huffman"
            builds, floors = [], []
            for repeat in range(arguments.repeats):
                builds.append(build_seconds(work / "source", work / "out", optimize)["seconds"])
                floors.append(floor_seconds(files, work / f"floor{repeat}", optimize))
                shutil.rmtree(work / f"floor{repeat}")
            build, floor = (statistics.median(x) / len(files) * 1e3 for x in (builds, floors))
            figures |= {f"{name}: build": build, f"{name}: floor": floor, f"{name}: ratio": build / floor}
            table.add_row(f"{name}: floor", f"{floor:.1f}", "1.00")
            table.add_row(f"{name}: the whole build", f"{build:.1f}", f"{build / floor:.2f}")
        if not arguments.no_peer:
            fifteen = sorted({s.stages[0].corruption for s in load_recipe("imagenet-c").resolve()})
            peer = run_peer("pipeline", files=[str(f) for f in files[:6]], names=fifteen, folder=str(work / "peer"))["median_seconds"] * 1e3
            ours = figures["plain Huffman: build"]
            figures |= {"peer": peer, "peer / build": peer / ours}
            table.add_row(f"{NAME}, plain Huffman", f"{peer:.1f}", f"{peer / figures['plain Huffman: floor']:.1f}")
            console.print(table)
            console.print(
                f"the build is {peer / ours:.1f} times as fast as {NAME} (corruptset {corruptset.__version__}, numpy {np.__version__})"
            )
        else:
            console.print(table)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
