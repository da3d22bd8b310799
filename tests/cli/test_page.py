"""`corruptset page`."""

from __future__ import annotations

import shutil
from typing import Any


def test_a_build_gets_its_page(built, shared, run, tmp_path):
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


def test_elsewhere_and_as_json(built, run, tmp_path):
    done = run("page --out page.html --json", built)
    answer: dict[str, Any] = done.json
    assert (answer["ok"], answer["clean"], answer["bytes"]) == (True, False, (tmp_path / "page.html").stat().st_size)
    assert not (built / "index.html").exists()
    assert "no clean images" in run("page --out page.html", built).out
    nowhere = run("page --out nowhere/page.html", built)
    assert nowhere.code == 3
    assert "nowhere/page.html cannot be written" in nowhere.err
