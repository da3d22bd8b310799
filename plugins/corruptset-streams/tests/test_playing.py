"""Test the images of a dataset in the order of a schedule, stored or computed, in any process."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import record_datasets
import small_builds
from corruptset_streams import Schedule, ScheduleError, Stream, StreamItem, schedule
from packs import pack_dataset

import corruptset
from corruptset.canonical import canonical
from corruptset.errors import CorruptsetError
from corruptset.generate.reproduction import inputs
from corruptset.manifests.reader import Dataset
from corruptset.manifests.records.digests import sha256_bytes


@pytest.fixture(scope="module")
def dataset(shared_data: small_builds.SharedData) -> Dataset:
    sets = ["contrast/*", "brightness/*", "clean"]
    return corruptset.open(shared_data.build(crops={"classes": 2}, sets=sets, storage="folder"))


@pytest.fixture(scope="module")
def mixed_schedule(dataset: Dataset) -> Schedule:
    return schedule(dataset.path, "mixed", sets=["contrast/*", "brightness/2"], seed=1)


def equal(one: StreamItem, other: StreamItem) -> bool:
    return bool((one.image == other.image).all()) and one[1:] == other[1:]


def test_items_match_sets_with_marks_and_shifts(dataset: Dataset, mixed_schedule: Schedule, tmp_path: Path) -> None:
    stream = dataset.stream(mixed_schedule)
    assert len(stream) == mixed_schedule.head["length"] == 24
    (shift,) = mixed_schedule.shifts
    for number, (item, of, place) in enumerate(zip(stream, shift["set"], shift["samples"], strict=True)):
        name, sample = mixed_schedule.head["sets"][of], mixed_schedule.head["samples"][place]
        images = dataset[name]
        index = images.ids.index(sample)
        assert (item.image == images.image(index)).all()
        assert item[1:] == (images.label(index), name, sample, 0, number == 0)
    schedule(dataset.path, "gradual", reset="shift", out=tmp_path / "g.jsonl", samples=2)
    items = list(dataset.stream(str(tmp_path / "g.jsonl")))
    assert [n for n, item in enumerate(items) if item.reset] == [0, 18]
    assert [item.shift for item in items] == [n for n in range(18) for _ in range(2)]


def test_slices_batches_copies_and_single_items_agree(dataset: Dataset, mixed_schedule: Schedule) -> None:
    stream = dataset.stream(mixed_schedule)
    items = list(stream)
    assert all(equal(stream[i], items[i]) for i in (0, 5, -1, -24))
    assert all(map(equal, stream[7:], items[7:]))
    assert all(map(equal, stream[1::3][2:4], items[7:13:3]))
    assert isinstance(stream[7:], Stream)
    assert list(stream[30:]) == []
    chosen = [3, 3, 0, 17, 9]
    assert all(equal(item, items[i]) for item, i in zip(stream[chosen], chosen, strict=True))
    for value in (24, -25, "fog"):
        with pytest.raises(IndexError):
            stream[value]
    assert equal(pickle.loads(pickle.dumps(stream))[0], items[0])
    assert dataset.stream(mixed_schedule, transform=lambda image: image.size)[0].image == (32, 32)


def test_stream_rejects_files_of_other_formats_or_datasets(
    dataset: Dataset, mixed_schedule: Schedule, tmp_path: Path
) -> None:
    """The files have valid digests, because they were written with wrong contents on purpose."""
    result = schedule(dataset.path, sets=["contrast/1"], samples=2)
    for value in ([0, -1], [0, 99], [0, 0.5]):
        result.shifts[0]["samples"] = value
        with pytest.raises(ScheduleError, match="missing from its first line"):
            dataset.stream(result)
    heads: list[dict[str, object]] = [{"samples": ["x"]}, {"sets": ["fog/9"]}, {"data_set": []}]
    for head in heads:
        result = schedule(dataset.path, sets=["contrast/1"], samples=2)
        record = {name: value for name, value in (result.head | head).items() if name != "digest"}
        rest = canonical(result.shifts[0]) + b"\n"
        renamed_record = record | {"digest": sha256_bytes(canonical(record) + b"\n" + rest)}
        (tmp_path / "s.jsonl").write_bytes(canonical(renamed_record) + b"\n" + rest)
        with pytest.raises(CorruptsetError, match=r"missing from its first line|The schedule belongs to|no set"):
            dataset.stream(tmp_path / "s.jsonl")
    other = record_datasets.records_dataset(tmp_path, "imagenet-c-all", 4)
    with pytest.raises(ScheduleError, match=r"The schedule belongs to .*small-c.*this dataset is .*imagenet-c-all"):
        other.stream(mixed_schedule)


def test_virtual_dataset_can_be_streamed(
    dataset: Dataset,
    mixed_schedule: Schedule,
    shared_data: small_builds.SharedData,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(inputs, "cache_root", lambda: tmp_path)
    release = pack_dataset(dataset.path, tmp_path, manifest_only=True).path
    data = corruptset.open(release, source=f"folder:{shared_data.crops(classes=2)}")
    assert all(map(equal, data.stream(mixed_schedule), dataset.stream(mixed_schedule)))


@pytest.mark.ci
@pytest.mark.parametrize("workers", [0, 2])
def test_loader_keeps_order(workers: int, dataset: Dataset, mixed_schedule: Schedule) -> None:
    from torch.utils.data import DataLoader

    stream = dataset.stream(mixed_schedule)
    batches = list(DataLoader(stream, batch_size=5, num_workers=workers))
    images, *columns = zip(*batches, strict=True)
    assert (np.concatenate(images) == np.stack([item.image for item in stream])).all()
    for column, expected in zip(columns, zip(*(item[1:] for item in stream), strict=True), strict=True):
        assert [getattr(value, "tolist", lambda value=value: value)() for batch in column for value in batch] == [
            *expected
        ]
