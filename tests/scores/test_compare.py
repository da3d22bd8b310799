"""Models side by side: files and notes."""

from __future__ import annotations

import csv
import json
import math
import re
from pathlib import Path

import made_scores
import pytest

import corruptset
from corruptset import compare
from corruptset.errors import ScoreError
from corruptset.scores.records import Scores


def test_what_is_written(tmp_path):
    made = [made_scores.small(i) for i in range(2)]
    slow_to_draw = {"profiles": {}, "mean_profile": None, "fragile": {}}
    files = made_scores.write(tmp_path, *(one | slow_to_draw for one in made))
    done = corruptset.compare(files, tmp_path / "out")
    there = {p.relative_to(tmp_path / "out").as_posix() for p in (tmp_path / "out").rglob("*") if p.is_file()}
    assert there == {p.relative_to(tmp_path / "out").as_posix() for p in done.files}
    assert {f"tables/{table.name}.{kind}" for table in done.tables for kind in ("csv", "md", "tex")} | {
        "comparison.md"
    } == {name for name in there if not name.startswith("plots/")}
    drawn = {
        f"plots/{name}.{kind}"
        for name in ("accuracy_and_cv", "error_and_severity", "maude", "order_effects")
        for kind in ("svg", "png")
    }
    assert {name for name in there if name.startswith("plots/")} == drawn
    page = (tmp_path / "out/comparison.md").read_text()
    for table in done.tables:
        assert (tmp_path / f"out/tables/{table.name}.md").read_text().rstrip() in page
    assert "](plots/maude.svg)" in page
    assert made_scores.DIGEST in page
    with (tmp_path / "out/tables/aude.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["model"] for row in rows] == ["net-0", "net-1"]
    assert float(rows[1]["mAUDE %"]) == pytest.approx(100 * made_scores.small(1)["maude"])
    assert json.loads(json.dumps(done.as_json()))["models"] == ["net-0", "net-1"]


def test_notes_are_carried_over_with_whose_they_are(tmp_path):
    done = corruptset.compare([Scores.model_validate(made_scores.small(i)) for i in range(2)])
    assert done.notes == ("PNG in place of JPEG.", "net-0: A note of 0.", "net-1: A note of 1.")
    assert done.files == ()
    assert done.table("summary").rows[0][0] == "net-0"
    with pytest.raises(KeyError, match="there are summary"):
        done.table("sumary")


def test_the_same_scores_give_the_same_files(tmp_path):
    scores = [Scores.model_validate(made_scores.small(i)) for i in range(2)]
    for name in ("a", "b"):
        corruptset.compare(scores, tmp_path / name, plots=False)
    files = [
        {p.relative_to(tmp_path / name): p.read_bytes() for p in (tmp_path / name).rglob("*") if p.is_file()}
        for name in ("a", "b")
    ]
    assert files[0] == files[1]


def test_scores_that_cannot_be_compared_write_nothing(tmp_path):
    with pytest.raises(ScoreError, match="is there 2 times"):
        corruptset.compare([Scores.model_validate(made_scores.bare("a"))] * 2, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_paper_s_models_are_compared_around_the_paper_s_point(tmp_path):
    """Table 3 of Dai & Berleant 2021: the networks that were trained on clean images, and one of one's own."""
    printed = Path(__file__).parent / "two_factor_paper_table3.csv"
    own = made_scores.full(0, "own")
    own["two_factor"] |= {"cv_percent": 1.0, "mean_accuracy": 0.95}
    names = [row["model"] for row in csv.DictReader(printed.read_text().splitlines())]
    clean = [name for name in names if "(clean)" in name]
    assert len(clean) == 3
    done = compare([printed, Scores.model_validate(own)], tmp_path, plots=False, reference=clean)
    *rows, point = done.table("two_factor").to_pandas().to_dict("records")
    assert [row["model"] for row in rows] == [*names, "own"]
    assert (point["CV %"], point["mean accuracy"]) == pytest.approx((2.94, 0.8831), abs=5e-5)
    assert rows[-1]["quadrant"] == "I"
    assert rows[-1]["names"] == own["two_factor"]["names"]
    assert all(math.isnan(row["names"]) for row in rows[:-1])
    assert f"The reference point: mean of {', '.join(clean)}." in (tmp_path / "comparison.md").read_text()
    assert "a printed table" not in (tmp_path / "comparison.md").read_text()
    given = compare([printed], reference="2.94,88.31").table("two_factor")
    assert [row[-1] for row in given.rows[:-1]] == [row["quadrant"] for row in rows[:-1]]
    by = {tuple(row[:2]): row[3] for row in compare([printed]).table("correlations").rows}
    assert by["CV", "clean accuracy"] == pytest.approx(0.366, abs=5e-4)  # Pearson's


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("model,cv,mean\na,1,90\n", "has no column clean; expected a line model,cv,mean,clean"),
        ("", "has no column model and cv and mean and clean"),
        ("model,cv,mean,clean\na,1,x,90\nb,1,190,90\n", "line 2: cv, mean and clean are numbers"),
    ],
)
def test_printed_tables_with_mistakes_are_refused(tmp_path, text, said):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(ScoreError, match=re.escape(said)) as refused:
        compare([path])
    assert ("line 3: two_factor, mean_accuracy is 1.9" in str(refused.value)) == ("190" in text)


def test_a_reference_that_is_none_names_those_that_there_are(tmp_path):
    entries = [Scores.model_validate(made_scores.full(i)) for i in range(2)]
    with pytest.raises(
        ScoreError, match=r"--reference: no model with two-factor scores is called 'net-7'.* There are: net-0, net-1"
    ):
        compare(entries, reference="net-0,net-7")
    assert compare(entries, reference="net-1").table("two_factor").rows[-1][3] == entries[1].two_factor.mean_accuracy
