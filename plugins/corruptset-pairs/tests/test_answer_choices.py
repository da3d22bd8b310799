"""The answers: classes, or categories of them, at most ten."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from corruptset_pairs.answer_choices import answer_choices

from corruptset.errors import StudyError
from corruptset.manifests.records.models import ClassRecord


def data_of(names: list[str], selection: Mapping[str, Any] | None = None) -> Any:
    """Return what `answer_choices` looks at of a data set."""
    classes = [ClassRecord(index=i, name=name, folder=f"n{i:08d}") for i, name in enumerate(names)]
    return SimpleNamespace(path=Path("data"), classes=classes, manifest=SimpleNamespace(selection=selection or {}))


def test_ten_classes_are_the_answers_in_their_order() -> None:
    names = ["b", "a", *map(str, range(8))]
    choices = answer_choices(data_of(names), None)
    assert choices == dict(enumerate(names))
    assert list(choices) == list(range(10))


def test_of_more_classes_categories_are_asked_for_by_name() -> None:
    selected = {"per_super_category": {"categories": ["cat", "dog"], "images": 50, "sha256": "sha256:1"}}
    with pytest.raises(
        StudyError,
        match=r"11 classes, and people choose from at most 10 answers.*--categories FILE.*categories cat, dog: the "
        r"file",
    ) as error:
        answer_choices(data_of(list("abcdefghijk"), selected), None)
    assert "docs/pairs.md" in str(error.value)


def test_categories_name_folders_or_names_and_leave_classes_out() -> None:
    data = data_of([f"class {i}" for i in range(30)])
    choices = answer_choices(data, {"n00000003": "cat", "class 7": "dog", "n00000029": "cat", "nothing": "dog"})
    assert choices == {3: "cat", 7: "dog", 29: "cat"}
    assert list(dict.fromkeys(choices.values())) == ["cat", "dog"]


@pytest.mark.parametrize(
    ("names", "categories", "words"),
    [
        (["a", "a"], None, "the answer 'a' stands for 2 classes"),
        (["a"], None, "there are 1 answers; expected 2 to 10"),
        (list("abcdefghijkl"), {c: f"k{c}" for c in "abcdefghijk"}, "there are 11 answers; expected 2 to 10"),
        (["a", "b"], {"a": "x", "c": "y", "d": "z"}, "2 of the 3 categories have no class of data:\n  y\n  z"),
    ],
)
def test_answers_that_people_cannot_choose_from_are_refused(
    names: list[str], categories: dict[str, str] | None, words: str
) -> None:
    with pytest.raises(StudyError) as error:
        answer_choices(data_of(names), categories)
    assert words in str(error.value)
