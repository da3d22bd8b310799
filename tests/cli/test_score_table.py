"""`corruptset score-table` as a user runs it."""

from __future__ import annotations

import json

from corruptset import score_table
from corruptset.scores.published import FIFTEEN

WHOLE = {"clean": {"AP": 0.5}, **{f"{name}/{s}": {"AP": 0.05 * s} for name in FIFTEEN for s in range(1, 6)}}


def test_the_command(run, tmp_path):
    (tmp_path / "t.json").write_text(json.dumps(WHOLE))
    done = run("score-table t.json --out scores --json")
    assert done.code == 0
    assert done.json == score_table(WHOLE).as_json() == json.loads((tmp_path / "scores/score-table.json").read_text())
    lines = (tmp_path / "scores/score-table.csv").read_text().splitlines()
    assert lines[0] == "metric,over,mean,over clean"
    assert lines[1] == "AP,clean,0.5,"
    shown = run("score-table t.json")
    assert "mPC" in shown.out
    assert "weather" in shown.out
    assert "gaussian_noise" in shown.out
    assert "0.300" in shown.out
    (tmp_path / "t.json").write_text("{")
    assert run("score-table t.json").code == 2
