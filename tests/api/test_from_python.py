"""What commands do can be done from Python, with the same results, and quietly where nobody watches."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from commands import Server

import corruptset
from corruptset.corruptions import compile_notice
from corruptset.errors import BuildError, ImageError, ParameterError, UnknownCorruption
from corruptset.generate.catalogue import catalogue
from corruptset.progress import ProgressDisplay


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("commands"))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def built(shared):
    """A small data set of image files."""
    directory: Path = shared.build(crops={"classes": 2}, sets=["contrast/*"], format="folder")
    return directory


def test_names_are_those_of_the_list(command):
    for what, key in (("corruptions", "name"), ("recipes", "name"), ("sources", "source"), ("calibrations", "name")):
        rows = command.call("list", what, "--json").json[what]
        assert corruptset.names(what) == [row[key] for row in rows]  # type: ignore[arg-type]
        assert json.loads(json.dumps(catalogue(what))) == rows  # type: ignore[arg-type]
    blurs = ["defocus_blur", "glass_blur", "motion_blur", "zoom_blur"]
    assert sorted(corruptset.names(family="blur", role="test")) == blurs


def test_show_has_the_record_of_the_command(command, built):
    for named in ("fog", "mnist", "flageval", str(built)):
        shown = corruptset.show(named)
        assert json.loads(json.dumps(shown.record)) == command.call("show", named, "--json").json
        assert len(repr(shown)) < 400
        assert shown.kind in repr(shown)


def test_names_that_there_are_not():
    with pytest.raises(ParameterError, match=r"no family 'whether'\. Did you mean 'weather'"):
        corruptset.names(family="whether")
    with pytest.raises(ParameterError, match="Only corruptions have a family"):
        corruptset.names("recipes", family="blur")
    with pytest.raises(UnknownCorruption, match="Did you mean 'gaussian_noise'"):
        corruptset.show("gaussian-noise")
    with pytest.raises(ParameterError, match="which has levels; 'fog' has none"):
        corruptset.show("fog", ladder="text")


def test_export_pack_and_unpack_write_what_the_commands_write(command, built, tmp_path):
    exported = corruptset.export("imagefolder", built, tmp_path / "view")
    told = command.call("export", "imagefolder", built, "--out", tmp_path / "view2", "--json").json
    assert (exported.images, exported.digest) == (told["images"], told["digest"])
    image = next(path for path in exported.top.rglob("*") if path.suffix in (".JPEG", ".png"))
    image.unlink()
    image.write_bytes(b"no image")
    # against its build, a view's image is named; by itself, its folder
    for report, wrong in (
        (corruptset.verify(built, view=exported.path), image),
        (corruptset.verify(exported.path), image.parent),
    ):
        assert {problem.path for problem in report.problems} == {wrong.relative_to(exported.path).as_posix()}
    packed = corruptset.pack(built, tmp_path / "packed", by="set")
    told = command.call("pack", built, "--out", tmp_path / "packed2", "--by", "set", "--json").json
    assert [(a.path, a.sha256) for a in packed.archives] == [(a["path"], a["sha256"]) for a in told["archives"]]
    first = packed.path / packed.archives[0].path
    unpacked = corruptset.unpack([first], tmp_path / "out")
    told = command.call("unpack", first, "--out", tmp_path / "out2", "--json").json
    assert (unpacked.sets, unpacked.absent, unpacked.written) == (told["sets"], told["absent"], told["written"])
    assert (
        repr(exported)
        == f"<Exported imagefolder in {exported.top}: {exported.images} images, {exported.linked} of them hard links>"
    )


def test_preview_has_the_images_of_a_build_and_the_sheet_of_the_command(command, tmp_path):
    shown = corruptset.preview(sets=["contrast/*"], out=tmp_path / "a.png")
    told = command.call("preview", "--sets", "contrast/*", "--out", tmp_path / "b.png", "--json").json
    assert shown.path == tmp_path / "a.png"
    assert shown.png == (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    assert (shown.recipe, list(shown.images), shown.key) == (told["recipe"], told["sets"], told["key"])
    image = shown.images["contrast/3"]
    assert (image.shape, image.dtype) == ((224, 224, 3), np.uint8)
    assert len(repr(shown)) < 200
    assert base64.b64encode(shown.png).decode() in shown._repr_html_()
    with pytest.raises(BuildError, match="exists"):
        corruptset.preview(sets=["contrast/1"], out=tmp_path / "a.png")


def test_preview_takes_pixels():
    pixels = np.random.default_rng(3).integers(0, 256, (40, 32), np.uint8)
    shown = corruptset.preview(pixels, sets=["brightness/2"])
    assert (shown.recipe, shown.path) == ("cifar10-c", None)
    assert shown.key.startswith("blake3:")
    other = corruptset.preview(pixels[:, :, None], sets=["brightness/2"], key=shown.key)
    assert np.array_equal(shown.images["brightness/2"], other.images["brightness/2"])
    regions = corruptset.preview(pixels, regions=True)
    assert (regions.images, "regions" in repr(regions)) == ({}, True)
    with pytest.raises(ImageError):
        corruptset.preview(pixels.astype(float))


def test_a_script_that_nobody_watches_prints_nothing(built, tmp_path, capfd):
    corruptset.verify(built)
    corruptset.pack(built, tmp_path / "packed")
    corruptset.preview(sets=["contrast/1"])
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")
    told: list[Any] = []
    corruptset.verify(built, progress=lambda *step: told.append(step))
    assert told[-1][0] == "sets"


def test_compiling_is_said_once_and_only_of_our_kernels(capsys):
    notice = compile_notice.CompileNotice()

    def compiling(module: str | None) -> str:
        notice.on_start(
            SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=SimpleNamespace(__module__=module))})
        )
        return capsys.readouterr().err

    assert [compiling(others) for others in ("users_plugin", "__main__", None)] == [""] * 3
    with ProgressDisplay("build"):
        compiling("corruptset.corruptions.blur")  # the display says it
    assert [compiling("corruptset.corruptions.blur") for _ in range(2)] == [f"{compile_notice.SENTENCE}\n", ""]
