"""Test that the functions behind the commands can be called from Python, and print nothing if nobody is watching."""

from __future__ import annotations

import base64
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import corruptset
from corruptset.corruptions import compile_notice
from corruptset.errors import (
    BuildError,
    ImageError,
    ParameterError,
    PluginError,
    ScoreError,
    SourceError,
    UnknownCorruption,
)
from corruptset.generate.catalogue import catalogue
from corruptset.manifests.set_choice import match_set_names
from corruptset.progress import ProgressDisplay


@pytest.fixture(scope="module")
def dataset_dir(shared_data):
    """Return a small dataset of image files."""
    return shared_data.build(crops={"classes": 2}, sets=["contrast/*"], storage="folder")


def test_names_and_show_describe_everything(dataset_dir):
    for kind_of_name, key in (("corruptions", "name"), ("sources", "source"), ("calibrations", "name")):
        assert corruptset.names(kind_of_name) == [row[key] for row in catalogue(kind_of_name)]
    blurs = ["defocus_blur", "glass_blur", "motion_blur", "zoom_blur"]
    assert sorted(corruptset.names(family="blur", role="test")) == blurs
    for name in ("fog", "mnist", "flageval", str(dataset_dir)):
        description = corruptset.show(name)
        assert (description.kind in repr(description), len(repr(description)) < 400) == (True, True)


@pytest.mark.parametrize(
    ("call", "arguments", "error", "message"),
    [
        (corruptset.names, {"family": "whether"}, ParameterError, r"no family 'whether'\. Did you mean 'weather'"),
        (corruptset.names, {"what": "recipes", "family": "blur"}, ParameterError, "family and role apply only"),
        (corruptset.show, {"name": "gaussian-noise"}, UnknownCorruption, "Did you mean 'gaussian_noise'"),
        (corruptset.show, {"name": "fog", "ladder": "text"}, ParameterError, "'fog' has no levels"),
    ],
)
def test_unknown_names_are_rejected(call, arguments, error, message):
    with pytest.raises(error, match=message):
        call(**arguments)


def test_export_is_verified_alone_and_against_its_build(dataset_dir, tmp_path):
    export_result = corruptset.export("imagefolder", dataset_dir, tmp_path / "export")
    numbers = f"{export_result.images} images, {export_result.linked} of them hard links"
    assert repr(export_result) == f"<Exported imagefolder in {export_result.top}: {numbers}>"
    image = next(path for path in export_result.top.rglob("*") if path.suffix in (".JPEG", ".png"))
    image.unlink()
    image.write_bytes(b"no image")
    # An exported image is named if the export is compared with its dataset. Otherwise its folder is named.
    for report, problems in (
        (corruptset.verify(dataset_dir, export=export_result.path), image),
        (corruptset.verify(export_result.path), image.parent),
    ):
        assert {problem.path for problem in report.problems} == {problems.relative_to(export_result.path).as_posix()}


def calls_with_sets(directory, shared_data, out):
    recipe, source = shared_data.recipe(), f"folder:{shared_data.crops(classes=2)}"
    options = {"any_shape": True, "jobs": 1}
    return {
        "build": lambda sets: corruptset.build(recipe, source, out=out / "b", sets=sets, **options),
        "plan": lambda sets: corruptset.plan(recipe, source, sets=sets, **options),
        "rebuild": lambda sets: corruptset.rebuild(directory, source, out=out / "r", sets=sets, jobs=1),
        "export": lambda sets: corruptset.export("imagefolder", directory, out / "e", sets=sets),
        "preview": lambda sets: corruptset.preview(recipe=recipe, sets=sets),
        "of a data set": lambda sets: match_set_names({"fog/1": ["fog/1"]}, sets, "here"),
    }


def test_empty_sets_are_rejected_and_single_pattern_is_accepted(dataset_dir, shared_data, tmp_path):
    for name, call in calls_with_sets(dataset_dir, shared_data, tmp_path).items():
        for sets in ([], ()):
            with pytest.raises(
                ParameterError, match=r"sets is [\[(].*name some sets, such as 'fog/\*', or leave it out"
            ):
                call(sets)
        for sets in ([3], np.array([1, 2])):
            with pytest.raises(ParameterError, match=r"sets is (.*; name some sets|[13]; expected text)"):
                call(sets)
        with pytest.raises((UnknownCorruption, BuildError), match=r"'fogg/\*' matches no set") as exc_info:
            call("fogg/*")
        assert str(exc_info.value).count("matches") == 1, name
    assert not [*tmp_path.iterdir()]


