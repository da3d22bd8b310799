"""Test that all problems of predictions are reported in one message, with counts and the next step."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
import record_datasets
from predictions import all_kinds, concatenate_sets, random_logits, write_csv, write_folder

from corruptset.errors import PredictionError, UnknownCorruption
from corruptset.scores.prediction_files import read_predictions

SETS = ["brightness/1", "clean", "contrast-3+brightness-2"]
ROW = np.arange(20)
SOUND = all_kinds(random_logits(20, 10), ROW // 2)
LOGITS, PROBS, TOP, RANK, P_TRUE = (array for arrays in SOUND.values() for array in arrays.values())


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return record_datasets.small_dataset(tmp_path_factory.mktemp("data"), *SETS)


@pytest.fixture
def sets():
    """Return valid logits for each set."""
    return {name: {"logits": LOGITS} for name in SETS}


def error_lines(path, data, **options):
    """Return the lines of the error message, without the paths."""
    with pytest.raises(PredictionError) as exc_info:
        read_predictions(path, data, **options)
    text = str(exc_info.value).replace(str(path), "PATH").replace(str(data.path), "DIR")
    return [line.strip() for line in text.split("\n")]


def problems(path, data, **options):
    return error_lines(path, data, **options)[1:-1]


def test_invalid_set_names_are_rejected(data, sets, tmp_path):
    write_folder(tmp_path / "p", {"claen": sets["clean"], "fog/9": sets["clean"], "brightness/1": sets["clean"]})
    first, unknown, missing, last = error_lines(tmp_path / "p", data)
    assert first == "PATH cannot be scored on DIR, for 2 reasons:"
    assert unknown.startswith("no set of the dataset has the name of 2 files: claen, fog/9. Did you mean 'clean'?")
    assert missing.startswith("2 of 3 sets have no predictions: clean, contrast-3+brightness-2. Predict them, or")
    assert last == "The file formats are described in docs/evaluate.md."
    with pytest.raises(UnknownCorruption, match="'brightnes/1' matches no set"):
        read_predictions(tmp_path / "p", data, sets=["brightnes/1"])
    np.savez(tmp_path / "one.npz", **concatenate_sets(dict.fromkeys(("clean", "fgo/1", "fog/9"), sets["clean"])))
    unknown, missing = problems(tmp_path / "one.npz", data)
    assert unknown == "has rows of 2 sets that the dataset does not have: fgo/1, fog/9"
    assert missing.startswith("2 of 3 sets have no predictions: brightness/1, contrast-3+brightness-2.")
    # A problem of many files is reported once.
    write_folder(tmp_path / "many", {name: {"logits": np.zeros((20, 9))} for name in SETS})
    assert problems(tmp_path / "many", data) == [
        "brightness/1.npz, clean.npz, contrast-3+brightness-2.npz: has logits of the shape (20, 9); expected (N, 10), "
        "because the dataset has 10 classes"
    ]
    dataset = record_datasets.small_dataset(tmp_path / "data", more='[[sets]]\nclean = true\naliases = ["type 0"]\n')
    duplicates = {"clean": sets["clean"], "type 0": sets["clean"]}
    folder = write_folder(tmp_path / "twice", duplicates)
    assert problems(folder, dataset) == ["the set clean has 2 files: clean.npz, type 0.npz. Keep one of them"]
    np.savez(tmp_path / "one.npz", **concatenate_sets(duplicates), index=np.tile(ROW, 2))
    assert problems(tmp_path / "one.npz", dataset)[0].startswith("repeats 20 images of clean: 0 (00_class/im.0), 1 (")


def test_invalid_rows_are_rejected(data, sets, tmp_path):
    sets["brightness/1"]["index"] = np.where(ROW >= 17, 3, ROW)
    sets["clean"]["index"] = np.where(ROW < 2, [-1, 25] * 10, ROW)
    sets["contrast-3+brightness-2"]["id"] = np.array([sample.id for sample in data.samples])
    sets["contrast-3+brightness-2"]["id"][4] = "nobody"
    assert problems(write_folder(tmp_path, sets), data) == [
        "brightness/1.npz: repeats 1 image: 3 (01_class/im.1)",
        "brightness/1.npz: lacks 3 of 20 images: 17 (08_class/im.1), 18 (09_class/im.0), 19 (09_class/im.1)",
        "clean.npz: has 2 rows with an index outside 0 to 19: -1, 25",
        "clean.npz: lacks 2 of 20 images: 0 (00_class/im.0), 1 (00_class/im.1)",
        "contrast-3+brightness-2.npz: has 1 row whose id matches no sample; ids are for example '00_class/im.0': "
        "'nobody'",
        "contrast-3+brightness-2.npz: lacks 1 of 20 images: 4 (02_class/im.0)",
    ]
    for count in (19, 21):
        own = np.resize(TOP, (count, 5))
        (line,) = problems(write_folder(tmp_path / "top", {"clean": {"top": own}}), data, sets=["clean"])
        assert line.startswith(f"clean.npz: has {count} rows, but the dataset has 20 images. Without index or id")
        one = write_csv(tmp_path / "one.csv", concatenate_sets({"clean": {"top": own}}))
        (line,) = problems(one, data, sets=["clean"])
        assert line.startswith(f"has {count} rows of clean, but the dataset has 20 images.")


def test_predictions_of_other_dataset_are_rejected(data, sets, tmp_path):
    other = "sha256:" + 64 * "1"
    (write_folder(tmp_path, sets) / "predictions.json").write_text(json.dumps({"model": "m", "digest": other}))
    (line,) = problems(tmp_path, data)
    assert line.startswith(f"they belong to another dataset, {other}; DIR is {data.digest}. Pass the dataset")
    (tmp_path / "predictions.json").write_text(json.dumps({"model": 7, "digest": None}))
    assert [line.partition(";")[0] for line in problems(tmp_path, data)] == ["model is 7", "digest is null"]
    (tmp_path / "predictions.json").write_text("{")
    assert "predictions.json is not JSON" in error_lines(tmp_path, data)[0]
    np.savez(tmp_path / "one.npz", **concatenate_sets(sets), digest=other)
    assert problems(tmp_path / "one.npz", data)[0].startswith("they belong to another dataset")


@pytest.mark.parametrize("kind", ["logits", "probs", "rank"])
def test_values_that_are_not_finite_are_rejected(data, kind, tmp_path):
    name = "p_true" if kind == "rank" else kind
    for dtype in ("float16", "float32", "float64"):
        for value in (np.nan, np.inf, -np.inf):
            spoilt = SOUND[kind][name].astype(dtype)
            spoilt.reshape(20, -1)[[2, 5, 6, 19], 0] = value
            write_folder(tmp_path, {"clean": {**SOUND[kind], name: spoilt}})
            (line,) = problems(tmp_path, data, sets=["clean"])
            assert line.startswith("clean.npz: has 4 rows with "), (dtype, value)
            assert "NaN or infinite" in line
            assert line.endswith(": row 2, row 5, row 6 and 1 more"), (dtype, value)


FOURTH = ROW[:, None] == 3
CASES = [
    ({"logits": LOGITS[:, :9]}, "has logits of the shape (20, 9); expected (N, 10)"),
    ({"logits": LOGITS[:, 0]}, "has logits of the shape (20,); expected (N, 10)"),
    ({"logits": LOGITS.astype(int)}, "has logits of the type int64; expected floating-point numbers"),
    ({"logits": LOGITS.astype(np.longdouble)}, "has logits of the type float128; expected floating-point"),
    ({"logits": PROBS}, "has logits that are probabilities, because each row is from 0 to 1 with the sum 1. Save them"),
    ({"logits": LOGITS, "top": TOP}, "contains logits and top; expected one of logits"),
    ({"logit": LOGITS}, "contains logit instead of predictions; expected logits, probs, top"),
    ({"logits": LOGITS, "index": ROW, "id": np.full(20, "a")}, "contains both index and id"),
    ({"logits": LOGITS, "index": np.arange(19)}, "has arrays of different lengths: logits 20, index 19"),
    ({"logits": LOGITS, "id": np.array(["a"] * 20, object)}, "is not a valid .npz archive (Object arrays cannot be"),
    ({"logits": LOGITS, "set_id": np.full(20, "clean")}, "has a column set_id. Pass the file itself"),
    ({"probs": PROBS * 100}, "has 20 rows with values outside 0 to 1: row 0, row 1"),
    ({"probs": np.where(FOURTH, 0.3, PROBS)}, "has 1 row whose values do not sum to 1"),
    ({"probs": PROBS / 2}, "has 20 rows whose values do not sum to 1 (within 0.01): row 0"),
    ({"top": np.where(FOURTH, [0, -1, 2, 3, 4], TOP)}, "has 1 row with classes outside 0 to 9"),
    ({"top": np.where(FOURTH, [4, 1, 2, 3, 4], TOP)}, "has 1 row with a repeated class: row 3"),
    ({"top": np.tile(TOP, 3)}, "has top of the shape (20, 15); expected (N, 1 to 10)"),
    ({"rank_true": RANK * 0 + 10, "p_true": P_TRUE}, "has 20 rows with a rank_true outside 0 to 9"),
    ({"rank_true": RANK * 0 + 1, "p_true": np.full(20, 0.9)}, "has 20 rows with a p_true above 0.5"),
    ({"rank_true": RANK, "p_true": P_TRUE * 0 + 2}, "has 20 rows with a p_true outside 0 to 1: row 0, "),
    ({"p_true": P_TRUE}, "contains p_true; expected one of logits, probs, top, or rank_true"),
]


def test_arrays_without_predictions_are_rejected(data, tmp_path):
    for arrays, message in CASES:
        (line,) = problems(write_folder(tmp_path, {"clean": arrays}), data, sets=["clean"])
        assert line.startswith(f"clean.npz: {message}"), line


def test_paths_without_predictions_are_rejected(data, sets, tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "model.pt").write_bytes(b"PK")
    for path, message in (
        (data.path, "PATH is a dataset, not predictions. `corruptset predict"),
        (
            tmp_path / "nothing",
            "PATH does not exist. Expected a folder of <set id>.npz files, or one .npz or .csv file.",
        ),
        (tmp_path / "pipe.csv", "PATH is a pipe, not a regular file"),
        (tmp_path / "model.pt", "PATH is neither a folder of <set id>.npz files nor an .npz or .csv file"),
    ):
        assert error_lines(path, data)[0].replace("DIR", "PATH").startswith(message)
    (tmp_path / "empty").mkdir()
    none = ["the folder has no .npz files; expected <set id>.npz for each set"]
    assert problems(tmp_path / "empty", data) == none
    np.savez(tmp_path / "one.npz", **sets["clean"])
    assert problems(tmp_path / "one.npz", data)[0].startswith("has no column set_id. Add it, or pass a folder")


def archive(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for name, content in members.items():
            z.writestr(name, content)
    return path


def header(shape, descr="<f4"):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def test_damaged_archives_are_rejected(data, sets, tmp_path):
    path = write_folder(tmp_path, sets) / "clean.npz"
    sound = path.read_bytes()
    flipped = sound[:500] + bytes([sound[500] ^ 1]) + sound[501:]
    huge = archive(tmp_path / "huge", {"logits.npy": header("(1000000000000, 10)")}).read_bytes()
    torch = archive(tmp_path / "torch", {"archive/data.pkl": b"x"}).read_bytes()
    for content in (b"", sound[:-30], npy(np.zeros((20, 10))), flipped, huge):
        path.write_bytes(content)
        assert problems(tmp_path, data)[0].startswith("clean.npz: is not a valid .npz archive (")
    path.write_bytes(torch)
    assert problems(tmp_path, data)[0].startswith("clean.npz: contains archive/data.pkl")


class Writes:
    """An object that writes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (Path.write_text, (self.path, "run"))


