"""Test the command `corruptset compare`."""

from __future__ import annotations

import example_scores


def test_compare_prints_models_side_by_side(run, tmp_path):
    files = example_scores.write_scores(tmp_path, *(example_scores.full_scores(i) for i in range(2)))
    result = run.succeeds("compare --no-plots --out out", *files)
    assert result.err == ""
    for message in (
        "net-0",
        "mAUDE",
        "For 3 of 3 differences between models, the 95 % confidence interval does not contain 0.",
        "Note: net-1: A note of 1.",
    ):
        assert message in result.out
    file_names = sorted(p.relative_to(tmp_path).as_posix() for p in (tmp_path / "out").rglob("*") if p.is_file())
    assert sorted(result.out.partition("Files:")[2].split()) == file_names
    assert "out/tables/two_factor.tex" in file_names
    assert not (tmp_path / "out/plots").exists()
    record = run.succeeds("compare --json", *files).json
    assert (record["ok"], record["models"], record["files"]) == (True, ["net-0", "net-1"], [])
    assert {d["score"] for d in record["differences"] if d["exceeds"]} == {"maude", "mce", "rb_index"}
    columns = [column["title"] for column in record["tables"]["aude"]["columns"]]
    assert record["tables"]["aude"]["rows"][1][columns.index("mAUDE")] == example_scores.score_of(
        example_scores.full_scores(1), "maude"
    )


def test_compare_errors_have_one_message(run, tmp_path):
    a, b = example_scores.write_scores(
        tmp_path,
        example_scores.minimal_scores("a"),
        example_scores.minimal_scores("b", digest=example_scores.OTHER_DIGEST),
    )
    run.fails("--any-data", "compare --out out", a, b)
    run.fails("occurs 2 times", "compare --out out", a, a)
    run.succeeds("compare --any-data", a, b)


def test_reasons_for_missing_scores_are_printed(run, tmp_path):
    reason = "the baseline makes no errors on 3 corruptions"
    files = example_scores.write_scores(
        tmp_path, example_scores.full_scores(), example_scores.minimal_scores("b", {"mce": reason})
    )
    result = run.succeeds("compare --no-plots", *files)
    assert f"Note: mCE of b: {reason}." in result.out
    assert "mCE %" in result.out
