"""Predictions of every kind, type, order and container, against a plain loop."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import unbuilt
from predictions import Arrays, joined, kinds, logits_of, plain_outcome, write_csv, write_folder

import corruptset
from corruptset.errors import PredictionError
from corruptset.manifests.reader import DataSet
from corruptset.scores.outcomes import Outcome
from corruptset.scores.prediction_files import read_predictions

SETS = ["brightness/1", "clean", "contrast-3+brightness-2"]
KINDS = ["logits", "probs", "top", "rank"]
TOLERANCE = {"float16": 1e-3, "float32": 1e-5, "float64": 1e-5}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> DataSet:
    return unbuilt.small(tmp_path_factory.mktemp("data"), *SETS)


@pytest.fixture(scope="module")
def predicted(data: DataSet) -> dict[str, np.ndarray]:
    """Logits of each set."""
    return {name: logits_of(len(data.samples), len(data.classes), seed=seed) for seed, name in enumerate(SETS)}


def labels_of(data: DataSet) -> np.ndarray:
    return np.array([sample.label for sample in data.samples])


def of_kind(predicted: Mapping[str, np.ndarray], labels: np.ndarray, kind: str, dtype: str) -> dict[str, Arrays]:
    """Return the arrays of each set, of types with this number of bits."""
    bits = dtype.removeprefix("float")
    return {
        name: {
            key: values.astype(dtype if values.dtype.kind == "f" else f"int{bits}")
            for key, values in kinds(logits.astype(dtype) if kind == "logits" else logits, labels)[kind].items()
        }
        for name, logits in predicted.items()
    }


def check(
    found: Mapping[str, Outcome], kind: str, sets: Mapping[str, Arrays], labels: np.ndarray, tolerance: float = 1e-5
) -> None:
    """Hold outcomes against the plain loop; rows stand in the data set's order."""
    assert found.keys() == sets.keys()
    for name, arrays in sets.items():
        for row, label in enumerate(labels.tolist()):
            want = plain_outcome(kind, arrays, row, label)
            for field, value in want.items():
                column = getattr(found[name], field)
                if value is None:
                    assert column is None
                elif field == "probability":
                    assert column[row] == pytest.approx(value, rel=tolerance, abs=1e-30)
                else:
                    assert column[row] == value, (name, row, field)


def shuffled(sets: Mapping[str, Arrays], keys: Mapping[str, Any], seed: int = 7) -> dict[str, dict[str, np.ndarray]]:
    """Return each set's rows in an order of its own, with columns that name them."""
    rng = np.random.default_rng(seed)
    mixed = {}
    for name, arrays in sets.items():
        order = rng.permutation(len(next(iter(arrays.values()))))
        mixed[name] = {key: np.asarray(values)[order] for key, values in {**arrays, **keys}.items()}
    return mixed


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_type_order_and_container(data, predicted, kind, tmp_path, monkeypatch):
    """In one block, in blocks of some rows, and of one."""
    labels = labels_of(data)
    index, ids = np.arange(len(labels)), np.array([sample.id for sample in data.samples])
    for dtype, size in (("float16", 1), ("float32", 1 << 20), ("float64", 200)):
        monkeypatch.setattr("corruptset.scores.prediction_files.reading.BLOCK_BYTES", size)
        folder = tmp_path / dtype
        sets = of_kind(predicted, labels, kind, dtype)
        by_index, by_id = shuffled(sets, {"index": index}), shuffled(sets, {"id": ids})
        swapped = {
            name: {key: values.astype(values.dtype.newbyteorder(">")) for key, values in arrays.items()}
            for name, arrays in sets.items()
        }
        files = [
            write_folder(folder / "folder", sets),
            write_folder(folder / "compressed", by_index, compressed=True),
            write_folder(folder / "ids", by_id),
            write_folder(folder / "of the other end", swapped),
            folder / "one.npz",
            folder / "mixed.npz",
            write_csv(folder / "one.csv", joined(sets)),
            write_csv(folder / "ids.csv", joined(by_id)),
        ]
        np.savez(folder / "one.npz", **joined(sets))
        together = joined(by_index)
        order = np.random.default_rng(1).permutation(len(together["set_id"]))
        np.savez_compressed(folder / "mixed.npz", **{key: values[order] for key, values in together.items()})
        for path in files:
            check(read_predictions(path, data).outcomes, kind, sets, labels)


