"""The commands publish and fetch, on a build that the command made and packed: page and all."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from file_server import serving

Run = Callable[..., Any]


@pytest.fixture
def serve():
    with serving() as serve:
        yield serve


def test_packed_published_fetched(run, built, serve, tmp_path):
    packed = run("pack --out release --by set --json", built).json
    dry = run("publish release --to place")
    assert dry.code == 0
    assert "add --go to do it." in dry.out
    assert not (tmp_path / "place").exists()
    sent = run("publish release --to place --go --json").json
    assert (sent["done"], sent["digest"], sent["files"][-1]["path"]) == (True, packed["digest"], "archives.json")
    again = run("publish release --to place --go --json").json
    assert (again["sent"], {f["there"] for f in again["files"]}) == ([], {"same"})

    server = serve(tmp_path / "place")
    part = run("fetch --sets contrast/1,contrast/2 --out part", server.url)
    assert part.code == 0, part.err
    assert re.search("^In other archives: +contrast/3, contrast/4, contrast/5$", part.out, re.MULTILINE)
    assert packed["digest"] in part.out
    whole = run("fetch --json", server.url, "--out", "whole", "--digest", packed["digest"].removeprefix("sha256:")).json
    files = {p.relative_to(built): p.read_bytes() for p in built.rglob("*") if p.is_file()}
    root = Path(tmp_path, whole["path"])
    assert {p.relative_to(root): p.read_bytes() for p in root.rglob("*") if p.is_file()} == files


def test_mistakes(run, built, serve, tmp_path):
    refused = run("publish --to place --go", built)
    assert (refused.code, f"corruptset pack {built} --out {built}-release" in refused.err) == (2, True)
    run("pack --out release", built)
    other = run("fetch", serve(tmp_path / "release").url, "--out", "o", "--digest", "0" * 64)
    assert (other.code, "Nothing was fetched" in other.err, (tmp_path / "o").exists()) == (1, True, False)
