"""Test predictions of every kind, type, order and container against a plain loop."""

from __future__ import annotations

import json

import numpy as np
import pytest
import record_datasets
from predictions import all_kinds, check_outcome, concatenate_sets, random_logits, write_csv, write_folder

import corruptset
from corruptset.errors import PredictionError
from corruptset.scores.prediction_files import read_predictions

SETS = ["brightness/1", "clean", "contrast-3+brightness-2"]
LABELS = np.arange(20) // 2


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return record_datasets.small_dataset(tmp_path_factory.mktemp("data"), *SETS)


LOGITS = {name: random_logits(20, 10, seed=seed) for seed, name in enumerate(SETS)}


def arrays_of_kind(kind, dtype="float64", names=SETS):
    """Return the arrays of each set, in types with this number of bits."""
    typed = {name: LOGITS[name].astype(dtype if kind == "logits" else "float32") for name in names}
    types = {"f": dtype, "i": dtype.replace("float", "int")}
    return {
        name: {key: values.astype(types[values.dtype.kind]) for key, values in all_kinds(logits, LABELS)[kind].items()}
        for name, logits in typed.items()
    }


def check_all(outcomes, kind, sets):
    assert outcomes.keys() == sets.keys()
    for name, arrays in sets.items():
        check_outcome(outcomes[name], kind, arrays, LABELS)


def shuffle_rows(sets, **keys):
    """Return the rows of each set in a different order, with columns that identify them."""
    rng = np.random.default_rng(7)
    orders = {name: rng.permutation(20) for name in sets}
    return {n: {key: values[orders[n]] for key, values in {**arrays, **keys}.items()} for n, arrays in sets.items()}


@pytest.mark.parametrize("kind", ["logits", "probs", "top", "rank"])
def test_every_kind_type_order_and_file_format_is_read(data, kind, tmp_path):
    ids = np.array([sample.id for sample in data.samples])
    for dtype in ("float16", "float32", "float64"):
        folder = tmp_path / dtype
        sets = arrays_of_kind(kind, dtype)
        by_index, by_id = shuffle_rows(sets, index=np.arange(20)), shuffle_rows(sets, id=ids)
        swapped = {
            name: {key: values.astype(values.dtype.newbyteorder(">")) for key, values in arrays.items()}
            for name, arrays in sets.items()
        }
        by_columns = {n: {key: np.asfortranarray(values) for key, values in of.items()} for n, of in sets.items()}
        files = [
            write_folder(folder / "folder", sets),
            write_folder(folder / "by columns", by_columns),
            write_folder(folder / "compressed", by_index, compressed=True),
            write_folder(folder / "ids", by_id),
            write_folder(folder / "of the other end", swapped),
            folder / "one.npz",
            folder / "mixed.npz",
        ]
        if kind in ("top", "rank"):
            files += [
                write_csv(folder / "one.csv", concatenate_sets(sets)),
                write_csv(folder / "ids.csv", concatenate_sets(by_id)),
            ]
        np.savez(folder / "one.npz", **concatenate_sets(sets))
        order = np.random.default_rng(1).permutation(60)
        mixed = {key: values[order] for key, values in concatenate_sets(by_index).items()}
        np.savez_compressed(folder / "mixed.npz", **mixed)
        for path in files:
            check_all(read_predictions(path, data).outcomes, kind, sets)


def test_integers_of_any_type_and_top_k_of_any_length_are_read(data, tmp_path):
    sets = arrays_of_kind("top")
    mixed = shuffle_rows(sets, index=np.arange(20))
    for dtype in ("uint8", "uint32", "uint64", "int16"):
        typed = {name: {key: values.astype(dtype) for key, values in arrays.items()} for name, arrays in mixed.items()}
        check_all(read_predictions(write_folder(tmp_path / "sound", typed), data).outcomes, "top", sets)
        typed["clean"]["index"][3] = np.iinfo(dtype).max
        with pytest.raises(PredictionError, match=rf"has 1 row with an index outside 0 to 19: {np.iinfo(dtype).max}"):
            read_predictions(write_folder(tmp_path / "spoilt", typed), data)
    for count in (1, 4, 5, 10):
        order = {name: {"top": np.argsort(-logits, axis=1)[:, :count]} for name, logits in LOGITS.items()}
        for name, outcome in read_predictions(write_folder(tmp_path / str(count), order), data).outcomes.items():
            if count < 5:
                assert outcome.top5 is None
                np.testing.assert_array_equal(outcome.correct, order[name]["top"][:, 0] == LABELS)
            else:
                check_outcome(outcome, "top", order[name], LABELS)


