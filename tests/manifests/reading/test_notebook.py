"""The display of sets and datasets in notebooks is small, is escaped, and never raises an error."""

import base64
import io
import re
import shutil

import numpy as np
import pytest
from damage import edit_lines
from PIL import Image

import corruptset
from corruptset.manifests.reading.notebook import image_strip


def pictures(html):
    matches = re.findall(r'src="data:image/jpeg;base64,([^"]+)"', html)
    return [Image.open(io.BytesIO(base64.b64decode(data))) for data in matches]


def test_set_shows_first_images(templates):
    # images of 20 x 16 pixels are enlarged six times, of 31 x 9 four times, and of 12 x 8 ten times
    for uniform, size in ((True, (6 * 124 - 4, 96)), (False, (124 + 124 + 128 + 84 + 84 + 120, 120))):
        data = corruptset.open(templates(uniform=uniform, repeat=2, containers=("folder",)))
        images = data["fog/3"]
        html = images._repr_html_()
        assert "&lt;ImageSet &#x27;fog/3&#x27; of tiny-c: 10 images&gt;" in html
        assert "käfer, käfer, a dog" in html
        (image,) = pictures(html)
        assert image.size == size
        displayed_pixels = np.asarray(image, np.int64)[3:96:6, 3:120:6]
        assert np.abs(displayed_pixels - images.image(0)).mean() < 8
        assert len(html) < 60_000
    group = data.severities("fog")._repr_html_()
    assert (len(pictures(group)), "fog/3" in group) == (1, True)
    large = image_strip([np.full((500, 250, 3), 200, np.uint8), np.full((300, 300, 1), 10, np.uint8)])
    assert large is not None
    assert [set(np.unique(part)) for part in np.split(large, [64, 68], axis=1)] == [{200}, {255}, {10}]


def test_dataset_shows_small_contact_sheet_and_escaped_names(dataset):
    root = dataset(containers=("folder",))
    html = corruptset.open(root)._repr_html_()
    with Image.open(root / "contact.png") as sheet:
        assert [image.size for image in pictures(html)] == [sheet.size]
    assert "tiny-c 1.0.0: 3 sets" in html
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (2000, 500, 3), np.uint8)).save(root / "contact.png")
    html = corruptset.open(root)._repr_html_()
    assert [image.size for image in pictures(html)] == [(360, 1440)]
    assert len(html) < 800_000
    edit_lines(root / "samples.jsonl", lambda rows: [row | {"class": '"><script>alert(1)</script>'} for row in rows])
    html = corruptset.open(root)["fog/3"]._repr_html_()
    assert ("<script" in html, html.count("<img"), html.count("alert(1)")) == (False, 1, 10)


@pytest.mark.parametrize("damage", ["missing", "text", "link"])
def test_damaged_image_is_omitted(dataset, tmp_path, damage):
    root = dataset(containers=("folder",))
    data = corruptset.open(root)
    sheet, outside = root / "contact.png", tmp_path / "outside.png"
    sheet.rename(outside)
    if damage == "text":
        sheet.write_text("no picture")
    elif damage == "link":
        sheet.symlink_to(outside)
    assert pictures(data._repr_html_()) == []
    assert "tiny-c" in data._repr_html_()
    (root / "sets/fog/3.jsonl").write_text("{}\n")
    shutil.rmtree(root / "images")
    assert pictures(data["fog/3"]._repr_html_()) == []
