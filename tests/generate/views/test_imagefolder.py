"""The view imagefolder: no name in a path leads Hugging Face astray; metadata name every image."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import archives as a
import layouts
import numpy as np
import pytest
from layouts import export, pixels

import corruptset
from corruptset.errors import Interrupted
from corruptset.generate.build import ProgressEvent, build
from corruptset.generate.views.export import export as strict_export
from corruptset.manifests.release.pack import pack
from corruptset.manifests.verify.ladder import verify_directory

COUNT = 14


def test_imagefolder_has_no_name_of_the_source_and_no_word_of_a_split_in_a_path(
    named: Path, named_views: Callable[[str], Path]
) -> None:
    data, top = corruptset.open(named), named_views("imagefolder") / "small-c-1.0.0"
    paths = sorted(p.relative_to(top).as_posix() for p in top.rglob("*") if p.is_file())
    folders = {
        "clean": "clean",
        "contrast/3": "contrast/3",
        "two-factor-train": "two-factor-=train",
        "__val/latest+dev": "=__=val/latest+=dev",
    }
    assert set(folders) == set(data.set_ids)
    assert paths == sorted(["metadata.jsonl", *(f"{f}/{i:05d}.JPEG" for f in folders.values() for i in range(COUNT))])
    rows = [json.loads(line) for line in (top / "metadata.jsonl").read_text("utf-8").splitlines()]
    expected = [
        (f"{folders[s]}/{i:05d}.JPEG", sample.label, s, str(sample.label), sample.id)
        for s in data.set_ids
        for i, sample in enumerate(data.samples)
    ]
    assert [(r["file_name"], r["label"], r["set"], r["class"], r["id"]) for r in rows] == expected
    assert {len(str(r["label"])) for r in rows} == {1, 2}
    assert not any("split" in r for r in rows)


def test_imagefolder_says_the_split_that_a_sample_had(tmp_path: Path) -> None:
    images, labels = a.crops(6)
    digits = images[:, :28, :28].mean(-1).astype(np.uint8)
    for split, part in (("t10k", slice(0, 2)), ("train", slice(2, 6))):
        a.write(
            tmp_path / "raw",
            {f"{split}-images-idx3-ubyte": a.idx(digits[part]), f"{split}-labels-idx1-ubyte": a.idx(labels[part])},
        )
    built = build(
        "mnist-c", f"mnist:{tmp_path / 'raw'}", tmp_path, split="all", sets=["clean"], jobs=1, metrics=0, format="hdf5"
    ).directory
    top = strict_export("imagefolder", built, tmp_path / "view").top
    rows = [json.loads(line) for line in (top / "metadata.jsonl").read_text("utf-8").splitlines()]
    assert [(r["file_name"], r["split"]) for r in rows] == [
        (f"clean/{i:05d}.png", "test" if i < 2 else "train") for i in range(6)
    ]


def test_a_build_into_imagefolder_is_the_export_verifies_and_goes_on_where_it_stopped(
    named_source: str, named_recipe: Path, named: Path, named_views: Callable[[str], Path], tmp_path: Path
) -> None:
    def stop(event: ProgressEvent) -> None:
        if event.phase == "building" and event.parts_done == 1:
            raise KeyboardInterrupt

    options: dict[str, Any] = {"view": "imagefolder", "jobs": 1, "metrics": 0}
    with pytest.raises(Interrupted):
        build(named_recipe, named_source, tmp_path, progress=stop, sets=["clean", "two-factor-train"], **options)
    build(named_recipe, named_source, tmp_path, sets=["clean", "two-factor-train"], **options)
    directory = build(named_recipe, named_source, tmp_path, **options).directory
    assert layouts.files_of(directory / directory.name) == layouts.files_of(named_views("imagefolder") / directory.name)
    assert corruptset.open(directory).digest == corruptset.open(named).digest
    assert verify_directory(directory).problems == []
    release = pack(directory, tmp_path / "packed", family_of=lambda name: name)
    table = json.loads((release.path / "croissant-samples.json").read_bytes())
    assert table["file"] == [f"{i:05d}.JPEG" for i in range(COUNT)]
    # an image under the number of another is no longer where its row says by its name
    rows = directory / "sets/clean.jsonl"
    one, two = (f"small-c-1.0.0/clean/{i:05d}.JPEG" for i in (3, 4))
    text = rows.read_text("utf-8").replace(one, "between").replace(two, one).replace("between", two)
    rows.write_text(text, "utf-8")
    found = {p.detail for p in verify_directory(directory, level="structure").problems}
    assert {
        f"row 3 is in {two}; expected is the number 3 as its name",
        f"row 4 is in {one}; expected is the number 4 as its name",
    } <= found


def test_lists_and_metadata_name_every_image(png: Path, tmp_path: Path) -> None:
    data = corruptset.open(png)
    top = export("openood", png, tmp_path / "o").top
    for set_id in data.set_ids:
        lines = (top / "lists" / f"{set_id}.txt").read_text("utf-8").splitlines()
        for index, line in enumerate(lines):
            path, label = line.split(" ")
            np.testing.assert_array_equal(pixels((top / "images" / path).read_bytes()), data[set_id].image(index))
            assert int(label) == data.samples[index].label
        assert len(lines) == 20
    top = export("imagefolder", png, tmp_path / "h").top
    rows = [json.loads(line) for line in (top / "metadata.jsonl").read_text("utf-8").splitlines()]
    assert len(rows) == 12 * 20 == sum(1 for p in top.rglob("*.png"))
    for n, row in enumerate(rows):
        np.testing.assert_array_equal(pixels((top / row["file_name"]).read_bytes()), data[row["set"]].image(n % 20))
        assert row["label"] == data.samples[n % 20].label
        plain = "+" not in row["set"] and row["set"] != "clean"
        assert (
            f"{row['corruption']}/{row['severity']}" == row["set"]
            if plain
            else (row["corruption"], row["severity"]) == (row["set"], 0)
        )
