"""The reader of pickles: it reads what CIFAR and Icons-50 need, and a hostile pickle runs nothing and takes little
memory.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import pickletools
import resource
import subprocess
import sys

import archives as a
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corruptset.generate.sources import pickles
from corruptset.generate.sources.pickles import Refused, load_fields, load_saved_fields, pixels, texts, whole_numbers

WITNESS = []
TEXTS = ["apple", "é", "x" * 90, "", "日本"]


@pytest.fixture
def load():
    """Load pickled bytes."""
    return load_fields


@pytest.fixture
def load_saved():
    """Load a .npy file of a dictionary, under a protocol of pickle's."""
    return lambda value, protocol=4, cut=None: load_saved_fields(saved(value, protocol)[:cut])


def saved(value, protocol):
    """Return a .npy file as numpy writes it, with its pickle under another protocol."""
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": "|O", "fortran_order": False, "shape": ()})
    whole = np.empty((), object)
    whole[()] = value
    return out.getvalue() + pickle.dumps(whole, protocol)


def numbers(value):
    return whole_numbers(value).tolist()


class Call:
    """Pickles as a call of something."""

    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


def touch(path):
    WITNESS.append(path)


class Stateful:
    def __setstate__(self, state):
        WITNESS.append(state)

    def __getstate__(self):
        return {"a": 1}


HOSTILE = [
    pickle.dumps({"data": value}, protocol)
    for protocol in range(6)
    for value in (
        Call(touch, "x"),
        Call(os.system, "touch hacked"),
        Call(subprocess.Popen, ["touch", "hacked"]),
        Call(eval, "WITNESS.append(1)"),
        Call(getattr, "a", "upper"),
        Call(np.load, "x.npy"),
        Call(open, "hacked", "w"),
        Stateful(),
        {1, 2},
        1.5j,
        np.array([Call(touch, "x")], dtype=object),
        np.dtype([("a", "O")]),
        np.dtype("M8[s]"),
    )
] + [
    b"cos\nsystem\n(S'touch hacked'\ntR.",
    b"(S'touch hacked'\nios\nsystem\n.",
    b"(cos\nsystem\nS'touch hacked'\no.",
    b"\x80\x02c__builtin__\neval\n(X\x10\x00\x00\x00WITNESS.append(1)tR.",
    b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x0ctouch hacked\x85R.",
    b"\x80\x02cnumpy\nload\n(X\x05\x00\x00\x00x.npytR.",
    b"\x80\x02Pid\n.",
    b"\x80\x02\x82\x01.",
    # what a state could be given to, and what could be called, beside the names that are known
    b"\x80\x02}X\x01\x00\x00\x00acnumpy\ndtype\n}X\x0c\x00\x00\x00__defaults__(K\x01tsbs.",
    b"\x80\x02}X\x01\x00\x00\x00acnumpy\ndtype\nN}X\x0c\x00\x00\x00__defaults__(K\x01ts\x86bs.",
    b"\x80\x02}X\x01\x00\x00\x00acnumpy\nndarray\n)Rs.",
    b"\x80\x02}X\x01\x00\x00\x00acbuiltins\nbytes\n\x8a\x05\x00\x00\x00\x00\x10\x85Rs.",
    b"\x80\x02}X\x01\x00\x00\x00a](K\x01eK\x01\x85Rs.",
    # what numpy's own functions crash on, or make without an end: shapes, types and states that lie
    b"\x80\x02}X\x01\x00\x00\x00acnumpy\ndtype\nX\x02\x00\x00\x00O8\x85R(K\x01tbs.",
    b"\x80\x02}X\x01\x00\x00\x00acnumpy\ndtype\nX\x02\x00\x00\x00u1\x85R(K\x03X\x01\x00\x00\x00zNNNtbs.",
    *(
        b"\x80\x02}X\x01\x00\x00\x00acnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85U\x01btR(K\x01"
        + state
        + b"tbs."
        for state in (
            b"(K\x02NtNNN",
            b"(J\xff\xff\xff\xfftcnumpy\ndtype\nU\x02u1\x85R\x89U\x01a",
            b"(\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x10tcnumpy\ndtype\nU\x02u1\x85R\x89U\x01a",
            b"K\x05cnumpy\ndtype\nU\x02u1\x85R\x89U\x01a",
        )
    ),
    # keys whose hashes Python computes without a limit of depth, or which all have one hash
    b"\x80\x02})" + b"\x85" * 200_000 + b"K\x01s.",
    b"(" + b")" + b"\x85" * 200_000 + b"K\x01d.",
    b"\x80\x04\x8f()" + b"\x85" * 200_000 + b"\x90.",
    b"\x80\x02}("
    + b"".join(b"\x8a\x09" + (k * (2**61 - 1)).to_bytes(9, "little") + b"N" for k in range(1, 50))
    + b"u.",
]


