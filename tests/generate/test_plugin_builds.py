"""Test builds with a plugin: they equal a call, record the hash of the source, and are regenerated only with it."""

from __future__ import annotations

import json
import shutil

import pytest
import small_builds
from clusters import Cluster
from plugin_files import HEAD, documented_module, function_source, without_plugins, write_blinds

import corruptset
from corruptset.errors import BuildError, PluginError, RecipeError, VerificationError
from corruptset.generate.sources.source import open_source

SETS = (
    '[[sets]]\ncorruptions = ["blinds", "contrast"]\nseverities = [2, 5]\n\n[[sets]]\nchain = ["contrast-3", '
    '"blinds-4"]\n'
)
CHAIN = '[[sets]]\nid = "{0}"\nchain = [{{corruption = "{0}"}}]\n'
OPTIONS = {"jobs": 1, "metrics": 0, "page": False, "any_shape": True, "storage": "folder"}


@pytest.fixture(scope="module")
def plugin_recipe(tmp_path_factory):
    """Write a recipe that names a plugin in the same folder."""
    folder = tmp_path_factory.mktemp("mine")
    write_blinds(folder)
    recipe = small_builds.write_recipe(folder, name="blinds-c", more=SETS)
    recipe.write_text('plugins = ["mine.py"]\n' + recipe.read_text())
    return recipe


@pytest.fixture(autouse=True)
def plugin_cleanup():
    with without_plugins():
        yield


@pytest.fixture(scope="module")
def source(shared_data):
    return f"folder:{shared_data.crops(classes=2)}"


@pytest.fixture(scope="module")
def plugin_build(plugin_recipe, source, tmp_path_factory):
    with without_plugins():
        return corruptset.build(plugin_recipe, source, tmp_path_factory.mktemp("out"), **OPTIONS)


def test_build_records_plugin_and_can_be_read_without_it(plugin_build, plugin_recipe):
    text = (plugin_build.directory / "manifest.json").read_text()
    manifest = json.loads(text)
    assert corruptset.verify(plugin_build.directory).ok
    data = corruptset.open(plugin_build.directory)
    assert len(data.select(corruption="blinds")) == len(data.select(family="other")) == 3
    assert data["blinds/5"].array().shape == (4, 32, 32, 3)
    sha256 = corruptset.load_plugin(plugin_recipe.with_name("mine.py")).sha256
    assert manifest["plugins"] == [{"module": "mine", "version": None, "sha256": sha256, "corruptions": ["blinds"]}]
    assert ("plugins" in manifest["recipe"], str(plugin_recipe.parent) in text, plugin_build.notes) == (
        False,
        False,
        (),
    )


def test_corrupt_equals_stored_images(plugin_build, plugin_recipe, source):
    corruptset.load_plugin(plugin_recipe.with_name("mine.py"))
    opened_source = open_source(source)
    for set_id, images in corruptset.open(plugin_build.directory).items():
        for index, sample in enumerate(opened_source.samples):
            result = corruptset.corrupt(opened_source.load(sample).image, set_id, calibration="cifar", key=sample.id)
            assert (result == images.image(index)).all()


def test_plugin_is_requested_by_name(plugin_build, plugin_recipe, source, tmp_path):
    for call, options in ((corruptset.verify, {"rederive": 2}), (corruptset.rebuild, {"out": tmp_path})):
        with pytest.raises(VerificationError, match=r"mine \(blinds\): is not loaded\. Pass --plugin mine"):
            call(plugin_build.directory, source=source, jobs=1, **options)
        with without_plugins():
            report = call(
                plugin_build.directory, source=source, jobs=1, plugins=[plugin_recipe.with_name("mine.py")], **options
            )
            assert report.ok if call is corruptset.verify else report.identical
    changed = tmp_path / "mine.py"
    changed.write_text(documented_module().replace("* 16", "* 15"))
    message = r"mine \(blinds\): the source is recorded as sha256:[0-9a-f]{64}, but here it is mine with sha256:"
    with pytest.raises(VerificationError, match=message):
        corruptset.verify(plugin_build.directory, rederive=1, source=source, jobs=1, plugins=[changed])


CHANGED = (
    r"was built with different versions of these plugins:\s+plugins\[mine\]\.sha256: existing .*\n"
    r"\s*Restore the earlier files of the plugins"
)