def test_sets_are_read_by_alias_from_files_of_several_kinds(tmp_path):
    extra = (
        '[[sets]]\nclean = true\naliases = ["type 0"]\n[[sets]]\nchain = ["brightness-1"]\naliases = ["SP0.1GA0.2"]\n'
    )
    data = record_datasets.small_dataset(tmp_path / "data", more=extra)
    of_each = all_kinds(LOGITS["clean"], LABELS)
    folder = write_folder(tmp_path / "p", {"type 0": of_each["logits"], "SP0.1GA0.2": of_each["rank"]})
    outcomes = read_predictions(folder, data).outcomes
    check_outcome(outcomes["clean"], "logits", of_each["logits"], LABELS)
    check_outcome(outcomes["brightness/1"], "rank", of_each["rank"], LABELS)
    assert list(read_predictions(folder, data, sets=["SP0*"]).outcomes) == ["brightness/1", "clean"]
    # One file contains the id in some rows and the alias in others, and its sets alternate.
    together = concatenate_sets(dict.fromkeys(("type 0", "brightness/1"), of_each["logits"]))
    together["set_id"][:7] = "clean"
    order = np.arange(40).reshape(2, 20).T.ravel()
    np.savez(tmp_path / "one.npz", **{key: values[order] for key, values in together.items()})
    outcomes = read_predictions(tmp_path / "one.npz", data).outcomes
    check_all(outcomes, "logits", dict.fromkeys(("brightness/1", "clean"), of_each["logits"]))


def test_model_name_of_predictions_is_determined(data, tmp_path):
    sets = arrays_of_kind("top")
    folder, one = write_folder(tmp_path / "my-net", sets), tmp_path / "one.npz"
    write_csv(tmp_path / "two.csv", concatenate_sets(sets))
    np.savez(one, **concatenate_sets(sets))

    def whose(path):
        outcomes = read_predictions(path, data)
        return outcomes.model, outcomes.digest

    assert (whose(folder), whose(one), whose(tmp_path / "two.csv")) == (("my-net", None), ("one", None), ("two", None))
    head = {"model": "ResNet-50", "digest": data.digest, "kind": "top", "more": [1]}
    for file in (folder / "predictions.json", tmp_path / "two.json"):
        file.write_text(json.dumps(head))
    np.savez(one, **concatenate_sets(sets), model="VGG", digest=data.digest, labels=np.zeros(3))
    assert whose(folder) == whose(tmp_path / "two.csv") == ("ResNet-50", data.digest)
    assert whose(one) == ("VGG", data.digest)


def test_selected_sets_and_clean_set_are_read(data, tmp_path):
    sets = arrays_of_kind("top")
    folder = write_folder(tmp_path / "some", {name: sets[name] for name in SETS[:2]})
    np.savez(tmp_path / "one.npz", **concatenate_sets(sets))

    def read_outcomes(path=folder, data=data, sets=("brightness/1",)):
        return list(read_predictions(path, data, sets=sets).outcomes)

    assert (
        read_outcomes(sets="brightness/*")
        == read_outcomes(sets=["brightness/*"])
        == read_outcomes(tmp_path / "one.npz")
        == SETS[:2]
    )
    # Sets that are neither selected nor clean are not read.
    (folder / "contrast-3+brightness-2.npz").write_bytes(b"damaged")
    assert read_outcomes() == SETS[:2]
    for name in ("manifest.json", "samples.jsonl"):
        (tmp_path / name).write_bytes((data.path / name).read_bytes())
    record = {"schema_version": 1, "digest": data.digest, "manifest": data.digest, "sets": SETS[:1], "pieces": {}}
    (tmp_path / "PARTIAL.json").write_text(json.dumps(record))
    part = corruptset.open(tmp_path)
    assert part.set_ids == SETS[:1]
    assert read_outcomes(write_folder(tmp_path / "whole", sets), part, None) == SETS[:2]
    (folder / "clean.npz").unlink()
    assert read_outcomes() == SETS[:1]


def test_clean_predictions_are_read_without_clean_set(tmp_path):
    data = record_datasets.small_dataset(tmp_path / "data", "brightness/1")
    sets = arrays_of_kind("logits", "float16", SETS[:2])
    folder = write_folder(tmp_path / "p", sets)
    np.savez(tmp_path / "one.npz", **concatenate_sets(sets))
    for path, chosen in ((folder, None), (folder, ["clean", "brightness/1"]), (tmp_path / "one.npz", None)):
        check_all(read_predictions(path, data, sets=chosen).outcomes, "logits", sets)
    for chosen in ("clean", ["clean"]):
        assert list(read_predictions(folder, data, sets=chosen).outcomes) == ["clean"]


def test_hidden_files_and_links_are_handled_and_progress_reported(data, tmp_path):
    folder = write_folder(tmp_path / "p", arrays_of_kind("top"))
    (folder / "._clean.npz").write_bytes(b"of macOS")
    (folder / "notes.txt").write_text("more")
    (folder / "clean.npz").rename(tmp_path / "elsewhere.npz")
    (folder / "clean.npz").symlink_to(tmp_path / "elsewhere.npz")
    events = []
    assert list(read_predictions(folder, data, progress=lambda *event: events.append(event)).outcomes) == SETS
    assert events[-1] == ("reading predictions", 60, 60)
    assert [count for _, count, _ in events] == sorted(count for _, count, _ in events)
