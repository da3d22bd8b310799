"""One file on its way: which bytes are asked for, and which are thrown away."""

from __future__ import annotations

from pathlib import Path
from threading import Event
from types import SimpleNamespace

import pytest
from file_server import FileServer, Serve

from corruptset.manifests.distribution import download
from corruptset.manifests.distribution.addresses import HttpRemote, Unreachable
from corruptset.manifests.release.bag import Bag


def fetched(server: FileServer, bag: Bag, part: Path) -> tuple[list[int], list[int]]:
    """Bring the first archive to `part`; return where each request began, and what was told of the bytes that
    are here.
    """
    archive, told = bag.archives[0], []
    data = (bag.path / archive.path).read_bytes()
    file = SimpleNamespace(path=archive.path, bytes=len(data), sha256=archive.sha256)
    with part.open("a+b") as out:
        download.download(HttpRemote(server.url), file, out, told.append, Event())
    assert part.read_bytes() == data
    assert sum(told) == len(data)
    return [a.first for a in server.asked], [n for n in told if n]


def test_what_an_earlier_call_left_is_not_fetched_again(bag: Bag, serve: Serve, tmp_path: Path) -> None:
    data = (bag.path / bag.archives[0].path).read_bytes()
    part = tmp_path / "part"
    for left, asked in ((0, [0]), (7000, [7000]), (len(data), [])):
        server = serve(bag.path)
        part.write_bytes(data[:left])
        assert fetched(server, bag, part) == (asked, [n for n in (left, len(data) - left) if n])


def test_a_file_that_became_shorter_begins_again(bag: Bag, serve: Serve, tmp_path: Path) -> None:
    """A server answers 416 to a range beyond its end."""
    server = serve(bag.path)
    data = (bag.path / bag.archives[0].path).read_bytes()
    server.faults.content = {bag.archives[0].name: [data[:100], data]}
    (tmp_path / "part").write_bytes(b"x" * 200)
    assert fetched(server, bag, tmp_path / "part") == ([200, 200, 0], [200, len(data) - 200, -len(data), len(data)])


def test_another_version_behind_what_is_here_begins_again(bag: Bag, serve: Serve, tmp_path: Path) -> None:
    """The hash tells that the pieces make no file."""
    server = serve(bag.path)
    data = (bag.path / bag.archives[0].path).read_bytes()
    name = bag.archives[0].name
    server.faults.content, server.faults.cut = {name: [data[::-1], data]}, {name: [5000]}
    rest = len(data) - 5000
    assert fetched(server, bag, tmp_path / "part") == ([0, 5000, 0], [5000, rest, -len(data), len(data)])


def test_two_mirrors_with_other_bytes_are_no_progress(
    bag: Bag, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a balancer that asks them in turn; each connection is cut after more than counts as progress."""
    monkeypatch.setattr(download, "CHUNK", 100)
    server, name = serve(bag.path), bag.archives[0].name
    data = (bag.path / bag.archives[0].path).read_bytes()
    server.faults.content, server.faults.cut = {name: [data, data[::-1]] * 30}, {name: [5000] * 60}
    server.faults.ranges = False
    with pytest.raises(Unreachable, match="6 tries in a row failed"):
        fetched(server, bag, tmp_path / "part")
    assert len(server.asked) < 10
