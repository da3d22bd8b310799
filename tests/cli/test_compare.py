"""`corruptset compare` as a user runs it."""

from __future__ import annotations

import json

import made_scores


def test_models_side_by_side(run, tmp_path):
    files = made_scores.write(tmp_path, *(made_scores.full(i) for i in range(2)))
    done = run("compare", *files, "--out", tmp_path / "out", "--no-plots")
    assert done.code == 0
    assert done.err == ""
    assert "net-0" in done.out
    assert "mAUDE" in done.out
    assert "3 of 3 differences between models exceed their intervals" in done.out
    assert "Note: net-1: A note of 1." in done.out
    assert (tmp_path / "out/tables/two_factor.tex").exists()
    written = {p.relative_to(tmp_path / "out").as_posix() for p in (tmp_path / "out").rglob("*") if p.is_file()}
    files = done.out.partition("Files:")[2].split()
    assert (int(files[0]), set(files[1:])) == (len(written), written)
    assert not (tmp_path / "out/plots").exists()


def test_json(run, tmp_path):
    files = made_scores.write(tmp_path, *(made_scores.full(i) for i in range(2)))
    done = run("compare", *files, "--json")
    assert done.code == 0
    assert done.json["ok"] is True
    assert done.json["models"] == ["net-0", "net-1"]
    assert {d["score"]: d["exceeds"] for d in done.json["differences"] if d["exceeds"] is not None} == {
        "maude": True,
        "mce": True,
        "rb_index": True,
    }
    columns = [column["title"] for column in done.json["tables"]["aude"]["columns"]]
    assert done.json["tables"]["aude"]["rows"][1][columns.index("mAUDE")] == made_scores.full(1)["maude"]
    assert done.json["files"] == []


def test_mistakes_have_one_message_and_no_traceback(run, tmp_path):
    a, b = made_scores.write(tmp_path, made_scores.bare("a"), made_scores.bare("b", digest=made_scores.OTHER))
    for arguments, said in [
        ([a, b], "--any-data"),
        ([a, a], "is there 2 times"),
        ([tmp_path / "no.json"], "no.json"),
        ([], "SCORES"),
    ]:
        done = run("compare", *arguments, "--out", tmp_path / "out")
        assert done.code == 2
        assert said in done.err
        assert not (tmp_path / "out").exists()
    assert run("compare", a, b, "--any-data").code == 0


def test_an_edited_file_is_a_mistake(run, tmp_path):
    files = made_scores.write(tmp_path, *(made_scores.full(i) for i in range(2)))
    value = json.loads(files[0].read_text())
    value["resamples"]["values"]["maude"] = [0.2]
    files[0].write_text(json.dumps(value))
    done = run("compare", *files)
    assert done.code == 2
    assert "expected as many of each" in done.err


def test_names_are_no_markdown(run, tmp_path):
    name = "a|b [x](javascript:1) <img src=x> *x* `y`"
    files = made_scores.write(tmp_path, made_scores.full(0, name), made_scores.full(1))
    assert run("compare", *files, "--out", tmp_path / "out", "--no-plots").code == 0
    shown = r"a\|b \[x\](javascript:1) \<img src=x\> \*x\* \`y\`"
    for file in (tmp_path / "out").rglob("*.md"):
        text = file.read_text("utf-8")
        assert "<img" not in text.replace(r"\<img", ""), file
        assert "[x](" not in text.replace(r"\[x\](", ""), file
    assert shown in (tmp_path / "out/comparison.md").read_text("utf-8")
