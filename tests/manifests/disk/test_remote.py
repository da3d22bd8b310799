"""URLs of stores, and what is never written of them: no store is needed."""

from pathlib import Path

import pytest

from corruptset.errors import StoreError
from corruptset.manifests.disk.remote import redacted, url_of


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("s3://bucket", "s3://bucket"),
        ("s3://bucket/a/b/", "s3://bucket/a/b"),
        (Path("s3://bucket/a"), "s3://bucket/a"),  # a path has lost a slash
        ("file:///data/x", "file:///data/x"),
        (Path("file:///data/x"), "file:///data/x"),
        ("hf://datasets/me/set@v1", "hf://datasets/me/set@v1"),
        ("corruptset-out", None),
        ("a/s3://b", None),
        ("C:/data", None),
        ("/data/s3:/x", None),
    ],
)
def test_url_of(given, url):
    assert url_of(given) == url


@pytest.mark.parametrize(
    "url", ["s3://me:word-of-mine@bucket/a", "s3://word-of-mine@bucket", "s3://bucket/a?sig=word-of-mine"]
)
def test_urls_with_secrets_are_refused_without_them(url):
    with pytest.raises(StoreError, match="a user name, a password or a signature") as raised:
        url_of(Path(url))
    assert "word-of-mine" not in str(raised.value)
    assert "bucket" in str(raised.value)


def test_secrets_of_the_environment_are_redacted(monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "word-of-mine")
    monkeypatch.setenv("MY_SHORT_TOKEN", "a")
    monkeypatch.setenv("PATH_OF_MINE", "harmless-value")
    assert (
        redacted("a word-of-mine harmless-value http://u:p@h/k?q=1 end")
        == "a *** harmless-value http://***@h/k?*** end"
    )
