"""Accuracies from a scores file and from a CSV, and every mistake in them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from streams import made_accuracies, small_stream

from corruptset.errors import RecipeError
from corruptset.generate.streams.accuracies import grid_accuracies, read_accuracies


def test_scores_and_csv_say_the_same(tmp_path: Path) -> None:
    recipe = small_stream()
    accuracies = made_accuracies(recipe)
    scores = {"model": "m", "sets": {name: {"n": 10, "accuracy": value} for name, value in accuracies.items()} | {"clean": {"accuracy": 1}}}
    (tmp_path / "scores.json").write_text(json.dumps(scores))
    (tmp_path / "scores.csv").write_text("set,accuracy\n" + "".join(f"{name},{value}\n" for name, value in accuracies.items()))
    found = [grid_accuracies(recipe, read_accuracies(tmp_path / name)) for name in ("scores.json", "scores.csv")]
    assert found[0] == found[1] == {name: 100 * value for name, value in accuracies.items()}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("set,accuracy\nfog/1,20\n", r"line 2: the accuracy is '20'; expected a fraction"),
        ("set,accuracy\nfog/1,nan\n", "the accuracy is 'nan'"),
        ("set,accuracy\nfog/1,0.2\nfog/1,0.3\n", "line 3: the set fog/1 stands there a second time"),
        ("id,top1\nfog/1,0.2\n", "has the columns id, top1; expected"),
        ("", r"has the columns \(none\)"),
        ('{"sets": {"fog/1": {"accuracy": null}}}', "set fog/1: the accuracy is None"),
        ('{"sets": 3}', 'without a table "sets"'),
        ("{", 'without a table "sets"'),
    ],
)
def test_mistakes_are_explained(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "a").write_text(text)
    with pytest.raises(RecipeError, match=says):
        read_accuracies(tmp_path / "a")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="cannot be read"):
        read_accuracies(tmp_path / "a.csv")
