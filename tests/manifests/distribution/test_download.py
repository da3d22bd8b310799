"""Download one file: the bytes that are requested, and those that are discarded."""

from threading import Event
from types import SimpleNamespace

import pytest
from file_server import Faults

from corruptset.manifests.distribution import download
from corruptset.manifests.distribution.addresses import HttpRemote, Unreachable


@pytest.fixture
def fetched(bag, serve, tmp_path):
    """Return a function that downloads the first archive to a file with some bytes. It returns the offsets of the
    requests, and the reported numbers of bytes.
    """

    def bring(left=b"", **faults):
        server, archive, events = serve(bag.path), bag.archives[0], []
        data = (bag.path / archive.path).read_bytes()
        of_one = {fault: {archive.name: list(value)} for fault, value in faults.items() if isinstance(value, tuple)}
        server.faults = Faults(**{**faults, **of_one})
        file = SimpleNamespace(path=archive.path, bytes=len(data), sha256=archive.sha256)
        (tmp_path / "part").write_bytes(left)
        with (tmp_path / "part").open("a+b") as out:
            download.download(HttpRemote(server.url), file, out, events.append, Event())
        assert (tmp_path / "part").read_bytes() == data
        assert sum(events) == len(data)
        return [a.first for a in server.asked], [n for n in events if n]

    return bring


def test_correct_local_files_are_not_fetched_again(bag, fetched):
    data = (bag.path / bag.archives[0].path).read_bytes()
    size = len(data)
    for left, requests in ((0, [0]), (7000, [7000]), (size, [])):
        assert fetched(data[:left]) == (requests, [n for n in (left, size - left) if n])
    # the file became shorter, so the server answers 416 to a range beyond its end
    assert fetched(b"x" * 200, content=(data[:100], data)) == ([200, 200, 0], [200, size - 200, -size, size])
    # the existing bytes are of another version of the file, which the hash shows
    rest = size - 5000
    assert fetched(content=(data[::-1], data), cut=(5000,)) == ([0, 5000, 0], [5000, rest, -size, size])


def test_mirrors_with_different_bytes_count_as_no_progress(bag, fetched, serve, monkeypatch):
    """Several servers behind a load balancer, whose connections are closed after more bytes than count as progress."""
    monkeypatch.setattr(download, "CHUNK", 100)
    data = (bag.path / bag.archives[0].path).read_bytes()
    with pytest.raises(Unreachable, match="6 attempts failed"):
        fetched(content=(data, data[::-1]) * 30, cut=(5000,) * 60, ranges=False)
