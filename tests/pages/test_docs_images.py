"""Test that all images of the docs are used and small, and that the program draws the same images."""

from __future__ import annotations

import io
import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs/images"
DRAW = runpy.run_path(str(IMAGES / "draw.py"))
MADE_BY_HAND = {"page.jpg", "pairs.jpg", "report.jpg", "walk.svg", "performance.svg", "adversarial.png"}


def test_every_image_is_used_and_small():
    files = {file.name: file.stat().st_size for file in IMAGES.iterdir() if file.suffix in (".jpg", ".png", ".svg")}
    assert set(files) == MADE_BY_HAND | {f"{name}.jpg" for name in DRAW["SHEETS"]}
    text = "".join(
        page.read_text("utf-8")
        for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("plugins/*/README.md")]
    )
    assert set(re.findall(r"images/([\w-]+\.(?:jpg|png|svg))", text)) >= set(files)
    assert files["readme.jpg"] < 400_000
    assert max(files.values()) < 500_000


@pytest.mark.ci
@pytest.mark.parametrize("name", ["readme", "gallery-mnist-severities"])
def test_image_equals_output_of_program(name):
    files = IMAGES / f"{name}.jpg", io.BytesIO(DRAW["jpeg"](DRAW["SHEETS"][name]()))
    decoded, expected = (np.asarray(Image.open(file)).astype(int) for file in files)
    # Other JPEG decoders may round differently.
    np.testing.assert_allclose(decoded, expected, atol=3)
