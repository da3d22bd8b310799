"""A data set packed once, and servers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from file_server import Serve, serving
from packs import Make, packed

from corruptset.manifests.disk import remote
from corruptset.manifests.distribution import download
from corruptset.manifests.release.bag import Bag


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again at once."""
    monkeypatch.setattr(download, "FIRST_WAIT_S", 0.001)
    monkeypatch.setattr(remote, "FIRST_WAIT_S", 0.001)


@pytest.fixture(scope="session")
def root(templates: Make) -> Path:
    """A data set of three sets."""
    return templates(containers=("folder",))


@pytest.fixture(scope="session")
def bag(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Bag:
    """Its archives, one a set, and that of the records."""
    return packed(root, tmp_path_factory.mktemp("release"), by="set")


@pytest.fixture
def serve() -> Iterator[Serve]:
    with serving() as serve:
        yield serve
