"""The snippets of docs/reading.md run in order."""

from __future__ import annotations

import numpy as np
import pytest
import small_builds
from doc_pages import ROOT, blocks, run_snippet
from torchvision_cpu import let_torchvision_be_imported

import corruptset

pytestmark = [pytest.mark.ci, pytest.mark.filterwarnings("ignore")]


def test_documented_lines_run(tmp_path, monkeypatch):
    libraries = let_torchvision_be_imported()
    extra_sets = '[[sets]]\ncorruptions = ["contrast", "gaussian_blur"]\n[[sets]]\nclean = true\n'
    recipe = small_builds.write_recipe(tmp_path, name="imagenet-c", version="1.1.0", more=extra_sets)
    small_builds.build_dataset(recipe, small_builds.write_crops(tmp_path / "crops"), tmp_path, storage="both")
    monkeypatch.chdir(tmp_path)
    text = "".join(text for kind, text in blocks(ROOT / "docs/reading.md") if kind == "python")
    names = run_snippet(text, kept=libraries)
    images = corruptset.open("imagenet-c-1.1.0")["contrast/3"]
    assert list(names["blurred"]) == ["gaussian_blur/1", "gaussian_blur/3", "gaussian_blur/5"]
    assert len(names["test"]) == 5
    assert len(names["all_severities"]) == 100
    assert names["batch"].shape == (20, 3, 224, 224)
    assert names["targets"].tolist() == images.labels.tolist()
    np.testing.assert_array_equal(np.asarray(names["rows"][3]["image"]), images.image(3))
