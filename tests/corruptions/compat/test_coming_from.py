"""docs/coming-from.md: what it says to type here runs, in its code blocks and the right-hand columns of its tables."""

from __future__ import annotations

import re
import shlex

import numpy as np
import typer
from doc_pages import ROOT, blocks, run
from PIL import Image

import corruptset
from corruptset.cli.app import app
from pictures import painted

PAGE = ROOT / "docs/coming-from.md"
TEXT = PAGE.read_text("utf-8")
ROWS = [
    code
    for line in re.findall(r"^\|[^|]* \| ([^|]*)\|$", TEXT, re.MULTILINE)
    for code in re.findall(r"`((?:corruptset\.|augment|image, label).*?)`", line)
]
PHOTO, SMALL = painted(64, 96), Image.fromarray(painted(32, 32))


def test_the_blocks_run_in_their_order():
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


def test_the_right_hand_columns_run_and_the_command_line_takes_its_lines():
    assert len(ROWS) >= 10
    assert sum("open(DIR)" in row for row in ROWS) == 3
    for code in [row for row in ROWS if "open(" not in row and not row.startswith("image, label")]:
        picture, augment = Image.fromarray(PHOTO), corruptset.Corrupt("fog", severity=2)
        names = {"np": np, "corruptset": corruptset, "image": PHOTO, "picture": picture, "small": SMALL}
        names["rng"] = np.random.default_rng(1)
        made = run(f"made = {code}", augment=augment, images=np.stack([PHOTO] * 2), **names)["made"]
        assert isinstance(made(picture) if callable(made) else made, (np.ndarray, Image.Image)), code
    commands = re.findall(r"`corruptset ((?:build|export) [^`]*)`", TEXT)
    assert len(commands) >= 8
    for name, *arguments in map(shlex.split, commands):
        typer.main.get_command(app).commands[name].make_context(name, arguments)
