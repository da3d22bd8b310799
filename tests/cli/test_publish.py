"""The commands publish and fetch, on a build that the command made and packed: page and all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import layouts
import pytest
from file_server import Serve, serving

Run = Callable[..., Any]


@pytest.fixture
def serve() -> Iterator[Serve]:
    with serving() as serve:
        yield serve


def test_packed_published_fetched(run: Run, built: Path, serve: Serve, tmp_path: Path) -> None:
    packed = run("pack", built, "--out", "release", "--by", "set", "--json").json
    dry = run("publish", "release", "--to", "place")
    assert dry.code == 0
    assert "Nothing was sent: add --go to do it." in dry.out
    assert not (tmp_path / "place").exists()
    sent = run("publish", "release", "--to", "place", "--go", "--json").json
    assert (sent["done"], sent["digest"], sent["files"][-1]["path"]) == (True, packed["digest"], "archives.json")
    again = run("publish", "release", "--to", "place", "--go")
    assert f"0 of {len(sent['files'])} files" in again.out

    server = serve(tmp_path / "place")
    part = run("fetch", server.url, "--sets", "contrast/1,contrast/2", "--out", "part")
    assert part.code == 0, part.err
    assert "Note: a part of the data set; 3 sets are in other archives" in part.out
    assert f"Digest: {packed['digest']}" in part.out
    whole = run(
        "fetch", server.url, "--out", "whole", "--digest", packed["digest"].removeprefix("sha256:"), "--json"
    ).json
    files = {p.relative_to(built): p.read_bytes() for p in built.rglob("*") if p.is_file()}
    root = Path(tmp_path, whole["path"])
    assert {p.relative_to(root): p.read_bytes() for p in root.rglob("*") if p.is_file()} == files


def test_mistakes(run: Run, built: Path, serve: Serve, tmp_path: Path) -> None:
    refused = run("publish", built, "--to", "place", "--go")
    assert (refused.code, f"corruptset pack {built} --out {built}-release" in refused.err) == (2, True)
    gone = run("fetch", f"{serve(tmp_path).url}/nothing", "--out", "o", "--json")
    assert (gone.code, gone.json["error"]["kind"]) == (2, "ReleaseError")
    assert "archives.json" in gone.err
    run("pack", built, "--out", "release")
    other = run("fetch", serve(tmp_path / "release").url, "--out", "o", "--digest", "0" * 64)
    assert (other.code, "Nothing was fetched" in other.err, (tmp_path / "o").exists()) == (1, True, False)


@pytest.mark.ci
def test_the_page_stands_beside_the_archives(run: Run, shared: layouts.Shared, serve: Serve, tmp_path: Path) -> None:
    root = shared.build(crops={"classes": 2}, sets=["contrast/1"], format="folder", page=True)
    run("pack", root, "--out", "release")
    assert run("publish", "release", "--to", "place", "--go").code == 0
    assert (tmp_path / "place/index.html").read_bytes() == (root / "index.html").read_bytes()
    fetched = run("fetch", serve(tmp_path / "place").url, "--out", "o", "--json").json
    assert layouts.files_of(Path(tmp_path, fetched["path"])) == layouts.files_of(root)
