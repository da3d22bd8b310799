"""A build by the command, packed, unpacked and verified: the same files again, whatever the containers."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import layouts
import pytest

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def no_power_cuts(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda fd: None)


@pytest.fixture(scope="module")
def crops(tmp_path_factory):
    return layouts.write_crops(tmp_path_factory.mktemp("crops"), classes=3, each=2)


@pytest.mark.parametrize(
    ("options", "division"),
    [
        ({"format": "both"}, ("--by", "set")),
        ({"view": "cifar-c", "sets": ["contrast/*", "brightness/*"]}, ("--by", "family")),
    ],
    ids=str,
)
def test_build_pack_unpack_verify(run, crops, tmp_path, options, division):
    root = layouts.make(layouts.write_recipe(tmp_path), crops, tmp_path / "b", **options)
    done = run("pack", root, "--out", "p", "--json", *division)
    assert done.code == 0, done.err
    paths = [f"p/{a['path']}" for a in done.json["archives"]]
    assert sorted(paths) == sorted(f"p/data/{p.name}" for p in (tmp_path / "p/data").iterdir())
    # absolute: the workers of a verification may have been started elsewhere
    one = run("unpack --json", paths[0], "--out", tmp_path / "one")
    absent = {s for a in done.json["archives"] for s in a["sets"]} - set(done.json["archives"][0]["sets"])
    assert set(one.json["absent"]) == absent
    part = run("verify --json", one.json["path"]).json
    assert (part["ok"], part["partial"], set(part["absent"])) == (True, True, absent), part
    assert "a part of the data set" in run("verify", one.json["path"]).out
    whole = run("unpack --json", *paths, "--out", tmp_path / "u").json
    assert (whole["digest"], whole["absent"]) == (done.json["digest"], [])
    assert layouts.files_of(Path(whole["path"])) == layouts.files_of(root)
    assert run("verify", whole["path"]).code == 0


def test_unpack_takes_the_folder_that_pack_wrote(run, crops, tmp_path):
    root = layouts.make(layouts.write_recipe(tmp_path), crops, tmp_path / "b")
    assert run("pack --out release", root).code == 0
    done = run("unpack release --out", tmp_path / "u", "--json")
    assert layouts.files_of(Path(done.json["path"])) == layouts.files_of(root)
    other = run("unpack", root, "--out", tmp_path / "v")
    assert other.code == 2
    assert "has no archives (*.tar)" in " ".join(other.err.split())
    assert not (tmp_path / "v").exists()


def test_families_come_from_the_corruptions(run, crops, tmp_path):
    more = (
        '[[sets]]\ncorruptions = ["speckle_noise", "gaussian_blur", "gaussian_noise", "contrast", '
        '"brightness"]\nseverities = [1]\n'
    )
    recipe = layouts.write_recipe(
        tmp_path, more=more + '\n[[sets]]\nchain = ["brightness-3", "contrast-2"]\n\n[[sets]]\nclean = true\n'
    )
    root = layouts.make(recipe, crops, tmp_path / "b")
    found = {a["path"].split("-")[-1]: a["sets"] for a in run("pack --out p --json", root).json["archives"]}
    assert found == {
        "clean.tar": ["clean"],
        "noise.tar": ["gaussian_noise/1"],
        "weather.tar": ["brightness-3+contrast-2", "brightness/1"],
        "digital.tar": ["contrast/1"],
        "extra.tar": ["gaussian_blur/1", "speckle_noise/1"],
        "metadata.tar": [],
    }


def test_sizes_that_are_none(run, tmp_path):
    for size in ("much", "0", "5XB"):
        done = run("pack", tmp_path, "--out", "p", f"--max-bytes={size}")
        assert (done.code, (tmp_path / "p").exists()) == (2, False)
        assert "size such as 50GB" in done.err


def test_mistakes(run, crops, tmp_path):
    root = layouts.make(layouts.write_recipe(tmp_path), crops, tmp_path / "b")
    assert run("pack --out p", tmp_path).code == 1
    assert run("unpack nothing.tar --out u").code == 2
    assert run("pack --out p --max-bytes 10kB", root).code == 2
    assert run("pack --out q", root).code == 0
    assert run("pack --out q", root).code == 2
    path = next((tmp_path / "q/data").glob("*-clean.tar"))
    path.write_bytes(path.read_bytes().replace(b"IHDR", b"IHDX", 1))
    refused = run("unpack --out u", path)
    assert refused.code == 1
    assert "images/clean/00_class/im.0.png' has sha256:" in refused.err
