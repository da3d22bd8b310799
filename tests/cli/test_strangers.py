"""Data sets of strangers and of other releases on the command line: one sentence, the right exit code, nothing that a
terminal obeys.
"""

from __future__ import annotations

import json
import shutil
from typing import Any

import layouts
import pytest
from damage import edit_manifest, redigest

ESC = "\x1b[2J\x1b]0;owned\x07\x9b31m"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    root = tmp_path_factory.mktemp("made")
    crops = layouts.write_crops(root / "crops", classes=2, each=1)
    return layouts.make(layouts.write_recipe(root), crops, root, sets=["contrast/*"], format="both")


@pytest.fixture
def build(whole, tmp_path):
    """A data set of one's own, in the folder that `build --out .` would find it in."""
    shutil.copytree(whole, tmp_path / whole.name)
    return tmp_path / whole.name


def test_a_build_of_another_schema(run, whole, build):
    edit_manifest(build, lambda m: m.update(schema_version=3, something="new"), reseal=True)
    before = layouts.files_of(build)
    source, recipe = f"folder:{whole.parent / 'crops'}", next(whole.parent.glob("*.toml"))
    for words in (
        ["verify --jobs 1", build],
        ["verify --jobs 1 --repair --source", source, build],
        ["show", build],
        ["export imagenet-c --out view", build],
        ["pack --out release", build],
        ["rebuild --out again --jobs 1 --source", source, build],
        ["build --sets brightness/1 --jobs 1 --source", source, recipe, "--out", build.parent],
    ):
        done = run(*words)
        said = done.out + done.err
        assert done.code == 1, said
        assert "schema_version is 3, and this release reads 2: use the release of corruptset that wrote it" in said
        assert "Extra inputs" not in said
    assert layouts.files_of(build) == before
    assert not {"view", "release", "again"} & {p.name for p in build.parent.iterdir()}


def test_a_preprocessing_that_no_build_has(run, whole, build):
    hostile = {"kind": "resize-crop", "resize": 256, "crop": 60000, "interpolation": "bilinear", "channels": "rgb"}

    def change(m: dict[str, Any]) -> None:
        m["preprocessing"] = m["recipe"]["preprocessing"] = hostile

    edit_manifest(build, change)
    redigest(build)
    assert run("verify --jobs 1", build).code == 0
    assert run("show", build).code == 0
    source = ["--source", f"folder:{whole.parent / 'crops'}", "--jobs", 1]
    next(build.rglob("*.png")).unlink()
    next(build.rglob("*.h5")).unlink()
    for words in (["verify", build, "--rederive", 1], ["verify", build, "--repair"], ["rebuild", build]):
        done = run(*words, *source)
        assert done.code == 1, done.err
        assert "No build has the manifest's preprocessing" in done.err
        assert "crop: " in done.err
        assert "pydantic" not in done.err


def test_names_of_a_stranger_do_not_reach_the_terminal(run, build, monkeypatch):
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
    assert json.loads(run("show --json", build).out)["sets"][0]["aliases"] == [f"alias{ESC}"]
