"""Data sets of strangers and of other releases on the command line: one sentence, the right exit code, nothing that a
terminal obeys.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import layouts
import pytest
from damage import edit_manifest, redigest

ESC = "\x1b[2J\x1b]0;owned\x07\x9b31m"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("made")
    crops = layouts.write_crops(root / "crops", classes=2, each=1)
    return layouts.make(layouts.write_recipe(root), crops, root, sets=["contrast/*"], format="both")


@pytest.fixture
def build(whole: Path, tmp_path: Path) -> Path:
    """A data set of one's own, in the folder that `build --out .` would find it in."""
    shutil.copytree(whole, tmp_path / whole.name)
    return tmp_path / whole.name


def commands(build: Path, whole: Path) -> dict[str, tuple[int, list[Any]]]:
    source = f"folder:{whole.parent / 'crops'}"
    recipe = next(whole.parent.glob("*.toml"))
    return {
        "verify": (1, ["verify", build, "--jobs", 1]),
        "repair": (1, ["verify", build, "--jobs", 1, "--repair", "--source", source]),
        "show": (1, ["show", build]),
        "export": (1, ["export", "imagenet-c", build, "--out", "view"]),
        "pack": (1, ["pack", build, "--out", "release"]),
        "rebuild": (1, ["rebuild", build, "--source", source, "--out", "again", "--jobs", 1]),
        "build": (
            1,
            ["build", recipe, "--source", source, "--out", build.parent, "--sets", "brightness/1", "--jobs", 1],
        ),
    }


NAMES = ["verify", "repair", "show", "export", "pack", "rebuild", "build"]


@pytest.mark.parametrize("name", NAMES)
def test_a_build_of_another_schema(run: Callable[..., Any], whole: Path, build: Path, name: str) -> None:
    edit_manifest(build, lambda m: m.update(schema_version=3, something="new"), reseal=True)
    before = layouts.files_of(build)
    code, arguments = commands(build, whole)[name]
    done = run(*arguments)
    said = done.out + done.err
    assert done.code == code, said
    assert "schema_version is 3, and this release reads 2: use the release of corruptset that wrote it" in said
    assert "Extra inputs" not in said
    assert layouts.files_of(build) == before
    assert not {"view", "release", "again"} & {p.name for p in build.parent.iterdir()}


@pytest.mark.parametrize("version", ["1", None, True, -1.5])
def test_a_version_that_is_none(run: Callable[..., Any], build: Path, version: Any) -> None:
    edit_manifest(build, lambda m: m.update(schema_version=version), reseal=True)
    done = run("verify", build, "--jobs", 1)
    assert done.code == 1
    assert "schema: manifest.json: schema_version: " in done.out


HOSTILE: dict[str, dict[str, Any]] = {
    "crop": {"kind": "resize-crop", "resize": 256, "crop": 60000, "interpolation": "bilinear", "channels": "rgb"},
    "kind": {"kind": "explode"},
    "none": {},
}


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize("name", ["rederive", "rebuild", "repair", "samples"])
def test_a_preprocessing_that_no_build_has(
    run: Callable[..., Any], whole: Path, build: Path, what: str, name: str
) -> None:
    def change(m: dict[str, Any]) -> None:
        m["preprocessing"] = m["recipe"]["preprocessing"] = HOSTILE[what]

    edit_manifest(build, change)
    redigest(build)
    assert run("verify", build, "--jobs", 1).code == 0
    assert run("show", build).code == 0
    source = f"folder:{whole.parent / 'crops'}"
    arguments = commands(build, whole)["rebuild" if name == "rebuild" else "repair"][1]
    if name == "rederive":
        arguments = ["verify", build, "--rederive", 1, "--source", source, "--jobs", 1]
    elif name == "repair":
        next(build.rglob("*.png")).unlink()
        next(build.rglob("*.h5")).unlink()
    elif name == "samples":
        (build / "samples.jsonl").unlink()
    done = run(*arguments)
    assert done.code == 1, done.err
    assert "No build has the manifest's preprocessing" in done.err
    assert {"crop": "crop: ", "kind": "explode", "none": "kind"}[what] in done.err
    assert "pydantic" not in done.err


def test_names_of_a_stranger_do_not_reach_the_terminal(
    run: Callable[..., Any], build: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(m: dict[str, Any]) -> None:
        m["source"].update(name=f"folder{ESC}", license=f"{ESC}\nDigest: sha256:0000")
        m["sets"][0]["aliases"] = [f"alias{ESC}"]
        m["preprocessing"] = m["recipe"]["preprocessing"] = {"kind": f"none{ESC}\nSeed 9"}
        m["environment"]["numpy"] = ESC
        for entry in m["recipe"]["sets"]:
            entry.pop("aliases", None)

    edit_manifest(build, change, reseal=True)
    redigest(build)
    for arguments in (
        ["show", build],
        ["show", build, "--json"],
        ["verify", build, "--jobs", 1],
        ["rebuild", build],
        ["pack", build],
    ):
        for colour in (False, True):
            monkeypatch.setenv("FORCE_COLOR", "1") if colour else monkeypatch.delenv("FORCE_COLOR", raising=False)
            done = run(*arguments)
            text = done.out + done.err
            assert "\x1b[2J" not in text, arguments
            assert "\x1b]0" not in text
            assert "\x07" not in text
            assert "\x9b" not in text
            assert "\nDigest: sha256:0000" not in text
            assert "\nSeed 9" not in text
    shown = run("show", build).out
    assert "alias\\x1b[2J" in shown
    assert json.loads(run("show", build, "--json").out)["sets"][0]["aliases"] == [f"alias{ESC}"]
    edit_manifest(
        build,
        lambda m: m["sets"][0].update(aliases=[f"a{ESC}"] * 2) or m["classes"][0].update(name=ESC, folder=ESC),
        reseal=True,
    )
    done = run("verify", build, "--jobs", 1)
    assert done.code == 1
    assert "\x1b" not in done.out
