"""The commands: an order over the sets of a data set; the grid's recipe, and a changing stream."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import unbuilt
from corruptset_streams import schedule
from stream_tools import accuracies_file, small_recipe

from corruptset.generate.recipes.recipe import load_recipe


def test_a_schedule_is_written_and_named(run: Any, tmp_path: Path) -> None:
    data = unbuilt.write_data_set(tmp_path / "data", count=12)
    done = run("schedule", "data")
    assert done.code == 0
    first, second = done.out.splitlines()
    assert first == "schedule.jsonl: continual, 180 images in 15 shifts of 15 sets, 1 resets"
    assert second == f"Digest: {schedule(data).digest}"
    options = [
        "--kind",
        "correlated",
        "--delta",
        "0.5",
        "--slots",
        "3",
        "--reset",
        "shift",
        "--seed",
        "4",
        "--samples",
        "6",
    ]
    told = run(
        "schedule", "data", *options, "--sets", "fog/*,snow/1", "--no-shuffle", "--out", "b.jsonl", "--json"
    ).json
    same = schedule(
        data,
        "correlated",
        delta=0.5,
        slots=3,
        reset="shift",
        seed=4,
        samples=6,
        sets=["fog/*", "snow/1"],
        shuffle=False,
    )
    assert (told["digest"], told["length"], told["resets"], told["samples"]) == (same.digest, 36, 6, 6)
    orders = run(
        "schedule",
        "data",
        "--kind",
        "random-orders",
        "--orders",
        "2",
        "--severity",
        "1",
        "--per-class",
        "1",
        "--out",
        "c",
        "--json",
    )
    assert orders.json["digest"] == schedule(data, "random-orders", orders=2, severity=1, per_class=1).digest


def test_mistakes_are_exit_code_2(run: Any, tmp_path: Path) -> None:
    unbuilt.write_data_set(tmp_path / "data", count=2)
    (tmp_path / "there.jsonl").write_text("")
    for arguments, sentence in (
        (["--delta", "1"], "The kinds, and own options"),
        (["--sets", "fgo/*"], "Did you mean 'fog/*'"),
        (["--out", "there.jsonl"], "--force"),
        (["--ids", "none.txt"], "none.txt"),
    ):
        done = run("schedule", "data", *arguments)
        assert (done.code, done.out) == (2, "")
        assert sentence in done.err
    assert run("schedule", "data", "--out", "there.jsonl", "--force").code == 0
    assert run("schedule", "nowhere").code in (1, 2)


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import json, sys; from corruptset.cli.app import run; sys.argv = ['corruptset', *sys.argv[1:]]; run(); "
        "print(json.dumps([name for name in 'numba numpy pydantic PIL cv2 scipy'.split() if name in sys.modules]))"
    )
    for arguments in ([], ["stream"], ["schedule"]):
        told = subprocess.run(
            [sys.executable, "-c", code, *arguments, "--help"], check=True, capture_output=True, text=True
        ).stdout
        assert all(name in told for name in arguments or ["stream", "schedule"])
        assert json.loads(told.splitlines()[-1]) == []


def test_a_grid_then_a_stream(run: Any, tmp_path: Path) -> None:
    small_recipe(tmp_path)
    accuracies_file(tmp_path)
    done = run("stream", "small.toml", "--grid", "grid.toml", "--json")
    assert (done.code, done.json["sets"]) == (0, 1240)
    assert load_recipe(tmp_path / "grid.toml").name == "small-grid"
    missing = run("stream", "small.toml")
    assert missing.code == 2
    assert "--accuracies None cannot be taken" in missing.err
    options = (
        "--accuracies",
        "accuracies.csv",
        "--speed",
        "2",
        "--length",
        "5",
        "--samples",
        "2",
        "--out",
        "o",
        "--jobs",
        "1",
    )
    done = run("stream", "small.toml", *options, "--json")
    assert (done.code, done.json["images"], done.json["made"], done.json["steps"], done.json["tars"]) == (0, 5, 5, 3, 1)
    assert Path(done.json["directory"]).name == "baseline_35_transition+speed_2_seed_0"
    again = run("stream", "small.toml", *options)
    assert "5 images in 3 steps, 1 tars" in again.out
    assert done.json["digest"] in again.out
    assert run("stream", "small.toml", *options[:-2], "--speed", "0").code == 2
    directory = Path(done.json["directory"])
    for command in ("verify", "show"):
        refused = run(command, directory)
        assert refused.code == 1
        assert "corruptset-streams" in refused.out + refused.err
    (directory / "serial_00000.tar").unlink()
    damaged = run("stream", "small.toml", *options)
    assert damaged.code == 1
    assert "not as SHA256SUMS says are serial_00000.tar" in damaged.err
