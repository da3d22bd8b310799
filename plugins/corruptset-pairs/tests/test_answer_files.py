"""Files of answers: which count, and why the others do not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from corruptset_pairs.answer_files import read_answers, read_key
from corruptset_pairs.sheet import Sheet
from corruptset_pairs.study_records import StudyKey
from studies import save, sheet_of

from corruptset.errors import StudyError


@pytest.fixture
def key(pairs_of_model: Sheet) -> StudyKey:
    return pairs_of_model.key


def refusals(key: StudyKey, *paths: Path, unfinished: bool = False) -> tuple[list[str], dict[str, str]]:
    """Return who counts, and the reasons by file name."""
    found = read_answers(key, paths, unfinished=unfinished)
    return [sheet.person for sheet in found.sheets], {Path(one.file).name: one.reason for one in found.refused}


def test_a_folder_is_its_answers_without_the_key(key: StudyKey, pairs_of_model: Sheet, tmp_path: Path) -> None:
    for person, group in (("b", "A"), ("a", "B")):
        save(tmp_path, sheet_of(key, person, group))
    (tmp_path / "pairs-key.json").write_bytes(pairs_of_model.key_file.read_bytes())
    assert refusals(key, tmp_path, tmp_path / "a.json") == (["a", "b"], {})
    assert read_key(tmp_path) == read_key(pairs_of_model.key_file) == key


def test_a_person_counts_once_by_the_sheet_that_was_begun_first(key: StudyKey, tmp_path: Path) -> None:
    save(tmp_path, sheet_of(key, "Anna ", "B", started="2026-11-22T11:00:00.000Z"), "1")
    save(tmp_path, sheet_of(key, "anna", "A"), "2")
    save(tmp_path, sheet_of(key, "anna", "A"), "3")
    counted = read_answers(key, [tmp_path], unfinished=False)
    assert [(sheet.person, sheet.group) for sheet in counted.sheets] == [("anna", "A")]
    who, why = refusals(key, tmp_path)
    assert (who, set(why)) == (["anna"], {"1.json", "3.json"})
    assert why["1.json"].startswith("is of 'Anna ', who began ")
    assert why["1.json"].endswith("2.json earlier")
    assert why["3.json"] == f"is the same as {tmp_path / '2.json'}"


def test_who_stopped_is_counted_and_said(key: StudyKey, tmp_path: Path) -> None:
    whole = sheet_of(key, "a", "A")
    save(tmp_path, whole | {"person": "s", "finished": False, "answers": whole["answers"][:4]})
    save(tmp_path, whole)
    assert refusals(key, tmp_path) == (["a"], {"s.json": "is not finished: 4 of 10 answers"})
    assert read_answers(key, [tmp_path], unfinished=False).unfinished == 1
    assert refusals(key, tmp_path, unfinished=True) == (["a", "s"], {})


def changed(sheet: dict[str, Any], number: int, **values: Any) -> dict[str, Any]:
    """Return a sheet with one answer changed."""
    answers = [answer | values if n == number else answer for n, answer in enumerate(sheet["answers"])]
    return sheet | {"answers": answers}


def test_damaged_files_and_those_of_another_study_do_not_count(
    key: StudyKey, levels_sheet: Sheet, tmp_path: Path
) -> None:
    good = sheet_of(key, "good", "A")
    other = sheet_of(levels_sheet.key, "other", "A")
    of_b = next(trial.id for trial in key.trials if trial.group == "B")
    cases = {
        "other": (other, f"is of another study: {levels_sheet.key.study}"),
        "b": (changed(good, 2, trial=of_b), f"is damaged: picture {of_b} is not of group A"),
        "twice": (
            changed(good, 2, trial=good["answers"][1]["trial"]),
            f"is damaged: picture {good['answers'][1]['trial']} is answered 2 times",
        ),
        "word": (changed(good, 2, answer="a unicorn"), "is damaged: there is no answer 'a unicorn'"),
        "order": (changed(good, 2, order=9), "is damaged: the answers are not in the order of the pictures"),
        "short": (good | {"answers": good["answers"][:5]}, "is damaged: it says finished: true, with 5 of 10 answers"),
        "ms": (changed(good, 2, ms=-1), "is damaged, or no file of answers: answers[2].ms: "),
        "more": (good | {"accuracy": 1}, "is damaged, or no file of answers: accuracy: "),
        "version": (good | {"schema_version": 2}, "is damaged, or no file of answers: schema_version is 2"),
    }
    for name, (sheet, _) in cases.items():
        save(tmp_path, sheet | {"person": name}, name)
    (tmp_path / "cut.json").write_text(json.dumps(good)[:200])
    who, why = refusals(key, tmp_path, tmp_path / "none.json")
    assert who == []
    assert set(why) == {*(f"{name}.json" for name in cases), "cut.json", "none.json"}
    for name, (_, reason) in cases.items():
        assert why[f"{name}.json"].startswith(reason), why[f"{name}.json"]
    assert why["cut.json"].startswith("is damaged, or no file of answers: ")
    assert why["none.json"] == "cannot be read: No such file or directory"


def test_what_is_no_key_is_told_as_such(key: StudyKey, tmp_path: Path) -> None:
    answers = save(tmp_path, sheet_of(key, "a", "A"))
    with pytest.raises(StudyError, match=r"is not the key of a study:\n(.*\n)*The key comes first"):
        read_key(answers)
    with pytest.raises(StudyError, match=r"has 0 files \*-key.json: name the key"):
        read_key(tmp_path)
    with pytest.raises(StudyError, match="cannot be read: No such file"):
        read_key(tmp_path / "none-key.json")
