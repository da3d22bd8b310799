"""Pickles of CIFAR and Icons-50 are read, and hostile pickles do not run code."""

from __future__ import annotations

import io
import os
import pickle
import resource

import numpy as np
import pytest
import source_archives as a

from corruptset.generate.sources.pickles import (
    PickleRefused,
    load_fields,
    load_saved_fields,
    number_array,
    string_column,
)

WITNESS = []
TEXTS = ["apple", "é", "x" * 90, "", "日本"]
PROTOCOLS = range(6)


class Call:
    """An object that is pickled as a call of a function."""

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


CALLS = [
    Call(touch, "x"),
    Call(os.system, "touch hacked"),
    Call(eval, "WITNESS.append(1)"),
    Call(getattr, "a", "upper"),
    Stateful(),
    1.5j,
    np.array([Call(touch, "x")], dtype=object),
]
RECONSTRUCTED = (
    b"\x80\x02}X\x01\x00\x00\x00acnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85U\x01btR(K\x01"
)
HOSTILE = [
    b"cos\nsystem\n(S'touch hacked'\ntR.",
    b"(cos\nsystem\nS'touch hacked'\no.",
    b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x0ctouch hacked\x85R.",
    b"\x80\x02Pid\n.",
    b"\x80\x02\x82\x01.",
    # states of objects that are not arrays, and calls of allowed functions with wrong arguments
    b"\x80\x02}X\x01\x00\x00\x00acnumpy\ndtype\n}X\x0c\x00\x00\x00__defaults__(K\x01tsbs.",
    b"\x80\x02}X\x01\x00\x00\x00ac_codecs\nencode\nN}X\x0c\x00\x00\x00__defaults__(K\x01ts\x86bs.",
    b"\x80\x02}X\x01\x00\x00\x00acnumpy\nndarray\n)Rs.",
    b"\x80\x02}X\x01\x00\x00\x00acbuiltins\nbytes\n\x8a\x05\x00\x00\x00\x00\x10\x85Rs.",
    b"\x80\x02}X\x01\x00\x00\x00a](K\x01eK\x01\x85Rs.",
    # wrong shapes, types and states, on which numpy's own functions crash or never return
    b"\x80\x02}X\x01\x00\x00\x00acnumpy\ndtype\nX\x02\x00\x00\x00u1\x85R(K\x03X\x01\x00\x00\x00zNNNtbs.",
    *(
        RECONSTRUCTED + state + b"tbs."
        for state in (
            b"(K\x02NtNNN",
            b"(\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x10tcnumpy\ndtype\nU\x02u1\x85R\x89U\x01a",
            b"K\x05cnumpy\ndtype\nU\x02u1\x85R\x89U\x01a",
        )
    ),
    # keys that are nested too deeply to hash, and keys that all have the same hash
    b"\x80\x02})" + b"\x85" * 200_000 + b"K\x01s.",
    b"(" + b")" + b"\x85" * 200_000 + b"K\x01d.",
    b"\x80\x04\x8f()" + b"\x85" * 200_000 + b"\x90.",
    b"\x80\x02}("
    + b"".join(b"\x8a\x09" + (k * (2**61 - 1)).to_bytes(9, "little") + b"N" for k in range(1, 50))
    + b"u.",
    # lengths of gigabytes, and a large memo index, for which the unpickler of Python allocates a table
    *(head + b"\xff" * 7 + b"\x7f." for head in (b"\x80\x04\x8e", b"\x80\x04\x8d", b"\x80\x05\x96", b"\x80\x04\x95")),
    b"\x80\x02X\xff\xff\xff\x7fabc.",
    b"\x80\x02Nr\xff\xff\xff\x3f.",
    b"\x80\x02Np1073741823\n.",
    b"\x80\x02}r\xff\xff\xff\xff.",
]


def test_hostile_pickle_executes_nothing_and_uses_little_memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    WITNESS.clear()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for protocol in PROTOCOLS:
        for value in CALLS:
            for load, data in (
                (load_fields, pickle.dumps({"data": value}, protocol)),
                (load_saved_fields, a.npy_object({"style": [value]}, protocol)),
            ):
                with pytest.raises(PickleRefused, match=r"asks Python to run '.*It was not run"):
                    load(data)
    for data in HOSTILE:
        with pytest.raises(PickleRefused):
            load_fields(data)
    assert WITNESS == []
    assert not list(tmp_path.iterdir())
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10


