"""The reader of pickles: it reads what CIFAR needs, and a hostile pickle runs nothing."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import pickletools
import subprocess

import archives as a
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corruptset.errors import SourceError
from corruptset.generate.sources import pickles
from corruptset.generate.sources.pickles import Array, Latin, Pickle, Refused, Stored

WITNESS = []


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
        np.dtype("O"),
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
]


@pytest.mark.parametrize("data", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_pickle_runs_nothing(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    WITNESS.clear()
    with pytest.raises(Refused):
        Pickle(data).fields()
    assert WITNESS == []
    assert list(tmp_path.iterdir()) == []


def test_the_reason_names_what_was_asked_for():
    with pytest.raises(Refused, match=r"asks Python to run 'posix.system'.*Nothing of it was run"):
        Pickle(pickle.dumps(Call(os.system, "true"), 2))


@pytest.mark.parametrize("protocol", range(6))
def test_values_as_python_reads_them(protocol):
    value = {"n": [0, 1, 255, 256, 65535, 65536, -1, -300, 2**31, -(2**40)], "t": ["a", "é", ""], "b": True, "none": None, "f": {"x": [[]]}}
    found = Pickle(pickle.dumps(value, protocol))
    fields = found.fields()
    assert found.integers(fields["n"]).tolist() == value["n"]
    assert found.texts(fields["t"]) == value["t"]
    assert (fields["b"], fields["none"], list(fields["f"]), fields["f"]["x"]) == (True, None, ["x"], [[]])


@pytest.mark.parametrize("protocol", range(1, 6))
@pytest.mark.parametrize("dtype", ["u1", "<i8", ">i4", "<u2"])
def test_arrays_as_numpy_writes_them(protocol, dtype):
    array = (np.arange(300) % 251).astype(dtype)
    found = Pickle(pickle.dumps({b"x": array, b"same": array, b"scalars": [array[3], array[200]]}, protocol))
    assert found.integers(found.fields()["x"]).tolist() == array.tolist() == found.integers(found.fields()["same"]).tolist()
    assert found.integers(found.fields()["scalars"]).tolist() == [3, 200]


def test_an_array_is_where_its_bytes_lie():
    rows = a.planes(a.crops(5)[0])
    data = a.python2_batch(rows, {"labels": range(5)})
    array = Pickle(data).fields()["data"]
    assert isinstance(array, Array)
    assert data[array.data.offset : array.data.offset + array.data.size] == rows.tobytes()
    # our batch is what Python itself reads as a batch, so it is a fair test
    again = pickle.loads(data, encoding="bytes")
    assert np.array_equal(again[b"data"], rows)
    assert again[b"labels"] == [0, 1, 2, 3, 4]
    names = pickle.loads(a.protocol0_meta(a.TEN, 5), encoding="bytes")
    assert (names[b"label_names"][9], names[b"num_cases_per_batch"]) == (b"truck", 5)


def test_lengths_that_lie_cost_no_memory():
    for data in (
        b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.",
        b"\x80\x02T\xff\xff\xff\x7fabc.",
        b"\x80\x02}r\xff\xff\xff\xff.",
        b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\xff.",
        b"\x80\x02\x8b\xff\xff\xff\x7f.",
    ):
        with pytest.raises(Refused):
            Pickle(data)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damaged_pickles_raise_nothing_else(data):
    whole = bytearray(pickle.dumps({"labels": [1, 2, 3], "data": np.arange(12, dtype=np.uint8).reshape(3, 4), "names": ["a"] * 3}, 2))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(whole[: data.draw(st.integers(0, len(whole)))])
    with contextlib.suppress(Refused):
        found = Pickle(cut)
        found.integers(found.fields().get("labels"))


def test_the_steps_are_the_ones_that_are_needed():
    """No opcode that makes other objects, calls by class or reads from elsewhere is known."""
    from corruptset.generate.sources.pickles import _STEPS

    names = {pickletools.code2op[code.decode("latin-1")].name for code in _STEPS}
    assert not names & {"INST", "OBJ", "NEWOBJ", "NEWOBJ_EX", "PERSID", "BINPERSID", "EXT1", "EXT2", "EXT4", "NEXT_BUFFER"}
    for value in ({"a": [1]}, np.arange(3)):
        buffer = io.BytesIO()
        pickle.Pickler(buffer, 2).dump(value)
        assert {op.name for op, _, _ in pickletools.genops(buffer.getvalue())} <= names | {"STOP"}


def test_a_pickle_is_read_in_pieces_and_long_strings_are_not_held(monkeypatch):
    monkeypatch.setattr(pickles, "PIECE", 50)
    monkeypatch.setattr(pickles, "HELD", 2000)
    monkeypatch.setattr(pickles, "HELD_TOGETHER", 5000)
    rows = a.planes(a.crops(5)[0])
    for data in (a.python2_batch(rows, {"labels": range(5)}), *(a.modern_batch(p)(rows, {"labels": range(5)}) for p in (2, 3, 4, 5))):
        asked, looked = [], []

        def read(offset, size, data=data, asked=asked):
            asked.append((offset, size))
            return data[offset : offset + size]

        found = Pickle(Stored(len(data), read), looked.append)
        fields = found.fields()
        span = fields["data"].data.span if isinstance(fields["data"].data, Latin) else fields["data"].data
        assert looked == [span]
        assert span.held is None
        # from the beginning to the end, and past the rows
        assert [offset for offset, _ in asked] == sorted(offset for offset, _ in asked)
        assert sum(size for _, size in asked) < len(data) - span.size + 200
        assert found.raw(fields["data"].data) == rows.tobytes()
        assert found.integers(fields["labels"]).tolist() == [0, 1, 2, 3, 4]
    several = Pickle(pickle.dumps([b"a" * 1500, b"b" * 1500, b"c" * 1500, b"d" * 1500, b"e" * 1500], 4))
    assert [span.held is not None for span in several.value] == [True] * 3 + [False] * 2
    assert [several.raw(span)[:1] for span in several.value] == [b"a", b"b", b"c", b"d", b"e"]


def test_a_line_is_found_wherever_a_piece_ends(monkeypatch):
    data = pickle.dumps({"n": [10**9, 70_000], "t": ["x" * 70, "y"]}, 0)
    for size in (1, 7, 30, 1000):
        monkeypatch.setattr(pickles, "PIECE", size)
        found = Pickle(data)
        assert found.integers(found.fields()["n"]).tolist() == [10**9, 70_000]
        assert found.texts(found.fields()["t"]) == ["x" * 70, "y"]
    monkeypatch.setattr(pickles, "PIECE", 7)
    monkeypatch.setattr(pickles, "MOST_LINE", 60)
    with pytest.raises(Refused, match="is cut, or no pickle"):
        Pickle(data)


def test_a_pickle_that_never_ends_is_refused(monkeypatch):
    monkeypatch.setattr(pickles, "MOST_STEPS", 1000)
    assert Pickle(b"]" + b"]0" * 499 + b".").value == []
    with pytest.raises(Refused, match="has more than 1,000 instructions"):
        Pickle(b"]" * 2000)


def test_what_reading_raises_is_handed_on():
    def read(offset, size):
        raise SourceError("the disk is gone")

    with pytest.raises(SourceError, match="the disk is gone"):
        Pickle(Stored(100, read))
