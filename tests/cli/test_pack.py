"""A build by the command, packed, unpacked and verified: the same files again, whatever the containers."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import layouts
import pytest

from corruptset.generate.again import release_folder

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def no_power_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda fd: None)


@pytest.fixture(scope="module")
def crops(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return layouts.write_crops(tmp_path_factory.mktemp("crops"), classes=3, each=2)


@pytest.mark.parametrize(
    ("options", "division"),
    [
        ({"format": "both"}, ("--by", "set")),
        ({"view": "cifar-c", "sets": ["contrast/*", "brightness/*"]}, ("--by", "family")),
    ],
    ids=str,
)
def test_build_pack_unpack_verify(
    run: Run, crops: Path, tmp_path: Path, options: dict[str, Any], division: tuple[str, ...]
) -> None:
    root = layouts.make(layouts.write_recipe(tmp_path), crops, tmp_path / "b", **options)
    done = run("pack", root, "--out", "p", "--json", *division)
    assert done.code == 0, done.err
    paths = [f"p/{a['path']}" for a in done.json["archives"]]
    assert sorted(paths) == sorted(f"p/data/{p.name}" for p in (tmp_path / "p/data").iterdir())
    # absolute: the workers of a verification may have been started elsewhere
    one = run("unpack", paths[0], "--out", tmp_path / "one", "--json")
    absent = {s for a in done.json["archives"] for s in a["sets"]} - set(done.json["archives"][0]["sets"])
    assert set(one.json["absent"]) == absent
    part = run("verify", one.json["path"], "--json").json
    assert (part["ok"], part["partial"], set(part["absent"])) == (True, True, absent), part
    assert "a part of the data set" in run("verify", one.json["path"]).out
    whole = run("unpack", *paths, "--out", tmp_path / "u", "--json").json
    assert (whole["digest"], whole["absent"]) == (done.json["digest"], [])
    assert layouts.files_of(Path(whole["path"])) == layouts.files_of(root)
    assert run("verify", whole["path"]).code == 0


def test_unpack_takes_the_folder_that_pack_wrote(run: Run, crops: Path, tmp_path: Path) -> None:
    root = layouts.make(layouts.write_recipe(tmp_path), crops, tmp_path / "b")
    assert run("pack", root, "--out", "release").code == 0
    done = run("unpack", "release", "--out", tmp_path / "u", "--json")
    assert layouts.files_of(Path(done.json["path"])) == layouts.files_of(root)
    other = run("unpack", root, "--out", tmp_path / "v")
    assert other.code == 2
    assert "has no archives (*.tar)" in " ".join(other.err.split())
    assert not (tmp_path / "v").exists()


def test_families_come_from_the_corruptions(run: Run, crops: Path, tmp_path: Path) -> None:
    more = (
        '[[sets]]\ncorruptions = ["speckle_noise", "gaussian_blur", "gaussian_noise", "contrast", '
        '"brightness"]\nseverities = [1]\n'
    )
    recipe = layouts.write_recipe(
        tmp_path, more=more + '\n[[sets]]\nchain = ["brightness-3", "contrast-2"]\n\n[[sets]]\nclean = true\n'
    )
    root = layouts.make(recipe, crops, tmp_path / "b")
    found = {a["path"].split("-")[-1]: a["sets"] for a in run("pack", root, "--out", "p", "--json").json["archives"]}
    assert found == {
        "clean.tar": ["clean"],
        "noise.tar": ["gaussian_noise/1"],
        "weather.tar": ["brightness-3+contrast-2", "brightness/1"],
        "digital.tar": ["contrast/1"],
        "extra.tar": ["gaussian_blur/1", "speckle_noise/1"],
        "metadata.tar": [],
    }


def test_one_digest_a_set(run: Run, crops: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the page of archives says it: packed small, unpacked, verified with the source, and made again."""
    monkeypatch.setattr(release_folder, "cache_root", lambda: tmp_path / "cache")
    root = layouts.make(layouts.write_recipe(tmp_path), crops, tmp_path / "b", sets=["contrast/*", "clean"])
    large = run("pack", root, "--out", "p", "--manifest-only", "--json").json
    small = run("pack", root, "--out", "q", "--manifest-only", "--digests", "sets", "--json").json
    assert small["bytes"] < large["bytes"]
    assert "one digest for each set" in (tmp_path / "q/README.md").read_text("utf-8")
    assert 'source="folder:PATH"' in (tmp_path / "q/README.md").read_text("utf-8")
    release = run("unpack", f"q/{small['archives'][0]['path']}", "--out", tmp_path / "u", "--json").json["path"]
    assert not list(Path(release).glob("sets/**/*.jsonl"))
    plain = run("verify", release, "--json").json
    assert (plain["ok"], plain["partial"], len(plain["absent"])) == (True, True, 6)
    done = run("verify", release, "--rederive", "all", "--source", f"folder:{crops}")
    assert done.code == 0, done.out
    made = run("rebuild", "q", "--source", f"folder:{crops}", "--out", "again", "--json").json
    assert (made["digest"], made["whole"], made["identical"]) == (small["digest"], True, True)
    assert layouts.files_of(tmp_path / made["directory"]) == layouts.files_of(root)


def test_sizes_that_are_none(run: Run, tmp_path: Path) -> None:
    for size in ("much", "0", "5XB"):
        done = run("pack", tmp_path, "--out", "p", f"--max-bytes={size}")
        assert (done.code, (tmp_path / "p").exists()) == (2, False)
        assert "size such as 50GB" in done.err


def test_mistakes(run: Run, crops: Path, tmp_path: Path) -> None:
    root = layouts.make(layouts.write_recipe(tmp_path), crops, tmp_path / "b")
    assert run("pack", tmp_path, "--out", "p").code == 1
    assert run("unpack", "nothing.tar", "--out", "u").code == 2
    assert run("pack", root, "--out", "p", "--max-bytes", "10kB").code == 2
    assert run("pack", root, "--out", "q").code == 0
    assert run("pack", root, "--out", "q").code == 2
    path = next((tmp_path / "q/data").glob("*-clean.tar"))
    path.write_bytes(path.read_bytes().replace(b"IHDR", b"IHDX", 1))
    refused = run("unpack", path, "--out", "u")
    assert refused.code == 1
    assert "images/clean/00_class/im.0.png' has sha256:" in refused.err
