"""Tar shards as the library webdataset writes them: their samples, and the shards that are refused."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
import source_archives as a

from corruptset.generate.build import build
from corruptset.generate.sources.check import check
from corruptset.generate.sources.source import open_source
from example_images import encode_image

IMAGES, LABELS = a.random_crops(12)
PNGS = [encode_image(image) for image in IMAGES]
IDS = [f"{'cat' if label % 2 else 'dog'}/{i:02d}" for i, label in enumerate(LABELS)]


def shard(path, files):
    """Write a tar of files with content that is bytes or text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return a.write_tar(path, {name: data if isinstance(data, bytes) else data.encode() for name, data in files.items()})


def members(rows, label=lambda i: {"cls": str(LABELS[i])}):
    """The image and the label files of some samples."""
    return {f"{IDS[i]}.{kind}": data for i in rows for kind, data in ({"png": PNGS[i]} | label(i)).items()}


def expected_sample(i):
    return {"json": json.dumps({"class": IDS[i].partition("/")[0], "label": 3})}


def test_samples_equal_folder_source(tmp_path):
    a.write_files(tmp_path / "folder", {f"{name}.png": png for name, png in zip(IDS, PNGS, strict=True)})
    for number in range(3):
        rows = range(number, 12, 3)
        shard(tmp_path / f"number/x-{number:03d}.tar", members(rows))
        shard(tmp_path / f"named/x-{number:03d}.tar", members(rows, lambda i: {"cls": IDS[i].partition("/")[0]}))
        shard(tmp_path / f"json/x-{number:03d}.tar", members(rows, expected_sample))
    rows = "".join(f"{name}.png,{label}\n" for name, label in zip(IDS, LABELS, strict=True))
    (tmp_path / "labels.csv").write_text(f"file,label\n{rows}")
    folder = f"folder:{tmp_path / 'folder'}"
    for text, options, same in (
        ("named/x-{000..002}.tar", {}, open_source(folder)),
        ("json", {"labels": "class"}, open_source(folder)),
        ("number", {}, open_source(folder, labels=tmp_path / "labels.csv")),
    ):
        source = pickle.loads(pickle.dumps(open_source(f"webdataset:{tmp_path / text}", **options)))
        assert a.source_contents(source) == a.source_contents(same)
        assert source.classes == same.classes
        assert check(source, source.samples).bad == []
    assert {s.label for s in open_source(f"webdataset:{tmp_path / 'json'}").samples} == {3}


def test_keys_may_have_dots_and_several_images(tmp_path):
    files = {"1.5.png": PNGS[0], "1.5.cls": "0", "1.6.png": PNGS[1], "1.6.cls": "1"}
    source = open_source(f"webdataset:{shard(tmp_path / 'dots.tar', files)}")
    assert [(s.id, s.label) for s in source.samples] == [("1.5", 0), ("1.6", 1)]
    files = {"a.left.png": PNGS[0], "a.right.png": PNGS[1], "a.cls": "0", "b.left.png": PNGS[2], "b.cls": "1"}
    path = shard(tmp_path / "two.tar", files)
    source = open_source(f"webdataset:{path}")
    assert [s.id for s in source.samples] == ["b"]
    assert [name for name, _ in source.notes] == ["two.tar/a.left.png", "two.tar/a.right.png"]
    assert "is one of several images of the key a: name the one to use with --images" in source.notes[0][1]
    source = open_source(f"webdataset:{path}", images="left.png")
    assert [(s.id, s.path) for s in source.samples] == [("a", "two.tar/a.left.png"), ("b", "two.tar/b.left.png")]
    np.testing.assert_array_equal(source.load(source.samples[1]).image, IMAGES[2])
    source = open_source(f"webdataset:{path}", images="right.png")
    assert dict(source.notes)["two.tar/b.cls"].startswith("has no image with the same key")


