"""The hub's own library against a stand-in for the hub, by the command as a user runs it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from commands import COMMAND, Done
from hub_server import TOKEN, HubServer, hub
from packs import TOP, tree

from corruptset.errors import ReleaseError
from corruptset.manifests.distribution.addresses import hub_address
from corruptset.manifests.release.bag import Bag

Run = Callable[..., Done]
NAME = "someone/tiny-c"
PLACE = f"hf://datasets/{NAME}"


@pytest.fixture
def server() -> Iterator[HubServer]:
    with hub() as server:
        yield server


@pytest.fixture
def run(server: HubServer, tmp_path: Path) -> Run:
    """Run the command with a token for the stand-in."""

    def call(*arguments: object, token: str = TOKEN) -> Done:
        own = {"HF_ENDPOINT": server.url, "HF_TOKEN": token, "HF_HOME": str(tmp_path / "hf"), "HF_HUB_DISABLE_XET": "1"}
        command = [COMMAND, *map(str, arguments)]
        done = subprocess.run(
            command, cwd=tmp_path, env={**os.environ, **own}, capture_output=True, text=True, check=False
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert TOKEN not in done.stdout + done.stderr
        return Done(done.returncode, done.stdout, done.stderr)

    return call


def puts(server: HubServer) -> list[str]:
    return [name for method, name in server.asked if method == "PUT"]


@pytest.mark.ci
def test_a_release_is_one_commit_and_an_interrupted_one_goes_on(
    root: Path, bag: Bag, run: Run, server: HubServer, tmp_path: Path
) -> None:
    dry = run("publish", bag.path, "--to", PLACE)
    assert (dry.code, server.repositories, [m for m, _ in server.asked if m != "GET"]) == (0, {}, [])
    server.fails_after = 2
    failed = run("publish", bag.path, "--to", PLACE, "--go", "--private")
    assert failed.code in (2, 3), failed.err
    assert "same command" in failed.err or "refuses" in failed.err
    repository = server.repositories[NAME]
    assert (repository.private, len(repository.commits), len(server.large)) == (True, 1, 2)
    server.fails_after = None
    done = run("publish", bag.path, "--to", PLACE, "--go", "--private")
    assert done.code == 0, done.err
    assert len(repository.commits) == 2
    archives = {a.path: (bag.path / a.path).read_bytes() for a in bag.archives}
    files = repository.commits[-1]
    assert {path: data for path, data in files.items() if path in archives} == archives
    assert len(set(puts(server))) == len(archives) == len(puts(server)) - 1  # all sent once, but the one that failed
    assert files["README.md"].startswith(b"---\npretty_name: ")
    assert f"{server.url}/datasets/{NAME}/resolve/main/{bag.archives[0].path}".encode() in files["croissant.json"]

    # again: nothing is sent; what differs is refused
    again = run("publish", bag.path, "--to", PLACE, "--go", "--json").json
    assert (again["sent"], len(repository.commits)) == ([], 2)
    repository.commits.append({**files, "README.md": b"theirs", bag.archives[0].path: b"theirs"})
    refused = run("publish", bag.path, "--to", PLACE, "--go")
    assert (refused.code, "README.md" in refused.err, bag.archives[0].path in refused.err, len(repository.commits)) == (
        2,
        True,
        True,
        3,
    )
    assert run("publish", bag.path, "--to", PLACE, "--go", "--replace").code == 0
    assert repository.commits[-1] == files

    fetched = run("fetch", PLACE, "--out", "o", "--digest", bag.digest)
    assert fetched.code == 0, fetched.err
    assert tree(tmp_path / "o" / TOP) == tree(root)


@pytest.mark.ci
def test_who_may_not_is_told_so(bag: Bag, run: Run, server: HubServer) -> None:
    refused = run("publish", bag.path, "--to", PLACE, "--go", token="hf_another")
    assert refused.code == 2
    assert "HF_TOKEN" in refused.err
    assert server.repositories == {}
    gone = run("fetch", PLACE, "--out", "o")
    assert (gone.code, f"{PLACE}/archives.json cannot be read" in gone.err) == (2, True)


def test_addresses() -> None:
    assert hub_address("hf://datasets/a/b.c@refs/pr/1") == ("a/b.c", "refs/pr/1")
    for wrong in ("hf://a/b", "hf://datasets/a", "hf://datasets/a/b/c", "hf://datasets/a/b@", "hf://datasets/a/../b"):
        with pytest.raises(ReleaseError, match="is not hf://datasets/USER/NAME"):
            hub_address(wrong)