def test_whole_numbers_of_any_type(data, predicted, tmp_path):
    labels = labels_of(data)
    sets = of_kind(predicted, labels, "top", "float64")
    mixed = shuffled(sets, {"index": np.arange(len(labels))})
    for dtype in ("uint8", "uint32", "uint64", "int16"):
        typed = {name: {key: values.astype(dtype) for key, values in arrays.items()} for name, arrays in mixed.items()}
        check(read_predictions(write_folder(tmp_path / "sound", typed), data).outcomes, "top", sets, labels)
        typed["clean"]["index"][3] = np.iinfo(dtype).max
        with pytest.raises(PredictionError, match=rf"has 1 row with an index outside 0 to 19: {np.iinfo(dtype).max}"):
            read_predictions(write_folder(tmp_path / "spoilt", typed), data)


def test_sets_by_their_aliases_and_files_of_several_kinds(tmp_path):
    more = (
        '[[sets]]\nclean = true\naliases = ["type 0"]\n[[sets]]\nchain = ["brightness-1"]\naliases = ["SP0.1GA0.2"]\n'
    )
    data = unbuilt.small(tmp_path / "data", more=more)
    labels = labels_of(data)
    logits = logits_of(len(labels), len(data.classes))
    both = {"type 0": kinds(logits, labels)["logits"], "SP0.1GA0.2": kinds(logits, labels)["rank"]}
    found = read_predictions(write_folder(tmp_path / "p", both), data).outcomes
    check({"clean": found["clean"]}, "logits", {"clean": both["type 0"]}, labels)
    check({"brightness/1": found["brightness/1"]}, "rank", {"brightness/1": both["SP0.1GA0.2"]}, labels)
    assert list(read_predictions(tmp_path / "p", data, sets=["SP0*"]).outcomes) == ["brightness/1", "clean"]
    # one file with the id on some rows and the alias on others, and sets that alternate
    together = joined({"type 0": both["type 0"], "brightness/1": both["type 0"]})
    together["set_id"][:7] = "clean"
    order = np.arange(40).reshape(2, 20).T.ravel()
    np.savez(tmp_path / "one.npz", **{key: values[order] for key, values in together.items()})
    found = read_predictions(tmp_path / "one.npz", data).outcomes
    check(found, "logits", {"brightness/1": both["type 0"], "clean": both["type 0"]}, labels)


def test_top_of_fewer_or_more_classes(data, predicted, tmp_path):
    labels = labels_of(data)
    for count in (1, 4, 5, 10):
        order = {name: np.argsort(-logits, axis=1, kind="stable")[:, :count] for name, logits in predicted.items()}
        folder = write_folder(tmp_path / str(count), {name: {"top": top} for name, top in order.items()})
        for name, outcome in read_predictions(folder, data).outcomes.items():
            np.testing.assert_array_equal(outcome.correct, order[name][:, 0] == labels)
            five = [label in row[:5] for label, row in zip(labels, order[name].tolist(), strict=True)]
            assert (outcome.top5 if outcome.top5 is None else outcome.top5.tolist()) == (None if count < 5 else five)


def test_whose_predictions_they_are(data, predicted, tmp_path):
    labels = labels_of(data)
    sets = of_kind(predicted, labels, "top", "float64")
    folder = write_folder(tmp_path / "my-net", sets)
    found = read_predictions(folder, data)
    assert (found.model, found.digest) == ("my-net", None)
    (folder / "predictions.json").write_text(
        json.dumps({"model": "ResNet-50", "digest": data.digest, "kind": "top", "more": [1]})
    )
    found = read_predictions(folder, data)
    assert (found.model, found.digest) == ("ResNet-50", data.digest)
    np.savez(tmp_path / "one.npz", **joined(sets))
    assert read_predictions(tmp_path / "one.npz", data).model == "one"
    np.savez(tmp_path / "one.npz", **joined(sets), model="VGG", digest=data.digest, labels=np.zeros(3))
    found = read_predictions(tmp_path / "one.npz", data)
    assert (found.model, found.digest) == ("VGG", data.digest)
    write_csv(tmp_path / "two.csv", joined(sets))
    (tmp_path / "two.json").write_text(json.dumps({"model": "AlexNet"}))
    assert read_predictions(tmp_path / "two.csv", data).model == "AlexNet"


