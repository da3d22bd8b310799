"""Golden digests: the output bytes of every corruption on small pictures.

They are of every severity and calibration, and of some named parameters.

``python -m tests.golden [NAME ...]`` compares. ``python -m tests.golden --write [NAME ...]`` records the digests of new
corruptions and of those whose revision was bumped; it refuses to record changed bytes under an old revision.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from blake3 import blake3

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import corruptset
from corruptset.corruptions.calibrations import LADDERS, SHIPPED, shipped
from corruptset.corruptions.registry import corruption_names, get_corruption
from corruptset.errors import CorruptsetError
from example_images import synthetic_image

FILE = Path(__file__).with_name("digests.json")
RECORDABLE = tuple(name for name in corruption_names() if not get_corruption(name).needs_model)
"""The corruptions whose bytes are the same on every machine. What follows a model's gradient has others where PyTorch
computes otherwise; tests/corruptions/test_pgd.py compares it with its definition instead."""
# a batch of two in colour, one in grey, not square, not a multiple of anything
COLOUR, GREY = (61, 83), (45, 37)
WHOLE: dict[str, object] = {"direction": "clockwise", "interpolation": "nearest", "canvas": "loose"}
# corruption -> what a set of parameters is called in the file -> the parameters: for options, and for what has no table
NAMED: dict[str, dict[str, dict[str, object]]] = {
    "canny_edges": {"ramps": {"sigma": 1.0, "low": 0.1, "high": 0.2, "on": "ramps"}},
    "salt_pepper": {f"density {d}": {"density": d} for d in (0.1, 0.15, 0.2)},
    "gaussian_noise": {f"mean {m} rounded": {"sigma": 0.1, "mean": m, "rounding": "round"} for m in (0.1, 0.15, 0.2)},
    "rotate": {f"whole {a}": {"angle_deg": a, **WHOLE} for a in (-60.0, -30.0, 30.0, 60.0)}
    | {
        "whole bilinear on grey": {"angle_deg": 41.5, "canvas": "loose", "resize": "bilinear", "fill": 128},
        "cropped nearest": {"angle_deg": 20.0, "interpolation": "nearest"},
    },
}


def ramps() -> np.ndarray:
    """Return linear ramps, whose gradients are all equal but for rounding, so that the order of every sum shows."""
    y, x = np.mgrid[:28, :28]
    slopes = [(step, a * x + b * y) for step in (9, 21, 50) for a, b in ((4, 0), (3, 1))]
    return np.stack([(step * slope // 4 % 256).astype(np.uint8)[..., None] for step, slope in slopes])


def digest(name: str, *, on: str = "golden", **options: object) -> str:
    """Return the digest of a corruption's outputs on the golden pictures, or on ramps."""
    if on == "ramps":
        return blake3(corruptset.corrupt(ramps(), name, seed=20, **options).tobytes()).hexdigest(16)
    colour = np.stack([synthetic_image(*COLOUR, 3, which) for which in range(2)])
    out = blake3()
    for image, key in ((colour, ["golden/0", "golden/1"]), (synthetic_image(*GREY, 1), "golden/grey")):
        result = corruptset.corrupt(image, name, key=key, seed=20, **options)
        out.update(repr(result.shape).encode() + result.tobytes())
    return out.hexdigest(16)


def measure(names: Sequence[str] = ()) -> dict[str, dict[str, object]]:
    """Return name -> {revision, digests: {calibration: [one for each severity that it has there]}, named.

    {what: one}}. A gradual degradation has ladders in place of calibrations, and the digests of its levels 1, 5 and 30,
    or of its last. ``named`` is there for those that `NAMED` has parameters of. Without names, all that are the same on
    every machine are measured.
    """
    measured: dict[str, dict[str, object]] = {}
    for name in sorted(names or RECORDABLE):
        measured[name] = {"revision": get_corruption(name).revision, "digests": measure_digests(name)}
        if name in NAMED:
            measured[name]["named"] = {
                set_name: digest(name, **parameters) for set_name, parameters in NAMED[name].items()
            }
    return measured


def measure_digests(name: str) -> dict[str, list[str]]:
    """Return the digests of one corruption at its severities, or levels."""
    gradual = get_corruption(name).gradual
    if gradual is not None:
        levels = sorted({min(level, gradual.most) for level in (1, 5, 30)})
        return {ladder: [digest(name, level=level, ladder=ladder) for level in levels] for ladder in LADDERS}
    return {
        c: [digest(name, calibration=c, severity=s) for s in sorted(shipped(c).rows[name])]
        for c in SHIPPED
        if name in shipped(c).rows
    }


def digests_by_set(entry: dict[str, object]) -> dict[str, str]:
    """Return a corruption's digests by what they are of: a calibration with a severity, or a name."""
    rows = {f"{c} {s}": value for c, row in entry["digests"].items() for s, value in enumerate(row, 1)}  # type: ignore[attr-defined]
    return rows | entry.get("named", {})  # type: ignore[operator]


def differences(recorded: dict[str, dict[str, object]], measured: dict[str, dict[str, object]]) -> list[str]:
    """Return what differs, a line each."""
    lines = [f"{name}: recorded, but no longer registered" for name in recorded if name not in measured]
    for name, digests_now in measured.items():
        before = recorded.get(name, {"revision": digests_now["revision"], "digests": {}})
        has, had = digests_by_set(digests_now), digests_by_set(before)
        command = f"record them with python -m tests.golden --write {name}"
        fresh = [set_name for set_name in has if set_name not in had]
        moved = [set_name for set_name, value in had.items() if has.get(set_name) != value]
        if not has:
            lines.append(f"{name}: has no rows in a table, so give it parameters in NAMED of tests/golden/digests.py")
        if fresh:
            lines.append(f"{name}: has no golden digests for {', '.join(fresh)}; {command}")
        if moved:
            bumped = digests_now["revision"] > before["revision"]  # type: ignore[operator]
            step = command if bumped else f"mend it, or bump its revision, say why in DATASETS.md, and {command}"
            lines.append(f"{name}: output bytes changed at {', '.join(moved)}; {step}")
        elif before["revision"] != digests_now["revision"] and not fresh:
            lines.append(f"{name}: revision {before['revision']} -> {digests_now['revision']}, but no byte changed")
    return lines


def count(digests: dict[str, dict[str, object]]) -> int:
    """Return how many digests there are."""
    return sum(len(digests_by_set(entry)) for entry in digests.values())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        "python -m tests.golden", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="record new corruptions and bumped revisions")
    parser.add_argument("names", nargs="*", metavar="NAME", help="corruptions; by default all")
    chosen = parser.parse_args(arguments)
    recorded = json.loads(FILE.read_text())
    try:
        measured = measure(chosen.names)
    except CorruptsetError as e:
        print(e)
        return 2
    requested = {name: entry for name, entry in recorded.items() if not chosen.names or name in measured}
    problems = differences(requested, measured)
    if not chosen.write:
        print("\n".join(problems) or f"{count(measured)} digests equal")
        return bool(problems)
    refused = [line for line in problems if "mend it" in line or "no byte changed" in line or "NAMED" in line]
    if refused:
        print("Refused:\n" + "\n".join(f"  {line}" for line in refused))
        return 1
    FILE.write_text(json.dumps(dict(sorted(((recorded if chosen.names else {}) | measured).items())), indent=1) + "\n")
    print(f"{len(problems)} of {len(measured)} corruptions had new digests; {FILE.name} has them now.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
