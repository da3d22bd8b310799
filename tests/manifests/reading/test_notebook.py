"""What a notebook shows of sets and data sets: small, harmless, and never an error."""

from __future__ import annotations

import base64
import io
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import corruptset
from corruptset.manifests.reading import notebook

Make = Callable[..., Path]


def pictures(html: str) -> list[Image.Image]:
    return [
        Image.open(io.BytesIO(base64.b64decode(data)))
        for data in re.findall(r'src="data:image/jpeg;base64,([^"]+)"', html)
    ]


@pytest.mark.parametrize("uniform", [True, False])
def test_a_set_shows_its_first_images(templates: Make, uniform: bool) -> None:
    images = corruptset.open(templates(uniform=uniform, repeat=4))["fog/3"]
    html = images._repr_html_()
    assert "&lt;ImageSet &#x27;fog/3&#x27; of tiny-c: 20 images&gt;" in html
    assert "käfer, käfer, a dog" in html
    (picture,) = pictures(html)
    # 20 x 16 pixels are shown six times as large; 31 x 9 four times, 8 x 12 ten times
    assert picture.size == ((6 * 124 - 4, 96) if uniform else (124 + 124 + 128 + 84 + 84 + 120, 120))
    shown = np.asarray(picture, np.int64)[3:96:6, 3:120:6]
    assert np.abs(shown - images.image(0)).mean() < 8
    assert len(html) < 60_000


def test_a_data_set_shows_its_contact_sheet(templates: Make) -> None:
    root = templates()
    html = corruptset.open(root)._repr_html_()
    (picture,) = pictures(html)
    with Image.open(root / "contact.png") as sheet:
        assert picture.size == sheet.size
    assert "tiny-c 1.0.0: 3 sets" in html
    group = corruptset.open(root).severities("fog")._repr_html_()
    assert len(pictures(group)) == 1
    assert "fog/3" in group


def test_large_sheets_are_shown_small(dataset: Make) -> None:
    root = dataset()
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (2880, 720, 3), np.uint8)).save(root / "contact.png")
    html = corruptset.open(root)._repr_html_()
    (picture,) = pictures(html)
    assert picture.size == (360, 1440)
    assert len(html) < 800_000


@pytest.mark.parametrize("damage", ["missing", "text", "rows", "link"])
def test_damage_leaves_the_picture_out(dataset: Make, tmp_path: Path, damage: str) -> None:
    root = dataset(containers=("folder",))
    data = corruptset.open(root)
    sheet = root / "contact.png"
    if damage == "rows":
        (root / "sets/fog/3.jsonl").write_text("{}\n")
        shutil.rmtree(root / "images")
    outside = tmp_path / "outside.png"
    sheet.rename(outside)
    if damage == "text":
        sheet.write_text("no picture")
    elif damage == "link":
        sheet.symlink_to(outside)
    assert pictures(data._repr_html_()) == []
    assert "tiny-c" in data._repr_html_()
    if damage == "rows":
        assert pictures(data["fog/3"]._repr_html_()) == []


def test_names_of_strangers_are_text(templates: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    data = corruptset.open(templates())
    hostile = '"><script>alert(1)</script>'
    changed: Any = [c.model_copy(update={"name": hostile}) for c in data.classes]
    data._samples.classes = changed
    html = data["fog/3"]._repr_html_()
    assert "<script" not in html
    assert html.count("<img") == 1


def test_strips_fit_large_images_too() -> None:
    strip = notebook.strip([np.full((500, 250, 3), 200, np.uint8), np.full((300, 300, 1), 10, np.uint8)])
    assert strip is not None
    assert strip.shape == (128, 64 + 4 + 128, 3)
    assert (strip[:, :64] == 200).all()
    assert (strip[:, 64:68] == 255).all()
    assert (strip[:, 68:] == 10).all()
    assert notebook.strip([]) is None