def test_chosen_sets_and_clean(data, predicted, tmp_path):
    labels = labels_of(data)
    sets = of_kind(predicted, labels, "top", "float64")
    folder = write_folder(tmp_path / "some", {name: sets[name] for name in SETS[:2]})
    assert list(read_predictions(folder, data, sets=["brightness/*"]).outcomes) == ["brightness/1", "clean"]
    # what is neither chosen nor clean is not read
    (folder / "contrast-3+brightness-2.npz").write_bytes(b"damaged")
    assert list(read_predictions(folder, data, sets=["brightness/1"]).outcomes) == ["brightness/1", "clean"]
    np.savez(tmp_path / "one.npz", **joined(sets))
    assert list(read_predictions(tmp_path / "one.npz", data, sets=["brightness/1"]).outcomes) == [
        "brightness/1",
        "clean",
    ]
    (folder / "clean.npz").unlink()
    assert list(read_predictions(folder, data, sets=["brightness/1"]).outcomes) == ["brightness/1"]


def test_clean_predictions_of_a_build_without_a_clean_set(predicted, tmp_path):
    data = unbuilt.small(tmp_path / "data", "brightness/1")
    labels = labels_of(data)
    sets = {
        name: arrays
        for name, arrays in of_kind(predicted, labels, "logits", "float16").items()
        if name in ("clean", "brightness/1")
    }
    folder = write_folder(tmp_path / "p", sets)
    check(read_predictions(folder, data).outcomes, "logits", sets, labels)
    check(read_predictions(folder, data, sets=["clean", "brightness/1"]).outcomes, "logits", sets, labels)
    assert list(read_predictions(folder, data, sets=["clean"]).outcomes) == ["clean"]
    np.savez(tmp_path / "one.npz", **joined(sets))
    check(read_predictions(tmp_path / "one.npz", data).outcomes, "logits", sets, labels)


def test_a_part_of_a_data_set_takes_the_predictions_of_the_whole(data, predicted, tmp_path):
    for name in ("manifest.json", "samples.jsonl"):
        (tmp_path / name).write_bytes((data.path / name).read_bytes())
    record = {
        "schema_version": 1,
        "digest": data.digest,
        "manifest": f"sha256:{'0' * 64}",
        "sets": ["brightness/1"],
        "pieces": {},
    }
    (tmp_path / "PARTIAL.json").write_text(json.dumps(record))
    sets = of_kind(predicted, labels_of(data), "top", "float64")
    folder = write_folder(tmp_path / "p", sets)
    (folder / "predictions.json").write_text(json.dumps({"digest": data.digest}))
    part = corruptset.open(tmp_path)
    assert part.set_ids == ["brightness/1"]
    assert list(read_predictions(folder, part).outcomes) == ["brightness/1", "clean"]


def test_hidden_files_links_and_progress(data, predicted, tmp_path):
    sets = of_kind(predicted, labels_of(data), "top", "float64")
    folder = write_folder(tmp_path / "p", sets)
    (folder / "._clean.npz").write_bytes(b"of macOS")
    (folder / "notes.txt").write_text("more")
    (folder / "clean.npz").rename(tmp_path / "elsewhere.npz")
    (folder / "clean.npz").symlink_to(tmp_path / "elsewhere.npz")
    told: list[tuple[str, int, int]] = []
    assert list(read_predictions(folder, data, progress=lambda *event: told.append(event)).outcomes) == SETS
    assert told[-1] == ("reading predictions", 60, 60)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
