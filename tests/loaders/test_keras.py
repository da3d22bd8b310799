"""Keras and TensorFlow (extra ``tensorflow``) decode images like Pillow, with the snippets of the page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import source_archives
from doc_pages import lines, run_snippet, shell, snippets

import corruptset

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]


def test_documented_lines_decode_exactly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [
        f"{source_archives.WNIDS[k - 1]}/ILSVRC2012_val_{i:08d}.JPEG"
        for i, k in enumerate(source_archives.ground_truth(4), 1)
    ]
    source_archives.write_photographs(tmp_path / "val", names)
    monkeypatch.chdir(tmp_path)
    shell(f"{lines('build imagenet-c')[0]} --sets 'contrast/*' --metrics 0 --jobs 1", tmp_path)
    shell(lines("export imagenet-c ")[0], tmp_path)
    data = corruptset.open("imagenet-c-1.1.0")
    order = [s.index for s in sorted(data.samples, key=lambda s: (s.label, s.id))]
    pixels, labels = data["contrast/3"][order]

    (text,) = snippets("import tensorflow as tf")
    result = run_snippet(text)
    batch, numbers = next(iter(result["dataset"]))
    np.testing.assert_array_equal(batch, pixels)
    np.testing.assert_array_equal(numbers, labels)

    folder = "data-in/ImageNet-C/contrast/3"
    read = result["tf"].keras.utils.image_dataset_from_directory(
        folder, image_size=pixels.shape[1:3], shuffle=False, verbose=False
    )
    distance = np.abs(next(iter(read))[0].numpy() - pixels.astype(float))
    assert 1 < distance.max() <= 6
    assert 0.25 < (distance == 0).mean() < 0.45
