"""A packed dataset, and servers."""

import pytest
from file_server import serve_folder
from packs import pack_dataset

from corruptset.manifests.disk import remote
from corruptset.manifests.distribution import download


@pytest.fixture(autouse=True)
def no_delays(monkeypatch):
    """Repeat failed requests without waiting."""
    monkeypatch.setattr(download, "FIRST_WAIT_S", 0.001)
    monkeypatch.setattr(remote, "FIRST_WAIT_S", 0.001)


@pytest.fixture(scope="session")
def root(templates):
    """A dataset with three sets."""
    return templates(containers=("folder",))


@pytest.fixture(scope="session")
def bag(root, tmp_path_factory):
    """Its archives, one per set, and the archive of the records."""
    return pack_dataset(root, tmp_path_factory.mktemp("release"), by="set")


@pytest.fixture
def serve():
    with serve_folder() as serve:
        yield serve
