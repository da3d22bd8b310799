"""A release in an object store is sent, compared and fetched, also if the store fails."""

from itertools import accumulate

import pytest
from packs import TOP, file_hashes
from stores import SECRET, create_bucket, s3

from corruptset.errors import MachineError, ReleaseError, StoreError
from corruptset.manifests.disk import remote
from corruptset.manifests.distribution.addresses import remote_of
from corruptset.manifests.distribution.fetch import fetch
from corruptset.manifests.distribution.publish import publish

PLACE = "s3://bucket/some/where"
pytestmark = pytest.mark.ci


@pytest.fixture(scope="module")
def store():
    """An object store with a bucket, and its file system."""
    with s3() as proxy:
        yield proxy, create_bucket("bucket")


def test_files_round_trip(root, bag, store, tmp_path):
    with pytest.raises(StoreError, match="the bucket does not exist") as missing:
        publish(bag.path, "s3://nobody/has-it", go=True)
    assert SECRET not in str(missing.value)
    # as after an interrupted call: one archive exists without a digest, and one differs
    first, second = (a.path for a in bag.archives[:2])
    store[1].put_file(str(bag.path / first), f"{PLACE}/{first}")
    store[1].pipe_file(f"{PLACE}/{second}", b"x" * bag.archives[1].bytes)
    with pytest.raises(ReleaseError, match="contains different files") as exc_info:
        publish(bag.path, PLACE, go=True)
    assert (second in str(exc_info.value), first in str(exc_info.value)) == (True, False)
    sent_paths = [f.path for f in publish(bag.path, PLACE, go=True, replace=True).to_send]
    assert (first in sent_paths, second in sent_paths) == (False, True)
    assert publish(bag.path, f"{PLACE}/", go=True).to_send == []
    fetch(PLACE, tmp_path, sets=["fog/3"])
    fetch(PLACE, tmp_path, digest=bag.digest)
    assert file_hashes(tmp_path / TOP) == file_hashes(root)


def test_failing_store_is_reported(root, bag, store, tmp_path):
    """If every second request or reply is cut, all are repeated and progress is counted once. If every one is cut,
    there is an error.
    """
    proxy, place, events = store[0], "s3://bucket/fails", []
    proxy.reset(lambda number, method, path: "cut" if number % 2 else None)
    result = publish(bag.path, place, go=True, progress=lambda step, now, total: events.append(now))
    assert publish(bag.path, place).to_send == []
    proxy.reset(lambda number, method, path: "cut half" if number % 2 and method == "GET" else None)
    fetch(place, tmp_path, connections=1)
    proxy.reset(lambda *request: "cut")
    for call in (lambda: publish(bag.path, place), lambda: fetch(place, tmp_path / "f")):
        with pytest.raises(MachineError, match="failed 8 times in a row"):
            call()
    proxy.reset()
    assert sorted(set(events)) == sorted(accumulate((f.bytes for f in result.files), initial=0))
    assert file_hashes(tmp_path / TOP) == file_hashes(root)


def test_stored_digest_is_compared_with_bytes(bag, store):
    """Objects with changed bytes and a correct digest, with a wrong digest, and objects that were sent in parts."""
    place, files = "s3://bucket/beside", store[1]
    sent_files = {f.path: f for f in publish(bag.path, place, go=True).files}
    changed, labelled, in_parts = (a.path for a in bag.archives[:3])
    remote_digests = {path: {"sha256": f.sha256.removeprefix("sha256:")} for path, f in sent_files.items()}
    files.pipe_file(f"{place}/{changed}", b"x" * sent_files[changed].bytes, Metadata=remote_digests[changed])
    files.pipe_file(f"{place}/{labelled}", (bag.path / labelled).read_bytes(), Metadata={"sha256": "0" * 64})
    key = {"Bucket": "bucket", "Key": f"beside/{in_parts}"}
    upload = files.call_s3("create_multipart_upload", **key, Metadata=remote_digests[in_parts])["UploadId"]
    data = (bag.path / in_parts).read_bytes()
    part = files.call_s3("upload_part", **key, PartNumber=1, UploadId=upload, Body=data)
    parts = {"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]}
    files.call_s3("complete_multipart_upload", **key, UploadId=upload, MultipartUpload=parts)
    assert files.info(f"{place}/{in_parts}")["ETag"].endswith('-1"')
    assert publish(bag.path, place).to_send == []
    assert [f.path for f in publish(bag.path, place, replace=True, go=True).to_send] == [changed]
    assert publish(bag.path, place, replace=True).to_send == []
    assert files.cat_file(f"{place}/{changed}") == (bag.path / changed).read_bytes()


def test_any_fsspec_file_system_is_accepted(root, bag, tmp_path, monkeypatch):
    """A store without digests: objects are read to compare them, and can be read from any byte on."""
    monkeypatch.setattr(remote, "READ_AHEAD", 3000)
    place = "memory://a/release"
    publish(bag.path, place, go=True)
    assert publish(bag.path, place, go=True).to_send == []
    from fsspec import filesystem

    memory = filesystem("memory")
    path = f"/a/release/{bag.archives[0].path}"
    memory.pipe_file(path, memory.cat_file(path)[:-1] + b"?")
    with pytest.raises(ReleaseError, match="contains different files"):
        publish(bag.path, place)
    publish(bag.path, place, replace=True, go=True)
    fetch(f"{place}/archives.json", tmp_path, digest=bag.digest)
    assert file_hashes(tmp_path / TOP) == file_hashes(root)
    opened, text = remote_of(place), (bag.path / "README.md").read_bytes()
    with opened.open("README.md", 5) as reply:
        assert (reply.start, reply.total, b"".join(reply.chunks)) == (5, len(text), text[5:])
    memory.rm("/a", recursive=True)
    with pytest.raises(ReleaseError, match="does not exist"):
        fetch(place, tmp_path)
