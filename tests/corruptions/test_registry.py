"""Test that the registry finds every corruption and imports only requested ones, and that large images work."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import corruptset
from corruptset import corruptions
from corruptset.corruptions import registry
from corruptset.corruptions.calibrations import shipped
from corruptset.corruptions.index import FAMILIES, MODULES
from corruptset.corruptions.registry import corruption_names, family_of, get_corruption
from corruptset.generate.recipes.recipe import load_recipe
from corruptset.generate.recipes.recipe_files import recipe_names
from example_images import synthetic_image


def test_index_names_module_of_every_declared_corruption():
    folder = Path(corruptions.__file__).parent
    for path in sorted(path for family in FAMILIES for path in (folder / family).glob("*.py")):
        importlib.import_module(f"corruptset.corruptions.{path.parent.name}.{path.stem}")
    declared = {
        name: corruption.module.removeprefix("corruptset.corruptions.")
        for name, corruption in registry._registered.items()
        if corruption.family != registry.PLUGIN
    }
    assert declared == MODULES
    assert [get_corruption(name).family for name in MODULES] == [family_of(name) for name in MODULES]
    order = [(FAMILIES.index(family_of(name)), name) for name in MODULES]
    assert order == sorted(order), "families are kept together, and their corruptions are in alphabetical order"


def test_names_and_families_are_available_without_build_dependencies():
    code = (
        "import sys; from corruptset.corruptions.registry import corruption_names, family_of; "
        "families = {family_of(name) for name in corruption_names()}; "
        "print(len(families), [name for name in ('numba', 'cv2') if name in sys.modules])"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output == f"{len(FAMILIES)} []\n"


def test_importing_one_corruption_imports_no_other_family_or_caller_libraries():
    code = (
        "import sys, numpy, corruptset; corruptset.Corrupt('contrast-3')(numpy.zeros((32, 32, 3), numpy.uint8)); "
        "assert not {'torch', 'torchvision', 'albumentations', 'datasets'} & set(sys.modules); "
        "print(*(m.split('.', 2)[2] for m in sys.modules if m.startswith('corruptset.corruptions.')))"
    )
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {m for m in modules if "." in m and not m.startswith("tables")} == {"digital.contrast"}


def test_roles_and_gallery_match_published_corruptions():
    roles = {name: get_corruption(name).role for name in corruption_names()}
    assert {"speckle_noise", "gaussian_blur", "spatter", "saturate"} <= {n for n in roles if roles[n] == "validation"}
    assert {n for n in roles if roles[n] == "train"} == {"uniform_noise", "fisheye"}
    published = {
        name: {s.corruption for spec in load_recipe(name).resolve().sets for s in spec.stages}
        for name in recipe_names()
    }
    assert {roles[n] for n in published["imagenet-c"]} == {"test"}
    page = (Path(__file__).parents[2] / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert set.union(*published.values()) <= set(re.findall(r"\*\*([a-z_]+)(?:/[^*]*)?\*\*", page))


@pytest.mark.long
@pytest.mark.parametrize("name", shipped("imagenet").rows)
def test_every_corruption_accepts_24_megapixels(name):
    large = np.tile(synthetic_image(500, 750), (8, 8, 1))
    for scale in ("none", "side"):
        out = corruptset.corrupt(large, name, severity=3, scale=scale)
        assert (out.shape, out.dtype) == (large.shape, np.uint8)
        changed = (out != large).reshape(8, 500, 8, 750, 3).any(axis=(1, 3, 4))
        assert changed.all(), "nothing of the picture is left out"
