"""What a page costs, and MS-SSIM: ``python -m benchmarks.page``.

Processor time of one core, medians over turns: MS-SSIM of a pair of 224x224 images beside PSNR, SSIM and the fraction changed of the same
pair; and index.html of a build of all 96 sets of imagenet-c-all from the eight sample photographs, with its size.
"""

from __future__ import annotations

import tempfile
import time
from functools import partial

import numpy as np

import corruptset
from corruptset.generate.again.page_again import clean_images
from corruptset.generate.again.remake_options import RemakeOptions
from corruptset.generate.page.build_page import build_page
from corruptset.generate.pixels.metrics import measure
from corruptset.generate.pixels.ms_ssim import ms_ssim

from .timing import median_seconds, options, save, show

PAIRS = 50


def main() -> None:
    arguments = options(__doc__, repeats=7).parse_args()
    cpu_seconds = partial(median_seconds, repeats=arguments.repeats, clock=time.process_time)
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 256, (PAIRS, 2, 224, 224, 3), np.uint8)
    three = cpu_seconds(lambda: [measure(*pair) for pair in pairs]) / PAIRS
    multiscale = cpu_seconds(lambda: [ms_ssim(*pair) for pair in pairs]) / PAIRS
    with tempfile.TemporaryDirectory() as folder:
        built = corruptset.build("imagenet-c-all", "sample", folder, jobs=1, format="folder", page=False)
        data = corruptset.open(built.directory)
        clean_of = clean_images(data, RemakeOptions())
        page = cpu_seconds(lambda: build_page(data, clean_of))
        size = len(build_page(data, clean_of))
    rows = [
        ["PSNR, SSIM, changed, of one image", f"{1000 * three:.2f} ms"],
        ["MS-SSIM of one image", f"{1000 * multiscale:.2f} ms"],
        ["index.html of 96 sets", f"{page:.2f} s"],
        ["its size", f"{size / 1e6:.2f} MB"],
    ]
    show("The page, processor time of one core", ["what", "figure"], rows)
    save(arguments.json, {"metrics_s": three, "ms_ssim_s": multiscale, "page_s": page, "page_bytes": size})


if __name__ == "__main__":
    main()
