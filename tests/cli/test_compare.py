"""Test the command `corruptset compare`."""

from __future__ import annotations

import example_scores


def test_compare_prints_models_side_by_side(run, tmp_path):
    files = example_scores.write_scores(tmp_path, *(example_scores.full_scores(i) for i in range(2)))
    done = run.succeeds("compare --no-plots --out out", *files)
    assert done.err == ""
    for said in (
        "net-0",
        "mAUDE",
        "3 of 3 differences between models exceed their 95 % confidence intervals",
        "Note: net-1: A note of 1.",
    ):
        assert said in done.out
    written = sorted(p.relative_to(tmp_path).as_posix() for p in (tmp_path / "out").rglob("*") if p.is_file())
    assert sorted(done.out.partition("Files:")[2].split()) == written
    assert "out/tables/two_factor.tex" in written
    assert not (tmp_path / "out/plots").exists()
    told = run.succeeds("compare --json", *files).json
    assert (told["ok"], told["models"], told["files"]) == (True, ["net-0", "net-1"], [])
    assert {d["score"] for d in told["differences"] if d["exceeds"]} == {"maude", "mce", "rb_index"}
    columns = [column["title"] for column in told["tables"]["aude"]["columns"]]
    assert told["tables"]["aude"]["rows"][1][columns.index("mAUDE")] == example_scores.value_of(
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
    done = run.succeeds("compare --no-plots", *files)
    assert f"Note: mCE of b: {reason}." in done.out
    assert "mCE %" in done.out
