"""The packages: imports never point upwards, nothing slow is imported at the start, and all are installed."""

from __future__ import annotations

import ast
import functools
import importlib
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

import corruptset

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = {
    "api": set(),
    "pages": {"api"},
    "corruptions": {"api"},
    "manifests": {"api", "corruptions"},
    "generate": {"api", "pages", "corruptions", "manifests"},
    "audits": {"api", "pages", "corruptions", "manifests", "generate"},
    "scores": {"api", "corruptions", "pages", "manifests"},
    "cli": {"api", "corruptions", "manifests", "generate", "audits", "scores"},
}
COMPAT = "corruptions/compat"
"""Installed as `corruptset.compat`."""


def files(package):
    return sorted((ROOT / package).rglob("*.py"))


@functools.cache
def parse_file(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def imported_packages(path, package):
    """Return the top-level packages that a file imports from, except its own."""
    depth = len(path.relative_to(ROOT / package).parts) - 1 + (package != "api") - (path.parent == ROOT / COMPAT)
    nodes = list(ast.walk(parse_file(path)))
    # api may import the other packages for type checkers, because code under TYPE_CHECKING never runs
    hidden = {
        inner
        for node in nodes
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    imported = set()
    for node in nodes:
        if node in hidden or not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        names = [alias.name for alias in node.names]
        if isinstance(node, ast.Import) or not node.level:
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else names
            parts = [name.split(".") for name in names]
            imported |= {[*own, "api"][1] for own in parts if own[0] == "corruptset"}
        elif node.level > depth:
            heads = {name.split(".")[0] for name in ([node.module] if node.module else names)}
            imported |= {head if head in ALLOWED else "api" for head in heads}
    return imported - {package}


@pytest.mark.parametrize("package", ALLOWED)
def test_imports_never_point_upwards(package):
    for path in files(package):
        imported = imported_packages(path, package)
        assert imported <= ALLOWED[package], f"{path.relative_to(ROOT)} imports {sorted(imported - ALLOWED[package])}"


def test_every_folder_with_code_is_package_of_distribution():
    packages = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    results = set()
    for inside in (path.parent.relative_to(ROOT).parts for package in ALLOWED for path in files(package)):
        own = inside[1:] if inside[0] == "api" or inside == Path(COMPAT).parts else inside
        results.add(".".join(("corruptset", *own)))
    assert results == packages


WATCHED = ("corruptset", "numpy", "cv2", "numba", "scipy", "skimage", "torch")
LOADED = f"print([m for m in sys.modules if m.partition('.')[0] in {WATCHED}])"
NAMES = """
    Corrupt audit build check_corruption compare corrupt export fetch load_plugin load_surrogate names
    open pack page pairs plan predict preview publish rebuild recipes report score score_table show unpack verify
"""


def run(code):
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_importing_corruptset_imports_no_other_package():
    assert run(f"import sys, corruptset; {LOADED}") == "['corruptset']\n"


def test_reading_needs_neither_opencv_nor_numba():
    out = run(
        "import sys, corruptset; corruptset.open; import corruptset.manifests.verify.directory;"
        "import corruptset.scores.prediction_files; corruptset.predict; corruptset.load_surrogate; corruptset.score;"
        f"{LOADED}"
    )
    assert {name for name in ast.literal_eval(out) if "." not in name} == {"corruptset", "numpy"}


def test_public_names_are_documented_ones():
    assert [name for name in corruptset.__all__ if callable(getattr(corruptset, name))] == NAMES.split()


LAYERS = {
    "generate": "sources pixels recipes regions exports sinks plan work commit page estimate planning built builder "
    "build level_effects catalogue show preview contract reproduction".split(),
    "manifests": "records disk paths manifest_file checksums disk_size set_choice images regions unfinished partial "
    "reading reader verify release distribution schema".split(),
    "scores": "outcomes published tables records scores_file schema set_choice prediction_files predict formulas "
    "bootstrap score_values places fragile fragile_maps evaluation error_curves profiles over_sets comparability score "
    "comparison score_table compare results_page report".split(),
}
"""The folders and files of large packages, from the lowest layer up. Each imports only those before it."""


def imported_layers(path, package):
    """Return the layers of its own package that a file imports from."""
    folder = path.relative_to(ROOT / package).parts[:-1]
    layers = set()
    for node in ast.walk(parse_file(path)):
        if isinstance(node, ast.ImportFrom) and 0 < node.level <= len(folder) + 1:
            above = [*folder[: len(folder) - node.level + 1], *(node.module.split(".") if node.module else [])]
            layers |= {above[0]} if above else {a.name for a in node.names}
    return layers


@pytest.mark.parametrize("package", LAYERS)
def test_layer_imports_only_lower_layers(package):
    order = LAYERS[package]
    inside = [path for path in files(package) if path.parent != ROOT / package or path.stem != "__init__"]
    layer_of = {path: path.relative_to(ROOT / package).parts[0].removesuffix(".py") for path in inside}
    assert set(layer_of.values()) == set(order)
    for path, layer in layer_of.items():
        above = imported_layers(path, package) & set(order[order.index(layer) + 1 :])
        assert not above, f"{path.relative_to(ROOT)} imports {sorted(above)} of higher layers"


def test_no_two_classes_share_name():
    bodies = [node for package in ALLOWED for path in files(package) for node in parse_file(path).body]
    names = [node.name for node in bodies if isinstance(node, ast.ClassDef) and node.name[0] != "_"]
    assert {name for name in names if names.count(name) > 1} == set()


def test_no_two_files_of_package_share_name():
    for package in ALLOWED:
        names = [path.stem for path in files(package) if not path.stem.startswith("__")]
        assert sorted(names) == sorted(set(names))


def test_names_imported_by_benchmarks_exist():
    nodes = [node for path in (ROOT / "benchmarks").glob("*.py") for node in ast.walk(parse_file(path))]
    references = [
        node for node in nodes if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("corruptset")
    ]
    assert references
    for node in references:
        module = importlib.import_module(str(node.module))
        for name in (alias.name for alias in node.names):
            assert hasattr(module, name) or find_spec(f"{node.module}.{name}"), f"{node.module} has no {name}"
