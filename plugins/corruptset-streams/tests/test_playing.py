"""Streams: the images of a data set in the order of a schedule, stored or made, in any process."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import layouts
import numpy as np
import pytest
import unbuilt
from corruptset_streams import Schedule, ScheduleError, Stream, StreamItem, schedule
from packs import packed

import corruptset
from corruptset.canonical import canonical
from corruptset.errors import CorruptsetError
from corruptset.generate.again import release_folder
from corruptset.manifests.reader import DataSet
from corruptset.manifests.records.digests import sha256_bytes

SETS = ["contrast/*", "brightness/*", "clean"]


@pytest.fixture(scope="module")
def stored(shared: layouts.Shared) -> DataSet:
    return corruptset.open(shared.build(crops={"classes": 2}, sets=SETS, format="folder"))


@pytest.fixture(scope="module")
def mixed(stored: DataSet) -> Schedule:
    return schedule(stored.path, "mixed", sets=["contrast/*", "brightness/2"], seed=1)


def equal(one: StreamItem, other: StreamItem) -> bool:
    return bool((one.image == other.image).all()) and one[1:] == other[1:]


def test_items_are_those_of_the_sets(stored: DataSet, mixed: Schedule) -> None:
    stream = stored.stream(mixed)
    assert len(stream) == mixed.head["length"] == 24
    (shift,) = mixed.shifts
    for item, set_place, sample_place in zip(stream, shift["set"], shift["samples"], strict=True):
        name, sample = mixed.head["sets"][set_place], mixed.head["samples"][sample_place]
        images = stored[name]
        index = images.ids.index(sample)
        assert (item.image == images.image(index)).all()
        assert item[1:] == (images.label(index), name, sample, 0, item.reset)
    assert [item.reset for item in stream] == [True] + [False] * 23


def test_marks_and_shifts(stored: DataSet, tmp_path: Path) -> None:
    schedule(stored.path, "gradual", reset="shift", out=tmp_path / "g.jsonl", samples=2)
    items = list(stored.stream(str(tmp_path / "g.jsonl")))
    assert len(items) == 2 * 9 * 2
    assert [n for n, item in enumerate(items) if item.reset] == [0, 18]
    assert [item.shift for item in items] == [n for n in range(18) for _ in range(2)]


def test_slices_batches_and_single_items_agree(stored: DataSet, mixed: Schedule) -> None:
    stream = stored.stream(mixed)
    items = list(stream)
    assert all(equal(stream[i], items[i]) for i in (0, 5, -1, -24))
    assert all(map(equal, stream[7:], items[7:]))
    assert all(map(equal, stream[1::3][2:4], items[7:13:3]))
    assert isinstance(stream[7:], Stream)
    assert len(stream[30:]) == 0
    assert list(stream[30:]) == []
    chosen = [3, 3, 0, 17, 9]
    assert all(equal(item, items[i]) for item, i in zip(stream[chosen], chosen, strict=True))
    for wrong in (24, -25):
        with pytest.raises(IndexError, match="24"):
            stream[wrong]
    with pytest.raises(IndexError):
        stream["fog"]


@pytest.mark.parametrize(
    ("name", "places"),
    [("samples", [0, -1]), ("samples", [0, 99]), ("samples", [0, 0.5]), ("set", -1), ("set", [0, 2])],
)
def test_places_that_are_not_there_are_refused(stored: DataSet, name: str, places: object) -> None:
    made = schedule(stored.path, sets=["contrast/1", "contrast/2"], samples=2)
    made.shifts[1][name] = places
    with pytest.raises(ScheduleError, match="its first line does not"):
        stored.stream(made)


@pytest.mark.parametrize(
    "head",
    [{"samples": ["x"]}, {"samples": None}, {"sets": 3}, {"sets": ["fog/9"]}, {"data_set": []}, {"data_set": None}],
)
def test_a_file_of_another_form_is_refused(stored: DataSet, tmp_path: Path, head: dict[str, object]) -> None:
    """Its digest fits: whoever wrote it made it so."""
    made = schedule(stored.path, sets=["contrast/1"], samples=2)
    record = {name: value for name, value in (made.head | head).items() if name != "digest"}
    rest = canonical(made.shifts[0]) + b"\n"
    digest = sha256_bytes(canonical(record) + b"\n" + rest)
    (tmp_path / "s.jsonl").write_bytes(canonical(record | {"digest": digest}) + b"\n" + rest)
    with pytest.raises(CorruptsetError, match=r"first line does not|The schedule is of|matches no set|no set"):
        stored.stream(tmp_path / "s.jsonl")


def test_it_may_be_pickled_and_transformed(stored: DataSet, mixed: Schedule) -> None:
    stream = stored.stream(mixed, transform=lambda picture: picture.size)
    assert stream[0].image == (32, 32)
    plain = stored.stream(mixed)
    first = plain[0]
    again = pickle.loads(pickle.dumps(plain))
    assert equal(again[0], first)


def test_another_data_set_is_refused(stored: DataSet, mixed: Schedule, shared: layouts.Shared, tmp_path: Path) -> None:
    other = unbuilt.data_set(tmp_path, "imagenet-c-all", 4)
    with pytest.raises(ScheduleError, match=r"The schedule is of .*small-c.*this data set is .*imagenet-c-all"):
        other.stream(mixed)
    smaller = corruptset.open(shared.build(crops={"classes": 2}, sets=["contrast/*"], format="folder"))
    with pytest.raises(ScheduleError, match=r"this data set is .*small-c 1\.0\.0"):
        smaller.stream(mixed)


def test_a_virtual_data_set_streams_too(
    stored: DataSet, mixed: Schedule, shared: layouts.Shared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release_folder, "cache_root", lambda: tmp_path)
    release = packed(stored.path, tmp_path, family_of=lambda name: "all", manifest_only=True).path
    data = corruptset.open(release, source=f"folder:{shared.crops(classes=2)}")
    assert all(map(equal, data.stream(mixed), stored.stream(mixed)))


@pytest.mark.ci
@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_keeps_the_order(workers: int, stored: DataSet, mixed: Schedule) -> None:
    import torch

    stream = stored.stream(mixed)
    loader: Iterator[list[object]] = iter(torch.utils.data.DataLoader(stream, batch_size=5, num_workers=workers))
    batches = list(loader)
    images, labels, sets, ids, shifts, resets = (list(column) for column in zip(*batches, strict=True))
    assert (np.concatenate(images) == np.stack([item.image for item in stream])).all()
    assert [int(label) for batch in labels for label in batch] == [item.label for item in stream]
    assert [name for batch in sets for name in batch] == [item.set for item in stream]
    assert [name for batch in ids for name in batch] == [item.id for item in stream]
    assert torch.cat(resets).tolist() == [True] + [False] * 23
    assert torch.cat(shifts).tolist() == [0] * 24
