"""Test the output of plan and build about the classes of a source and about excluded files."""

from __future__ import annotations

import numpy as np
import source_archives as a

import corruptset
from example_images import encode_image

PNG = encode_image(np.full((72, 72, 3), 90, np.uint8))


def test_classes_are_listed(run, recipe, tmp_path):
    names = ("ant", "bee", "cat", "dog", "elk", "fox", "gnu")
    a.write_files(tmp_path / "x", {f"{name}/1.png": PNG for name in names})
    arguments = [recipe, "--source", f"folder:{tmp_path / 'x'}", "--sets", "contrast/1", "--jobs", "1"]
    message = r"7: ant, bee, cat, dog, elk and 2 more"
    assert message in run.succeeds("plan", *arguments).out
    plan_record = run.succeeds("plan --json", *arguments).json
    assert (plan_record["classes"], plan_record["first_classes"]) == (7, list(names[:5]))
    assert message in run.succeeds("build", *arguments).out


def test_excluded_images_are_counted(run, recipe, tmp_path):
    a.write_files(tmp_path / "x", {"ant/1.png": PNG, "ant/2.png": b"", "bee/1.png": b"x", "cat/1.png": PNG})
    (tmp_path / "x/dog").mkdir()
    arguments = [recipe, "--source", f"folder:{tmp_path / 'x'}", "--sets", "contrast/1", "--jobs", "1"]
    run.fails("1 class folder and 2 files of the source cannot be used: dog/: is a class folder", "build", *arguments)
    out = run.succeeds("build --skip-bad", *arguments).out
    assert "Note: 1 class folder and 2 images are left out (listed under 'excluded' in manifest.json)." in out
    assert "Classes without images keep their labels" in out
    (tmp_path / "x/dog").rmdir()
    assert "Note: 2 images are left out (listed" in run.succeeds("build --skip-bad --out other", *arguments).out


def test_labels_written_by_pandas_are_read_as_numbers(run, recipe, tmp_path):
    a.write_files(tmp_path / "x", {f"{i}.png": PNG for i in range(12)})
    (tmp_path / "labels.csv").write_text("file,label\n" + "".join(f"{i}.png,{i}.0\n" for i in range(12)))
    arguments = [recipe, "--source", f"folder:{tmp_path / 'x'}", "--labels", tmp_path / "labels.csv", "--jobs", "1"]
    for command in ("plan", "build"):
        assert "have a decimal point (0.0) and are read as whole numbers." in run.succeeds(command, *arguments).out
    (directory,) = (tmp_path / "corruptset-out").iterdir()
    assert {sample.id: sample.label for sample in corruptset.open(directory).samples} == {str(i): i for i in range(12)}
