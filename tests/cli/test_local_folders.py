"""URLs of stores where a folder on a disk is meant: one line that says how a data set gets into a store, and back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import corruptset
from corruptset.errors import StoreError

URL = "s3://bucket/sets"
LOCAL = (
    "{url}: {what} a local folder. `corruptset pack` and `publish` send a data set to a store, `corruptset fetch` "
    "brings it."
)


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["build", "imagenet-c"], "builds are written to"),
        (["rebuild", "release"], "data sets are rebuilt in"),
        (["export", "imagefolder", "data"], "views are written to"),
        (["pack", "data"], "archives are written to"),
        (["fetch", "https://example.org/data"], "data sets are fetched into"),
    ],
)
@pytest.mark.parametrize("url", [URL, "file:///data/sets"])
def test_commands_write_to_local_folders(
    run: Callable[..., Any], tmp_path: Path, words: list[str], what: str, url: str
) -> None:
    done = run(*words, "--out", url)
    assert done.code == 2
    assert done.err.strip() == LOCAL.format(url=url, what=what)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("words", [["verify", URL], ["score", URL, "predictions"]])
def test_commands_read_local_folders(run: Callable[..., Any], tmp_path: Path, words: list[str]) -> None:
    done = run(*words)
    assert done.code == 2
    assert done.err.strip() == LOCAL.format(url=URL, what="data sets are read from")
    assert not any(tmp_path.iterdir())


def test_files_are_written_to_local_folders(run: Callable[..., Any], tmp_path: Path, built: Path) -> None:
    done = run("preview", "sample:astronaut", "--out", "s3://bucket/sheet.png")
    assert (done.code, done.err.strip()) == (
        2,
        LOCAL.format(url="s3://bucket/sheet.png", what="pictures are written to"),
    )
    with pytest.raises(StoreError, match=r"s3://b/p\.html: pages are written to a local folder"):
        corruptset.page(built, out="s3://b/p.html")
    with pytest.raises(StoreError, match="data sets are read from a local folder"):
        corruptset.open(URL)
    assert not any(tmp_path.iterdir())