@pytest.mark.parametrize("data", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_pickle_runs_nothing(load, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    WITNESS.clear()
    with pytest.raises(Refused):
        load(data)
    assert WITNESS == []
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("protocol", range(6))
def test_a_hostile_saved_dictionary_runs_nothing(load_saved, tmp_path, monkeypatch, protocol):
    monkeypatch.chdir(tmp_path)
    WITNESS.clear()
    for bad in (Call(touch, "x"), Call(os.system, "touch hacked"), {1}, 1.5j):
        for value in ({"style": bad}, {"style": [bad]}, {"style": np.array([bad, None], dtype=object)}):
            with pytest.raises(Refused):
                load_saved(value, protocol)
    assert WITNESS == []
    assert not (tmp_path / "hacked").exists()


def test_the_reason_names_what_was_asked_for(load):
    with pytest.raises(Refused, match=r"asks Python to run 'posix.system'.*Nothing of it was run"):
        load(pickle.dumps(Call(os.system, "true"), 2))
    with pytest.raises(Refused, match=r"is no pickle of arrays, lists, strings and whole numbers.*at byte 3"):
        load(b"\x80\x02Pid\n.")


@pytest.mark.parametrize("protocol", range(6))
def test_values_as_python_reads_them(load, protocol):
    value = {
        "n": [0, 1, 255, 256, 65535, 65536, -1, -300, 2**31, -(2**40)],
        "t": ["a", "é", ""],
        "b": True,
        "none": None,
        "f": {"x": [[]]},
    }
    fields = load(pickle.dumps(value, protocol))
    assert numbers(fields["n"]) == value["n"]
    assert texts(fields["t"]) == value["t"]
    assert (fields["b"], fields["none"], list(fields["f"]), fields["f"]["x"]) == (True, None, ["x"], [[]])


@pytest.mark.parametrize("protocol", range(1, 6))
@pytest.mark.parametrize("dtype", ["u1", "<i8", ">i4", "<u2"])
@pytest.mark.parametrize("count", [20, 300])
def test_arrays_as_numpy_writes_them(load, protocol, dtype, count):
    array = (np.arange(count) % 251).astype(dtype)
    fields = load(pickle.dumps({b"x": array, b"same": array, b"scalars": [array[3], array[11]]}, protocol))
    assert numbers(fields["scalars"]) == [3, 11]
    assert numbers(fields["x"]) == array.tolist() == numbers(fields["same"])


@pytest.mark.parametrize("protocol", range(1, 6))
def test_saved_columns_as_numpy_reads_them(load_saved, protocol):
    value = {
        "list": TEXTS,
        "unicode": np.array(TEXTS * 30),
        "bytes": np.array([b"a", b"bcd"]),
        "objects": np.array(TEXTS, dtype=object),
        "scalars": [np.str_("apple"), np.str_("pear")],
        "numbers": np.arange(300),
        "few": np.arange(5, dtype=np.uint8),
        "whole": [3, 1, 2],
        "scalar numbers": [np.int64(7), np.int64(8)],
        "object numbers": np.array([4, 5], dtype=object),
        "image": np.arange(4000, dtype=np.uint8).reshape(10, 400),
    }
    fields = load_saved(value, protocol)
    assert fields.keys() == value.keys()
    assert texts(fields["list"]) == texts(fields["objects"]) == TEXTS
    assert texts(fields["unicode"]) == TEXTS * 30
    assert texts(fields["bytes"]) == ["a", "bcd"]
    assert texts(fields["scalars"]) == ["apple", "pear"]
    assert [numbers(fields[k]) for k in ("numbers", "few", "whole", "scalar numbers", "object numbers")] == [
        list(range(300)), list(range(5)), [3, 1, 2], [7, 8], [4, 5],
    ]  # fmt: skip
    assert np.array_equal(pixels(fields["image"]), value["image"])


def test_numpys_own_file(tmp_path):
    np.save(tmp_path / "own.npy", {"a": ["b"]}, allow_pickle=True)
    assert load_saved_fields((tmp_path / "own.npy").read_bytes()) == {"a": ["b"]}


def test_what_is_no_saved_dictionary(tmp_path, load_saved):
    with pytest.raises(Refused, match="holds no dictionary"):
        load_saved([1, 2])
    with pytest.raises(Refused, match="is cut"):
        load_saved({"a": 1}, cut=-20)
    for data in (
        b"",
        b"\x93NUMPY\x01\x00\xff\xff{",
        b"\x93NUMPY\x02\x00" + b"\xff" * 4,
        b"\x93NUMPY\x01\x00\x06\x00{'a':" + b"x" * 99,
    ):
        with pytest.raises(Refused, match=r"is no \.npy file of a dictionary"):
            load_saved_fields(data)
    for array in (np.zeros((5, 4)), np.array([{}, {}], dtype=object)):
        np.save(tmp_path / "x.npy", array, allow_pickle=True)
        with pytest.raises(Refused, match=r"is no \.npy file of a dictionary"):
            load_saved_fields((tmp_path / "x.npy").read_bytes())


def test_an_array_is_a_view_of_its_bytes(load):
    rows = a.planes(a.crops(5)[0])
    for dump in (a.python2_batch, *(a.modern_batch(p) for p in (2, 3, 4, 5))):
        data = dump(rows, {"labels": range(5)})
        array = pixels(load(data)["data"])
        assert np.array_equal(array, rows)
        own = array.base is not None and not np.shares_memory(array, np.frombuffer(data, np.uint8))
        assert (dump(rows, {"labels": range(5)}).find(rows.tobytes()) < 0) == own
    # our batch is what Python itself reads as a batch, so it is a fair test
    again = pickle.loads(a.python2_batch(rows, {"labels": range(5)}), encoding="bytes")
    assert np.array_equal(again[b"data"], rows)
    assert again[b"labels"] == [0, 1, 2, 3, 4]
    names = pickle.loads(a.protocol0_meta(a.TEN, 5), encoding="bytes")
    assert (names[b"label_names"][9], names[b"num_cases_per_batch"]) == (b"truck", 5)


def test_columns_of_other_things_are_refused(load_saved):
    for bad, said in (
        (3, "int where a column"),
        (None, "NoneType where a column"),
        ({"a": "b"}, "_Fields where a column"),
        ([["a"]], "list where a short string"),
        ([3], "int where a short string"),
        (np.zeros(2, np.uint8), "int where a short string"),
        (np.zeros((2, 3), "<U2"), r"has \(2, 3\) where"),
        (np.array("ab"), r"has \(\) where"),
    ):
        with pytest.raises(Refused, match=said):
            texts(load_saved({"x": bad})["x"])
    for bad in (["a"], np.array(["a"], dtype=object), np.zeros(2), [True], [1 << 62]):
        with pytest.raises(Refused, match="other things where whole numbers were expected"):
            whole_numbers(load_saved({"x": bad})["x"])


def changed_array(array, change):
    """A dictionary with an array whose pickle was changed after it was written."""
    return pickle.dumps({"x": array}, 2).replace(*change)


def test_arrays_that_lie_are_refused(load, monkeypatch):
    names = np.array(["ab", "cd"])
    for data in (
        changed_array(np.arange(3), (b"K\x03\x85", b"K\x04\x85")),  # another size than its shape says
        changed_array(np.array([None, 1], object), (b"K\x02\x85", b"K\x04\x85")),
    ):
        with pytest.raises(Refused, match=r"another size|is no pickle|a damaged one"):
            load(data)
    letters = load(pickle.dumps({"x": np.array(["é"])}, 4).replace(b"\xe9\0\0\0", b"\xff\xff\xff\xff"))
    with pytest.raises(ValueError, match="code point not in range"):
        texts(letters["x"])
    assert texts(load(pickle.dumps({"x": names}, 4))["x"]) == ["ab", "cd"]
    with pytest.raises(Refused, match="a long string among its elements"):
        load(pickle.dumps({"x": [np.str_("x" * 500)]}, 4))
    monkeypatch.setattr(pickles, "MOST_COLUMN", 15)
    with pytest.raises(Refused, match="where a column of names"):
        texts(load(pickle.dumps({"x": names}, 4))["x"])


BOMBS = [
    *(
        head + b"\xff\xff\xff\xff\xff\xff\xff\x7f."
        for head in (b"\x80\x04\x8e", b"\x80\x04\x8d", b"\x80\x05\x96", b"\x80\x04\x95", b"\x80\x02\x8b")
    ),
    b"\x80\x05\x96\x00\x00\x00\x80\x02\x00\x00\x00.",
    b"\x80\x02T\xff\xff\xff\x7fabc.",
    b"\x80\x02X\xff\xff\xff\x7fabc.",
    b"\x80\x02Nr\xff\xff\xff\x3f.",
    b"\x80\x02Np1073741823\n.",
]
"""A few bytes that say ten gigabytes: lengths, and the number of a memo, for which Python's unpickler in C makes a
table.
"""


@pytest.mark.parametrize("data", BOMBS)
def test_lengths_that_lie_cost_no_memory(load, data):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(Refused):
        load(data)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 << 10
    assert load(b"\x80\x02}r\xff\xff\xff\xff.") == {}


def test_lists_of_lists_that_repeat_are_not_unfolded(load):
    """Of thirty lists, each holds the one before it ten times."""
    value = ["x"]
    for _ in range(30):
        value = [value] * 10
    fields = load(pickle.dumps({"names": value, "deep": eval("[" * 90 + "]" * 90)}, 4))
    for take in (texts, whole_numbers):
        with pytest.raises(Refused):
            take(fields["names"])


def test_what_is_held_is_limited_whatever_it_is_made_of(load, monkeypatch):
    monkeypatch.setattr(pickles, "MOST_HELD", 10_000)
    for data in (b"]", b"]\x94", b"(", b"U\xff" + b"x" * 255, b"S'" + b"x" * 240 + b"'\n"):
        with pytest.raises(Refused, match="has more than 10,000 bytes beside its long strings"):
            load(b"\x80\x04" + data * 9999 + b".")
    assert len(load(pickle.dumps({"x": b"y" * 20_000}, 4))["x"]) == 20_000
    for line in (b"V" + b"x" * 300 + b"\n.", b"I" + b"1" * 300 + b"\n.", b"S'" + b"x" * 300 + b"'\n."):
        with pytest.raises(Refused, match="is no pickle"):
            load(line)
    # a name that is repeated costs nothing, and one that is long is refused
    with pytest.raises(Refused, match="memoryview where a short string was expected"):
        texts([load(pickle.dumps({"x": b"y" * 300}, 4))["x"]])


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damaged_pickles_raise_nothing_else(load, data):
    whole = bytearray(
        pickle.dumps({"labels": [1, 2, 3], "data": np.arange(12, dtype=np.uint8).reshape(3, 4), "names": ["a"] * 3}, 2)
    )
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(whole[: data.draw(st.integers(0, len(whole)))])
    with contextlib.suppress(Refused):
        numbers(load(cut).get("labels"))


def test_the_instructions_are_the_ones_that_are_needed():
    """No opcode that makes other objects, calls by class or reads from elsewhere is known."""
    names = {pickletools.code2op[chr(code)].name for code in pickles._Unpickler.dispatch}
    assert not names & {
        "INST",
        "OBJ",
        "NEWOBJ",
        "NEWOBJ_EX",
        "PERSID",
        "BINPERSID",
        "EXT1",
        "EXT2",
        "EXT4",
        "NEXT_BUFFER",
        "FROZENSET",
    }
    for value in ({"a": [1]}, np.arange(3)):
        buffer = io.BytesIO()
        pickle.Pickler(buffer, 2).dump(value)
        assert {op.name for op, _, _ in pickletools.genops(buffer.getvalue())} <= names


PEAK = """
import json, sys
from pathlib import Path
from corruptset.generate.sources.pickles import load_fields, pixels

def peak():
    return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) * 1024

data = Path(sys.argv[1]).read_bytes()
before = peak()
fields = load_fields(data)
print(json.dumps([len(fields["fine_labels"]), list(pixels(fields["data"]).shape), peak(), peak() - before]))
"""


@pytest.mark.skipif(not os.path.isfile("/proc/self/status"), reason="the peak of a process is read from /proc")
def test_the_memory_for_fifty_thousand_rows(tmp_path):
    """CIFAR-100's train: 153 MB of pixels, of which no copy is made, and labels and names of files."""
    rows = np.zeros((1, 3072), np.uint8).repeat(50_000, axis=0)
    path = tmp_path / "train"
    columns = {name: [i % 100 for i in range(50_000)] for name in ("fine_labels", "coarse_labels")}
    path.write_bytes(a.python2_batch(rows, columns))
    done = subprocess.run([sys.executable, "-c", PEAK, str(path)], check=True, capture_output=True, text=True)
    labels, shape, peak, grown = json.loads(done.stdout)
    assert (labels, shape) == (50_000, [50_000, 3072])
    assert grown < 32 << 20
    assert peak < 400 << 20
