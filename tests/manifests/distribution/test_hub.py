"""Publish with the library huggingface_hub to a local replacement of the Hub."""

import pytest
from hub_server import TOKEN, hub
from packs import TOP, file_hashes

from corruptset.errors import MachineError, ReleaseError
from corruptset.manifests.distribution.addresses import hub_address
from corruptset.manifests.distribution.fetch import fetch
from corruptset.manifests.distribution.publish import publish

NAME = "someone/tiny-c"
PLACE = f"hf://datasets/{NAME}"
pytestmark = pytest.mark.filterwarnings("ignore")  # a warning of the library


@pytest.fixture
def server(monkeypatch):
    """A server that accepts the token in the environment."""
    from huggingface_hub import constants

    with hub() as server:
        monkeypatch.setattr(constants, "ENDPOINT", server.url)  # the library reads it when it is imported
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        for name, value in {"HF_ENDPOINT": server.url, "HF_TOKEN": TOKEN}.items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.mark.ci
def test_release_is_single_commit_and_interrupted_publish_resumes(root, bag, server, tmp_path):
    publish(bag.path, PLACE)
    assert (server.repositories, [m for m, _ in server.asked if m != "GET"]) == ({}, [])
    server.fails_after = 2
    with pytest.raises((ReleaseError, MachineError), match=r"same command|refuses") as exc_info:
        publish(bag.path, PLACE, go=True, private=True)
    assert TOKEN not in str(exc_info.value)
    repository = server.repositories[NAME]
    assert (repository.private, len(repository.commits), len(server.large)) == (True, 1, 2)
    server.fails_after = None
    publish(bag.path, PLACE, go=True, private=True)
    assert len(repository.commits) == 2
    archives = {a.path: (bag.path / a.path).read_bytes() for a in bag.archives}
    files = repository.commits[-1]
    assert {path: data for path, data in files.items() if path in archives} == archives
    puts = [name for method, name in server.asked if method == "PUT"]
    assert len(set(puts)) == len(archives) == len(puts) - 1  # everything was sent once, except the file that failed
    assert files["README.md"].startswith(b"---\npretty_name: ")
    assert f"{server.url}/datasets/{NAME}/resolve/main/{bag.archives[0].path}".encode() in files["croissant.json"]

    # nothing is sent again; differing files are refused
    assert (publish(bag.path, PLACE, go=True).to_send, len(repository.commits)) == ([], 2)
    repository.commits.append({**files, "README.md": b"theirs", bag.archives[0].path: b"theirs"})
    with pytest.raises(ReleaseError, match="nothing was sent") as rejected_result:
        publish(bag.path, PLACE, go=True)
    assert all(path in str(rejected_result.value) for path in ("README.md", bag.archives[0].path))
    assert len(repository.commits) == 3
    publish(bag.path, PLACE, go=True, replace=True)
    assert repository.commits[-1] == files
    fetch(PLACE, tmp_path, digest=bag.digest)
    assert file_hashes(tmp_path / TOP) == file_hashes(root)


@pytest.mark.ci
def test_missing_permission_is_reported(bag, server, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_another")
    with pytest.raises(ReleaseError, match="HF_TOKEN") as exc_info:
        publish(bag.path, PLACE, go=True)
    assert "hf_another" not in str(exc_info.value)
    assert server.repositories == {}
    with pytest.raises(ReleaseError, match=rf"{PLACE}/archives\.json cannot be read"):
        fetch(PLACE, tmp_path)


def test_hub_addresses_are_parsed():
    assert hub_address("hf://datasets/a/b.c@refs/pr/1") == ("a/b.c", "refs/pr/1")
    for value in ("hf://a/b", "hf://datasets/a", "hf://datasets/a/b/c", "hf://datasets/a/b@", "hf://datasets/a/../b"):
        with pytest.raises(ReleaseError, match="is not hf://datasets/USER/NAME"):
            hub_address(value)
