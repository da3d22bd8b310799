"""Test the commands publish and fetch on a build that was packed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import small_builds
from file_server import serving


@pytest.fixture
def serve():
    with serving() as serve:
        yield serve


def test_packed_published_fetched(run, built, serve, tmp_path):
    packed = run.succeeds("pack --out release --by set --json", built).json
    run.fails("To send the files, add --go.", "publish release --to place", code=0)
    assert run.succeeds("publish release --to place --json").json["sent"] == []
    sent = run.succeeds("publish release --to place --go --json").json
    assert (sent["done"], sent["digest"], sent["files"][-1]["path"]) == (True, packed["digest"], "archives.json")
    again = run.succeeds("publish release --to place --go --json").json
    assert (again["sent"], {f["there"] for f in again["files"]}) == ([], {"same"})

    url = serve(tmp_path / "place").url
    part = run.succeeds("fetch --sets contrast/1,contrast/2 --out part", url).out
    assert re.search(r"^Archives: *\n  \S+\.tar$", part, re.MULTILINE)
    assert "In other archives: contrast/3, contrast/4, contrast/5" in " ".join(part.split())
    assert packed["digest"] in part
    assert "not requested" not in part
    run.succeeds("pack --out corruptions", built)
    one = run.succeeds("fetch --sets contrast/1 --out one", serve(tmp_path / "corruptions").url).out
    assert re.search(r"^Archives: *\n  \S+\.tar$", one, re.MULTILINE)
    said = "The archives also contain 4 sets that were not requested: contrast/2, contrast/3, contrast/4, contrast/5."
    assert said in " ".join(one.split())
    whole = run.succeeds("fetch --json --out whole", url, "--digest", packed["digest"].removeprefix("sha256:")).json
    assert small_builds.read_files(Path(whole["path"])) == small_builds.read_files(built)
    run.fails("Nothing was fetched", "fetch --out o", url, "--digest", "0" * 64, code=1)
    run.fails(f"corruptset pack {built} --out {built}-release", "publish --to place --go", built)
