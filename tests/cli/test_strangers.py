"""Test datasets from unknown origins and other releases, whose names must not control the terminal."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from damage import edit_manifest, update_digest

ESC = "\x1b[2J\x1b]0;owned\x07\x9b31m"


@pytest.fixture
def build(shared_data, tmp_path):
    """Return a copy of a dataset in the folder in which `build --out .` would look for it."""
    directory = shared_data.build(crops={"classes": 2, "each": 1}, sets=["contrast/*"], storage="both")
    return Path(shutil.copytree(directory, tmp_path / directory.name))


@pytest.fixture
def source(shared_data):
    return f"--jobs 1 --source folder:{shared_data.crops(classes=2, each=1)}".split()


def test_build_with_other_schema_is_rejected(run, recipe, build, source):
    edit_manifest(build, lambda m: m.update(schema_version=4, something="new"), reseal=True)
    for arguments in (
        ["verify", build],
        ["verify --repair", build, *source],
        ["show", build],
        ["export imagenet-c --out exported", build],
        ["pack --out release", build],
        ["rebuild --out again", build, *source],
        ["build --sets brightness/1 --out .", recipe, *source],
    ):
        message = (
            "schema_version is 4, but this release of corruptset reads version 3; use the release that wrote the file"
        )
        result = run.fails(message, *arguments, code=1)
        assert "Extra inputs" not in result.out + result.err


def test_unknown_preprocessing_is_rejected(run, build, source):
    hostile = {"kind": "resize-crop", "resize": 256, "crop": 60000, "interpolation": "bilinear", "channels": "rgb"}

    def change(m):
        m["preprocessing"] = m["recipe"]["preprocessing"] = hostile

    edit_manifest(build, change)
    update_digest(build)
    run.succeeds("verify --jobs 1", build)
    run.succeeds("show", build)
    next(build.rglob("*.png")).unlink()
    next(build.rglob("*.h5")).unlink()
    for line in ("verify --rederive 1", "verify --repair", "rebuild"):
        err = run.fails("The manifest's preprocessing is not valid", line, build, *source, code=1).err
        assert "crop: " in err
        assert "pydantic" not in err


def test_foreign_names_are_escaped_on_terminal(run, build, monkeypatch):
    def change(m):
        m["source"].update(name=f"folder{ESC}", license=f"{ESC}\nDigest: sha256:0000")
        m["sets"][0]["aliases"] = [f"alias{ESC}"]
        m["preprocessing"] = m["recipe"]["preprocessing"] = {"kind": f"none{ESC}\nSeed 9"}
        m["environment"]["numpy"] = ESC
        for entry in m["recipe"]["sets"]:
            entry.pop("aliases", None)

    edit_manifest(build, change, reseal=True)
    update_digest(build)
    output = run("show", build).out
    assert "alias\\x1b[2J" in output
    assert run("show --json", build).json["sets"][0]["aliases"] == [f"alias{ESC}"]
    for colour in ("", "1"):
        monkeypatch.setenv("FORCE_COLOR", colour)
        for line in ("show", "show --json", "verify --jobs 1", "rebuild", "pack"):
            result = run(line, build)
            for evil in ("\x1b[2J", "\x1b]0", "\x07", "\x9b", "\nDigest: sha256:0000", "\nSeed 9"):
                assert evil not in result.out + result.err, (line, evil)
