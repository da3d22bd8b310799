"""Compare the corruptions with the published generator, using the random draws of the generator.

    python plugins/corruptset-medmnist/benchmarks/parity.py [--images 8] [--record FILE]

This script needs this add-on and the package medmnistc 0.1.0 with ImageMagick 6. It prints a table with a row for each
dataset and corruption, over all severities. A row states the share of equal values, the share of values that differ by
at most one grey level, and the largest difference. The exit code is 1 if a value differs by more than one level. It is
also 1 if a corruption without random draws has less than 99 % equal values. ``--record`` writes some pixels of the
published output for the tests.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from PIL import Image

import corruptset
from corruptset.corruptions.calibrations import get_calibration
from corruptset.corruptions.registry import get_corruption

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from published_draws import PUBLISHED_NAMES, draw_arguments, image


@contextmanager
def recorded(seed: int) -> Iterator[dict[str, Any]]:
    """Give the published generator random draws from a seed while the block runs, and record them."""
    drawn: dict[str, Any] = {}
    noise, numbers = np.random.RandomState(seed), random.Random(seed)

    def integer(low: int, high: int) -> int:
        drawn.setdefault("numbers", []).append(numbers.randint(low, high))
        return drawn["numbers"][-1]

    def letter(letters: str) -> str:
        drawn["letters"] = drawn.get("letters", "") + numbers.choice(letters)
        return drawn["letters"][-1]

    def normal(size: Any, scale: float) -> Any:
        drawn["seed"] = seed
        return noise.standard_normal(size) * scale

    def poisson(mean: Any) -> Any:
        drawn["seed"] = seed
        return noise.poisson(mean)

    def angle(low: float, high: float) -> float:
        drawn["angle"] = noise.uniform(low, high)
        return drawn["angle"]

    with (
        patch("random.randint", integer), patch("random.choice", letter), patch("numpy.random.normal", normal),
        patch("numpy.random.poisson", poisson), patch("numpy.random.uniform", angle),
        patch("numpy.fromstring", np.frombuffer),  # NumPy 2.3 removed a use of it that the published code needs.
    ):  # fmt: skip
        yield drawn


def published(corruptor: Any, clean: Any, severity: int, seed: int) -> tuple[Any, dict[str, Any]]:
    """Return the published output for an image, and the random draws that led to it."""
    rgb = Image.fromarray(np.repeat(clean, 3, axis=2) if clean.shape[2] == 1 else clean)
    with recorded(seed) as drawn:
        if type(corruptor).__name__ == "ImpulseNoise":
            corruptor.rng, drawn["seed"] = np.random.default_rng(seed), seed
        out = Image.fromarray(np.array(corruptor.apply(rgb, severity - 1)))
    return np.atleast_3d(np.array(out.convert("L") if clean.shape[2] == 1 else out)), drawn


def main() -> int:
    """Print the table and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=8)
    parser.add_argument("--record", type=Path)
    options = parser.parse_args()
    from medmnistc.corruptions.registry import CORRUPTIONS_DS, DATASET_RGB

    short, record = 0, {}
    for dataset, rgb in sorted(DATASET_RGB.items()):
        table = get_calibration(dataset)
        names = {PUBLISHED_NAMES.get(name, name): name for name in table.rows}
        assert list(names) == list(CORRUPTIONS_DS[dataset]), dataset
        for published_name, name in names.items():
            differences = []
            for severity in range(1, 6):
                parameters = table.row(name, severity).parameters
                for which in range(options.images):
                    clean = image(which, grey=not rgb)
                    want, drawn = published(
                        CORRUPTIONS_DS[dataset][published_name], clean, severity, 8 * severity + which
                    )
                    draws = draw_arguments(name, parameters, drawn, clean)
                    out = corruptset.corrupt(clean, name, severity=severity, calibration=dataset, **draws)
                    differences.append(np.abs(out.astype(int) - want))
                    if which == 0:
                        pixels = np.ascontiguousarray(want[28::56, 28::56]).tobytes().hex()
                        record[f"{dataset}/{name}/{severity}"] = {"drawn": drawn, "pixels": pixels}
            difference = np.concatenate(differences)
            equal, within = np.mean(difference == 0), np.mean(difference <= 1)
            good = within == 1 and (equal >= 0.99 or not get_corruption(name).deterministic)
            short += not good
            print(
                f"{dataset:15} {published_name:17} equal {equal:9.4%}  within one {within:9.4%}  "
                f"largest {difference.max():3} {'' if good else ' SHORT'}",
                flush=True,
            )
    if options.record:
        rows = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in record.items())
        options.record.write_text(f"{{\n{rows}\n}}\n")
    print(f"{short} rows fall short")
    return short > 0


if __name__ == "__main__":
    sys.exit(main())
