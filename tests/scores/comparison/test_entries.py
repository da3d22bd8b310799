"""Which scores may be compared, and what is said of those that may not."""

from __future__ import annotations

import json

import made_scores
import pytest

from corruptset.errors import ScoreError
from corruptset.scores.comparison.entries import gather
from corruptset.scores.records import Scores


def scores(**changes):
    return Scores.model_validate(made_scores.bare(**changes))


def test_files_folders_and_scores_are_taken_in_the_order_given(tmp_path):
    (tmp_path / "folder").mkdir()
    made_scores.write(tmp_path / "folder", made_scores.bare("b"))[0].rename(tmp_path / "folder" / "scores.json")
    file = made_scores.write(tmp_path, made_scores.bare("c"))[0]
    entries = gather([scores(model="z"), tmp_path / "folder", str(file)])
    assert [e.label for e in entries] == ["z", "b", "c"]
    assert entries[0].clean == 0.9


def test_all_problems_are_said_at_once(tmp_path):
    good, other, twice = made_scores.write(
        tmp_path, made_scores.bare("a"), made_scores.bare("b", digest=made_scores.OTHER), made_scores.bare("a")
    )
    (tmp_path / "broken.json").write_text("{")
    wrong = json.loads(good.read_text())
    (tmp_path / "wrong.json").write_text(json.dumps({**wrong, "samples": "many", "surplus": 1}))
    with pytest.raises(ScoreError) as raised:
        gather([good, other, twice, tmp_path / "broken.json", tmp_path / "wrong.json", tmp_path / "absent.json"])
    message = str(raised.value)
    for said in [
        "broken.json",
        "wrong.json",
        "samples",
        "surplus",
        "absent.json",
        "'a' is there 2 times",
        "22222222",
        "--any-data",
    ]:
        assert said in message


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "no scores were given"),
        ([{"model": "a"}, {"model": "a"}], "'a' is there 2 times"),
        ([{"model": "a"}, {"model": "b", "digest": made_scores.OTHER}], "another data set"),
    ],
)
def test_what_is_refused(given, said):
    with pytest.raises(ScoreError, match=said):
        gather([scores(**one) for one in given])


def test_any_data_names_the_data_set():
    entries = gather([scores(model="a"), scores(model="a", digest=made_scores.OTHER)], any_data=True)
    assert [e.label for e in entries] == ["a (small-c 1.0.0, 11111111)", "a (small-c 1.0.0, 22222222)"]
    assert [e.label for e in gather([scores(model="a"), scores(model="b")], any_data=True)] == ["a", "b"]


def test_conditions_are_named_where_they_differ():
    entries = gather([scores(model="a"), scores(model="a", condition="correct@clean")])
    assert [e.label for e in entries] == ["a (all images)", "a (correct@clean)"]
    assert gather([scores(model="a", condition="correct@clean")])[0].label == "a"
