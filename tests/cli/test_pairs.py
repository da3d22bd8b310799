"""`pairs`: two-factor sets named on the command line, and what is said when they cannot be made."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from corruptset.cli.build import PAIRS
from corruptset.generate.recipes.two_factor import NAME


def planned(run: Any, *arguments: str) -> list[str]:
    done = run("plan pairs --json", *arguments)
    assert done.code == 0, done.err
    return [s["id"] for s in done.json["sets"]]


def test_the_name_is_the_same_in_both_rooms():
    assert PAIRS == NAME


def test_both_orders_at_every_combination_of_severities(run):
    got = planned(run, "--first-stages", "fog,contrast", "--second-stages", "gaussian_noise", "--severities", "1,3")
    there = [f"{c}-{a}+gaussian_noise-{b}" for c in ("fog", "contrast") for a in (1, 3) for b in (1, 3)]
    back = [f"gaussian_noise-{b}+{c}-{a}" for b in (1, 3) for c in ("fog", "contrast") for a in (1, 3)]
    assert got == there + back
    query = "pairs?first-stages=fog,contrast&second-stages=gaussian_noise&severities=1,3&orders=given"
    assert [s["id"] for s in run("plan --json", query).json["sets"]] == there


def test_a_pair_with_a_stage_at_0_is_the_other_stage_alone(run):
    got = planned(
        run, "--first-stages", "fog", "--second-stages", "snow,black_lines", "--severities", "0,2", "--levels", "0,7"
    )
    ends = "fog-2+snow-2 snow-2+fog-2 fog-2+black_lines-07 black_lines-07+fog-2"
    assert sorted(got) == sorted(f"clean fog/2 snow/2 black_lines/07 {ends}".split())


def test_links_levels_and_given_parameters(run):
    got = planned(
        run, "--first-stages", "fog-3", "--first-stages", "gn=gaussian_noise:sigma=0.1:rounding=round",
        "--second-stages", "fade_black", "--levels", "4-5", "--orders", "given",
    )  # fmt: skip
    assert got == ["fog-3+fade_black-04", "fog-3+fade_black-05", "gn+fade_black-04", "gn+fade_black-05"]


def test_the_calibration_follows_the_source(run):
    pair = ["plan", "pairs?first-stages=fog&second-stages=snow", "--json"]
    assert run(*pair).json["calibration"] == "imagenet"
    other = run(*pair, "--calibration", "cifar", "--any-shape").json
    assert (other["calibration"], other["encoding"]["format"]) == ("cifar", "png")


MISTAKES = {
    "pairs": "as in: corruptset build 'pairs?first-stages=fog,rotate&second-stages=gaussian_noise&",
    "pairs --first-stages fgo --second-stages snow": "Did you mean 'fog'",
    "pairs --first-stages fog --second-stages snow --severities 6": "item 1: is 6; expected a severity from 1 to 5",
    "pairs --first-stages fog:weight=1 --second-stages snow": "needs a short name of its own",
    "pairs --first-stages a=fog:weight --second-stages snow": "'weight' in 'a=fog:weight' is not parameter=value",
    "pairs --first-stages fog --second-stages snow --severities one": "is not a list of whole numbers",
    "imagenet-c --second-stages snow --orders both": "--second-stages and --orders: only with the recipe 'pairs'",
    "imagenet-c --severities 3": "imagenet-c has no pairs whose severities could be given",
    "imagenet-c --first 0": "one number of samples, at least 1.",
    "pairs --first fog --second-stages snow": "that come first in pairs are given by --first-stages: corruptset",
}


@pytest.mark.parametrize("line", MISTAKES)
def test_mistakes(run, line):
    done = run("plan", *shlex.split(line))
    assert done.code == 2
    assert MISTAKES[line] in " ".join(done.err.replace("│", " ").split())


def test_all_mistakes_at_once(run):
    done = run("plan pairs --first-stages fgo --second-stages snow:a=2,x=snow:q=3 --calibration tiny")
    assert "has 3 mistakes" in done.err