def test_bad_rows_are_listed_by_shard_and_excluded_on_request(tmp_path):
    files = members(range(3, 12)) | {
        "no-label.png": PNGS[0],
        "no-image.cls": "3",
        "minus.png": PNGS[0],
        "minus.cls": "-1",
        "half.png": PNGS[0],
        "half.cls": "0.5",
        "list.png": PNGS[0],
        "list.json": "[1]",
        "bad.png": PNGS[0],
        "bad.json": "{" * 9,
        "other.png": PNGS[0],
        "other.json": '{"caption": "x"}',
        "bytes.png": PNGS[0],
        "bytes.cls": b"\xff",
        "short.png": PNGS[0][:-30],
        "short.cls": "1",
    }
    shard(tmp_path / "in/0.tar", files)
    shard(tmp_path / "in/1.tar", {"cat.txt": "nothing"})
    shard(tmp_path / "in/2.tar", {f"{IDS[3]}.png": PNGS[3], f"{IDS[3]}.cls": "1"})
    source = open_source(f"webdataset:{tmp_path / 'in'}")
    report = check(source, source.samples)
    notes = dict(source.notes) | dict(report.bad)
    for name, reason in {
        "0.tar/no-label.png": "has no label: expected a .cls or .json",
        "0.tar/no-image.cls": "has no image with the same key",
        "0.tar/minus.png": "has the label '-1'; expected a whole number",
        "0.tar/half.png": "has the label '0.5'; expected a whole number",
        "0.tar/list.png": "not an object with keys",
        "0.tar/bad.png": "has a .json file that cannot be read",
        "0.tar/other.png": "without a label; it has the keys caption: name one with --labels",
        "0.tar/bytes.png": "is not UTF-8 text",
        "0.tar/short.png": "is truncated or damaged",
        "1.tar": "contains no image",
        f"0.tar/{IDS[3]}.png": f"has the same id as 2.tar/{IDS[3]}.png",
        f"2.tar/{IDS[3]}.png": f"has the same id as 0.tar/{IDS[3]}.png",
    }.items():
        assert reason in notes.pop(name), name
    assert notes == {}
    result = build(
        "cifar10-c",
        source=f"webdataset:{tmp_path / 'in'}",
        out=tmp_path,
        sets=["clean"],
        skip_bad=True,
        jobs=1,
        page=False,
    )
    assert len(result.manifest.excluded) == 12


def test_unsuitable_shards_are_rejected(tmp_path):
    content = shard(tmp_path / "x-000.tar", members(range(6))).read_bytes()
    (tmp_path / "cut.tar").write_bytes(content[: len(content) // 2])
    (tmp_path / "empty.tar").write_bytes(b"")
    shard(tmp_path / "mixed.tar", members(range(6), lambda i: {"cls": "cat" if i else "0"}))
    shard(tmp_path / "odd.tar", members(range(6), lambda i: {"cls": "a/b"}))
    shard(tmp_path / "none.tar", {"a.txt": "x"})
    (tmp_path / "folder").mkdir()
    for name, message in (
        ("x-{000..002}.tar", r"x-001\.tar does not exist.*Download the missing shards, or change the range"),
        ("x-{000..999999999}.tar", "is empty or too long"),
        ("x-{2..1}.tar", "is empty or too long"),
        ("x-{000..099}{000..099}{000..099}.tar", "stands for 1,000,000 files, more than 100,000"),
        ("x-{000..002.tar", "has an unmatched brace"),
        ("x-{000,000}.tar", "names .*x-000.tar twice"),
        ("cut.tar", "is truncated|the end mark is missing"),
        ("empty.tar", "is not a tar archive"),
        ("mixed.tar", "mix whole numbers .* with text"),
        ("odd.tar", "are not names of classes: the class name 'a/b'"),
        ("none.tar", r"has no shard with an image and its label. Problems:\n.*none.tar: contains no image"),
        ("folder", "contains no .tar file"),
    ):
        a.check_refused(f"webdataset:{tmp_path / name}", message)


@pytest.mark.ci
def test_shards_written_by_webdataset_are_read(tmp_path):
    import webdataset

    with webdataset.ShardWriter(str(tmp_path / "x-%06d.tar"), maxcount=5, verbose=0) as sink:
        for name, image, label in zip(IDS, IMAGES, LABELS.tolist(), strict=True):
            sink.write({"__key__": name, "png": image, "cls": label, "json": {"colour": ["red", "blue"][label % 2]}})
    pattern = tmp_path / "x-{000000..000002}.tar"
    source = open_source(f"webdataset:{pattern}")
    assert [s.id for s in source.samples] == sorted(IDS)
    for sample in source.samples:
        row = IDS.index(sample.id)
        np.testing.assert_array_equal(source.load(sample).image, IMAGES[row])
        assert sample.label == LABELS[row]
    source = open_source(f"webdataset:{tmp_path}", labels="colour")
    assert [c.name for c in source.classes] == ["blue", "red"]
