"""Scores files: written and read back, held to their schema, and what is refused."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import jsonschema
import made_scores
import pytest
import unbuilt

import corruptset
from corruptset.errors import ScoreError
from corruptset.manifests.records.schema import schema_bytes
from corruptset.scores.comparison.differences import why_not_paired
from corruptset.scores.records import Scores
from corruptset.scores.schema import make_scores_schema
from corruptset.scores.scores_file import load_scores

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    data = unbuilt.data_set(tmp_path_factory.mktemp("data"), "two-factor-69")
    out = tmp_path_factory.mktemp("out") / "scores"
    corruptset.score(data, unbuilt.made_up(data), out=out)
    return out


def test_what_is_read_is_what_was_written(folder):
    scores = load_scores(folder)
    assert scores == load_scores(folder / "scores.json")
    data = unbuilt.data_set(folder.parent / "again", "two-factor-69")
    assert scores == corruptset.score(data, unbuilt.made_up(data))


def test_a_row_a_set(folder):
    rows = list(csv.DictReader((folder / "sets.csv").read_text("utf-8").splitlines()))
    scores = load_scores(folder)
    assert [row["set"] for row in rows] == list(scores.sets)
    assert float(rows[3]["accuracy"]) == scores.sets[rows[3]["set"]].accuracy
    assert list(rows[0]) == ["set", "n", "accuracy", "top5", "rank", "probability", "low", "high"]


def test_a_resampled_score_stands_on_one_line(folder):
    lines = (folder / "scores.json").read_text("utf-8").splitlines()
    assert sum(line.startswith('   "') and line.count(",") >= 999 for line in lines) == len(
        load_scores(folder).resamples.values
    )
    assert len(lines) < 2000


def test_the_schema_is_that_of_the_models_and_holds(folder):
    shipped = (ROOT / "scores/schema/scores.json").read_bytes()
    assert shipped == schema_bytes(make_scores_schema()), "run python -m corruptset.scores.schema scores/schema"
    schema = json.loads(shipped)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    value = json.loads((folder / "scores.json").read_text("utf-8"))
    validator.validate(value)
    assert list(validator.iter_errors(value | {"maude": "good"}))
    assert list(validator.iter_errors(value | {"more": 1}))
    assert schema["$defs"]["SetScore"]["properties"]["rank"]["description"].startswith("Mean number of classes")


def changed(folder: Path, tmp_path: Path, **fields) -> Path:
    value = json.loads((folder / "scores.json").read_text("utf-8")) | fields
    for name in [name for name, one in fields.items() if one is ...]:
        del value[name]
    file = tmp_path / "changed.json"
    file.write_text(json.dumps(value, default=str))
    return file


def test_every_mistake_is_named(folder, tmp_path):
    with pytest.raises(ScoreError) as caught:
        load_scores(changed(folder, tmp_path, maude="good", model=..., more=1, notes=["a", 2]))
    text = str(caught.value)
    assert text.startswith(f"{tmp_path / 'changed.json'} is no scores file that this release reads:")
    for mistake in ("maude: ", "model: Field required", "more: ", "notes[1]: "):
        assert mistake in text
    with pytest.raises(ScoreError, match=r"samples: .*given: '40'"):
        load_scores(changed(folder, tmp_path, samples="40"))


def test_a_newer_file_is_named_as_one(folder, tmp_path):
    with pytest.raises(
        ScoreError, match="schema_version is 2, and this release reads 1: use the release of corruptset that wrote it"
    ):
        load_scores(changed(folder, tmp_path, schema_version=2, other={}))


def test_what_is_no_file(tmp_path, folder):
    with pytest.raises(ScoreError, match=r"nothing cannot be read: No such file.*`corruptset score --out FOLDER`"):
        load_scores(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ScoreError, match=r"empty/scores\.json cannot be read"):
        load_scores(tmp_path / "empty")
    shutil.copy(folder / "sets.csv", tmp_path / "scores.json")
    with pytest.raises(ScoreError, match="is no scores file"):
        load_scores(tmp_path)
    (tmp_path / "twice.json").write_bytes(
        (folder / "scores.json").read_bytes().replace(b'"samples"', b'"model": "b", "samples"', 1)
    )
    with pytest.raises(ScoreError, match="'model' stands more than once"):
        load_scores(tmp_path / "twice.json")


def set_value(value, path, new):
    *parents, last = path
    for key in parents:
        value = value[key]
    value[last] = new


@pytest.mark.parametrize(
    ("path", "new", "says"),
    [
        (
            ("resamples", "values", "maude"),
            [0.2],
            r"has 1 values of maude, 1,000 values of rb_index; expected as many of each",
        ),
        (("sets", "fog/1", "accuracy"), 1.2, r"sets\.fog/1\.accuracy: .*less than or equal to 1"),
        (("sets", "fog/1", "rank"), -1.0, r"sets\.fog/1\.rank: .*greater than or equal to 0"),
        (("sets", "fog/1", "interval"), [0.9, 0.1], r"is \[0\.9, 0\.1\]; expected the lower end first"),
        (("intervals", "maude"), [0.9, 0.1], r"is \[0\.9, 0\.1\]; expected the lower end first"),
        (("sets", "fog/1", "n"), 201, "the set fog/1 has 201 images of 200"),
        (("profiles", "fade_black", "accuracy"), [0.5], r"accuracy has 1 values for \d+ levels"),
    ],
)
def test_values_that_cannot_be_are_refused(tmp_path, path, new, says):
    """By whoever reads the file: no interval is computed of resamples of another length."""
    file = made_scores.write(tmp_path, made_scores.full(0))[0]
    value = json.loads(file.read_text("utf-8"))
    set_value(value, path, new)
    file.write_text(json.dumps(value))
    with pytest.raises(ScoreError, match=says):
        load_scores(file)


def test_resamples_of_other_lengths_are_not_paired():
    one, other = made_scores.full(0), made_scores.full(1)
    other["resamples"]["values"] = {name: values[:1] for name, values in other["resamples"]["values"].items()}
    a, b = (Scores.model_validate(value) for value in (one, other))
    assert why_not_paired(a, b) == "they have other numbers of resamples"
