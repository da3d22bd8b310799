"""docs/publishing.md: its commands for archives, records and web servers are run on a small dataset."""

from __future__ import annotations

import re

import pytest
from doc_pages import ROOT, shell
from file_server import serve_folder

import corruptset
from corruptset.corruptions.index import MODULES

PAGES = {name: (ROOT / "docs" / name).read_text("utf-8") for name in ("publishing.md", "command-line.md")}
SETS = ["clean", "contrast/1", "fog/1"]


def commands(page, heading):
    """Return the commands of the first examples below a heading."""
    text = re.split(r"^#+ ", PAGES[page].partition(f"# {heading}\n")[2], flags=re.MULTILINE)[0]
    lines = [line for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    assert lines, heading
    return lines


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the dataset that the pages pack."""
    folder = tmp_path_factory.mktemp("publishing")
    corruptset.build("imagenet-c", out=folder / "out", sets=SETS, samples=2, page=False, metrics=0)
    return folder


@pytest.mark.ci
def test_documented_archive_commands_run(folder):
    outputs = [shell(line, folder) for line in commands("publishing.md", "Archives")]
    assert "verified" in outputs[-1]
    pack, check = commands("publishing.md", "Releases without pixels")[:2]
    for line in (pack, check):
        shell(line, folder)
    assert not (folder / "records/imagenet-c-1.1.0/images").exists()
    for line in commands("command-line.md", "`corruptset unpack ARCHIVES...`"):
        shell(line, folder)
    assert corruptset.open(folder / "data/imagenet-c-1.1.0").absent == []


@pytest.mark.ci
def test_web_server_serves_packed_release(folder):
    if not (folder / "release").exists():
        shell("corruptset pack out/imagenet-c-1.1.0 --out release", folder)
    start, fetch = commands("publishing.md", "Any web server")
    assert start == "python -m http.server 8000 --directory release"
    with serve_folder() as serve:
        server = serve(folder / "release")
        shell(fetch.replace("http://localhost:8000/", server.url).replace("--out data", "--out fetched"), folder)
    part = folder / "fetched/imagenet-c-1.1.0"
    shell("sha256sum --check --ignore-missing --quiet SHA256SUMS", part)
    assert corruptset.open(part).set_ids == ["fog/1"]


def test_archives_are_named_after_corruptions():
    """By default, there is one archive per corruption, so an example must not name the archive of a family."""
    names = {name for page in PAGES.values() for name in re.findall(r"-\*-(\w+)\.tar", page)}
    assert names
    assert names <= {*MODULES, "metadata"}
