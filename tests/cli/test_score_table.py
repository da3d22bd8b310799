"""Test the command `corruptset score-table`."""

from __future__ import annotations

import json

from corruptset import score_table
from corruptset.scores.published import FIFTEEN

WHOLE = {"clean": {"AP": 0.5}, **{f"{name}/{s}": {"AP": 0.05 * s} for name in FIFTEEN for s in range(1, 6)}}


def test_score_table_prints_scores(run, tmp_path):
    (tmp_path / "t.json").write_text(json.dumps(WHOLE))
    result = run.succeeds("score-table t.json --out scores --json")
    assert result.json == score_table(WHOLE).as_json() == json.loads((tmp_path / "scores/score-table.json").read_text())
    lines = (tmp_path / "scores/score-table.csv").read_text().splitlines()
    assert lines[:2] == ["metric,over,mean,over clean", "AP,clean,0.5,"]
    output = run.succeeds("score-table t.json").out
    assert all(word in output for word in ("mPC", "weather", "gaussian_noise", "0.300"))
    (tmp_path / "t.json").write_text("{")
    run.fails("t.json", "score-table t.json")
