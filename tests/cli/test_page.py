"""`corruptset page`."""

from __future__ import annotations

import shutil


def test_a_build_gets_its_page(built, shared, run, tmp_path):
    copied = shutil.copytree(built, tmp_path / built.name)
    done = run.ok("page", copied, "--source", f"folder:{shared.crops(classes=2)}")
    assert str(copied / "index.html") in done.out
    assert (copied / "index.html").read_bytes().startswith(b"<!DOCTYPE html>")
    run.ok("verify", copied)
    run.refused("--source", "page", copied)


def test_elsewhere_and_as_json(built, run, tmp_path):
    answer = run.ok("page --out page.html --json", built).json
    assert (answer["ok"], answer["clean"], answer["bytes"]) == (True, False, (tmp_path / "page.html").stat().st_size)
    assert not (built / "index.html").exists()
    assert "no clean images" in run.ok("page --out page.html", built).out
    run.refused("page.html/page.html cannot be written", "page --out page.html/page.html", built, code=3)
