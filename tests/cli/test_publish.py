"""Test the commands publish and fetch on a build that was packed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import small_builds
from file_server import serve_folder


@pytest.fixture
def serve():
    with serve_folder() as serve:
        yield serve


def test_packed_dataset_can_be_published_and_fetched(run, dataset_dir, serve, tmp_path):
    packed = run.succeeds("pack --out release --by set --json", dataset_dir).json
    run.fails("To send the files, add --go.", "publish release --to place", code=0)
    assert run.succeeds("publish release --to place --json").json["sent"] == []
    sent = run.succeeds("publish release --to place --go --json").json
    assert (sent["done"], sent["digest"], sent["files"][-1]["path"]) == (True, packed["digest"], "archives.json")
    result = run.succeeds("publish release --to place --go --json").json
    assert (result["sent"], {f["there"] for f in result["files"]}) == ([], {"same"})

    url = serve(tmp_path / "place").url
    part = run.succeeds("fetch --sets contrast/1,contrast/2 --out part", url).out
    assert re.search(r"^Archives: *\n  \S+\.tar$", part, re.MULTILINE)
    assert "In other archives: contrast/3, contrast/4, contrast/5" in " ".join(part.split())
    assert packed["digest"] in part
    assert "not requested" not in part
    run.succeeds("pack --out corruptions", dataset_dir)
    one = run.succeeds("fetch --sets contrast/1 --out one", serve(tmp_path / "corruptions").url).out
    assert re.search(r"^Archives: *\n  \S+\.tar$", one, re.MULTILINE)
    message = (
        "The archives also contain 4 sets that were not requested: contrast/2, contrast/3, contrast/4, contrast/5."
    )
    assert message in " ".join(one.split())
    record = run.succeeds("fetch --json --out whole", url, "--digest", packed["digest"].removeprefix("sha256:")).json
    assert small_builds.read_files(Path(record["path"])) == small_builds.read_files(dataset_dir)
    run.fails("Nothing was fetched", "fetch --out o", url, "--digest", "0" * 64, code=1)
    run.fails(f"corruptset pack {dataset_dir} --out {dataset_dir}-release", "publish --to place --go", dataset_dir)
