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
def built(shared_data):
    """Return a small dataset of image files."""
    return shared_data.build(crops={"classes": 2}, sets=["contrast/*"], storage="folder")


def test_names_and_what_is_known_of_them(built):
    for what, key in (("corruptions", "name"), ("sources", "source"), ("calibrations", "name")):
        assert corruptset.names(what) == [row[key] for row in catalogue(what)]
    blurs = ["defocus_blur", "glass_blur", "motion_blur", "zoom_blur"]
    assert sorted(corruptset.names(family="blur", role="test")) == blurs
    for named in ("fog", "mnist", "flageval", str(built)):
        shown = corruptset.show(named)
        assert (shown.kind in repr(shown), len(repr(shown)) < 400) == (True, True)


@pytest.mark.parametrize(
    ("call", "given", "error", "said"),
    [
        (corruptset.names, {"family": "whether"}, ParameterError, r"no family 'whether'\. Did you mean 'weather'"),
        (corruptset.names, {"what": "recipes", "family": "blur"}, ParameterError, "family and role apply only"),
        (corruptset.show, {"name": "gaussian-noise"}, UnknownCorruption, "Did you mean 'gaussian_noise'"),
        (corruptset.show, {"name": "fog", "ladder": "text"}, ParameterError, "'fog' has no levels"),
    ],
)
def test_names_that_there_are_not(call, given, error, said):
    with pytest.raises(error, match=said):
        call(**given)


def test_a_view_is_checked_by_itself_and_against_its_build(built, tmp_path):
    exported = corruptset.export("imagefolder", built, tmp_path / "export")
    numbers = f"{exported.images} images, {exported.linked} of them hard links"
    assert repr(exported) == f"<Exported imagefolder in {exported.top}: {numbers}>"
    image = next(path for path in exported.top.rglob("*") if path.suffix in (".JPEG", ".png"))
    image.unlink()
    image.write_bytes(b"no image")
    # An exported image is named if the export is compared with its dataset. Otherwise its folder is named.
    for report, wrong in (
        (corruptset.verify(built, export=exported.path), image),
        (corruptset.verify(exported.path), image.parent),
    ):
        assert {problem.path for problem in report.problems} == {wrong.relative_to(exported.path).as_posix()}


def asks_for_sets(built, shared_data, out):
    recipe, source = shared_data.recipe(), f"folder:{shared_data.crops(classes=2)}"
    options = {"any_shape": True, "jobs": 1}
    return {
        "build": lambda sets: corruptset.build(recipe, source, out=out / "b", sets=sets, **options),
        "plan": lambda sets: corruptset.plan(recipe, source, sets=sets, **options),
        "rebuild": lambda sets: corruptset.rebuild(built, source, out=out / "r", sets=sets, jobs=1),
        "export": lambda sets: corruptset.export("imagefolder", built, out / "e", sets=sets),
        "preview": lambda sets: corruptset.preview(recipe=recipe, sets=sets),
        "of a data set": lambda sets: match_set_names({"fog/1": ["fog/1"]}, sets, "here"),
    }


def test_no_sets_are_refused_and_a_pattern_may_stand_alone(built, shared_data, tmp_path):
    for name, call in asks_for_sets(built, shared_data, tmp_path).items():
        for sets in ([], ()):
            with pytest.raises(
                ParameterError, match=r"sets is [\[(].*name some sets, such as 'fog/\*', or leave it out"
            ):
                call(sets)
        for sets in ([3], np.array([1, 2])):
            with pytest.raises(ParameterError, match=r"sets is (.*; name some sets|[13]; expected text)"):
                call(sets)
        with pytest.raises((UnknownCorruption, BuildError), match=r"'fogg/\*' matches no set") as said:
            call("fogg/*")
        assert str(said.value).count("matches") == 1, name
    assert not [*tmp_path.iterdir()]


