"""docs/plugins.md: its files are saved, and its commands and calls are run, in their order."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest
from doc_pages import ROOT, shell
from PIL import Image

from corruptset.corruptions.registry import Corruption, Parameter

PAGE = (ROOT / "docs/plugins.md").read_text("utf-8")


def blocks(language):
    """Return the examples of the page in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path):
    """A folder with a photograph and the files that the page tells a reader to save."""
    module, draw, _ = blocks("python")
    table, recipe = blocks("toml")
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables/imagenet.toml").write_text(table)
    (tmp_path / "own.toml").write_text(recipe)
    (tmp_path / "mine.py").write_text(module + draw)
    pixels = np.random.default_rng(0).integers(0, 256, (240, 260, 3), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "photo.jpg")
    return tmp_path


@pytest.mark.ci
def test_documented_commands_run(folder):
    (commands,) = blocks("sh")
    outputs = [shell(line, folder) for line in commands.splitlines()]
    assert "Corruption: blinds" in outputs[0]
    assert (folder / "photo-blinds-2.png").is_file()
    assert "clean, blinds/1, blinds/2, blinds-2+fog-1" in outputs[2]
    assert "Sets:          4" in outputs[3]


@pytest.mark.ci
def test_documented_draw_can_be_passed(folder):
    code = f"import numpy as np\nimage = np.full((64, 64, 3), 200, np.uint8)\n{blocks('python')[2]}"
    code += "print(*(shifted[:16, 0, 0]))"
    result = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert result.stdout.split() == ["200"] * 4 + ["100"] * 8 + ["200"] * 4, result.stderr


def test_page_names_all_arguments():
    for kind in (Corruption, Parameter):
        for name in kind.__dataclass_fields__.keys() - {"function", "name"}:
            assert f"`{name}`" in PAGE, name
