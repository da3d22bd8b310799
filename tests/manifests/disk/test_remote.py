"""URLs of object stores, and secrets that must not appear in messages. These tests need no store."""

import errno
import time
from pathlib import Path

import pytest

from corruptset.errors import MachineError, StoreError
from corruptset.manifests.disk import remote
from corruptset.manifests.disk.remote import redact, url_of


def test_urls_and_paths_are_distinguished():
    for address, url in {
        "s3://bucket": "s3://bucket",
        "s3://bucket/a/b/": "s3://bucket/a/b",
        Path("s3://bucket/a"): "s3://bucket/a",  # a `Path` of a URL has lost a slash
        Path("file:///data/x"): "file:///data/x",
        "hf://datasets/me/set@v1": "hf://datasets/me/set@v1",
        "corruptset-out": None,
        "a/s3://b": None,
        "C:/data": None,
        "/data/s3:/x": None,
    }.items():
        assert url_of(address) == url


def test_secrets_are_rejected_in_urls_and_redacted_elsewhere(monkeypatch):
    for url in ("s3://me:word-of-mine@bucket/a", "s3://word-of-mine@bucket", "s3://bucket/a?sig=word-of-mine"):
        with pytest.raises(StoreError, match="a user name, a password or a signature") as exc_info:
            url_of(Path(url))
        assert "word-of-mine" not in str(exc_info.value)
        assert "bucket" in str(exc_info.value)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "word-of-mine")
    monkeypatch.setenv("MY_SHORT_TOKEN", "a")
    monkeypatch.setenv("PATH_OF_MINE", "harmless-value")
    message = redact("a word-of-mine harmless-value http://u:p@h/k?q=1 end")
    assert message == "a *** harmless-value http://***@h/k?*** end"


@pytest.mark.ci  # fsspec is part of the extra `cloud`
def test_url_with_host_is_opened_at_that_host(monkeypatch):
    monkeypatch.setattr(remote, "FIRST_WAIT_S", 0)
    with pytest.raises(MachineError, match="ConnectionRefusedError"):
        remote.Store("ftp://127.0.0.1:1/x").version("a")


@pytest.mark.ci
@pytest.mark.parametrize("error", [RuntimeError("broken"), OSError(errno.ENOSPC, "No space left on device")])
def test_permanent_error_is_raised_immediately(monkeypatch, error):
    from fsspec.implementations.memory import MemoryFileSystem

    def info(self, path, **options):
        raise error

    monkeypatch.setattr(MemoryFileSystem, "info", info)
    started = time.monotonic()
    with pytest.raises(type(error), match=str(error.args[-1])):
        remote.Store("memory://bucket").version("a")
    assert time.monotonic() - started < 3
