"""URLs of stores, and what is never written of them: no store is needed."""

from pathlib import Path

import pytest

from corruptset.errors import StoreError
from corruptset.manifests.disk.mirror import place_name
from corruptset.manifests.disk.remote import Store, redacted, url_of


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


@pytest.mark.parametrize("url", ["s3://me:word-of-mine@bucket/a", "s3://word-of-mine@bucket", "s3://bucket/a?sig=word-of-mine"])
def test_urls_with_secrets_are_refused_without_them(url):
    with pytest.raises(StoreError, match="a user name, a password or a signature") as raised:
        place_name(Path(url))
    assert "word-of-mine" not in str(raised.value)
    assert "bucket" in str(raised.value)


def test_secrets_of_the_environment_are_redacted(monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "word-of-mine")
    monkeypatch.setenv("MY_SHORT_TOKEN", "a")
    monkeypatch.setenv("PATH_OF_MINE", "harmless-value")
    assert redacted("a word-of-mine harmless-value http://u:p@h/k?q=1 end") == "a *** harmless-value http://***@h/k?*** end"


@pytest.mark.ci  # it needs fsspec
def test_a_folder_that_stands_for_a_store_keeps_no_empty_folders(tmp_path):
    store = Store(f"file://{tmp_path}/data")
    for path in ("work/parts/a", "work/parts/b", "work/lock", "kept"):
        store.put(path, b"x")
    store.remove("work/parts/a")
    assert sorted(store.files()) == ["kept", "work/lock", "work/parts/b"]
    store.remove("work/lock")
    store.remove("work/parts/b")
    store.remove("work/parts/b")
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["kept"]
    store.remove("kept")
    assert (tmp_path / "data").is_dir(), "the place itself stays"
