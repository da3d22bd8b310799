"""Parquet files as `datasets` writes them: their samples, and the files that are refused."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import source_archives as a

from corruptset.generate.build import build
from corruptset.generate.sources.check import check
from corruptset.generate.sources.source import open_source
from example_images import encode_image

IMAGES, LABELS = a.random_crops(60)
PNGS = [encode_image(image) for image in IMAGES]
NAMES = [f"{'cat' if label % 2 else 'dog'}-{i:02d}.png" for i, label in enumerate(LABELS)]
IMAGE = pa.struct({"bytes": pa.binary(), "path": pa.string()})


def write(path, images=PNGS, labels=LABELS, *, names=None, paths=None, columns=("img", "label"), group=None, **types):
    """Write a file with the columns and the metadata of `datasets`."""
    paths = paths or [None] * len(images)
    rows = [{"bytes": image, "path": name} for image, name in zip(images, paths, strict=True)]
    arrays = [pa.array(rows, types.get("image", IMAGE)), pa.array(list(labels), types.get("label", pa.int64()))]
    features = {columns[0]: {"_type": "Image"}}
    if names:
        features[columns[1]] = {"names": names, "_type": "ClassLabel"}
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    table = pa.table(arrays, columns).replace_schema_metadata(metadata)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, row_group_size=group)
    return path


def test_cifar10_from_parquet_equals_published_archive(tmp_path):
    a.write_files(tmp_path, a.cifar10_binary((IMAGES, LABELS), [(IMAGES[::-1], LABELS[::-1])]))
    write(tmp_path / "hub/data/test-00000-of-00001.parquet", names=a.CIFAR10_CLASSES, group=7)
    for number, part in enumerate((slice(0, 25), slice(25, 60))):
        file = tmp_path / f"hub/data/train-{number:05d}-of-00002.parquet"
        write(file, PNGS[::-1][part], LABELS[::-1][part], names=a.CIFAR10_CLASSES)
    for split in ("test", "train", "all"):
        published = open_source(f"cifar10:{tmp_path / 'cifar-10-batches-bin'}", split=split)
        source = pickle.loads(pickle.dumps(open_source(f"parquet:{tmp_path / 'hub'}", split=split)))
        assert a.source_contents(source) == a.source_contents(published)
        assert source.classes == published.classes
    for order in (range(60), range(60)[::-1], range(0, 60, 3)):
        assert all(np.array_equal(source.load(source.samples[i]).image, IMAGES[i]) for i in order)
    a.check_refused(f"parquet:{tmp_path / 'hub'}", "has the splits test, train. Choose one with --split")


def test_named_images_equal_folder_source(tmp_path):
    order = np.random.default_rng(1).permutation(60)
    classes = [name.partition("-")[0] for name in NAMES]
    shuffled = [[rows[i] for i in order] for rows in (PNGS, [int(c == "dog") for c in classes], NAMES)]
    file = write(tmp_path / "x.parquet", *shuffled[:2], paths=shuffled[2], names=["cat", "dog"], group=9)
    a.write_files(tmp_path / "flat", dict(zip(NAMES, PNGS, strict=True)))
    rows = "".join(f"{name},{c}\n" for name, c in zip(NAMES, classes, strict=True))
    (tmp_path / "labels.csv").write_text(f"file,label\n{rows}")
    folder = open_source(f"folder:{tmp_path / 'flat'}", labels=tmp_path / "labels.csv")
    source = open_source(f"parquet:{file}")
    assert a.source_contents(source) == a.source_contents(folder)
    assert source.classes == folder.classes
    # the ids are rows if a name is missing, is used twice or leads somewhere else
    for name in (None, "cat/../../x.png", "/etc/x.png", NAMES[1].upper()):
        write(file, paths=[name, *NAMES[1:]], names=a.CIFAR10_CLASSES)
        assert [s.id for s in open_source(f"parquet:{file}").samples][:2] == ["data/00000", "data/00001"]


def test_rows_are_read_in_any_order_across_row_groups(tmp_path, monkeypatch):
    from corruptset.generate.sources import parquet_rows

    monkeypatch.setattr(parquet_rows, "MAX_BATCH", 5)
    source = open_source(f"parquet:{write(tmp_path / 'x.parquet', names=a.CIFAR10_CLASSES, group=40)}")
    for order in (range(60), range(60)[::-1], range(0, 60, 7)):
        assert all(np.array_equal(source.load(source.samples[i]).image, IMAGES[i]) for i in order)


def test_replaced_file_is_read_again(tmp_path):
    file = write(tmp_path / "x.parquet", names=a.CIFAR10_CLASSES)
    source = open_source(f"parquet:{file}")
    assert np.array_equal(source.load(source.samples[0]).image, IMAGES[0])
    write(file, PNGS[::-1], names=a.CIFAR10_CLASSES)
    source = open_source(f"parquet:{file}")
    assert np.array_equal(source.load(source.samples[0]).image, IMAGES[-1])


def test_bad_rows_are_listed_by_file_and_excluded_on_request(tmp_path):
    images = [b"", PNGS[1][:-40], None, b"GIF89a?", *PNGS[4:]]
    labels = [*LABELS[:6].tolist(), None, -1, 10, *LABELS[9:].tolist()]
    file = write(tmp_path / "hub/test-00000-of-00002.parquet", images, labels, names=a.CIFAR10_CLASSES)
    write(tmp_path / "hub/test-00001-of-00002.parquet", [], [], names=a.CIFAR10_CLASSES)
    source = open_source(f"parquet:{tmp_path / 'hub'}")
    report = check(source, source.samples)
    assert dict(source.notes) == {
        f"{file.name}, row 6": "has label None; expected a whole number from 0 to 9: leave it out",
        f"{file.name}, row 7": "has label -1; expected a whole number from 0 to 9: leave it out",
        f"{file.name}, row 8": "has label 10; expected a whole number from 0 to 9: leave it out",
        "test-00001-of-00002.parquet": "contains no rows: download it again, or remove it",
    }
    notes = dict(report.bad)
    assert list(notes) == [f"{file.name}, row {row}" for row in range(4)]
    for reason, part in zip(
        notes.values(), ("is empty", "cannot be decoded", "has no image in", "does not have"), strict=True
    ):
        assert part in reason
    assert len(report.good) == 53
    result = build(
        "cifar10-c",
        source=f"parquet:{tmp_path / 'hub'}",
        out=tmp_path,
        sets=["clean"],
        skip_bad=True,
        jobs=1,
        page=False,
    )
    assert len(result.manifest.excluded) == 8


def test_damaged_row_group_affects_only_its_own_rows(tmp_path):
    file = write(tmp_path / "x.parquet", names=a.CIFAR10_CLASSES, group=20)
    offset = pq.ParquetFile(file).metadata.row_group(1).column(0).data_page_offset
    data = bytearray(file.read_bytes())
    data[offset : offset + 400] = bytes(400)
    file.write_bytes(data)
    source = open_source(f"parquet:{file}")
    report = check(source, source.samples)
    assert [sample.index for sample, *_ in report.good] == [*range(20), *range(40, 60)]
    assert all("x.parquet is damaged" in reason for _, reason in report.bad)


def test_labels_may_be_text_or_numbers(tmp_path):
    texts = [["dog", "cat"][label % 2] for label in LABELS]
    for kind in (pa.string(), pa.dictionary(pa.int8(), pa.string())):
        file = write(tmp_path / "x.parquet", labels=texts, label=kind)
        source = open_source(f"parquet:{file}")
        assert [c.folder for c in source.classes] == ["cat", "dog"]
        assert [s.label for s in source.samples] == [int(text == "dog") for text in texts]
    source = open_source(f"parquet:{write(tmp_path / 'x.parquet', label=pa.uint8())}")
    assert [c.name for c in source.classes] == [str(i) for i in range(10)]
    source = open_source(f"parquet:{write(tmp_path / 'x.parquet', names=['T - shirt / top', *'abcdefghi'])}")
    assert (source.classes[0].name, source.classes[0].folder) == ("T - shirt / top", "0_T_shirt_top")


def test_options_select_columns(tmp_path):
    file = write(tmp_path / "x.parquet", columns=("left", "coarse"))
    a.check_refused(f"parquet:{file}", "has no column that fits. It has left, coarse: name one with --labels")
    source = open_source(f"parquet:{file}", images="left", labels="coarse")
    assert [s.label for s in source.samples] == LABELS.tolist()
    a.check_refused(f"parquet:{file}", "has no column 'right'", images="right", labels="coarse")


def test_unsuitable_files_are_rejected(tmp_path, monkeypatch):
    columns = {"img": pa.array(PNGS, pa.binary()), "label": pa.array(LABELS), "floats": pa.array(LABELS / 2)}
    rows = pa.array([{"bytes": png, "path": None} for png in PNGS], IMAGE)
    pq.write_table(pa.table(columns), tmp_path / "plain.parquet")
    pq.write_table(pa.table({"img": rows, "image": rows, "label": columns["label"]}), tmp_path / "two.parquet")
    pq.write_table(pa.table([rows, rows, columns["label"]], ["img", "img", "label"]), tmp_path / "twice.parquet")
    (tmp_path / "text.parquet").write_text("PAR1 is how a Parquet file begins, and this is not one. PAR1")
    original = write(tmp_path / "whole.parquet", names=a.CIFAR10_CLASSES)
    (tmp_path / "short.parquet").write_bytes(original.read_bytes()[:-9000])
    os.mkfifo(tmp_path / "pipe.parquet")
    write(tmp_path / "part/test-00001-of-00003.parquet", names=a.CIFAR10_CLASSES)
    write(tmp_path / "mixed/0.parquet", names=a.CIFAR10_CLASSES)
    write(tmp_path / "mixed/1.parquet", names=a.CIFAR10_CLASSES[::-1])
    write(tmp_path / "empty.parquet", [], [], names=a.CIFAR10_CLASSES)
    write(tmp_path / "odd.parquet", labels=["a/b", *["c"] * 59], label=pa.string())
    write(tmp_path / "config/plain_text/test-00000-of-00001.parquet", names=a.CIFAR10_CLASSES)
    for name, message in (
        ("plain.parquet", r"column 'img' is of type binary; expected images of Hugging Face"),
        ("two.parquet", "has no column that fits. It has img, image, label: name one with --images"),
        ("twice.parquet", "has 2 columns 'img'|has no column that fits"),
        ("text.parquet", "is not a Parquet file, or a damaged one"),
        ("short.parquet", "is not a Parquet file, or a damaged one"),
        ("pipe.parquet", "is a pipe"),
        ("part", r"test-00000-of-00003.parquet, test-00002-of-00003.parquet is missing"),
        ("mixed", r"1\.parquet has different columns or classes than .*0\.parquet"),
        ("empty.parquet", r"no row that can be used:\n.*empty\.parquet: contains no rows"),
        ("odd.parquet", "labels that are not names of classes: the class name 'a/b'"),
        ("config", "contains no .parquet file. These folders in it do: plain_text"),
    ):
        assert name.partition("/")[0] in a.check_refused(f"parquet:{tmp_path / name}", message)
    a.check_refused(
        f"parquet:{tmp_path / 'two.parquet'}", "column 'img' is of type .*expected whole", labels="img", images="image"
    )
    a.check_refused(f"parquet:{tmp_path / 'part'}", "has the splits test. Choose one", split="train")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    a.check_refused(f"parquet:{original}", r"needs pyarrow, which is not installed.*pip install '\.\[parquet\]'")


@pytest.mark.ci
def test_files_written_by_datasets_are_read(tmp_path):
    import datasets
    from datasets.table import embed_table_storage
    from PIL import Image

    kinds = datasets.Features({"img": datasets.Image(), "label": datasets.ClassLabel(names=a.CIFAR10_CLASSES)})
    rows = {"img": [Image.fromarray(image) for image in IMAGES], "label": LABELS.tolist()}
    datasets.Dataset.from_dict(rows, features=kinds).to_parquet(tmp_path / "test-00000-of-00001.parquet")
    a.write_files(tmp_path, a.cifar10_binary((IMAGES, LABELS)))
    source = open_source(f"parquet:{tmp_path}")
    assert a.source_contents(source) == a.source_contents(open_source(f"cifar10:{tmp_path / 'cifar-10-batches-bin'}"))

    for name, png, label in zip(NAMES, PNGS, LABELS, strict=True):
        a.write_files(tmp_path / "folder", {f"{a.CIFAR10_CLASSES[label]}/{name}": png})
    folder = datasets.load_dataset("imagefolder", data_dir=str(tmp_path / "folder"), split="train", cache_dir=tmp_path)
    folder.to_parquet(tmp_path / "named.parquet")
    source = open_source(f"parquet:{tmp_path / 'named.parquet'}")
    assert {reason.partition(",")[0] for _, reason in check(source, source.samples).bad} == {
        "has no image in its column"
    }
    folder = folder.with_format("arrow").map(embed_table_storage, batched=True).with_format(None)
    folder.to_parquet(tmp_path / "named.parquet")
    source = open_source(f"parquet:{tmp_path / 'named.parquet'}")
    assert [s.id for s in source.samples] == sorted(name.removesuffix(".png") for name in NAMES)
    assert {source.fingerprint(s) for s in source.samples} == {
        f"sha256:{hashlib.sha256(png).hexdigest()}" for png in PNGS
    }
    assert [source.classes[s.label].name for s in source.samples] == [
        a.CIFAR10_CLASSES[label] for _, label in sorted(zip(NAMES, LABELS.tolist(), strict=True))
    ]
