"""Refused predictions: all problems at once, with counts and the next step."""

from __future__ import annotations

import io
import json
import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import unbuilt
from predictions import joined, kinds, logits_of, write_csv, write_folder

from corruptset.errors import PredictionError, UnknownCorruption
from corruptset.scores.prediction_files import read_predictions

SETS = ["brightness/1", "clean", "contrast-3+brightness-2"]
ROW = np.arange(20)
SOUND = kinds(logits_of(20, 10), ROW // 2)
LOGITS, PROBS, TOP, RANK, P_TRUE = (array for arrays in SOUND.values() for array in arrays.values())


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return unbuilt.small(tmp_path_factory.mktemp("data"), *SETS)


@pytest.fixture
def sets():
    """Sound logits of each set, to be spoilt."""
    return {name: {"logits": LOGITS} for name in SETS}


def refusal(path, data, **options):
    """Return the lines of a refusal, without the paths."""
    with pytest.raises(PredictionError) as caught:
        read_predictions(path, data, **options)
    text = str(caught.value).replace(str(path), "PATH").replace(str(data.path), "DIR")
    return [line.strip() for line in text.split("\n")]


def problems(path, data, **options):
    return refusal(path, data, **options)[1:-1]


def test_names_of_sets(data, sets, tmp_path):
    write_folder(tmp_path / "p", {"claen": sets["clean"], "fog/9": sets["clean"], "brightness/1": sets["clean"]})
    first, unknown, missing, last = refusal(tmp_path / "p", data)
    assert first == "PATH cannot be scored on DIR, for 2 reasons:"
    assert unknown.startswith("2 files are of no set of the data set: claen.npz, fog/9.npz. Did you mean 'clean'?")
    assert missing.startswith("2 of 3 sets have no file: clean, contrast-3+brightness-2. Predict them, or choose")
    assert last == "docs/evaluate.md shows how such files are written."
    with pytest.raises(UnknownCorruption, match="'brightnes/1' matches no set"):
        read_predictions(tmp_path / "p", data, sets=["brightnes/1"])
    np.savez(tmp_path / "one.npz", **joined(dict.fromkeys(("clean", "fgo/1", "fog/9"), sets["clean"])))
    assert problems(tmp_path / "one.npz", data) == [
        "has 40 rows of sets that the data set does not have: fgo/1, fog/9",
        "lacks 2 of 3 sets: brightness/1, contrast-3+brightness-2",
    ]
    # what many files have is told once
    write_folder(tmp_path / "many", {name: {"logits": np.zeros((20, 9))} for name in SETS})
    assert problems(tmp_path / "many", data) == [
        "brightness/1.npz, clean.npz, contrast-3+brightness-2.npz: has logits of shape (20, 9); expected (N, 10): the "
        "data set has 10 classes"
    ]
    named = unbuilt.small(tmp_path / "data", more='[[sets]]\nclean = true\naliases = ["type 0"]\n')
    twice = {"clean": sets["clean"], "type 0": sets["clean"]}
    folder = write_folder(tmp_path / "twice", twice)
    assert problems(folder, named) == ["the set clean is there 2 times: clean.npz, type 0.npz. Keep one"]
    np.savez(tmp_path / "one.npz", **joined(twice), index=np.tile(ROW, 2))
    assert problems(tmp_path / "one.npz", named)[0].startswith("has 20 rows twice: clean 0 (00_class/im.0), clean 1 (")


def test_rows(data, sets, tmp_path):
    sets["brightness/1"]["index"] = np.where(ROW >= 17, 3, ROW)
    sets["clean"]["index"] = np.where(ROW < 2, [-1, 25] * 10, ROW)
    sets["contrast-3+brightness-2"]["id"] = np.array([sample.id for sample in data.samples])
    sets["contrast-3+brightness-2"]["id"][4] = "nobody"
    assert problems(write_folder(tmp_path, sets), data) == [
        "brightness/1.npz: has 1 row twice: brightness/1 3 (01_class/im.1)",
        "brightness/1.npz: lacks 3 of 20 rows: 17 (08_class/im.1), 18 (09_class/im.0), 19 (09_class/im.1)",
        "clean.npz: has 2 rows with an index outside 0 to 19: -1, 25",
        "clean.npz: lacks 2 of 20 rows: 0 (00_class/im.0), 1 (00_class/im.1)",
        "contrast-3+brightness-2.npz: has 1 row whose id is of no sample; ids here are such as '00_class/im.0': "
        "'nobody'",
        "contrast-3+brightness-2.npz: lacks 1 of 20 rows: 4 (02_class/im.0)",
    ]
    sets["clean"] = {"logits": LOGITS, "id": np.full(20, "nobody")}
    (line,) = problems(write_folder(tmp_path, {"clean": sets["clean"]}), data, sets=["clean"])
    assert "has 20 rows whose id is of no sample" in line  # and the set is not called absent as well
    few, many = "lacks 1 of 20 rows of clean: 19 (09_class/im.1)", "has 1 row too many: a set has 20: 20"
    for count, says in ((19, few), (21, many)):
        sets["clean"] = {"logits": np.resize(sets["clean"]["logits"], (count, 10))}
        (line,) = problems(write_folder(tmp_path, {name: {"logits": s["logits"]} for name, s in sets.items()}), data)
        assert line.startswith(
            f"clean.npz: has {count} rows; the data set has 20 images; where there is no index or id"
        )
        one = write_csv(tmp_path / "one.csv", joined({"clean": sets["clean"]}))
        assert problems(one, data, sets=["clean"]) == [says]


def test_of_another_data_set_and_of_a_part_of_this_one(data, sets, tmp_path):
    other = "sha256:" + 64 * "1"
    (write_folder(tmp_path, sets) / "predictions.json").write_text(json.dumps({"model": "m", "digest": other}))
    (line,) = problems(tmp_path, data)
    assert line.startswith(f"they are of another data set: {other}; DIR is {data.digest}. Give the data set")
    (tmp_path / "predictions.json").write_text(json.dumps({"model": 7, "digest": None}))
    assert [line.partition(";")[0] for line in problems(tmp_path, data)] == ["model is 7", "digest is null"]
    (tmp_path / "predictions.json").write_text("{")
    assert "predictions.json is not JSON" in refusal(tmp_path, data)[0]
    for more, says in (
        ({"digest": other}, "they are of another data set"),
        ({"model": "m" * 5000}, "has model of <U5000 and shape (); expected one text"),
        ({"model": ["a", "b"]}, "has model of <U1 and shape (2,); expected one text"),
        ({"model": np.array("a", object)}, "has model of object and shape (); expected one text, such as str(model)"),
    ):
        np.savez(tmp_path / "one.npz", **joined(sets), **more)
        assert says in "".join(refusal(tmp_path / "one.npz", data))


@pytest.mark.parametrize("kind", ["logits", "probs", "rank"])
def test_values_that_are_not_finite(data, kind, tmp_path, monkeypatch):
    """Wherever they are in a row, in each type, and in blocks of one row."""
    name = "p_true" if kind == "rank" else kind
    words = "a p_true that is not finite" if kind == "rank" else "values that are not finite (NaN or infinite; a masked"
    for dtype in ("float16", "float32", "float64"):
        for value in (np.nan, -np.nan, np.inf, -np.inf):
            spoilt = SOUND[kind][name].astype(dtype)
            spoilt.reshape(20, -1)[[2, 5, 6, 19], 0] = value
            write_folder(tmp_path, {"clean": {**SOUND[kind], name: spoilt}})
            for size in (1 << 20, 1):
                monkeypatch.setattr("corruptset.scores.prediction_files.reading.BLOCK_BYTES", size)
                (line,) = problems(tmp_path, data, sets=["clean"])
                assert line.startswith(f"clean.npz: has 4 rows with {words}"), (dtype, value)
                assert line.endswith(": row 2, row 5, row 6 and 1 more"), (dtype, value)


FOURTH = ROW[:, None] == 3
CASES = [
    ({"logits": LOGITS[:, :9]}, "has logits of shape (20, 9); expected (N, 10)"),
    ({"logits": LOGITS[:, 0]}, "has logits of shape (20,); expected (N, 10)"),
    ({"logits": LOGITS.astype(int)}, "has logits of int64; expected float16, float32"),
    ({"logits": LOGITS.astype(np.longdouble)}, "has logits of float128; expected float16"),
    ({"logits": PROBS}, "has logits that are probabilities, each row of 0 to 1 with the sum 1: keep them as probs"),
    ({"logits": LOGITS, "top": TOP}, "holds logits and top; expected one of logits"),
    ({"logit": LOGITS}, "holds no predictions: it has logit; expected logits, probs, top"),
    ({"logits": LOGITS, "index": ROW, "id": np.full(20, "a")}, "holds both index and id"),
    ({"logits": LOGITS, "index": np.arange(19)}, "has columns of different lengths: index 19, logits 20"),
    ({"logits": LOGITS, "id": np.array(["a"] * 20, object)}, "has id of object; expected text of a fixed width"),
    ({"logits": LOGITS, "id": np.full(20, "a" * 5000)}, "has id of 5,000 characters; a name has at most"),
    ({"logits": LOGITS, "set_id": np.full(20, "clean")}, "has a column set_id: a file of many"),
    ({"probs": PROBS * 100}, "has 20 rows with values outside 0 to 1: row 0, row 1"),
    ({"probs": np.where(FOURTH, 0.3, PROBS)}, "has 1 row whose values do not sum to 1"),
    ({"probs": PROBS / 2}, "has 20 rows whose values do not sum to 1 (within 0.01): row 0"),
    ({"top": np.where(FOURTH, [0, -1, 2, 3, 4], TOP)}, "has 1 row with classes outside 0 to 9"),
    ({"top": np.where(FOURTH, [4, 1, 2, 3, 4], TOP)}, "has 1 row with a class twice: row 3"),
    ({"top": np.tile(TOP, 3)}, "has top of shape (20, 15); expected (N, 1 to 10)"),
    ({"rank_true": RANK * 0 + 10, "p_true": P_TRUE}, "has 20 rows with a rank_true outside 0 to 9"),
    ({"rank_true": RANK * 0 + 1, "p_true": np.full(20, 0.9)}, "has 20 rows with a p_true above 0.5"),
    ({"rank_true": RANK, "p_true": P_TRUE * 0 + 2}, "has 20 rows with a p_true outside 0 to 1: row 0, "),
    ({"p_true": P_TRUE}, "holds p_true; expected one of logits, probs, top, or rank_true"),
]


def test_what_a_file_may_not_hold(data, tmp_path):
    for arrays, says in CASES:
        (line,) = problems(write_folder(tmp_path, {"clean": arrays}), data, sets=["clean"])
        assert line.startswith(f"clean.npz: {says}"), line


def test_paths_that_are_no_predictions(data, sets, tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "model.pt").write_bytes(b"PK")
    for path, says in (
        (data.path, "PATH is a data set, not predictions. `corruptset predict"),
        (tmp_path / "nothing", "PATH does not exist. Give a folder of <set id>.npz, or one .npz or .csv file."),
        (tmp_path / "pipe.csv", "PATH is a pipe, not a regular file"),
        (Path("/dev/zero"), "PATH is a device, not a regular file"),
        (tmp_path / "model.pt", "PATH is neither a folder of <set id>.npz nor one .npz or .csv file"),
    ):
        assert refusal(path, data)[0].replace("DIR", "PATH").startswith(says)
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty/fog.npy").write_bytes(b"")
    none = ["the folder holds no .npz file (but .npy): write <set id>.npz for each set"]
    assert problems(tmp_path / "empty", data) == none
    write_folder(tmp_path / "p", sets)
    (tmp_path / "p/clean.npz").unlink()
    os.mkfifo(tmp_path / "p/clean.npz")
    assert problems(tmp_path / "p", data)[0].startswith("clean.npz: cannot be read: it is a pipe")
    np.savez(tmp_path / "one.npz", **sets["clean"])
    assert problems(tmp_path / "one.npz", data)[0].startswith("has no column set_id: give the folder of such files")


def archive(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for name, content in members.items():
            z.writestr(name, content)
    return path


def header(shape, descr="<f4"):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text


def changed(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def wide(folder, images, classes):
    """Return a data set of one set."""
    return unbuilt.data_set(folder, "imagenet-c", images, classes=classes, only="fog/3".__eq__, clean=False)


def test_damaged_and_lying_archives(data, sets, tmp_path):
    path = write_folder(tmp_path, sets) / "clean.npz"
    sound, unsound = path.read_bytes(), "is not a sound .npz archive"
    contents = [
        (b"", unsound),
        (sound[:-30], unsound),
        (npy(np.zeros((20, 10))), unsound),
        (changed(sound, 500), f"{unsound} (Bad CRC-32 for file 'logits.npy')"),
    ]
    for name, content, says in (
        ("logits.npy", header("(1000000000000, 10)"), "has 1,000,000,000,000 rows; the data set has 20 images"),
        ("logits.npy", header("(3, 10)") + bytes(800), "has 3 rows; the data set has 20 images"),
        ("logits.npy", header("(-1, 10)"), "has -1 rows; the data set has 20 images"),
        ("logits.npy", header("(20, 10)") + bytes(700), unsound),
        ("logits.npy", header("(" * 5000), unsound),
        ("archive/data.pkl", b"x", "holds no arrays but archive/data.pkl: write it by np.savez"),
        ("logits.npy", header("(300000, 10)") + bytes(12_000_000), "has 300,000 rows; the data set has 20 images"),
    ):  # the last is a bomb
        contents.append((archive(tmp_path / "made", {name: content}).read_bytes(), says))
    for content, says in contents:
        path.write_bytes(content)
        assert problems(tmp_path, data)[0].startswith(f"clean.npz: {says}")
    # a changed byte in an array of many blocks
    large = wide(tmp_path / "data", 5000, 100)
    for compressed in (False, True):
        folder = write_folder(tmp_path / "p", {"fog/3": {"logits": logits_of(5000, 100)}}, compressed=compressed)
        file = folder / "fog/3.npz"
        assert len(read_predictions(folder, large).outcomes["fog/3"]) == 5000
        file.write_bytes(changed(file.read_bytes(), 1_000_000))
        assert unsound in problems(folder, large)[0]


class Writes:
    """Writes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (Path.write_text, (self.path, "run"))


def test_a_pickled_array_is_never_run(data, sets, tmp_path):
    told = tmp_path / "told"
    payload = pickle.dumps(np.array([Writes(told)], object))
    pickle.loads(payload)
    assert told.exists(), "the payload would do it"
    told.unlink()
    for name in ("logits", "index", "id", "set_id", "model"):
        members = {"logits.npy": npy(np.zeros((20, 10)))} | {f"{name}.npy": header("(20,)", "|O") + payload}
        archive(write_folder(tmp_path / "p", sets) / "clean.npz", members)
        assert problems(tmp_path / "p", data)[0].startswith("clean.npz: ")
        refusal(archive(tmp_path / "one.npz", members), data)
        assert not told.exists(), name


def test_csv_files(data, tmp_path):
    for text, says in {
        "set_id;top1\nclean;1\n": "has ';' between its columns; expected commas",
        "set_id\ttop1\n": "has '\\t' between its columns; expected commas",
        "": "holds no predictions: it has no column; expected logits",
        "name,value\n": "holds no predictions: it has name, value; expected logits",
        "set_id,top0,top1\n": "has columns such as top0, and none with the name top2; expected top1, ...",
        "set_id,top1,top1\n": "names the column 'top1' twice",
        "set_id,logit_1\n": "has columns such as logit_1, and none with the name logit_0",
        "set_id,top1\nclean,1\nclean\n": "has 1 cells in line 3; its first line has 2",
        "set_id,index,top1\nclean,0,1\nclean,1,cat\n": "has 'cat' in column top1 of line 3; expected a whole number",
        "set_id,index,rank_true,p_true\nclean,0,1,\n": "has '' in column p_true of line 2; expected a number",
        f"set_id,index,top1\nclean,{10**30},1\n": f"has '{10**30}' in column index of line 2; expected a whole number",
        "set_id,top1" + "x" * (1 << 20): "is not a CSV file in UTF-8 (field larger than field limit",
        "set_id,top1\nclean,\udcff\n": "is not a CSV file in UTF-8",
    }.items():
        (tmp_path / "p.csv").write_text(text, encoding="utf-8", errors="surrogateescape")
        assert problems(tmp_path / "p.csv", data)[0].startswith(says), text[:60]


MEASURED = """
import sys, corruptset
from benchmarks.timing import memory
from corruptset.scores.prediction_files import read_predictions
data = corruptset.open(sys.argv[1])
data.samples
before = memory()
for path in sys.argv[2:]:
    read_predictions(path, data)
print((memory() - before) >> 20, memory() >> 20)
"""


def test_memory_does_not_grow_with_the_logits(tmp_path):
    data = wide(tmp_path / "data", 10_000, 1000).path
    logits = np.zeros((10_000, 1000), np.float32)  # 40 MB, written once and read in several forms
    write_folder(tmp_path / "a", {"fog/3": {"logits": logits}})
    write_folder(tmp_path / "b", {"fog/3": {"logits": logits}}, compressed=True)
    np.savez_compressed(tmp_path / "one.npz", set_id=np.repeat("fog/3", 10_000), logits=logits)
    command = [sys.executable, "-c", MEASURED, data, *(tmp_path / name for name in ("a", "b", "one.npz"))]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3])
    more, peak = map(int, done.stdout.split())
    assert more < 20, f"{more} MB for 40 MB of logits"
    assert peak < 300
