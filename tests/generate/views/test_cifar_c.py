"""The view cifar-c: five severities stacked in the order of the samples, and labels."""

from __future__ import annotations

import io
import json
from pathlib import Path

import archives
import layouts
import numpy as np
from layouts import PLAIN, export

import corruptset
from corruptset.generate.planning import plan


def test_cifar_c_stacks_five_severities_in_the_samples_order_beside_tiled_uint8_labels(
    png: Path, tmp_path: Path
) -> None:
    done = export("cifar-c", png, tmp_path / "data", sets=PLAIN)
    data = corruptset.open(png)
    assert sorted(p.name for p in (tmp_path / "data").iterdir()) == ["CIFAR-10-C", "VIEW.json"]
    top = tmp_path / "data/CIFAR-10-C"
    assert done.top == top
    assert sorted(p.name for p in top.iterdir()) == ["brightness.npy", "contrast.npy", "labels.npy"]
    count = len(data.samples)
    for name in ("contrast", "brightness"):
        images = np.load(top / f"{name}.npy")
        assert (images.shape, images.dtype) == ((5 * count, 32, 32, 3), np.uint8)
        for s in range(1, 6):
            np.testing.assert_array_equal(images[(s - 1) * count : s * count], data[f"{name}/{s}"].array())
    labels = np.load(top / "labels.npy")
    assert labels.dtype == np.uint8
    np.testing.assert_array_equal(labels, np.tile([s.label for s in data.samples], 5))
    # the very bytes that numpy.save writes: the published files are compared by their md5
    whole = io.BytesIO()
    np.save(whole, labels)
    assert (top / "labels.npy").read_bytes() == whole.getvalue()
    record = json.loads((tmp_path / "data/VIEW.json").read_text("utf-8"))
    assert (record["digest"], record["view"], record["top"]) == (data.digest, "cifar-c", "CIFAR-10-C")


def test_a_hundred_classes_are_cifar_100_c(tmp_path: Path) -> None:
    crops = layouts.write_crops(tmp_path / "crops", classes=100, each=1, side=8)
    recipe = layouts.write_recipe(tmp_path, more='[[sets]]\ncorruptions = ["contrast"]\n')
    built = layouts.make(recipe, crops, tmp_path / "out")
    export("cifar-c", built, tmp_path / "data")
    assert np.load(tmp_path / "data/CIFAR-100-C/labels.npy").tolist() == list(range(100)) * 5


def test_robustbench_is_told_of_where_rows_are_not_ten_thousand(png: Path, tmp_path: Path) -> None:
    done = export("cifar-c", png, tmp_path / "a", sets=["*/*"])
    (note,) = done.notes
    assert "RobustBench takes 10,000 rows" in note
    assert "there are 20 here" in note
    assert note in json.loads((tmp_path / "a/VIEW.json").read_text("utf-8"))["notes"]
    images, labels = archives.crops(1)
    images, labels = np.repeat(images, 10_000, axis=0), np.arange(10_000) % 10
    source = f"cifar10:{archives.write(tmp_path / 'source', archives.ten_python((images, labels)))}"
    # a plan makes the layout of the build, whole
    assert plan("cifar10-c", source, sets=["contrast/*"], view="cifar-c", jobs=1).notes == ()
    (planned,) = plan("cifar10-c", source, sets=["contrast/*"], view="cifar-c", samples=9_999, jobs=1).notes
    assert "there are 9,999 here" in planned
