"""docs/coming-from.md: what it says to type here runs.

In its code blocks and in the right-hand columns of its tables.
"""

from __future__ import annotations

import re
import shlex
from typing import Any

import numpy as np
import pytest
import typer
from doc_pages import ROOT, blocks, run
from PIL import Image

import corruptset
from corruptset.cli.app import app
from pictures import painted

PAGE = ROOT / "docs/coming-from.md"
ROWS = [
    code
    for line in PAGE.read_text("utf-8").splitlines()
    if line.startswith("| ") and line.count(" | ") == 1
    for code in re.findall(r"`((?:corruptset\.|augment|image, label).*?)`", line.rpartition(" | ")[2])
]
COMMANDS = re.findall(r"`(corruptset (?:build|export) [^`]*)`", PAGE.read_text("utf-8"))


def given() -> dict[str, Any]:
    """Return the names that a reader of the page has."""
    photo = painted(64, 96)
    small = Image.fromarray(painted(32, 32))
    return {
        "np": np, "corruptset": corruptset, "image": photo, "picture": Image.fromarray(photo), "small": small,
        "images": [photo] * 2,
        "results": {"img": photo.astype(np.float32)},
    }  # fmt: skip


def test_the_blocks_run_in_their_order() -> None:
    names = given()
    for kind, text in blocks(PAGE):
        assert kind == "python"
        exec(text, names)
    assert len(names["names"]) == 4
    assert names["results"]["img"].dtype == names["corrupted"].dtype == np.uint8
    assert names["at_224"].size == names["picture"].size
    np.testing.assert_array_equal(
        np.asarray(names["at_32"]), np.asarray(corruptset.corrupt(names["small"], "fog", severity=3))
    )
    assert len(names["augmented"]) == 2
    assert names["foggy"].shape == (64, 96, 3)


@pytest.mark.parametrize("code", [row for row in ROWS if "open(" not in row and not row.startswith("image, label")])
def test_the_right_hand_columns_run(code: str) -> None:
    names = {**given(), "augment": corruptset.RandomCorrupt("fog", p=1.0), "images": np.stack(given()["images"])}
    made = run(f"made = {code}", **names)["made"]
    if callable(made):
        made = made(names["picture"])
    assert isinstance(made, (np.ndarray, Image.Image))


def test_what_was_found_on_the_page() -> None:
    assert len(ROWS) >= 10
    assert sum("open(DIR)" in row for row in ROWS) == 3
    assert len(COMMANDS) >= 8


@pytest.mark.parametrize("line", COMMANDS)
def test_the_command_line_takes_it(line: str) -> None:
    _, name, *arguments = shlex.split(line)
    typer.main.get_command(app).commands[name].make_context(name, arguments)  # type: ignore[attr-defined]