def test_interrupted_build_does_not_resume_with_changed_code(plugin_recipe, source, tmp_path):
    recipe, out = shutil.copytree(plugin_recipe.parent, tmp_path / "here") / plugin_recipe.name, tmp_path / "out"
    first = corruptset.build(recipe, source, tmp_path / "first", sets=["blinds/2"], **OPTIONS)
    second = corruptset.build(recipe, source, out, sets=["contrast/2"], extend=first.directory, **OPTIONS)
    assert first.manifest.plugins == second.manifest.plugins
    with (recipe.parent / "mine.py").open("a") as file:
        file.write("# new\n")
    with without_plugins(), pytest.raises(BuildError, match=CHANGED):
        corruptset.build(recipe, source, out, **OPTIONS)
    assert [path.name for path in out.iterdir()] == [second.directory.name]


def test_error_during_build_names_sample(source, tmp_path):
    opened_source = open_source(source)
    corners = [int(opened_source.load(sample).image[0, 0, 0]) for sample in opened_source.samples]
    victim = next(i for i in range(len(corners) - 1, -1, -1) if corners.count(corners[i]) == 1)
    for name, fault, message in (
        ("raises", "images[99]", "raised IndexError: index 99"),
        ("floats", "images / 2", "returned an array of float64"),
        ("cuts", "images[:, 1:]", "returned the shape"),
    ):
        body = f"return images if (images[:, 0, 0, 0] != {corners[victim]}).all() else {fault}"
        (tmp_path / f"{name}_plugin.py").write_text(HEAD + function_source(name, body, ", deterministic=True"))
        recipe, plugins = small_builds.write_recipe(tmp_path, more=CHAIN.format(name)), [tmp_path / f"{name}_plugin.py"]
        sentence = rf"The plugin {name}_plugin: {name} {message}.*\(sample '{opened_source.samples[victim].id}'\)\. "
        with pytest.raises(PluginError, match=sentence):
            corruptset.build(recipe, source, tmp_path / name, plugins=plugins, **OPTIONS)


def test_plan_measures_slow_corruption(source, tmp_path):
    seconds = []
    for name, pause in (("short", 0.0), ("long", 0.1)):
        body = f"__import__('time').sleep({pause} * len(images)); return 255 - images"
        (tmp_path / f"{name}.py").write_text(HEAD + function_source(name, body, ", deterministic=True"))
        recipe = small_builds.write_recipe(tmp_path, more=CHAIN.format(name))
        build_plan = corruptset.plan(recipe, source, plugins=[tmp_path / f"{name}.py"], jobs=1, any_shape=True)
        seconds.append(build_plan.seconds)
    assert seconds[1] - seconds[0] == pytest.approx(0.1 * build_plan.samples, rel=0.5)


def test_recipe_reports_unloadable_plugins_with_other_errors(tmp_path):
    recipe = small_builds.write_recipe(tmp_path, more=SETS)
    recipe.write_text('plugins = ["absent.py"]\n' + recipe.read_text().replace('version = "1.0.0"', 'version = "*"'))
    message = r"4 errors:\n  plugins: The plugin .*absent\.py cannot be loaded(.|\n)*there is no corruption 'blinds'"
    with pytest.raises(RecipeError, match=message):
        corruptset.build(recipe, "sample", tmp_path / "out")


@pytest.mark.ci
@pytest.mark.parametrize("way", ["jobs", "parts", "dask"])
def test_workers_load_plugin_themselves(plugin_build, plugin_recipe, source, tmp_path, way):
    if way == "jobs":
        result = corruptset.build(plugin_recipe, source, tmp_path, **OPTIONS | {"jobs": 2})
    elif way == "parts":
        for number in range(2):
            with without_plugins():
                corruptset.build(plugin_recipe, source, tmp_path, part=(number, 2), **OPTIONS)
        result = corruptset.build(plugin_recipe, source, tmp_path, finish=True, **OPTIONS)
    else:
        with Cluster(tmp_path / "cluster") as cluster:
            cluster.add()
            options = OPTIONS | {"jobs": None, "scheduler": cluster.address}
            result = corruptset.build(plugin_recipe, source, tmp_path / "out", **options)
    assert small_builds.read_files(result.directory) == small_builds.read_files(plugin_build.directory)
