"""Test plugins: loading by path, module and entry point, calls in portions, and error messages."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pytest
from plugin_files import HEAD, TABLE, documented_module, function_source, without_plugins, write_blinds, write_installed
from small_builds import write_recipe
from surrogates import linear_model

import corruptset
from corruptset.corruptions.calibrations import calibrations_of, get_calibration
from corruptset.corruptions.plugins import Images, Keys, corruption, load_plugin, plugins_of
from corruptset.corruptions.registry import _CHUNK_BYTES, corruption_names, family_of, get_corruption
from corruptset.errors import ParameterError, PluginError, RecipeError, UnknownCorruption
from corruptset.generate.catalogue import catalogue
from corruptset.generate.recipes.recipe import load_recipe

IMAGES = np.arange(3 * 20 * 24 * 3).reshape(3, 20, 24, 3).astype(np.uint8)
FIXED = ", deterministic=True"


@pytest.fixture(autouse=True)
def plugin_cleanup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(tmp_path)
    with without_plugins():
        yield


def package(folder: Path, name: str = "slats", *, installed: bool = True) -> None:
    """Write a package with a corruption in a module, as if it were installed."""
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text("from .inner import blinds\n__version__ = 'its own'\n")
    (folder / name / "inner.py").write_text(documented_module())
    if installed:
        write_installed(folder, name, f"[corruptset.corruptions]\nvenetian = {name}\n")


def load(folder: Path, *functions: str, head: str = HEAD) -> None:
    """Load functions as a plugin."""
    (folder / "calling.py").write_text(head + "lengths = []\n" + "".join(functions))
    load_plugin(folder / "calling.py")


# --- loading --------------------------------------------------------------------------------------------------------


def test_file_module_and_installed_package_define_same_corruption(tmp_path):
    write_blinds(tmp_path)
    package(tmp_path)
    results = set()
    for arguments, module, version in (
        (tmp_path / "mine.py", "mine", None),
        ("mine", "mine", None),
        ("slats", "slats", "3.4"),
        ("venetian", "slats", "3.4"),
    ):
        with without_plugins():
            plugin_info = load_plugin(arguments)
            assert (plugin_info.module, plugin_info.version, plugin_info.corruptions) == (module, version, ["blinds"])
            assert (corruption_names()[-1], family_of("blinds")) == ("blinds", "plugin")
            results.add(corruptset.corrupt(IMAGES, "blinds", depth=0.5, key=["a", "b", "c"]).tobytes())
        assert "blinds" not in corruption_names()
    assert len(results) == 1
    importlib.reload(__import__("mine"))
    (plugin,) = plugins_of(["blinds", "contrast"])
    assert (plugin.module, plugin.place) == ("mine", "mine"), "an imported module is a plugin"


def test_installed_plugin_needs_no_option_and_broken_plugin_gives_warning(tmp_path):
    with pytest.raises(UnknownCorruption, match="blinds"):
        get_corruption("blinds")
    with without_plugins():
        package(tmp_path)
        assert get_corruption("blinds").module == "slats.inner"
        assert [plugin.module for plugin in plugins_of(["fog", "blinds"])] == ["slats"]
    with without_plugins():
        assert corruptset.names(family="plugin") == ["blinds"]
    (tmp_path / "slats" / "__init__.py").write_text("\nimport nothing_of_that_name\n")
    with (
        without_plugins(),
        pytest.warns(corruptset.errors.CorruptsetWarning, match=r"slats.*__init__\.py, line 2.*nothing_of_that_name"),
    ):
        assert "fog" in corruptset.names()


def test_installed_file_with_errors_gives_warning_and_stops_nothing_else(tmp_path):
    for kind, text in (("recipes", 'name = "own"\n'), ("tables", "side = \n")):
        (tmp_path / "slats" / kind).mkdir(parents=True)
        (tmp_path / "slats" / kind / "own.toml").write_text(text)
    groups = "".join(f"[corruptset.{kind}]\na = slats.{kind}\nb = none.{kind}\n" for kind in ("recipes", "tables"))
    write_installed(tmp_path, "slats", groups)
    for kind_of_name, kind, load in (("recipes", "recipe", load_recipe), ("calibrations", "table", get_calibration)):
        with without_plugins(), warnings.catch_warnings(record=True) as caught_warnings:
            warnings.simplefilter("always")
            assert len(catalogue(kind_of_name)) >= 5
            with pytest.raises(RecipeError, match=f"The installed {kind} {tmp_path / 'slats'}"):
                load("own")
        message = " ".join(str(item.message) for item in caught_warnings)
        assert f"The installed {kind} {tmp_path / 'slats'}" in message
        assert f"The package slats: b = none.{kind}s (corruptset.{kind}s) cannot be loaded" in message


MISTAKES = {
    "no_such_module": (None, "no module of this name can be imported"),
    "half": (f"{documented_module()}\nraise ValueError('too late')\n", "too late"),
    "raising.py": ("import numpy\n\n1 / 0\n", r"raising\.py, line 3\): ZeroDivisionError: division by zero"),
    "leaving.py": ("raise SystemExit(3)\n", r"leaving\.py, line 1\): SystemExit: 3"),
    "unwritten.py": ("def f(:\n", r"unwritten\.py, line 1\): SyntaxError"),
    "empty.py": ("x = 1\n", "registers no corruption"),
    "clashing.py": (
        HEAD + function_source("fog", "return images"),
        r"line 3\): clashing registers 'fog', but corruptset's own weather\.fog",
    ),
    "capital.py": (HEAD + function_source("Fog", "return images"), "expected a name of lower-case letters"),
    "clean.py": (HEAD + function_source("clean", "return images"), "and not 'clean'"),
    "plistlib.py": (HEAD, "is the name of another module"),
    "two-words.py": (HEAD, "expected a file whose name is a word"),
    "absent.py": (None, "there is no such file"),
    "revision.py": (
        HEAD + function_source("one", "return images").replace("revision=1", "revision='two'"),
        "a whole number",
    ),
    "role.py": (HEAD + function_source("one", "return images", ", role='tset'"), "role='tset'; expected test, valid"),
    "pairs.py": (
        HEAD + function_source("one", "return images").replace("()", "[('a', float)]"),
        "expected a tuple of Param",
    ),
    "drawn.py": (HEAD + function_source("one", "return images", ", draws=Parameter('a')"), "expected a tuple of Draw"),
    "twice.py": (
        HEAD + 2 * function_source("one", "return images"),
        "the plugin twice already has a corruption of that name",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_unloadable_plugin_gives_one_line_message_and_no_side_effects(name, tmp_path):
    text, sentence = MISTAKES[name]
    if text is not None:
        (tmp_path / name).with_suffix(".py").write_text(text)
    before = corruption_names()
    with pytest.raises(PluginError, match=sentence) as exc_info:
        load_plugin(tmp_path / name if name.endswith(".py") else name)
    assert "\n" not in str(exc_info.value)
    assert corruption_names() == before


def test_folder_of_package_is_named_after_package(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    package(tmp_path / "elsewhere", "shutters", installed=False)
    monkeypatch.chdir(tmp_path / "elsewhere")
    for options in ("shutters", "shutters/", "./shutters", "shutters/__init__.py", Path("shutters")):
        with pytest.raises(PluginError, match=r"Install the package \(`pip install -e \.`\) or add its parent folder"):
            load_plugin(options)


def test_two_corruptions_cannot_share_name(tmp_path):
    write_blinds(tmp_path)
    (tmp_path / "other.py").write_text(documented_module())
    load_plugin("mine")
    with pytest.raises(
        PluginError, match="other registers 'blinds', but the plugin mine already has a corruption of that"
    ):
        load_plugin("other")
    assert get_corruption("blinds").module == "mine"


def test_hash_covers_all_python_files_and_changed_file_is_not_mixed_with_old_code(tmp_path):
    package(tmp_path, installed=False)
    hashes = []
    for file, text in (
        ("readme.txt", "old"),
        ("readme.txt", "new"),
        ("inner.py", documented_module() + "#"),
        ("more.py", ""),
        ("__init__.py", "from .inner import blinds\n"),
    ):
        (tmp_path / "slats" / file).write_text(text)
        with without_plugins():
            hashes.append(load_plugin("slats").sha256)
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 4
    path = write_blinds(tmp_path)
    first = load_plugin(path)
    assert load_plugin(path) == first
    job, transform = pickle.dumps(first), pickle.dumps(corruptset.Corrupt("blinds", severity=3))
    # Another process loads the plugin when it unpickles it.
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer))"
    result = subprocess.run([sys.executable, "-c", code], input=transform, capture_output=True, check=True)
    assert result.stdout.decode().strip() == "Corrupt('blinds', severity=3)"
    path.write_text(documented_module() + "\n# new\n")
    with pytest.raises(PluginError, match="mine has changed since it was loaded"):
        load_plugin(path)
    with without_plugins(), pytest.raises(PluginError, match="mine has changed while it was used"):
        pickle.loads(job)


def test_table_defines_severities_and_error_names_row(tmp_path):
    load_plugin(write_blinds(tmp_path))
    assert calibrations_of("blinds") == ["cifar"]
    row = corruptset.corrupt(IMAGES[0], "blinds/3", key="a")
    np.testing.assert_array_equal(row, corruptset.corrupt(IMAGES[0], "blinds", depth=0.5, key="a"))
    record = corruptset.show("blinds").record
    assert (record["tables"]["cifar"]["3"], record["reference"]) == ({"depth": 0.5}, "Doe 2024, Venetian Blinds")
    with pytest.raises(
        ParameterError, match=r"no rows in calibration 'tiny'\..*a calibration that has rows for it: cifar"
    ):
        corruptset.corrupt(IMAGES[0], "blinds/3", calibration="tiny")
    with without_plugins():
        path = write_blinds(tmp_path)
        (tmp_path / "blinds_tables/cifar.toml").write_text(
            f'{TABLE}[[blinds]]\nseverity = 1\ndepth = 7\nsource = "own"\n'
        )
        load_plugin(path)
        with pytest.raises(RecipeError, match=r"cifar\.toml contains 1 error:\n  \[\[blinds\]\] row 1: .*at most 1"):
            corruptset.corrupt(IMAGES[0], "blinds/1")
        entries = ('corruptions = ["blinds"]', 'chain = ["blinds-1", "fog-1"]')
        write_recipe(tmp_path, name="own", more="".join(f"[[sets]]\n{entry}\n" for entry in entries))
        with pytest.raises(RecipeError, match="contains 1 error") as caught:
            load_recipe(tmp_path / "own-png.toml")
        assert str(caught.value).count("cifar.toml") == 1


CELL = """
@corruption(revision={revision}, reference="x", parameters=(Parameter("depth", low=0.0, high={high}),))
def dimmed(images, keys, *, depth):
    return (images * depth).astype(np.uint8)
