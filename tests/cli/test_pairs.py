"""`pairs`: two-factor sets named on the command line."""

from __future__ import annotations

import pytest

PLANNED = {
    "pairs --first-stages contrast,fade_black-01 --second-stages brightness --severities 1,3":
        "contrast-1+brightness-1 contrast-1+brightness-3 contrast-3+brightness-1 contrast-3+brightness-3 "
        "fade_black-01+brightness-1 fade_black-01+brightness-3 brightness-1+contrast-1 brightness-1+contrast-3 "
        "brightness-1+fade_black-01 brightness-3+contrast-1 brightness-3+contrast-3 brightness-3+fade_black-01",
    "'pairs?first-stages=contrast&second-stages=brightness&severities=1,3&orders=given'":
        "contrast-1+brightness-1 contrast-1+brightness-3 contrast-3+brightness-1 contrast-3+brightness-3",
    "pairs --first-stages contrast-3,gn=gaussian_noise:sigma=0.1:rounding=round --second-stages fade_black "
    "--levels 4-5 --orders given":
        "contrast-3+fade_black-04 contrast-3+fade_black-05 gn+fade_black-04 gn+fade_black-05",
    # a pair with a stage at 0 is the other stage alone
    "pairs --first-stages contrast --second-stages brightness,black_lines --severities 0,2 --levels 0,7":
        "clean brightness/2 black_lines/07 contrast/2 contrast-2+brightness-2 contrast-2+black_lines-07 "
        "brightness-2+contrast-2 black_lines-07+contrast-2",
}  # fmt: skip
"""Command line -> ids of the sets, in order."""


@pytest.mark.parametrize("line", PLANNED)
def test_orders_and_combinations(run, line):
    assert [s["id"] for s in run.ok(f"plan {line} --samples 1 --json").json["sets"]] == PLANNED[line].split()


def test_the_calibration_follows_the_source(run):
    pair = "plan 'pairs?first-stages=contrast-1&second-stages=brightness-1' --samples 1 --json"
    assert run.ok(pair).json["calibration"] == "imagenet"
    other = run.ok(pair, "--calibration", "cifar", "--any-shape").json
    assert (other["calibration"], other["encoding"]["format"]) == ("cifar", "png")
