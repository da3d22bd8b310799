"""schedule: an order over the sets of a data set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import unbuilt

from corruptset.generate.schedules import schedule


def test_a_schedule_is_written_and_named(run: Any, tmp_path: Path) -> None:
    data = unbuilt.write_data_set(tmp_path / "data", count=12)
    done = run("schedule", "data")
    assert done.code == 0
    first, second = done.out.splitlines()
    assert first == "schedule.jsonl: continual, 180 images in 15 shifts of 15 sets, 1 resets"
    assert second == f"Digest: {schedule(data).digest}"
    options = ["--kind", "correlated", "--delta", "0.5", "--slots", "3", "--reset", "shift", "--seed", "4", "--samples", "6"]
    told = run("schedule", "data", *options, "--sets", "fog/*,snow/1", "--no-shuffle", "--out", "b.jsonl", "--json").json
    same = schedule(data, "correlated", delta=0.5, slots=3, reset="shift", seed=4, samples=6, sets=["fog/*", "snow/1"], shuffle=False)
    assert (told["digest"], told["length"], told["resets"], told["samples"]) == (same.digest, 36, 6, 6)
    orders = run(
        "schedule", "data", "--kind", "random-orders", "--orders", "2", "--severity", "1", "--per-class", "1", "--out", "c", "--json"
    )
    assert orders.json["digest"] == schedule(data, "random-orders", orders=2, severity=1, per_class=1).digest


def test_mistakes_are_exit_code_2(run: Any, tmp_path: Path) -> None:
    unbuilt.write_data_set(tmp_path / "data", count=2)
    (tmp_path / "there.jsonl").write_text("")
    for arguments, sentence in (
        (["--delta", "1"], "delta goes with correlated"),
        (["--sets", "fgo/*"], "Did you mean 'fog/*'"),
        (["--out", "there.jsonl"], "--force"),
        (["--ids", "none.txt"], "none.txt"),
    ):
        done = run("schedule", "data", *arguments)
        assert (done.code, done.out) == (2, "")
        assert sentence in done.err
    assert run("schedule", "data", "--out", "there.jsonl", "--force").code == 0
    assert run("schedule", "nowhere").code in (1, 2)
