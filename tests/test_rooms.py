"""The rooms: imports never run upward, nothing costly at import, every package is installed."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = {
    "api": set(),
    "pages": {"api"},
    "corruptions": {"api"},
    "manifests": {"api"},
    "generate": {"api", "pages", "corruptions", "manifests"},
    "scores": {"api", "corruptions", "pages", "manifests"},
    "cli": {"api", "corruptions", "manifests", "generate", "scores"},
}
COMPAT = "corruptions/compat"
"""Installed as `corruptset.compat`."""


def imported_rooms(path: Path, room: str) -> set[str]:
    """Return the rooms that a file imports from, its own left out."""
    depth = len(path.relative_to(ROOT / room).parts) - 1 + (room != "api") - (path.parent == ROOT / COMPAT)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    # api may name the rooms for type checkers: what stands under TYPE_CHECKING never runs
    hidden = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    rooms = set()
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        if isinstance(node, ast.ImportFrom) and node.level > depth:
            names = [node.module] if node.module else [a.name for a in node.names]
            for name in names:
                head = name.split(".")[0]
                rooms.add(head if head in ALLOWED else "api")
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
        names += [a.name for a in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            if name.split(".")[0] == "corruptset":
                rooms.add(name.split(".")[1] if "." in name else "api")
    return rooms - {room}


@pytest.mark.parametrize("room", ALLOWED)
def test_no_arrow_runs_up(room):
    for path in sorted((ROOT / room).rglob("*.py")):
        rooms = imported_rooms(path, room)
        assert rooms <= ALLOWED[room], f"{path.relative_to(ROOT)} imports {sorted(rooms - ALLOWED[room])}"


def test_every_folder_with_code_is_a_package_of_the_distribution():
    packages = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    found = set()
    for room in ALLOWED:
        for init in (ROOT / room).rglob("*.py"):
            inside = init.parent.relative_to(ROOT).parts
            own = inside[1:] if room == "api" or inside == Path(COMPAT).parts else inside
            found.add(".".join(("corruptset", *own)))
    assert found == packages


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_importing_corruptset_imports_no_room():
    out = run(
        "import sys, corruptset; print(sorted(m for m in sys.modules if m.startswith('corruptset')), 'numpy' in "
        "sys.modules)"
    )
    assert out.strip() == "['corruptset'] False"


def test_a_consumer_needs_neither_opencv_nor_numba():
    out = run(
        "import sys, corruptset; corruptset.open; import corruptset.manifests.verify.ladder;import "
        "corruptset.scores.prediction_files; corruptset.predict; corruptset.load_surrogate; corruptset.score;print([m "
        "for m in ('cv2', 'numba', 'scipy', 'skimage', 'torch') if m in sys.modules])"
    )
    assert out.strip() == "[]"


def test_public_names_are_those_promised():
    names = """
        Corrupt RandomCorrupt abandon build check_corruption compare corrupt export fetch load_plugin load_surrogate
        names open pack page pairs plan predict preview publish rebuild recipes report score score_table show unpack
        verify
    """
    out = run("import corruptset; print(*[n for n in corruptset.__all__ if callable(getattr(corruptset, n))])")
    assert out.split() == names.split()


FLOORS = {
    "generate": (
        "sources", "pixels", "recipes", "regions", "views", "sinks", "plan", "work", "commit", "page", "estimate",
        "planning", "built",
        "build", "level_effects", "catalogue", "show", "preview", "contract", "reproduction",
    ),
    "manifests": (
        "records", "disk", "layout", "manifest_file", "checksums", "disk_size", "set_choice", "images", "regions",
        "unfinished", "partial", "reading",
        "reader", "verify", "release", "distribution", "schema",
    ),
    "scores": (
        "outcomes", "published", "tables", "records", "scores_file", "schema", "set_choice", "prediction_files",
        "predict", "formulas", "estimates", "places", "fragile", "fragile_maps",
        "evaluation", "error_curves", "profiles", "over_sets",
        "comparability", "score", "comparison", "score_table", "compare", "results_page", "report",
    ),
}  # fmt: skip
"""The folders and files of the large rooms, from the ground up: each uses only what stands before it."""


def used_floors(path: Path, room: str) -> set[str]:
    """Return the floors of its own room that a file imports from."""
    folder = path.relative_to(ROOT / room).parts[:-1]
    floors = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and 0 < node.level <= len(folder) + 1:
            above = [*folder[: len(folder) - node.level + 1], *(node.module.split(".") if node.module else [])]
            floors |= {above[0]} if above else {a.name for a in node.names}
    return floors


@pytest.mark.parametrize("room", FLOORS)
def test_a_floor_uses_only_those_below(room):
    order = FLOORS[room]
    assert {
        p.stem for p in (ROOT / room).iterdir() if p.name[0] not in "_." and (p.is_dir() or p.suffix == ".py")
    } == set(order)
    for path in sorted((ROOT / room).rglob("*.py")):
        inside = path.relative_to(ROOT / room)
        if inside.stem == "__init__" and len(inside.parts) == 1:
            continue
        floor = order.index(inside.parts[0].removesuffix(".py"))
        above = used_floors(path, room) & set(order[floor + 1 :])
        assert not above, f"{path.relative_to(ROOT)} uses {sorted(above)}, which stand above it"


def test_no_two_classes_share_a_name():
    """But a view in a manifest, whose schema has its name, and the view that is written."""
    names = [
        node.name
        for room in ALLOWED
        for path in (ROOT / room).rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and node.name[0] != "_"
    ]
    assert {name for name in names if names.count(name) > 1} == {"View"}


@pytest.mark.parametrize("room", sorted(ALLOWED))
def test_no_two_files_of_a_room_share_a_name(room):
    names = [p.stem for p in (ROOT / room).rglob("*.py") if not p.stem.startswith("__")]
    assert sorted(names) == sorted(set(names))


def test_what_benchmarks_import_of_the_package_is_there():
    for path in sorted((ROOT / "benchmarks").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.ImportFrom)
                and not node.level
                and (node.module or "").split(".")[0] == "corruptset"
            ):
                module = importlib.import_module(node.module)
                missing = [
                    a.name
                    for a in node.names
                    if not hasattr(module, a.name) and not find_spec(f"{node.module}.{a.name}")
                ]
                assert not missing, f"{path.name} imports {missing} from {node.module}"