@pytest.mark.parametrize("protocol", PROTOCOLS[1:])  # no program writes arrays as text
def test_values_and_arrays_are_read_as_written_by_python_and_numpy(protocol):
    columns = {
        "list": TEXTS,
        "unicode": np.array(TEXTS * 30),
        "swapped": np.array(TEXTS).astype(">U90"),
        "bytes": np.array([b"a", b"bcd"]),
        "objects": np.array(TEXTS, dtype=object),
        "scalars": [np.str_("apple"), np.str_("pear")],
    }
    values = {
        **{str(dtype): (np.arange(300) % 251).astype(dtype) for dtype in ("u1", "<i8", ">i4", "<u2")},
        "n": [0, 255, 65536, -300, 2**31, -(2**40)],
        "scalar numbers": [np.int64(7), np.uint8(8)],
        "object numbers": np.array([4, 5], dtype=object),
    }
    image = np.arange(4000, dtype=np.uint8).reshape(10, 400)
    more = {"image": image, "same": image, "b": True, "none": None, "f": {"x": [[]]}}
    fields = load_saved_fields(a.npy_object({**columns, **values, **more}, protocol))
    for name, column in columns.items():
        assert string_column(fields[name], 999) == np.array(column).astype(str).tolist(), name
    for name, column in values.items():
        assert number_array(fields[name]).tolist() == np.array(column).tolist(), name
    assert (fields["b"], fields["none"], fields["f"]["x"]) == (True, None, [[]])
    assert np.array_equal([fields["image"], fields["same"]], [image, image])


def test_batches_are_read_like_python_does():
    rows = a.channel_planes(a.random_crops(5)[0])
    for dump in (a.python2_batch, *(a.modern_batch(p) for p in (2, 3, 4, 5))):
        assert np.array_equal(load_fields(dump(rows, {"labels": range(5)}))["data"], rows)
    batch = pickle.loads(a.python2_batch(rows, {"labels": range(5)}), encoding="bytes")
    assert np.array_equal(batch[b"data"], rows)
    assert batch[b"labels"] == [0, 1, 2, 3, 4]
    assert pickle.loads(a.protocol0_meta(a.CIFAR10_CLASSES, 5), encoding="bytes")[b"label_names"][9] == b"truck"


def test_pickles_without_dictionary_are_rejected():
    array = io.BytesIO()
    np.save(array, np.zeros((5, 4)))
    for data, message in (
        (a.npy_object([1, 2]), "does not contain a dictionary"),
        (a.npy_object({"a": 1})[:-20], "is not a pickle"),
        (b"", "is not a .npy file of a dictionary"),
        (b"\x93NUMPY\x01\x00\xff\xff{", "is not a .npy file of a dictionary"),
        (array.getvalue(), "is not a .npy file of a dictionary"),
    ):
        with pytest.raises(PickleRefused, match=message):
            load_saved_fields(data)


def test_columns_and_arrays_of_other_types_are_rejected():
    def fields(value, *change):
        return load_fields(pickle.dumps({"x": value}, 4).replace(*change or (b"", b"")))["x"]

    nested = ["x"]
    for _ in range(30):  # each list contains the previous list ten times
        nested = [nested] * 10
    for bad, message in (
        ({"a": "b"}, "dict where a column"),
        (nested, "list where a short string"),
        (["y" * 300], "(bytes|str) where a short string"),
        (np.zeros((2, 3), "<U2"), r"has \(2, 3\) where"),
        (["a"] * 1000, "list where a column"),
    ):
        with pytest.raises(PickleRefused, match=message):
            string_column(fields(bad), 999)
    for bad in (["a"], np.array(["a"], dtype=object), [True], [1 << 62], nested):
        with pytest.raises(PickleRefused, match="list where an array of integers was expected"):
            number_array(fields(bad))
    with pytest.raises(ValueError, match="code point not in range"):
        string_column(fields(np.array(["é"]), b"\xe9\0\0\0", b"\xff\xff\xff\xff"), 9)
    with pytest.raises(PickleRefused):  # the size does not match the shape
        fields(np.arange(300), b"M\x2c\x01\x85", b"M\x2d\x01\x85")


@pytest.mark.parametrize(
    "values",
    [b"]", *(pytest.param(other, marks=pytest.mark.ci) for other in (b"]\x94", b"(", b"U\xff" + b"x" * 255))],
    ids=["lists", "lists in a memo", "marks", "strings"],
)
def test_pickle_of_millions_of_values_is_rejected_early(values):
    with pytest.raises(PickleRefused, match="has more than 2,000,000 values"):
        load_fields(b"\x80\x04" + values * 2_000_001 + b".")


def test_pickle_cannot_modify_allowed_functions():
    batch = a.python2_batch(a.channel_planes(a.random_crops(5)[0]), {"labels": range(5)})
    for name in (b"numpy\ndtype", b"_codecs\nencode", b"numpy.core.multiarray\n_reconstruct", b"numpy\nndarray"):
        for attributes in (b"__defaults__", b"function", b"__setstate__", b"__call__"):
            state = b"N}X" + len(attributes).to_bytes(4, "little") + attributes + b"K\x01s\x86b"
            with pytest.raises(PickleRefused):
                load_fields(b"\x80\x02}X\x01\x00\x00\x00ac" + name + b"\n" + state + b"s.")
    assert load_fields(batch)["labels"] == [0, 1, 2, 3, 4]
