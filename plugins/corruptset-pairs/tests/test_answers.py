"""Test which files of answers are scored, and the commands from a dataset to the gap of the participants."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from corruptset_pairs.answer_files import read_answers, read_key
from corruptset_pairs.command import answer_categories
from corruptset_pairs.sheet import Sheet
from corruptset_pairs.study_records import StudyKey
from studies import answer_sheet, save

from corruptset.errors import StudyError
from corruptset.generate.sources.super_categories import read_super_categories
from corruptset.manifests.reader import Dataset


@pytest.fixture
def key(pairs_of_model: Sheet) -> StudyKey:
    return pairs_of_model.key


def refusals(key: StudyKey, *paths: Path, unfinished: bool = False) -> tuple[list[str], dict[str, str]]:
    """Return the participants that are scored, and the reason for each excluded file."""
    files = read_answers(key, paths, unfinished=unfinished)
    reasons = {Path(refusal.file).name: refusal.reason for refusal in files.refused}
    return [sheet.person for sheet in files.sheets], reasons


def test_answers_folder_may_contain_key(key: StudyKey, pairs_of_model: Sheet, tmp_path: Path) -> None:
    for person, group in (("b", "A"), ("a", "B")):
        answers = save(tmp_path, answer_sheet(key, person, group))
    with pytest.raises(StudyError, match=r"has 0 files that match \*-key.json. Name the key file"):
        read_key(tmp_path)
    (tmp_path / "pairs-key.json").write_bytes(pairs_of_model.key_file.read_bytes())
    assert refusals(key, tmp_path, tmp_path / "a.json") == (["a", "b"], {})
    assert read_key(tmp_path) == read_key(pairs_of_model.key_file) == key
    with pytest.raises(StudyError, match=r"is damaged or has a different format: .*Name the key first and then"):
        read_key(answers)
    with pytest.raises(StudyError, match="cannot be read: No such file"):
        read_key(tmp_path / "none-key.json")


def test_repeated_and_unfinished_sheets_are_excluded(key: StudyKey, tmp_path: Path) -> None:
    save(tmp_path, answer_sheet(key, "Anna ", "B", started="2026-11-22T11:00:00.000Z"), "1")
    save(tmp_path, answer_sheet(key, "anna", "A"), "2")
    save(tmp_path, answer_sheet(key, "anna", "A"), "3")
    incomplete = answer_sheet(key, "s", "A")
    save(tmp_path, incomplete | {"finished": False, "answers": incomplete["answers"][:4]})
    participants, reason = refusals(key, tmp_path)
    assert participants == ["anna"]
    assert reason["1.json"].startswith("is a repetition by 'Anna ', who began ")
    assert reason["1.json"].endswith("2.json earlier")
    assert reason["3.json"] == f"is the same as {tmp_path / '2.json'}"
    assert reason["s.json"] == "is unfinished, with 4 of 10 answers"
    assert read_answers(key, [tmp_path], unfinished=False).unfinished == 1
    assert refusals(key, tmp_path, unfinished=True)[0] == ["anna", "s"]


def test_damaged_files_and_files_of_other_studies_are_excluded(
    key: StudyKey, levels_sheet: Sheet, tmp_path: Path
) -> None:
    valid_sheet = answer_sheet(key, "good", "A")

    def changed(**values: Any) -> dict[str, Any]:
        """Return the sheet with its third answer changed."""
        return valid_sheet | {
            "answers": [answer | values if n == 2 else answer for n, answer in enumerate(valid_sheet["answers"])]
        }

    of_b = next(trial.id for trial in key.trials if trial.group == "B")
    cases = {
        "other": (answer_sheet(levels_sheet.key, "other", "A"), f"belongs to another study: {levels_sheet.key.study}"),
        "b": (changed(trial=of_b), "is damaged: "),
        "twice": (changed(trial=valid_sheet["answers"][1]["trial"]), "is damaged: "),
        "word": (changed(answer="a unicorn"), "is damaged: "),
        "order": (changed(order=9), "is damaged: "),
        "short": (valid_sheet | {"answers": valid_sheet["answers"][:5]}, "is damaged: "),
        "ms": (changed(ms=-1), "is damaged or has a different format: answers[2].ms: "),
        "more": (valid_sheet | {"accuracy": 1}, "is damaged or has a different format: accuracy: "),
        "version": (valid_sheet | {"schema_version": 2}, "is damaged or has a different format: schema_version is 2"),
    }
    for name, (sheet, _) in cases.items():
        save(tmp_path, sheet | {"person": name}, name)
    (tmp_path / "cut.json").write_text(json.dumps(valid_sheet)[:200])
    participants, reason = refusals(key, tmp_path, tmp_path / "none.json")
    assert participants == []
    assert set(reason) == {*(f"{name}.json" for name in cases), "cut.json", "none.json"}
    for name, (_, message) in cases.items():
        assert reason[f"{name}.json"].startswith(message), reason[f"{name}.json"]
    assert reason["cut.json"].startswith("is damaged or has a different format: ")
    assert reason["none.json"] == "cannot be read: No such file or directory"


def test_commands_lead_from_dataset_to_gap(run: Any, regions: Dataset, tmp_path: Path) -> None:
    chosen = run(
        "pairs-sheet", regions.path, *"--n 4 --seed 5 --change shrink --sizes s12,s16 --enlarge 9 --smooth".split()
    )
    assert chosen.code == 0, chosen.err
    trials = read_key(tmp_path / "pairs-key.json").trials
    assert {trial.change for trial in trials} == {"shrink"}
    result = run("pairs-sheet", regions.path, "--n", 8, "--out", "study/pairs.html")
    assert result.code == 0, result.err
    assert result.out.startswith("8 pairs, 10 possible answers\n")
    assert "Send pairs.html#A to group A and pairs.html#B to group B." in result.out
    assert "study/pairs-key.json. Keep it private" in result.out
    record = run("pairs-sheet", regions.path, "--n", 8, "--out", "study/pairs.html", "--json").json
    key = read_key(tmp_path / "study")
    assert record["bytes"] == (tmp_path / "study/pairs.html").stat().st_size
    assert (record["study"], record["kind"], record["n"], record["page"], record["key"]) == (
        key.study, "pairs", 8, "study/pairs.html", "study/pairs-key.json",
    )  # fmt: skip
    for person, group in enumerate("AABB"):
        answer = lambda t: t.category if t.member == "anchor" else None  # noqa: E731
        save(tmp_path / "answers", answer_sheet(key, f"{person}", group, answer))
    (tmp_path / "answers/broken.json").write_text("{")
    score_result = run("pairs-score", "study", "answers")
    assert score_result.code == 0, score_result.err
    for arguments in (
        "4 participants (2 in group A, 2 in group B), 32 answers, chance level 10%",
        "participants, all pairs",
        "excluded file",
        "100.0% to 100.0%",
        "+100.0 to +100.0",
        "broken.json",
        "Intervals: bootstrap of participants and images, resampled independently of each other",
        "Note: The study has only 4 participants, fewer than 5",
    ):
        assert arguments in score_result.out, score_result.out
    scores = run("pairs-score", "study/pairs-key.json", "answers", "--json").json
    assert (scores["gap"]["difference"], scores["people"]) == (1, {"A": 2, "B": 2})
    assert [item["file"] for item in scores["refused"]] == ["answers/broken.json"]


def test_errors_are_reported_without_traceback(run: Any, regions: Dataset, dataset_dir: Path, tmp_path: Path) -> None:
    for arguments, message in (
        (
            ["pairs-sheet", regions.path, "--n", 21],
            "20 of the 20 source images have a suitable pair, but 21 were requested",
        ),
        (["pairs-sheet", dataset_dir, "--n", 2], "has neither regions nor levels of a gradual degradation"),
        (["pairs-score", tmp_path, tmp_path], "has 0 files that match *-key.json. Name the key file"),
    ):
        result = run(*arguments)
        assert (result.code, result.out) == (2, "")
        assert message in result.err
    assert not list(tmp_path.iterdir())


def test_selection_categories_are_answer_choices_if_packaged() -> None:
    shipped = read_super_categories("fragile-imagenet")

    def pick(selected: Any) -> Any:
        data: Any = SimpleNamespace(manifest=SimpleNamespace(selection={"per_super_category": selected}))
        return answer_categories(data, None)

    assert pick(shipped.record) == shipped.category_of
    assert len(set(pick(shipped.record).values())) == 10
    assert pick(shipped.record | {"sha256": "sha256:" + "0" * 64}) is None
    assert pick(None) is None
