"""Plugins: found by path, module and entry point, named by their source, and refused in a sentence."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from plugin_files import HEAD, TABLE, function, template, without_plugins, write_blinds

import corruptset
from corruptset.corruptions.calibrations import calibrations_of
from corruptset.corruptions.keys import Keys, sample_keys
from corruptset.corruptions.plugins import load_plugin, plugins_of
from corruptset.corruptions.random.philox import draw_word
from corruptset.corruptions.registry import corruption_names, family_of, get_corruption
from corruptset.errors import ParameterError, PluginError, RecipeError, UnknownCorruption

IMAGES = np.random.default_rng(0).integers(0, 256, (3, 20, 24, 3), np.uint8)


@pytest.fixture(autouse=True)
def forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(tmp_path)
    with without_plugins():
        yield


def package(folder: Path, name: str = "slats", *, installed: bool = True) -> None:
    """Write a package with a corruption in a module of its own, as an installation has it."""
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text("from .inner import blinds\n__version__ = 'its own'\n")
    (folder / name / "inner.py").write_text(template())
    if installed:
        info = folder / f"{name}-3.4.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 3.4\n")
        (info / "top_level.txt").write_text(f"{name}\n")
        (info / "entry_points.txt").write_text(f"[corruptset.corruptions]\nvenetian = {name}\n")


def test_a_file_a_module_and_an_installed_package_are_one_corruption(tmp_path: Path) -> None:
    write_blinds(tmp_path)
    package(tmp_path)
    made = []
    for given, module, version in (
        (tmp_path / "mine.py", "mine", None),
        ("mine", "mine", None),
        ("slats", "slats", "3.4"),
        ("venetian", "slats", "3.4"),
    ):
        with without_plugins():
            loaded = load_plugin(given)
            assert (loaded.module, loaded.version, loaded.corruptions) == (module, version, ["blinds"])
            assert (corruption_names()[-1], family_of("blinds")) == ("blinds", "plugin")
            made.append(corruptset.corrupt(IMAGES, "blinds", depth=0.5, key=["a", "b", "c"]))
        assert "blinds" not in corruption_names()
    assert all((one == made[0]).all() for one in made)
    assert (made[0] != IMAGES).any()


def test_an_installed_plugin_needs_no_name(tmp_path: Path) -> None:
    with pytest.raises(UnknownCorruption, match="blinds"):
        get_corruption("blinds")
    with without_plugins():
        package(tmp_path)
        assert get_corruption("blinds").module == "slats.inner"
        assert [plugin.module for plugin in plugins_of(["fog", "blinds"])] == ["slats"]
    with without_plugins():
        assert corruptset.names(family="plugin") == ["blinds"]
    with without_plugins():
        assert corruptset.show("blinds").record["reference"] == "Doe 2024, Venetian Blinds"


def test_an_installed_plugin_that_is_broken_is_a_warning(tmp_path: Path) -> None:
    package(tmp_path)
    (tmp_path / "slats" / "__init__.py").write_text("\nimport nothing_of_that_name\n")
    with pytest.warns(corruptset.errors.CorruptsetWarning, match=r"slats.*__init__\.py, line 2.*nothing_of_that_name"):
        assert "fog" in corruptset.names()


def test_an_imported_module_is_a_plugin(tmp_path: Path) -> None:
    write_blinds(tmp_path)
    __import__("mine")
    (plugin,) = plugins_of(["blinds", "contrast"])
    assert (plugin.module, plugin.place) == ("mine", "mine")


MISTAKES = {
    "no_such_module": (None, "no module of this name can be imported"),
    "raising.py": ("import numpy\n\n1 / 0\n", r"raising\.py, line 3\): ZeroDivisionError: division by zero"),
    "leaving.py": ("raise SystemExit(3)\n", r"leaving\.py, line 1\): SystemExit: 3"),
    "unwritten.py": ("def f(:\n", r"unwritten\.py, line 1\): SyntaxError"),
    "lacking.py": ("import nothing_of_that_name\n", r"lacking\.py, line 1\): ModuleNotFoundError"),
    "empty.py": ("x = 1\n", "registers no corruption"),
    "clashing.py": (
        HEAD + function("fog", "return images"),
        r"line 3\): clashing registers 'fog', and corruptset's own weather\.fog",
    ),
    "capital.py": (HEAD + function("Fog", "return images"), "expected a name of lower-case letters"),
    "clean.py": (HEAD + function("clean", "return images"), "and not 'clean'"),
    "json.py": (HEAD, "is the name of another module"),
    "plistlib.py": (HEAD, "is the name of another module"),
    "absent.py": (None, "expected a file whose name is a word"),
    "two-words.py": (HEAD, "expected a file whose name is a word"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_what_cannot_be_loaded_is_one_sentence(name: str, tmp_path: Path) -> None:
    text, sentence = MISTAKES[name]
    if text is not None:
        (tmp_path / name).write_text(text)
    before = corruption_names()
    with pytest.raises(PluginError, match=sentence) as raised:
        load_plugin(tmp_path / name if name.endswith(".py") else name)
    assert "\n" not in str(raised.value)
    assert corruption_names() == before


def test_a_half_imported_plugin_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "half.py").write_text(template() + "\nraise ValueError('too late')\n")
    for given in (tmp_path / "half.py", "half"):
        with pytest.raises(PluginError, match="too late"):
            load_plugin(given)
        assert "blinds" not in corruption_names()


def test_two_plugins_cannot_share_a_name(tmp_path: Path) -> None:
    write_blinds(tmp_path)
    (tmp_path / "other.py").write_text(template())
    load_plugin("mine")
    with pytest.raises(
        PluginError, match="other registers 'blinds', and the plugin mine has a corruption of that name"
    ):
        load_plugin("other")
    assert get_corruption("blinds").module == "mine"


def test_the_hash_is_of_all_python_files(tmp_path: Path) -> None:
    package(tmp_path, installed=False)
    hashes = []
    edits = [
        ("readme.txt", "new"),
        ("inner.py", template() + "#"),
        ("more.py", ""),
        ("__init__.py", "from .inner import blinds\n"),
    ]
    for file, text in [("readme.txt", "old"), *edits]:
        (tmp_path / "slats" / file).write_text(text)
        with without_plugins():
            hashes.append(load_plugin("slats").sha256)
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 4


def test_a_changed_plugin_is_not_used_beside_its_old_code(tmp_path: Path) -> None:
    path = write_blinds(tmp_path)
    first = load_plugin(path)
    assert load_plugin(path) == first
    path.write_text(template() + "\n# new\n")
    with pytest.raises(PluginError, match="mine has changed since it was loaded"):
        load_plugin(path)


def test_another_process_loads_what_it_unpickles(tmp_path: Path) -> None:
    path = write_blinds(tmp_path)
    job = pickle.dumps(load_plugin(path))
    program = (
        "import pickle, sys, corruptset.corruptions.registry as "
        "r\npickle.loads(sys.stdin.buffer.read())\nprint(r.corruption_names()[-1])"
    )
    done = subprocess.run([sys.executable, "-c", program], input=job, capture_output=True, check=True)
    assert done.stdout.decode().strip() == "blinds"
    path.write_text(template() + "\n# new\n")
    with without_plugins(), pytest.raises(PluginError, match="mine has changed while it was used"):
        pickle.loads(job)


def test_a_table_gives_severities(tmp_path: Path) -> None:
    load_plugin(write_blinds(tmp_path))
    assert calibrations_of("blinds") == ["cifar"]
    row = corruptset.corrupt(IMAGES[0], "blinds/3", key="a")
    assert (row == corruptset.corrupt(IMAGES[0], "blinds", depth=0.5, key="a")).all()
    assert corruptset.show("blinds").record["tables"]["cifar"]["3"] == {"depth": 0.5}
    with pytest.raises(ParameterError, match=r"no rows in calibration 'tiny'.*it has some in cifar"):
        corruptset.corrupt(IMAGES[0], "blinds/3", calibration="tiny")


def test_a_mistake_in_a_table_names_its_row(tmp_path: Path) -> None:
    path = write_blinds(tmp_path)
    (tmp_path / "blinds_tables" / "cifar.toml").write_text(
        f'{TABLE}[[blinds]]\nseverity = 1\ndepth = 7\nsource = "own"\n'
    )
    load_plugin(path)
    with pytest.raises(RecipeError, match=r"cifar\.toml has 1 mistake:\n  \[\[blinds\]\] row 1: .*at most 1"):
        corruptset.corrupt(IMAGES[0], "blinds/1")


def test_a_gradual_degradation_of_ones_own_has_levels(tmp_path: Path) -> None:
    text = HEAD.replace("import Parameter", "import Gradual, Parameter")
    more = ", deterministic=True, gradual=Gradual(lambda level, shape, parameters: f'{level} steps', most=9)"
    (tmp_path / "stepping.py").write_text(
        text + function("darker", "return images // 2", more, "images, keys, *, level")
    )
    load_plugin("stepping")
    assert (corruptset.corrupt(IMAGES, "darker/03") == IMAGES // 8).all()
    shown = corruptset.show("darker").record
    assert (shown["levels"], shown["ladders"], shown["changes"]) == (9, {}, [])


def test_draws_follow_from_each_image_alone() -> None:
    keys = Keys(np.uint64(5), sample_keys(["a", "b", "c"]))
    uniforms, normals = keys.uniforms(4, 5), keys.normals(4, 5, stream=1)
    assert (uniforms.shape, uniforms.dtype, normals.shape) == ((3, 4, 5), np.float64, (3, 4, 5))
    slow = [
        [draw_word(np.int64(e), keys.stage, sample, np.int64(0)) / 2**32 for e in range(20)] for sample in keys.samples
    ]
    assert (uniforms.reshape(3, 20) == slow).all()
    alone = Keys(keys.stage, keys.samples[1:2])
    assert (alone.uniforms(4, 5)[0] == uniforms[1]).all()
    assert (alone.normals(4, 5, stream=1)[0] == normals[1]).all()
    assert (keys.uniforms(4, 5, stream=1) != uniforms).any()
    many = Keys(np.uint64(1), sample_keys(["a"])).normals(20000)
    assert abs(many.mean()) < 0.03
    assert abs(many.std() - 1) < 0.02


def test_a_transform_brings_its_plugin_to_a_worker(tmp_path: Path) -> None:
    load_plugin(write_blinds(tmp_path))
    job = pickle.dumps(corruptset.Corrupt("blinds", severity=3))
    program = "import pickle, sys\nprint(pickle.loads(sys.stdin.buffer.read()))"
    done = subprocess.run([sys.executable, "-c", program], input=job, capture_output=True, check=True)
    assert done.stdout.decode().strip() == "Corrupt('blinds', severity=3)"