"""
NOTEBOOK = f"""
import numpy as np
import corruptset
from corruptset.corruptions.plugins import Parameter, corruption

def told(*given, **parameters):
    try:
        print(corruptset.corrupt(np.full((16, 16, 3), 100, np.uint8), *given, **parameters).max())
    except corruptset.errors.ParameterError as e:
        print(e)

for revision, high in ((1, 1.0), (1, 0.5), (2, 0.5)):
    exec({CELL!r}.format(revision=revision, high=high))
    told("dimmed", depth=1.0)
    told("dimmed", depth=0.5)
told("dimmed", severity=1)
print(corruptset.show("dimmed").record["revision"])
"""


def test_rerun_notebook_cell_redeclares_corruption(tmp_path):
    # Code given with -c has a main module without a file, like a notebook.
    result = subprocess.run([sys.executable, "-c", NOTEBOOK], cwd=tmp_path, capture_output=True, text=True)
    message = "dimmed: parameter 'depth' is 1.0; expected a finite number at least 0 and at most 0.5."
    no_table = (
        "dimmed has no severity table. Pass its parameters instead: depth, or add rows for it to tables/cifar.toml."
    )
    assert result.stdout.splitlines() == ["100", "50", message, "50", message, "50", no_table, "2"], result.stderr


def test_declaration_is_frozen_and_leaves_function_unchanged():
    declaration = corruption(reference="x", parameters=())
    with pytest.raises(FrozenInstanceError):
        declaration.revision = 2

    def untouched(images: Images, keys: Keys) -> Images:
        return images

    assert declaration(untouched) is untouched
    assert vars(untouched) == {}
    assert declaration.function is None
    assert (get_corruption("untouched").function, get_corruption("untouched").family) == (untouched, "plugin")


# --- calls ----------------------------------------------------------------------------------------------------------


def test_batch_is_split_and_joined_and_levels_are_steps(tmp_path, capsys):
    model = ", resources={'surrogate': None, 'labels': None}"
    steps = ", gradual=Gradual(lambda level, shape, parameters: f'{level} steps', most=9)"
    load(
        tmp_path,
        function_source("turned", "print('told')\n    lengths.append(len(images))\n    return 255 - images", FIXED),
        function_source("same", "return images", FIXED),
        function_source("doubled", "return np.repeat(images, 2, 1)", f"{FIXED}, keeps_shape=False"),
        function_source("darker", "return images // 2", FIXED + steps, "images, keys, *, level"),
        function_source(
            "labelled",
            "return images * 0 + labels.reshape(-1, 1, 1, 1).astype(np.uint8)",
            FIXED + model,
            "images, keys, *, surrogate, labels",
        ),
        head=HEAD.replace("import Parameter", "import Gradual, Parameter"),
    )
    images = np.random.default_rng(0).integers(0, 256, (70, 224, 224, 3), np.uint8)
    np.testing.assert_array_equal(corruptset.corrupt(images, "turned"), 255 - images)
    lengths = sys.modules["calling"].lengths
    assert (sum(lengths), max(lengths)) == (70, _CHUNK_BYTES // images[0].size)
    captured = capsys.readouterr()
    assert (captured.out, set(captured.err.split())) == ("", {"told"}), "standard output is the command's own"
    out = corruptset.corrupt(images, "labelled", labels=list(range(70)), surrogate=linear_model(8, 8, 3))
    assert out.max(axis=(1, 2, 3)).tolist() == list(range(70)), "each image has its own label"
    out = corruptset.corrupt(IMAGES, "same")
    assert not np.shares_memory(out, IMAGES)
    assert out.flags.writeable
    assert corruptset.corrupt(IMAGES, "doubled").shape == (3, 40, 24, 3)
    np.testing.assert_array_equal(corruptset.corrupt(IMAGES, "darker/03"), IMAGES // 8)
    description = corruptset.show("darker").record
    assert (description["levels"], description["ladders"], description["changes"]) == (9, {}, [])


FAULTS = {
    "raising": (
        "return images + 1 if images.min() else 1 // 0",
        r"raised ZeroDivisionError: .* \(calling\.py, line 6\)",
    ),
    "floats": ("return images / 2", "returned an array of float64; expected an array of uint8"),
    "unset": ("return np.where(images > 9, np.nan, 1.0)", r"returned an array of float64 with \d+ values that are NaN"),
    "lists": ("return images.tolist()", "returned a list"),
    "cut": ("return images[:, 1:]", r"returned the shape \(1, 19, 24, 3\); expected \(1, 20, 24, 3\)"),
    "fewer": (
        "return images[:2]",
        r"returned the shape \(2, 20, 24, 3\).* on a batch of 3 images, but not on any of them alone",
    ),
    "writing": (
        "images[:] = 1\n    return images",
        r"raised ValueError: .*line 6\); it must not change its input, so work on a copy",
    ),
    "tiny": ("return images[:, :4]", "of at least 8x8"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_error_is_one_line_with_position_of_image(name, tmp_path):
    body, sentence = FAULTS[name]
    load(tmp_path, function_source(name, body, FIXED + ", keeps_shape=False" * (name == "tiny")))
    images = np.concatenate([np.repeat(IMAGES[:1] | 1, 2999, 0), IMAGES[:1]]) if name == "raising" else IMAGES
    assert len(images) == 3 or len(images) > _CHUNK_BYTES // images[0].size, "more than go at once"
    with pytest.raises(PluginError, match=f"The plugin calling: {name} .*{sentence}") as exc_info:
        corruptset.corrupt(images, name)
    assert "\n" not in str(exc_info.value)
    assert exc_info.value.position == {"fewer": None, "raising": 2999}.get(name, 0)
