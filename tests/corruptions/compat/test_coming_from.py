"""Run the code blocks and the right-hand columns of the tables in docs/coming-from.md."""

from __future__ import annotations

import re
import shlex

import numpy as np
import pytest
import typer
from doc_pages import ROOT, blocks, run_corruptset, run_snippet
from PIL import Image

import corruptset
from corruptset.cli.app import app
from example_images import synthetic_image

PAGE = ROOT / "docs/coming-from.md"
TEXT = PAGE.read_text("utf-8")
ROWS = [
    code
    for line in re.findall(r"^\|[^|]* \| ([^|]*)\|$", TEXT, re.MULTILINE)
    for code in re.findall(r"`((?:corruptset\.|augment|image, label).*?)`", line)
]
PHOTO, SMALL = synthetic_image(64, 96), Image.fromarray(synthetic_image(32, 32))


WNIDS = [f"n{number:08d}" for number in (2124075, 1443537, 12267677, 7695742, 1629819)]
"""As the validation images of Tiny ImageNet have them: in no order."""


@pytest.fixture
def tiny_imagenet(tmp_path, monkeypatch):
    """Create Tiny ImageNet in its unpacked form, with five classes, in the current folder."""
    monkeypatch.chdir(tmp_path)
    lines = []
    for number in range(10):
        path = tmp_path / f"tiny-imagenet-200/val/images/val_{number}.JPEG"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(synthetic_image(64, 64)).save(path)
        lines.append(f"{path.name}\t{WNIDS[number % 5]}\t0\t32\t44\t62\n")
    (tmp_path / "tiny-imagenet-200/val/val_annotations.txt").write_text("".join(lines))
    (tmp_path / "tiny-imagenet-200/wnids.txt").write_text("\n".join(WNIDS))
    return lines


def test_tiny_imagenet_uses_labels_of_training_folders(tiny_imagenet):
    (line,) = re.findall(r"`(corruptset build tiny-imagenet-c [^`]*)`", TEXT)
    run_corruptset(f"{line.replace('.zip', '')} --sets clean --storage folder --jobs 1 --no-page --out sets")
    data = corruptset.open("sets/tiny-imagenet-c-1.1.0")
    assert [c.name for c in data.classes] == sorted(WNIDS)  # torchvision's ImageFolder numbers train/ in this order.
    result = {sample.id: data.classes[sample.label].name for sample in data.samples}
    assert result == {row.split(".")[0]: row.split("\t")[1] for row in tiny_imagenet}


def test_code_blocks_run_in_order(tiny_imagenet):
    names = {"image": PHOTO, "picture": Image.fromarray(PHOTO), "small": SMALL, "images": [PHOTO] * 2}
    names |= {"np": np, "corruptset": corruptset, "results": {"img": PHOTO.astype(np.float32)}}
    for kind, text in blocks(PAGE):
        assert kind == "python"
        exec(text, names)
    assert len(names["names"]) == 4
    assert names["results"]["img"].dtype == names["corrupted"].dtype == np.uint8
    assert names["at_224"].size == names["picture"].size
    np.testing.assert_array_equal(names["at_32"], corruptset.corrupt(SMALL, "fog", severity=3))
    assert len(names["augmented"]) == 2
    assert names["foggy"].shape == (64, 96, 3)


def test_documented_replacements_run_and_commands_are_accepted():
    assert len(ROWS) >= 10
    assert sum("open(DIR)" in row for row in ROWS) == 3
    for code in [row for row in ROWS if "open(" not in row and not row.startswith("image, label")]:
        image, augment = Image.fromarray(PHOTO), corruptset.Corrupt("fog", severity=2)
        names = {"np": np, "corruptset": corruptset, "image": PHOTO, "picture": image, "small": SMALL}
        names["rng"] = np.random.default_rng(1)
        result = run_snippet(f"made = {code}", augment=augment, images=np.stack([PHOTO] * 2), **names)["made"]
        assert isinstance(result(image) if callable(result) else result, (np.ndarray, Image.Image)), code
    commands = re.findall(r"`corruptset ((?:build|export) [^`]*)`", TEXT)
    assert len(commands) >= 8
    for name, *arguments in map(shlex.split, commands):
        typer.main.get_command(app).commands[name].make_context(name, arguments)
