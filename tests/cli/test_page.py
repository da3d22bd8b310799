"""`corruptset page`, and `build --no-page`."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import layouts
from commands import Done


def test_a_build_gets_its_page(built: Path, shared: layouts.Shared, run: Callable[..., Done], tmp_path: Path) -> None:
    copied = shutil.copytree(built, tmp_path / built.name)
    source = f"folder:{shared.crops(classes=2)}"
    done = run("page", copied, "--source", source)
    assert done.code == 0
    assert str(copied / "index.html") in done.out
    assert (copied / "index.html").read_bytes().startswith(b"<!DOCTYPE html>")
    assert run("verify", copied).code == 0
    refused = run("page", copied)
    assert refused.code == 2
    assert "--source" in refused.err


def test_elsewhere_and_as_json(built: Path, run: Callable[..., Done], tmp_path: Path) -> None:
    done = run("page", built, "--out", "page.html", "--json")
    answer: dict[str, Any] = done.json
    assert (answer["ok"], answer["clean"], answer["bytes"]) == (True, False, (tmp_path / "page.html").stat().st_size)
    assert not (built / "index.html").exists()
    assert "no clean images" in run("page", built, "--out", "page.html").out
    nowhere = run("page", built, "--out", "nowhere/page.html")
    assert nowhere.code == 3
    assert "nowhere/page.html cannot be written" in nowhere.err


def test_a_build_without(shared: layouts.Shared, run: Callable[..., Done], tmp_path: Path) -> None:
    source = f"folder:{shared.crops(classes=2)}"
    options = ("--source", source, "--sets", "contrast/1", "--any-shape", "--jobs", "1")
    assert run("build", shared.recipe(), *options, "--out", "without", "--no-page").code == 0
    assert run("build", shared.recipe(), *options, "--out", "with").code == 0
    assert not list(tmp_path.glob("without/*/index.html"))
    assert len(list(tmp_path.glob("with/*/index.html"))) == 1
