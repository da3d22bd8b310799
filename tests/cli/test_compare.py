"""`corruptset compare` as a user runs it."""

from __future__ import annotations

import made_scores


def test_models_side_by_side(run, tmp_path):
    files = made_scores.write(tmp_path, *(made_scores.full(i) for i in range(2)))
    done = run("compare --no-plots", *files, "--out", tmp_path / "out")
    assert done.code == 0
    assert done.err == ""
    assert "net-0" in done.out
    assert "mAUDE" in done.out
    assert "3 of 3 differences between models exceed their intervals" in done.out
    assert "Note: net-1: A note of 1." in done.out
    assert (tmp_path / "out/tables/two_factor.tex").exists()
    written = {str(p) for p in (tmp_path / "out").rglob("*") if p.is_file()}
    files = done.out.partition("Files:")[2].split()
    assert (len(files), set(files)) == (len(written), written)
    assert not (tmp_path / "out/plots").exists()


def test_json(run, tmp_path):
    files = made_scores.write(tmp_path, *(made_scores.full(i) for i in range(2)))
    done = run("compare --json", *files)
    assert done.code == 0
    assert done.json["ok"] is True
    assert done.json["models"] == ["net-0", "net-1"]
    exceeding = {d["score"] for d in done.json["differences"] if d["exceeds"]}
    assert exceeding == {"maude", "mce", "rb_index"}
    columns = [column["title"] for column in done.json["tables"]["aude"]["columns"]]
    assert done.json["tables"]["aude"]["rows"][1][columns.index("mAUDE")] == made_scores.full(1)["maude"]
    assert done.json["files"] == []


def test_mistakes_have_one_message_and_no_traceback(run, tmp_path):
    a, b = made_scores.write(tmp_path, made_scores.bare("a"), made_scores.bare("b", digest=made_scores.OTHER))
    for arguments, said in [
        ([a, b], "--any-data"),
        ([a, a], "is there 2 times"),
    ]:
        done = run("compare", *arguments, "--out", tmp_path / "out")
        assert done.code == 2
        assert said in done.err
        assert not (tmp_path / "out").exists()
    assert run("compare --any-data", a, b).code == 0
