"""What commands do can be done from Python, with the same results, and quietly where nobody watches."""

from __future__ import annotations

import base64
import json
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Iterator
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
def command(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("commands"))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def built(shared: Any) -> Path:
    """A small data set of image files."""
    directory: Path = shared.build(crops={"classes": 2}, sets=["contrast/*"], format="folder")
    return directory


def test_names_are_those_of_the_list(command: Server) -> None:
    for what, key in (("corruptions", "name"), ("recipes", "name"), ("sources", "source"), ("calibrations", "name")):
        rows = command.call("list", what, "--json").json[what]
        assert corruptset.names(what) == [row[key] for row in rows]  # type: ignore[arg-type]
        assert json.loads(json.dumps(catalogue(what))) == rows  # type: ignore[arg-type]
    every = {row["name"]: row for row in catalogue("corruptions")}
    assert corruptset.names(family="blur", role="test") == [
        n for n, r in every.items() if (r["family"], r["role"]) == ("blur", "test")
    ]
    assert (
        corruptset.names(role="validation")
        == [name for name, row in every.items() if row["role"] == "validation"]
        != []
    )
    assert [one.name for one in corruptset.recipes()] == corruptset.names("recipes")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"what": "corruption"}, "Did you mean 'corruptions'"),
        ({"family": "whether"}, "no family 'whether'. Did you mean 'weather'"),
        ({"role": "tets"}, "no role 'tets'. Did you mean 'test'"),
        ({"what": "recipes", "family": "blur"}, "Only corruptions have a family"),
    ],
)
def test_names_that_there_are_not(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        corruptset.names(**arguments)


@pytest.mark.parametrize("name", ["fog", "mnist", "flageval", "BUILD"])
def test_show_has_the_record_of_the_command(name: str, command: Server, built: Path) -> None:
    named = str(built) if name == "BUILD" else name
    shown = corruptset.show(named)
    assert json.loads(json.dumps(shown.record)) == command.call("show", named, "--json").json
    assert len(repr(shown)) < 400
    assert shown.kind in repr(shown)


def test_show_of_what_there_is_not() -> None:
    with pytest.raises(UnknownCorruption, match="Did you mean 'gaussian_noise'"):
        corruptset.show("gaussian-noise")
    with pytest.raises(ParameterError, match="which has levels; 'fog' has none"):
        corruptset.show("fog", ladder="text")


def test_export_pack_and_unpack_write_what_the_commands_write(command: Server, built: Path, tmp_path: Path) -> None:
    exported = corruptset.export("imagefolder", built, tmp_path / "view")
    told = command.call("export", "imagefolder", built, "--out", tmp_path / "view2", "--json").json
    assert (exported.images, exported.digest) == (told["images"], told["digest"])
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


def test_a_family_that_is_not_known_here_is_packed_apart(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corruptset.corruptions.registry._modules", dict)
    names = [Path(a.path).name for a in corruptset.pack(built, tmp_path / "packed").archives]
    assert any("other" in name for name in names)


def test_preview_has_the_images_of_a_build_and_the_sheet_of_the_command(command: Server, tmp_path: Path) -> None:
    shown = corruptset.preview(sets=["contrast/*"], out=tmp_path / "a.png")
    told = command.call("preview", "--sets", "contrast/*", "--out", tmp_path / "b.png", "--json").json
    assert shown.path == tmp_path / "a.png"
    assert shown.png == (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    assert (shown.recipe, list(shown.images), shown.key, shown.seed) == (
        told["recipe"],
        told["sets"],
        told["key"],
        told["seed"],
    )
    image = shown.images["contrast/3"]
    assert (image.shape, image.dtype) == ((224, 224, 3), np.uint8)
    assert len(repr(shown)) < 200
    picture = shown._repr_html_()
    assert base64.b64encode(shown.png).decode() in picture
    assert 'alt="' in picture
    with pytest.raises(BuildError, match="exists"):
        corruptset.preview(sets=["contrast/1"], out=tmp_path / "a.png")
    assert (
        corruptset.preview(sets=["contrast/1"], out=tmp_path / "a.png", force=True).png
        == (tmp_path / "a.png").read_bytes()
    )


def test_preview_takes_pixels() -> None:
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


def test_a_view_is_verified_from_python_too(built: Path, tmp_path: Path) -> None:
    exported = corruptset.export("imagefolder", built, tmp_path / "view")
    assert corruptset.verify(exported.path).ok
    assert corruptset.verify(built, view=exported.path).ok
    with pytest.raises(ParameterError, match="not for a view"):
        corruptset.verify(exported.path, rederive=1)


def test_a_script_that_nobody_watches_prints_nothing(
    built: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    corruptset.verify(built)
    corruptset.pack(built, tmp_path / "packed")
    corruptset.preview(sets=["contrast/1"])
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")
    told: list[Any] = []
    corruptset.verify(built, progress=lambda *step: told.append(step))
    assert told[-1][0] == "sets"


def test_compiling_is_said_once_and_only_of_our_kernels(capsys: pytest.CaptureFixture[str]) -> None:
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


@pytest.mark.ci
def test_the_first_call_of_a_script_on_a_terminal_says_that_it_compiles(tmp_path: Path) -> None:
    script = (
        "import numpy, corruptset; corruptset.corrupt(numpy.zeros((32, 32, 3), numpy.uint8), 'glass_blur', severity=1)"
    )
    said = []
    for _ in range(2):
        main, terminal = pty.openpty()
        environment = {**os.environ, "CORRUPTSET_CACHE": str(tmp_path / "cache")}
        subprocess.run([sys.executable, "-c", script], stderr=terminal, env=environment, check=True)
        os.write(terminal, b"end")
        text = b""
        while not text.endswith(b"end"):
            text += os.read(main, 4096)
        said.append(text.count(compile_notice.SENTENCE.encode()))
        os.close(terminal)
        os.close(main)
    assert said == [1, 0]
    shutil.rmtree(tmp_path / "cache")
