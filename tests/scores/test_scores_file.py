"""Test that scores files are written, read and validated by their schema."""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path

import example_scores
import jsonschema
import pytest
import record_datasets
import small_builds

import corruptset
from corruptset.errors import ParameterError, ScoreError
from corruptset.manifests.records.parsing import parse_record
from corruptset.manifests.records.schema import schema_bytes
from corruptset.scores.records import TITLES, OrderEffect
from corruptset.scores.schema import make_scores_schema
from corruptset.scores.scores_file import load_scores

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    data = record_datasets.records_dataset(tmp_path_factory.mktemp("data"), "two-factor-69")
    out = tmp_path_factory.mktemp("out") / "scores"
    corruptset.score(data, record_datasets.random_predictions(data), out=out)
    return out


def test_scores_file_round_trips(folder, tmp_path):
    scores = load_scores(folder)
    assert scores == load_scores(folder / "scores.json")
    data = record_datasets.records_dataset(tmp_path / "again", "two-factor-69")
    assert scores == corruptset.score(data, record_datasets.random_predictions(data), out=tmp_path / "out")
    for file in ("scores.json", "sets.csv"):
        assert (tmp_path / "out" / file).read_bytes() == (folder / file).read_bytes()
    rows = list(csv.DictReader((folder / "sets.csv").read_text("utf-8").splitlines()))
    assert [row["set"] for row in rows] == list(scores.sets)
    assert float(rows[3]["accuracy"]) == scores.sets[rows[3]["set"]].accuracy
    assert list(rows[0]) == ["set", "n", "accuracy", "top5", "rank", "probability", "low", "high"]
    lines = (folder / "scores.json").read_text("utf-8").splitlines()
    resampled = sum(line.startswith('   "') and line.count(",") >= 999 for line in lines)
    assert resampled == len(scores.resamples.values)


def test_results_are_never_written_into_dataset(folder, tmp_path):
    data = record_datasets.records_dataset(tmp_path, "two-factor-69")
    before = small_builds.read_files(tmp_path)
    for call, message in (
        (lambda: corruptset.predict(data, "no.toml", data.path), "is inside the dataset"),
        (
            lambda: corruptset.score(data, record_datasets.random_predictions(data), out=data.path / "scores"),
            "is inside the dataset",
        ),
        (lambda: corruptset.score_table({"clean": {"AP": 0.4}}, out=data.path), "is inside the dataset"),
        (lambda: corruptset.compare([folder], data.path), "is inside the dataset"),
        (lambda: corruptset.report(data, [folder], data.path / "r.html"), "is inside the dataset"),
        (lambda: corruptset.report(data, [folder], folder / "scores.json"), r"ends in \.html"),
    ):
        with pytest.raises(ParameterError, match=message):
            call()
    assert small_builds.read_files(tmp_path) == before


def test_schema_matches_models_and_validates_scores(folder):
    shipped = (ROOT / "scores/schema/scores.json").read_bytes()
    assert shipped == schema_bytes(make_scores_schema()), "run python -m corruptset.scores.schema scores/schema"
    schema = json.loads(shipped)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    value = json.loads((folder / "scores.json").read_text("utf-8"))
    validator.validate(value)
    assert list(validator.iter_errors(value | {"scores": "good"}))
    assert list(validator.iter_errors(value | {"more": 1}))
    assert schema["$defs"]["SetScore"]["properties"]["rank"]["description"].startswith("The mean number of classes")


def test_every_field_and_score_is_documented():
    page = (ROOT / "docs/scores.md").read_text("utf-8")
    schema = make_scores_schema()
    records = [schema, *schema["$defs"].values()]
    fields = {name for record in records for name in record.get("properties", {})}
    assert {name for name in fields if f"`{name}`" not in page} == set()
    assert {name for name in TITLES if not re.search(rf"`{re.escape(name)}[`.]", page)} == set()


def test_unexpected_version_key_is_rejected():
    record, errors = parse_record(OrderEffect, b'{"schema_version": 1}')
    assert record is None
    assert any("schema_version: Extra inputs" in error for error in errors)


def test_every_error_is_named(folder, tmp_path):
    full_scores = example_scores.validate_scores(example_scores.full_scores(0))[0].as_json()
    file = tmp_path / "changed.json"
    newer = "schema_version is 3, but this release of corruptset reads version 2; use the release that wrote the file"

    def changed(name, **fields):
        return {name: full_scores[name] | fields}

    for fields, message in (
        ({"scores": "good", "more": 1, "notes": ["a", 2]}, r"(?s)changed\.json is not a scores .*scores: .*more: "),
        ({"notes": ["a", 2]}, r"notes\[1\]: "),
        ({"model": ...}, "model: Field required"),
        ({"samples": "40"}, r"samples: .*given: '40'"),
        ({"schema_version": 3, "other": {}}, newer),
        # Resamples of different lengths give no interval.
        (
            changed("resamples", values={"maude": [0.2], "mce": [0.1, 0.2]}),
            "has 1 values of maude, 2 values of mce; exp",
        ),
        (
            changed("sets", clean=example_scores.set_score(0.9) | {"accuracy": 1.2}),
            r"sets\.clean\.accuracy: .*less than",
        ),
        (
            changed("profiles", fade_black=example_scores.profile(1) | {"accuracy": [0.5]}),
            "accuracy has 1 values for 31",
        ),
    ):
        file.write_text(json.dumps({name: item for name, item in (full_scores | fields).items() if item is not ...}))
        with pytest.raises(ScoreError, match=message):
            load_scores(file)
    with pytest.raises(ScoreError, match=r"No such file.*`corruptset score --out FOLDER`"):
        load_scores(tmp_path / "nothing")
    shutil.copy(folder / "sets.csv", tmp_path / "scores.json")
    with pytest.raises(ScoreError, match="is not a scores file"):
        load_scores(tmp_path)
    file.write_bytes((folder / "scores.json").read_bytes().replace(b'"samples"', b'"model": "b", "samples"', 1))
    with pytest.raises(ScoreError, match="'model' occurs more than once"):
        load_scores(file)