def test_pickled_array_is_never_executed(data, sets, tmp_path):
    marker = tmp_path / "told"
    payload = pickle.dumps(np.array([Writes(marker)], object))
    pickle.loads(payload)
    assert marker.exists(), "the payload would do it"
    marker.unlink()
    for name in ("logits", "index", "id", "set_id", "model"):
        members = {"logits.npy": npy(np.zeros((20, 10)))} | {f"{name}.npy": header("(20,)", "|O") + payload}
        archive(write_folder(tmp_path / "p", sets) / "clean.npz", members)
        assert problems(tmp_path / "p", data)[0].startswith("clean.npz: ")
        error_lines(archive(tmp_path / "one.npz", members), data)
        assert not marker.exists(), name


def test_invalid_csv_files_are_rejected(data, tmp_path):
    for text, message in {
        "set_id;top1\nclean;1\n": "PATH contains set_id;top1 instead of predictions; expected logits",
        "": "PATH contains nothing instead of predictions; expected logits",
        "set_id,top0,top1\nclean,1,1\n": "has 1 row of clean, but the dataset has 20 images",
        "set_id,top1,top3\n": "PATH has the columns top1, top3; expected top1, top2, ... without gaps",
        "set_id,logit_0,logit_1\n": "PATH contains set_id, logit_0, logit_1 instead of predictions; expected logits",
        "set_id,top1\nclean,1\nclean\n": "PATH has 1 line with more or fewer cells than the first line, which has 2",
        "set_id,index,top1\nclean,0,1\nclean,1,cat\n": "PATH has values in the column top1 that are not numbers",
        "set_id,index,rank_true,p_true\nclean,0,1,\n": "PATH has values in the column p_true that are not numbers",
        "set_id,top1\nclean,\udcff\n": "PATH is not a CSV file in UTF-8",
    }.items():
        (tmp_path / "p.csv").write_text(text, encoding="utf-8", errors="surrogateescape")
        lines = error_lines(tmp_path / "p.csv", data, sets=["clean"])
        assert any(line.startswith(message) for line in lines), lines
