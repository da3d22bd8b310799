"""plan and build: what they pass on to the rooms, which are stand-ins here, and what they make of the answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from stand_ins import stand_in

from corruptset.cli.app import app
from corruptset.errors import MachineError

DEFAULTS: dict[str, Any] = {
    "seed": 0,
    "jobs": None,
    "sets": None,
    "samples": None,
    "first": None,
    "per_class": None,
    "ids": None,
    "per_super_category": None,
    "format": None,
    "optimize": False,
    "skip_bad": False,
    "calibration": None,
    "coupling": "independent",
    "scale": None,
    "metrics": None,
    "labels": None,
    "split": None,
    "groups": None,
    "hold_out": None,
    "train": False,
    "images": None,
    "frost_textures": None,
    "surrogate": None,
    "device": None,
    "surrogate_batch": None,
    "view": None,
    "any_shape": False,
    "store": None,
    "page": True,
    "plugins": None,
}
GIVEN: list[tuple[list[str], dict[str, Any]]] = [
    ([], {}),
    (["--seed", "7", "--jobs", "3"], {"seed": 7, "jobs": 3}),
    (["--sets", "fog/*, snow/1", "--sets", "clean"], {"sets": ["fog/*", "snow/1", "clean"]}),
    (["--samples", "5"], {"samples": 5}),
    (["--first", "6"], {"first": 6}),
    (["--per-class", "2", "--ids", "ids.txt"], {"per_class": 2, "ids": Path("ids.txt")}),
    (["--split", "all", "--images", "x"], {"split": "all", "images": "x"}),
    (["--format", "hdf5", "--optimize", "--skip-bad"], {"format": "hdf5", "optimize": True, "skip_bad": True}),
    (
        ["--calibration", "cifar", "--coupling", "severity", "--scale", "side"],
        {"calibration": "cifar", "coupling": "severity", "scale": "side"},
    ),
    (["--metrics", "all"], {"metrics": "all"}),
    (
        ["--groups", "g.csv", "--hold-out", "group=a, b", "--hold-out", "group=c"],
        {"groups": "g.csv", "hold_out": ["group=a, b", "group=c"]},
    ),
    (["--train"], {"train": True}),
    (["--metrics", "0"], {"metrics": 0}),
    (["--store", "table", "--per-super-category", "a.toml"], {"store": "table", "per_super_category": "a.toml"}),
    (["--no-page"], {"page": False}),
    (["--view", "cifar-c", "--any-shape"], {"view": "cifar-c", "any_shape": True}),
    (
        ["--surrogate", "m.toml", "--device", "cuda", "--surrogate-batch", "64"],
        {"surrogate": Path("m.toml"), "device": "cuda", "surrogate_batch": 64},
    ),
    (["--labels", "a.csv", "--frost-textures", "ice"], {"labels": Path("a.csv"), "frost_textures": Path("ice")}),
]


class Stop(MachineError):
    """Ends a stand-in."""


@pytest.mark.parametrize(("arguments", "handed"), GIVEN, ids=lambda v: " ".join(v) if isinstance(v, list) else "")
def test_plan_and_build_hand_on_every_option(
    run: Any, monkeypatch: pytest.MonkeyPatch, arguments: list[str], handed: dict[str, Any]
) -> None:
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def record(*args: Any, **kwargs: Any) -> None:
        calls.append((args, kwargs))
        raise Stop("The disk is full.")

    stand_in(monkeypatch, "plan.plan", record)
    stand_in(monkeypatch, "build", record)
    assert run("plan", *arguments).code == 3
    done = run("build", "imagenet-c-all", "--source", "folder:x", "--out", "there", *arguments)
    assert done.code == 3
    assert "The disk is full." in done.err
    assert calls[0] == (("imagenet-c", "sample"), {"out": None} | DEFAULTS | handed)
    assert calls[1][0] == ("imagenet-c-all", "folder:x", Path("there"))
    assert callable(calls[1][1].pop("progress"))
    assert calls[1][1] == DEFAULTS | handed


def test_no_option_of_plan_or_build_is_left_out_of_these_tests() -> None:
    import typer

    known: Any = typer.main.get_command(app)
    pairs = {"first_stages", "second_stages", "severities", "levels", "orders"}  # test_pairs
    own = {"recipe", "source", "as_json", *pairs}
    for name, others in {
        "plan": own | {"out", "list_sets"},
        "build": own | {"out", "disjoint_from", "scheduler", "part", "finish", "abandon"},
    }.items():
        assert {p.name for p in known.commands[name].params} - {"help"} == set(DEFAULTS) | others


def test_build_hands_on_what_it_must_not_overlap(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[dict[str, Any]] = []

    def record(*args: Any, **kwargs: Any) -> None:
        calls.append(kwargs)
        raise Stop("The disk is full.")

    stand_in(monkeypatch, "build", record)
    run("build", "imagenet-c", "--disjoint-from", "a", "--disjoint-from", "b")
    assert calls[0]["disjoint_from"] == [Path("a"), Path("b")]


def test_ctrl_c_in_a_build_says_how_to_resume(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: Any, **kwargs: Any) -> None:
        raise KeyboardInterrupt

    stand_in(monkeypatch, "build", interrupted)
    done = run("build", "imagenet-c", "--out", "a b", "--json")
    assert done.code == 130
    assert done.json["exit_code"] == 130
    assert "corruptset build imagenet-c --out 'a b' --json" in done.err
