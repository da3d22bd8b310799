"""A release in an object store: sent, compared, fetched, by a store that answers, fails, or is gone."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path

import pytest
from commands import COMMAND, Done
from packs import TOP, tree
from stores import bucket, s3

from corruptset.errors import MachineError, ReleaseError
from corruptset.manifests.disk import remote
from corruptset.manifests.distribution.addresses import remote_of
from corruptset.manifests.distribution.fetch import fetch
from corruptset.manifests.distribution.publish import publish
from corruptset.manifests.release.bag import Bag

SECRET = "a-secret-that-nobody-sees"
PLACE = "s3://bucket/some/where"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """A store of objects: moto's server."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def environment(endpoint: str) -> dict[str, str]:
    """What a user of the store has in the environment."""
    keys = {"AWS_ACCESS_KEY_ID": "someone", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_DEFAULT_REGION": "us-east-1"}
    return {"AWS_ENDPOINT_URL": endpoint, **keys}


@pytest.fixture
def run(environment: dict[str, str], tmp_path: Path) -> Callable[..., Done]:
    """Run the command with them."""

    def call(*arguments: object, **more: str) -> Done:
        command = [COMMAND, *map(str, arguments)]
        env = {**os.environ, **environment, **more}
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        assert SECRET not in done.stdout + done.stderr
        return Done(done.returncode, done.stdout, done.stderr)

    return call


@pytest.mark.ci
def test_there_and_back(
    root: Path, bag: Bag, run: Callable[..., Done], environment: dict[str, str], tmp_path: Path
) -> None:
    missing = run("publish", bag.path, "--to", "s3://nobody/has-it", "--go")
    assert (missing.code, "the bucket does not exist" in missing.err) == (2, True), missing.err
    # as a call that was interrupted: one archive is there, without a digest beside it; and one that differs
    first, second = (bag.path / a.path for a in bag.archives[:2])
    program = f"""
import s3fs
files = s3fs.S3FileSystem()
files.mkdir("bucket")
files.put_file({str(first)!r}, "bucket/some/where/data/{first.name}")
files.pipe_file("bucket/some/where/data/{second.name}", b"x" * {second.stat().st_size})
"""
    subprocess.run([COMMAND.with_name("python"), "-c", program], env={**os.environ, **environment}, check=True)
    refused = run("publish", bag.path, "--to", PLACE, "--go")
    assert (refused.code, second.name in refused.err, first.name in refused.err) == (2, True, False)
    done = run("publish", bag.path, "--to", PLACE, "--go", "--replace", "--json")
    assert done.code == 0, done.err
    assert f"data/{first.name}" not in done.json["sent"]
    assert f"data/{second.name}" in done.json["sent"]
    assert run("publish", bag.path, "--to", f"{PLACE}/", "--go", "--json").json["sent"] == []
    fetched = run("fetch", PLACE, "--out", "o", "--sets", "fog/3")
    assert fetched.code == 0, fetched.err
    assert run("fetch", PLACE, "--out", "o", "--digest", bag.digest).code == 0
    assert tree(tmp_path / "o" / TOP) == tree(root)


@pytest.mark.ci
def test_a_store_that_fails(root: Path, bag: Bag, tmp_path: Path) -> None:
    """Where every second request is cut, or its answer, all is tried again and told once; where every one is, the error
    says so.
    """
    place, told = "s3://fails/a", []
    with s3() as proxy:
        bucket("fails")
        proxy.reset(lambda number, method, path: "cut" if number % 2 else None)
        done = publish(bag.path, place, go=True, progress=lambda step, now, total: told.append(now))
        assert publish(bag.path, place).to_send == []
        proxy.reset(lambda number, method, path: "cut half" if number % 2 and method == "GET" else None)
        fetch(place, tmp_path, connections=1)
        proxy.reset(lambda *request: "cut")
        for call in (lambda: publish(bag.path, place), lambda: fetch(place, tmp_path / "f")):
            with pytest.raises(MachineError, match="failed 8 times in a row"):
                call()
    assert sorted(set(told)) == sorted(accumulate((f.bytes for f in done.files), initial=0))
    assert tree(tmp_path / TOP) == tree(root)


@pytest.mark.ci
def test_what_is_kept_beside_an_object_is_compared_with_its_bytes(bag: Bag) -> None:
    """Bytes that were changed below a right digest; right bytes below a wrong one; right bytes, sent in parts."""
    place = "s3://beside/a"
    with s3():
        bucket("beside")
        sent = {f.path: f for f in publish(bag.path, place, go=True).files}
        import s3fs

        s3fs.S3FileSystem.clear_instance_cache()
        files = s3fs.S3FileSystem(use_listings_cache=False)
        changed, labelled, in_parts = (a.path for a in bag.archives[:3])
        right = {path: (bag.path / path).read_bytes() for path in sent if (bag.path / path).is_file()}
        kept = {path: {"sha256": f.sha256.removeprefix("sha256:")} for path, f in sent.items()}
        files.pipe_file(f"{place}/{changed}", b"x" * sent[changed].bytes, Metadata=kept[changed])
        files.pipe_file(f"{place}/{labelled}", right[labelled], Metadata={"sha256": "0" * 64})
        key = {"Bucket": "beside", "Key": f"a/{in_parts}"}
        upload = files.call_s3("create_multipart_upload", **key, Metadata=kept[in_parts])["UploadId"]
        part = files.call_s3("upload_part", **key, PartNumber=1, UploadId=upload, Body=right[in_parts])
        parts = {"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]}
        files.call_s3("complete_multipart_upload", **key, UploadId=upload, MultipartUpload=parts)
        assert files.info(f"{place}/{in_parts}")["ETag"].endswith('-1"')
        assert publish(bag.path, place).to_send == []
        assert [f.path for f in publish(bag.path, place, replace=True, go=True).to_send] == [changed]
        assert publish(bag.path, place, replace=True).to_send == []
        assert files.cat_file(f"{place}/{changed}") == right[changed]


@pytest.mark.ci
def test_any_file_system_of_fsspec(root: Path, bag: Bag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that keeps no digests: what is there is read to be compared, piece by piece; and from any byte on."""
    monkeypatch.setattr(remote, "READ_AHEAD", 3000)
    place = "memory://a/release"
    publish(bag.path, place, go=True)
    assert publish(bag.path, place, go=True).to_send == []
    from fsspec import filesystem

    memory = filesystem("memory")
    path = f"/a/release/{bag.archives[0].path}"
    memory.pipe_file(path, memory.cat_file(path)[:-1] + b"?")
    with pytest.raises(ReleaseError, match="has other files"):
        publish(bag.path, place)
    publish(bag.path, place, replace=True, go=True)
    fetch(f"{place}/archives.json", tmp_path, digest=bag.digest)
    assert tree(tmp_path / TOP) == tree(root)
    opened, text = remote_of(place), (bag.path / "README.md").read_bytes()
    with opened.open("README.md", 5) as reply:
        assert (reply.start, reply.total, b"".join(reply.chunks)) == (5, len(text), text[5:])
    memory.rm("/a", recursive=True)
    with pytest.raises(ReleaseError, match="is not there"):
        fetch(place, tmp_path)