def test_what_a_list_is_expected_of_may_be_one_item(built, shared_data, tmp_path):
    recipe, source = shared_data.recipe(), f"folder:{shared_data.crops(classes=2)}"
    options = {"any_shape": True, "jobs": 1}
    assert corruptset.export("imagefolder", built, tmp_path / "e", sets="contrast/1").images == 4
    one, listed = corruptset.pairs("fog", "snow", severities=3), corruptset.pairs(["fog"], ["snow"], severities=[3])
    assert one == listed
    for path in ("mine.py", Path("mine.py")):
        with pytest.raises(PluginError, match=r"The plugin \S*mine\.py cannot be loaded"):
            corruptset.plan(recipe, source, plugins=path, **options)
    with pytest.raises(ScoreError, match=r"The scores nowhere cannot be read"):
        corruptset.compare("nowhere")
    with pytest.raises(ScoreError, match=r"The scores nowhere cannot be read"):
        corruptset.report(built, "nowhere", tmp_path / "r.html")


def test_a_source_may_be_a_path_and_nothing_else_than_a_line(built, shared_data):
    recipe, source = shared_data.recipe(), Path(f"folder:{shared_data.crops(classes=2)}")
    assert corruptset.plan(recipe, source, any_shape=True, jobs=1).samples == 4
    assert corruptset.open(built, source=source, progress=False)["contrast/1"].ids
    for call in (lambda: corruptset.plan(recipe, 3), lambda: corruptset.open(built, source=3)):
        with pytest.raises(SourceError, match="source is of type int; expected a string such as 'folder:PATH'"):
            call()


@pytest.mark.parametrize(
    ("call", "given", "said"),
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
def test_words_and_numbers_that_cannot_be_taken(built, call, given, said):
    with pytest.raises(ParameterError, match=said):
        getattr(corruptset, call)(built, **given)


def test_preview_has_images_and_a_sheet(tmp_path):
    sheet = tmp_path / "a.png"
    shown = corruptset.preview(sets=["contrast/*"], out=sheet)
    assert (shown.path, shown.png, shown.key) == (sheet, sheet.read_bytes(), "astronaut")
    image = shown.images["contrast/3"]
    assert (image.shape, image.dtype) == ((224, 224, 3), np.uint8)
    assert len({one.tobytes() for one in shown.images.values()}) == 5
    assert len(repr(shown)) < 200
    assert base64.b64encode(shown.png).decode() in shown._repr_html_()
    with pytest.raises(BuildError, match="exists"):
        corruptset.preview(sets=["contrast/1"], out=sheet)


def test_preview_takes_pixels():
    pixels = np.random.default_rng(3).integers(0, 256, (40, 32), np.uint8)
    shown = corruptset.preview(pixels, sets=["brightness/2"])
    assert (shown.recipe, shown.path) == ("cifar10-c", None)
    assert shown.key.startswith("blake3:")
    other = corruptset.preview(pixels[:, :, None], sets=["gaussian_noise/2"], key="mine")
    expected = corruptset.corrupt(pixels, "gaussian_noise", severity=2, key="mine")
    assert other.key == "mine"
    assert np.array_equal(other.images["gaussian_noise/2"].squeeze(), expected.squeeze())
    regions = corruptset.preview(pixels, regions=True)
    assert (regions.images, "regions" in repr(regions)) == ({}, True)
    with pytest.raises(ImageError):
        corruptset.preview(pixels.astype(float))


def test_a_script_that_nobody_watches_prints_nothing(built, tmp_path, capfd):
    corruptset.verify(built)
    corruptset.pack(built, tmp_path / "packed")
    corruptset.preview(sets=["contrast/1"])
    assert capfd.readouterr() == ("", "")
    told = []
    corruptset.verify(built, progress=lambda *step: told.append(step))
    assert told[-1][0] == "sets"


def test_compiling_is_said_once_and_only_of_our_kernels(capsys):
    notice = compile_notice.CompileNotice()

    def compiling(module):
        dispatcher = SimpleNamespace(py_func=SimpleNamespace(__module__=module))
        notice.on_start(SimpleNamespace(data={"dispatcher": dispatcher}))
        return capsys.readouterr().err

    assert [compiling(others) for others in ("users_plugin", "__main__", None)] == [""] * 3
    with ProgressDisplay("build"):
        compiling("corruptset.corruptions.blur")  # The progress display prints it.
    assert [compiling("corruptset.corruptions.blur") for _ in range(2)] == [f"{compile_notice.SENTENCE}\n", ""]
