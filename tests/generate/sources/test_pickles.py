"""The reader of pickles: it reads what CIFAR needs, and a hostile pickle runs nothing."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import pickletools
import subprocess
import sys

import archives as a
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corruptset.generate.sources import pickles
from corruptset.generate.sources.pickles import Array, Latin, Refused, Span, load_fields, texts, whole_numbers

WITNESS = []


def load(data, **options):
    return load_fields(io.BytesIO(data), len(data), **options)


def numbers(value, data=b""):
    return whole_numbers(value, lambda span: data[span.offset : span.offset + span.size]).tolist()


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
    # what a state could be given to, and what could be called, beside the names that are known
    b"\x80\x02}X\x01\x00\x00\x00acnumpy\ndtype\n}X\x0c\x00\x00\x00__defaults__(K\x01tsbs.",
    b"\x80\x02}X\x01\x00\x00\x00acnumpy\nndarray\n)Rs.",
    b"\x80\x02}X\x01\x00\x00\x00acbuiltins\nbytes\nX\x00\x00\x00\x00Rs.",
    b"\x80\x02}X\x01\x00\x00\x00a](K\x01eK\x01\x85Rs.",
    # keys whose hashes Python computes without a limit of depth, or which all have one hash
    b"\x80\x02})" + b"\x85" * 200_000 + b"K\x01s.",
    b"\x80\x02}(" + b"".join(b"\x8a\x09" + (k * (2**61 - 1)).to_bytes(9, "little") + b"N" for k in range(1, 50)) + b"u.",
]


@pytest.mark.parametrize("data", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_pickle_runs_nothing(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    WITNESS.clear()
    with pytest.raises(Refused):
        load(data)
    assert WITNESS == []
    assert list(tmp_path.iterdir()) == []


def test_the_reason_names_what_was_asked_for():
    with pytest.raises(Refused, match=r"asks Python to run 'posix.system'.*Nothing of it was run"):
        load(pickle.dumps(Call(os.system, "true"), 2))
    with pytest.raises(Refused, match=r"an instruction that only other things than arrays.*b'P'.*at byte 3"):
        load(b"\x80\x02Pid\n.")


@pytest.mark.parametrize("protocol", range(6))
def test_values_as_python_reads_them(protocol):
    value = {"n": [0, 1, 255, 256, 65535, 65536, -1, -300, 2**31, -(2**40)], "t": ["a", "é", ""], "b": True, "none": None, "f": {"x": [[]]}}
    fields = load(pickle.dumps(value, protocol))
    assert numbers(fields["n"]) == value["n"]
    assert texts(fields["t"]) == value["t"]
    assert (fields["b"], fields["none"], list(fields["f"]), fields["f"]["x"]) == (True, None, ["x"], [[]])


@pytest.mark.parametrize("protocol", range(1, 6))
@pytest.mark.parametrize("dtype", ["u1", "<i8", ">i4", "<u2"])
@pytest.mark.parametrize("count", [20, 300])
def test_arrays_as_numpy_writes_them(protocol, dtype, count):
    array = (np.arange(count) % 251).astype(dtype)
    data = pickle.dumps({b"x": array, b"same": array, b"scalars": [array[3], array[11]]}, protocol)
    fields = load(data)
    assert numbers(fields["scalars"]) == [3, 11]
    if protocol < 3 and isinstance(fields["x"].data, Latin):
        assert (fields["x"].shape, fields["same"]) == ((count,), fields["x"])
    else:
        assert numbers(fields["x"], data) == array.tolist() == numbers(fields["same"], data)


def test_an_array_is_where_its_bytes_lie():
    rows = a.planes(a.crops(5)[0])
    for data in (a.python2_batch(rows, {"labels": range(5)}), *(a.modern_batch(p)(rows, {"labels": range(5)}) for p in (3, 4, 5))):
        array = load(data)["data"]
        assert isinstance(array, Array)
        assert type(array.data) is Span
        assert data[array.data.offset : array.data.offset + array.data.size] == rows.tobytes()
    text = a.modern_batch(2)(rows, {"labels": range(5)})
    span = load(text)["data"].data
    assert isinstance(span, Latin)
    assert text[span.offset : span.offset + span.size].decode().encode("latin-1") == rows.tobytes()
    # our batch is what Python itself reads as a batch, so it is a fair test
    again = pickle.loads(a.python2_batch(rows, {"labels": range(5)}), encoding="bytes")
    assert np.array_equal(again[b"data"], rows)
    assert again[b"labels"] == [0, 1, 2, 3, 4]
    names = pickle.loads(a.protocol0_meta(a.TEN, 5), encoding="bytes")
    assert (names[b"label_names"][9], names[b"num_cases_per_batch"]) == (b"truck", 5)


def test_lengths_that_lie_cost_no_memory():
    huge = b"\xff\xff\xff\xff\xff\xff\xff\x7f"
    for data in (
        b"\x80\x04\x8e" + huge + b".",
        b"\x80\x04\x8d" + huge + b".",
        b"\x80\x05\x96" + huge + b".",
        b"\x80\x02T\xff\xff\xff\x7fabc.",
        b"\x80\x02X\xff\xff\xff\x7fabc.",
        b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\xff.",
        b"\x80\x02\x8b\xff\xff\xff\x7f.",
    ):
        with pytest.raises(Refused):
            load(data)
    assert load(b"\x80\x02}r\xff\xff\xff\xff.") == {}  # a number in the memo, which is a dictionary


def test_what_is_held_is_limited_whatever_it_is_made_of():
    for data in (b"]", b"]\x94", b"(", b"U\xff" + b"x" * 255, b"S'" + b"x" * 240 + b"'\n"):
        with pytest.raises(Refused, match="has more than 10,000 bytes beside its long strings"):
            load(b"\x80\x04" + data * 9999 + b".", most_held=10_000)
    assert load(pickle.dumps({"x": b"y" * 20_000}, 4), most_held=10_000)["x"].size == 20_000
    for line in (b"V" + b"x" * 300 + b"\n.", b"I" + b"1" * 300 + b"\n.", b"S'" + b"x" * 300 + b"'\n."):
        with pytest.raises(Refused, match="protocol 0"):
            load(line)
    # a name that is repeated costs nothing, and one that is long is refused
    with pytest.raises(Refused, match="a long string where a short string was expected"):
        texts([load(pickle.dumps({"x": "y" * 300}, 4))["x"]])


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damaged_pickles_raise_nothing_else(data):
    whole = bytearray(pickle.dumps({"labels": [1, 2, 3], "data": np.arange(12, dtype=np.uint8).reshape(3, 4), "names": ["a"] * 3}, 2))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(whole[: data.draw(st.integers(0, len(whole)))])
    with contextlib.suppress(Refused):
        numbers(load(cut).get("labels"))


def test_the_instructions_are_the_ones_that_are_needed():
    """No opcode that makes other objects, calls by class or reads from elsewhere is known."""
    names = {pickletools.code2op[chr(code)].name for code in pickles._Unpickler.dispatch}
    assert not names & {"INST", "OBJ", "NEWOBJ", "NEWOBJ_EX", "PERSID", "BINPERSID", "EXT1", "EXT2", "EXT4", "NEXT_BUFFER"}
    for value in ({"a": [1]}, np.arange(3)):
        buffer = io.BytesIO()
        pickle.Pickler(buffer, 2).dump(value)
        assert {op.name for op, _, _ in pickletools.genops(buffer.getvalue())} <= names


def test_what_reading_raises_is_handed_on():
    class Gone(io.BytesIO):
        def read(self, size=-1):
            raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        load_fields(Gone(), 100)


PEAK = """
import json, sys
from pathlib import Path
from corruptset.generate.sources.pickles import load_fields

def peak():
    return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) * 1024

before, path = peak(), Path(sys.argv[1])
with path.open("rb") as file:
    fields = load_fields(file, path.stat().st_size)
print(json.dumps([len(fields["fine_labels"]), list(fields["data"].shape), peak(), peak() - before]))
"""


@pytest.mark.skipif(not os.path.isfile("/proc/self/status"), reason="the peak of a process is read from /proc")
def test_the_memory_for_fifty_thousand_rows(tmp_path):
    """CIFAR-100's train: 153 MB of pixels that are passed over, and labels and names of files that are held."""
    rows = np.zeros((1, 3072), np.uint8).repeat(50_000, axis=0)
    path = tmp_path / "train"
    columns = {name: [i % 100 for i in range(50_000)] for name in ("fine_labels", "coarse_labels")}
    path.write_bytes(a.python2_batch(rows, columns))
    done = subprocess.run([sys.executable, "-c", PEAK, str(path)], check=True, capture_output=True, text=True)
    labels, shape, peak, grown = json.loads(done.stdout)
    assert (labels, shape) == (50_000, [50_000, 3072])
    assert grown < 32 << 20
    assert peak < 400 << 20
