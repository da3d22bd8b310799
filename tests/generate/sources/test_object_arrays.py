"""Saved dictionaries: every way in which numpy writes one is read, and a hostile file runs nothing and takes little memory."""

from __future__ import annotations

import io
import os
import pickle
import tracemalloc

import numpy as np
import pytest

from corruptset.generate.sources.object_arrays import column_numbers, column_texts, load_saved_fields
from corruptset.generate.sources.pickles import Array, Latin, Refused, Span

TEXTS = ["apple", "é", "x" * 90, "", "日本"]


def saved(value, protocol):
    """Return a .npy file as numpy writes it, with its pickle under another protocol."""
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": "|O", "fortran_order": False, "shape": ()})
    whole = np.empty((), object)
    whole[()] = value
    return out.getvalue() + pickle.dumps(whole, protocol)


def load(tmp_path, data):
    path = tmp_path / "x.npy"
    path.write_bytes(data)
    fields, start = load_saved_fields(path)

    def read(span):
        return data[start + span.offset : start + span.offset + span.size]

    return fields, read


@pytest.mark.parametrize("protocol", range(1, 6))
def test_columns_as_numpy_reads_them(tmp_path, protocol):
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
    fields, read = load(tmp_path, saved(value, protocol))
    assert fields.keys() == value.keys()
    assert column_texts(fields["list"], read) == column_texts(fields["objects"], read) == TEXTS
    assert column_texts(fields["unicode"], read) == TEXTS * 30
    assert column_texts(fields["bytes"], read) == ["a", "bcd"]
    assert column_texts(fields["scalars"], read) == ["apple", "pear"]
    assert [column_numbers(fields[k], read).tolist() for k in ("numbers", "few", "whole", "scalar numbers", "object numbers")] == [
        list(range(300)), list(range(5)), [3, 1, 2], [7, 8], [4, 5],
    ]  # fmt: skip
    image = fields["image"]
    assert isinstance(image, Array)
    assert (image.dtype, image.shape) == ("u1", (10, 400))
    pixels = read(image.data).decode().encode("latin-1") if isinstance(image.data, Latin) else read(image.data)
    assert pixels == value["image"].tobytes()


def test_numpys_own_file(tmp_path):
    np.save(tmp_path / "own.npy", {"a": ["b"]}, allow_pickle=True)
    fields, start = load_saved_fields(tmp_path / "own.npy")
    assert (fields, start % 64) == ({"a": ["b"]}, 0)


WITNESS = []


def touch(value):
    WITNESS.append(value)


class Call:
    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", range(6))
def test_a_hostile_file_runs_nothing(tmp_path, monkeypatch, protocol):
    monkeypatch.chdir(tmp_path)
    WITNESS.clear()
    for bad in (Call(touch, "x"), Call(os.system, "touch hacked"), {1}, 1.5j):
        for value in ({"style": bad}, {"style": [bad]}, {"style": np.array([bad, None], dtype=object)}):
            with pytest.raises(Refused):
                load(tmp_path, saved(value, protocol))
    assert WITNESS == []
    assert not (tmp_path / "hacked").exists()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is no .npy file"),
        (b"\x93NUMPY\x01\x00\xff\xff{", "is no .npy file"),
        (b"\x93NUMPY\x02\x00" + (1 << 31).to_bytes(4, "little"), "is no .npy file"),
        (b"\x93NUMPY\x01\x00\x06\x00{'a':" + b"x" * 99, "damaged header"),
        (saved([1, 2], 4), "holds no dictionary"),
        (saved({"a": 1}, 4)[:-20], "is no pickle, or a damaged one|is cut"),
    ],
)
def test_what_is_no_saved_dictionary(tmp_path, data, said):
    with pytest.raises(Refused, match=said):
        load(tmp_path, data)


def test_a_header_is_read_no_further_than_numpys_own_limit(tmp_path):
    path = tmp_path / "x.npy"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x02\x00" + (32 << 20).to_bytes(4, "little"))
        file.truncate(64 << 20)
    tracemalloc.start()
    with pytest.raises(Refused, match=r"is no \.npy file"):
        load_saved_fields(path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1 << 20


def test_plain_arrays_say_what_they_are(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((5, 4)))
    with pytest.raises(Refused, match=r"holds an array of float64 of shape \(5, 4\), not a dictionary"):
        load_saved_fields(tmp_path / "x.npy")
    np.save(tmp_path / "x.npy", np.array([{}, {}], dtype=object), allow_pickle=True)
    with pytest.raises(Refused, match=r"shape \(2,\)"):
        load_saved_fields(tmp_path / "x.npy")


def test_columns_of_other_things_are_refused():
    def read(span):
        return b"\xff" * span.size

    for bad in (
        3,
        None,
        {"a": "b"},
        [["a"]],
        [3],
        Array("u1", (2,), False, b"ab"),
        Array("O", (3,), False, ["a"]),
        Array("<U2", (), False, b""),
    ):
        with pytest.raises(Refused):
            column_texts(bad, read)
    with pytest.raises(Refused, match="another size"):
        column_texts(Array("<U4", (3,), False, b"abcd" * 4), read)
    with pytest.raises(Refused, match="letters that there are not"):
        column_texts(Array("<U2", (40,), False, Span(0, 320)), read)
    with pytest.raises(Refused, match="without its bytes"):
        column_texts(Array("<U2", (1 << 30,), False, Span(0, 8 << 30)), read)
    with pytest.raises(Refused, match="letters are no bytes"):
        column_texts(Array("<U2", (40,), False, Latin(0, 400)), read)
    for bad in (["a"], Array("O", (1,), False, ["a"]), Array("<f8", (2,), False, bytes(16)), [1.5]):
        with pytest.raises(Refused):
            column_numbers(bad, read)


def test_the_icons_themselves_are_not_held(tmp_path):
    path = tmp_path / "big.npy"
    np.save(path, {"image": np.zeros((4000, 3, 32, 32), np.uint8), "style": ["apple"] * 4000}, allow_pickle=True)
    tracemalloc.start()
    fields, _ = load_saved_fields(path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(fields["image"].data, Span)
    assert most < 4 << 20  # of 12 MB