def test_list_arguments_accept_single_item(dataset_dir, shared_data, tmp_path):
    recipe, source = shared_data.recipe(), f"folder:{shared_data.crops(classes=2)}"
    options = {"any_shape": True, "jobs": 1}
    assert corruptset.export("imagefolder", dataset_dir, tmp_path / "e", sets="contrast/1").images == 4
    one, from_lists = corruptset.pairs("fog", "snow", severities=3), corruptset.pairs(["fog"], ["snow"], severities=[3])
    assert one == from_lists
    for path in ("mine.py", Path("mine.py")):
        with pytest.raises(PluginError, match=r"The plugin \S*mine\.py cannot be loaded"):
            corruptset.plan(recipe, source, plugins=path, **options)
    with pytest.raises(ScoreError, match=r"The scores nowhere cannot be read"):
        corruptset.compare("nowhere")
    with pytest.raises(ScoreError, match=r"The scores nowhere cannot be read"):
        corruptset.report(dataset_dir, "nowhere", tmp_path / "r.html")


def test_source_may_be_path_or_text_only(dataset_dir, shared_data):
    recipe, source = shared_data.recipe(), Path(f"folder:{shared_data.crops(classes=2)}")
    assert corruptset.plan(recipe, source, any_shape=True, jobs=1).samples == 4
    assert corruptset.open(dataset_dir, source=source, progress=False)["contrast/1"].ids
    for call in (lambda: corruptset.plan(recipe, 3), lambda: corruptset.open(dataset_dir, source=3)):
        with pytest.raises(SourceError, match="source is of type int; expected a string such as 'folder:PATH'"):
            call()


@pytest.mark.parametrize(
    ("call", "arguments", "message"),
    [
        ("verify", {"level": "x"}, "level is 'x'; expected one of structure"),
        ("verify", {"jobs": 0}, "jobs is 0; expected a whole number, at least 1"),
        ("verify", {"jobs": "x"}, "jobs is 'x'; expected a whole number"),
        ("fetch", {"out": "o", "level": "x"}, "level is 'x'; expected one of structure"),
        ("fetch", {"out": "o", "connections": 0}, "connections is 0; expected a whole number, at least 1"),
        ("pack", {"out": "o", "by": "x"}, "by is 'x'; expected one of family, corruption, set"),
        ("pack", {"out": "o", "max_bytes": "x"}, "max_bytes is 'x'; expected a whole number"),
    ],
)
def test_invalid_words_and_numbers_are_rejected(dataset_dir, call, arguments, message):
    with pytest.raises(ParameterError, match=message):
        getattr(corruptset, call)(dataset_dir, **arguments)


def test_preview_has_images_and_sheet(tmp_path):
    sheet = tmp_path / "a.png"
    result = corruptset.preview(sets=["contrast/*"], out=sheet)
    assert (result.path, result.png, result.key) == (sheet, sheet.read_bytes(), "astronaut")
    image = result.images["contrast/3"]
    assert (image.shape, image.dtype) == ((224, 224, 3), np.uint8)
    assert len({image.tobytes() for image in result.images.values()}) == 5
    assert len(repr(result)) < 200
    assert base64.b64encode(result.png).decode() in result._repr_html_()
    with pytest.raises(BuildError, match="exists"):
        corruptset.preview(sets=["contrast/1"], out=sheet)


def test_preview_accepts_pixels():
    pixels = np.random.default_rng(3).integers(0, 256, (40, 32), np.uint8)
    result = corruptset.preview(pixels, sets=["brightness/2"])
    assert (result.recipe, result.path) == ("cifar10-c", None)
    assert result.key.startswith("blake3:")
    other = corruptset.preview(pixels[:, :, None], sets=["gaussian_noise/2"], key="mine")
    expected = corruptset.corrupt(pixels, "gaussian_noise", severity=2, key="mine")
    assert other.key == "mine"
    assert np.array_equal(other.images["gaussian_noise/2"].squeeze(), expected.squeeze())
    regions = corruptset.preview(pixels, regions=True)
    assert (regions.images, "regions" in repr(regions)) == ({}, True)
    with pytest.raises(ImageError):
        corruptset.preview(pixels.astype(float))


def test_script_without_terminal_prints_nothing(dataset_dir, tmp_path, capfd):
    corruptset.verify(dataset_dir)
    corruptset.pack(dataset_dir, tmp_path / "packed")
    corruptset.preview(sets=["contrast/1"])
    assert capfd.readouterr() == ("", "")
    events = []
    corruptset.verify(dataset_dir, progress=lambda *step: events.append(step))
    assert events[-1][0] == "sets"


def test_compile_notice_is_printed_once_and_only_for_own_kernels(capsys):
    notice = compile_notice.CompileNotice()

    def compiling(module):
        dispatcher = SimpleNamespace(py_func=SimpleNamespace(__module__=module))
        notice.on_start(SimpleNamespace(data={"dispatcher": dispatcher}))
        return capsys.readouterr().err

    assert [compiling(others) for others in ("users_plugin", "__main__", None)] == [""] * 3
    with ProgressDisplay("build"):
        compiling("corruptset.corruptions.blur")  # The progress display prints it.
    assert [compiling("corruptset.corruptions.blur") for _ in range(2)] == [f"{compile_notice.SENTENCE}\n", ""]
