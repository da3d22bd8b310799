"""The registry finds every corruption, and imports none that is not asked for."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from corruptset import corruptions
from corruptset.corruptions import registry
from corruptset.corruptions.registry import FAMILIES, corruption_names, get_corruption
from corruptset.generate.recipes.recipe import load_recipe, recipe_names


def test_discovery_finds_what_the_modules_register():
    folder = Path(corruptions.__file__).parent
    for path in sorted(path for family in FAMILIES for path in (folder / family).glob("*.py")):
        importlib.import_module(f"corruptset.corruptions.{path.parent.name}.{path.stem}")
    assert sorted(registry._registered) == sorted(corruption_names())
    for name in corruption_names():
        assert get_corruption(name).function.__module__.split(".")[-2] == get_corruption(name).family


def test_names_are_in_the_order_of_families():
    families = [FAMILIES.index(get_corruption(name).family) for name in corruption_names()]
    assert families == sorted(families)


def test_two_corruptions_of_one_name_are_refused(tmp_path, monkeypatch):
    for module in ("one", "two"):
        (tmp_path / "noise").mkdir(exist_ok=True)
        (tmp_path / "noise" / f"{module}.py").write_text(
            "import x\n\n@corruption(\n    revision=1,\n)\ndef dust(images, keys): ...\n"
        )
    monkeypatch.setattr(registry, "__file__", str(tmp_path / "registry.py"))
    with pytest.raises(ValueError, match=r"two corruptions are called 'dust': in noise\.one and in noise\.two"):
        registry._modules.__wrapped__()


def test_one_corruption_imports_no_other_family():
    code = (
        "import sys, numpy, corruptset;"
        "corruptset.corrupt(numpy.zeros((32, 32, 3), numpy.uint8), 'contrast', severity=3);"
        "print(*(m.split('.', 2)[2] for m in sys.modules if m.startswith('corruptset.corruptions.') and m.count('.') "
        "== 3))"
    )
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {module for module in modules if not module.startswith("tables")} == {"digital.contrast"}


def test_the_published_validation_corruptions_have_their_role():
    roles = {name for name in corruption_names() if get_corruption(name).role == "validation"}
    assert roles >= {"speckle_noise", "gaussian_blur", "spatter", "saturate"}
    training = {name for name in corruption_names() if get_corruption(name).role == "train"}
    assert training == {"uniform_noise", "fisheye"}
    assert not (roles | training) & {
        stage.corruption for spec in load_recipe("imagenet-c").resolve().sets for stage in spec.stages
    }


def test_the_gallery_describes_what_the_recipes_publish():
    page = (Path(__file__).parents[2] / "docs" / "gallery.md").read_text(encoding="utf-8")
    described = set(re.findall(r"\*\*([a-z_]+)(?:/[^*]*)?\*\*", page))
    published = {
        stage.corruption
        for name in recipe_names()
        for spec in load_recipe(name).resolve().sets
        for stage in spec.stages
    }
    assert sorted(published - described) == []
