"""Views of class folders in a folder a severity: imagenet-c and tiny-imagenet-c."""

from __future__ import annotations

import os
from pathlib import Path

import layouts
import numpy as np
import pytest
from layouts import PLAIN, export

import corruptset
from corruptset.errors import BuildError


@pytest.mark.parametrize(("view", "top"), [("imagenet-c", "ImageNet-C"), ("tiny-imagenet-c", "Tiny-ImageNet-C")])
def test_severity_folders_hold_class_folders_alone_and_link_the_builds_files(
    jpeg: Path, tmp_path: Path, view: str, top: str
) -> None:
    done = export(view, jpeg, tmp_path / "data", sets=PLAIN)
    data = corruptset.open(jpeg)
    for name in ("contrast", "brightness"):
        for s in range(1, 6):
            folder = tmp_path / "data" / top / name / str(s)
            classes = sorted(os.listdir(folder))
            assert classes == [c.folder for c in data.classes]
            rows = data[f"{name}/{s}"].rows
            for sample, row in zip(data.samples, rows, strict=True):
                path = folder / f"{sample.id}.JPEG"
                assert classes.index(path.relative_to(folder).parts[0]) == sample.label
                built = jpeg / next(f.path for f in row.files if f.row is None)
                assert path.samefile(built)
            assert sum(1 for p in folder.rglob("*") if p.is_file()) == len(rows)
    assert done.linked == done.images == 10 * len(data.samples)


def test_a_class_without_images_is_refused_or_said(crops: Path, tmp_path: Path) -> None:
    built = layouts.make(layouts.write_recipe(tmp_path), crops, tmp_path / "out", first=7)
    for view in ("imagenet-c", "tiny-imagenet-c"):
        with pytest.raises(
            BuildError,
            match=r"6 of 10 classes have none:\n  04_class\n.*\n.*\n.*\n.*\n  09_class\n.*--allow-missing-classes",
        ):
            export(view, built, tmp_path / view, sets=PLAIN)
        assert not (tmp_path / view).exists()
        done = export(view, built, tmp_path / view, sets=PLAIN, allow_missing_classes=True)
        assert any("differ from the manifest's" in note for note in done.notes)
        assert "differ from the manifest's" in (tmp_path / view / "VIEW.json").read_text("utf-8")
        assert len(os.listdir(done.top / "contrast/1")) == 4
    # arrays carry their labels, so nothing is lost in them
    export("cifar-c", built, tmp_path / "arrays", sets=PLAIN)
    assert np.load(tmp_path / "arrays/CIFAR-10-C/labels.npy")[:7].tolist() == [0, 0, 1, 1, 2, 2, 3]
