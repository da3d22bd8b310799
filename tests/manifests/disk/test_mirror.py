"""Data sets in an object store: opened, checked, exported and packed as those on a disk, with the requests that it takes."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stores

import corruptset
from corruptset.errors import IncompleteBuild, StoreError
from corruptset.manifests.disk import mirror as mirrors
from corruptset.manifests.disk import remote

pytestmark = pytest.mark.ci

SETS = ["clean", "contrast/1"]


@pytest.fixture(scope="module")
def proxy() -> Iterator[stores.Proxy]:
    with stores.s3() as running:
        yield running


@pytest.fixture(scope="module")
def there(proxy: stores.Proxy, tmp_path_factory: pytest.TempPathFactory, recipe: Path, crops: Path) -> dict[str, tuple[Path, str]]:
    """Format -> a build on the disk, and the URL of its copy."""
    system, built = stores.bucket("read"), {}
    for form in ("folder", "hdf5"):
        folder = tmp_path_factory.mktemp(form)
        local = corruptset.build(recipe, f"folder:{crops}", folder, jobs=1, sets=SETS, format=form).directory
        for path, data in stores.local_files(local).items():
            system.pipe_file(f"read/{form}/{path}", data)
        built[form] = (local, f"s3://read/{form}")
    return built


@pytest.fixture(autouse=True)
def plain_and_quick(proxy: stores.Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy.reset()
    monkeypatch.setattr(remote, "FIRST_WAIT_S", 0.001)


@pytest.mark.parametrize("form", ["folder", "hdf5"])
def test_a_set_in_a_store_reads_as_on_the_disk(there, proxy, form):
    local, url = there[form]
    far, near = corruptset.open(url), corruptset.open(local)
    assert far.digest == near.digest
    assert list(far) == list(near)
    travelled = pickle.loads(pickle.dumps(far["contrast/1"]))
    for index in (3, -1):
        assert np.array_equal(travelled[index][0], near["contrast/1"][index][0])
    for (image, label), (expected, number) in zip(far["contrast/1"], near["contrast/1"], strict=True):
        assert np.array_equal(image, expected)
        assert label == number
    assert proxy.methods["PUT"] == proxy.methods["DELETE"] == 0
    names = [path.partition("?")[0] for _, path in proxy.requests]
    assert not [path for method, path in proxy.requests if "list-type" in path]  # to read one set, nothing is listed
    for record in ("manifest.json", "samples.jsonl", "sets/contrast/1.jsonl"):
        assert sum(name.endswith(record) for name in names) == 1, record


@pytest.mark.parametrize("form", ["folder", "hdf5"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_verify_reads_every_object_once(there, proxy, form, jobs):
    local, url = there[form]
    report = corruptset.verify(url, jobs=jobs)
    assert report.ok, report.problems
    expected = corruptset.verify(local, jobs=1)
    assert report.checked == expected.checked
    assert report.directory == url
    read = [path.partition("?")[0] for method, path in proxy.requests if method == "GET" and "list-type" not in path]
    there_are = {name for name in read if name.split(f"/{form}/")[-1] in stores.local_files(local)}
    assert len(there_are) == len(stores.local_files(local))
    assert all(read.count(name) == 1 for name in there_are)


def test_what_is_wrong_in_a_store_is_found(there):
    local = there["folder"][0]
    system, top = stores.bucket("wrong"), "wrong/set"
    files = stores.local_files(local)
    first, second, third = sorted(path for path in files if path.startswith("images/contrast/1/"))[:3]
    for path, data in files.items():
        system.pipe_file(f"{top}/{path}", data)
    system.rm_file(f"{top}/{first}")
    system.pipe_file(f"{top}/{second}", files[second][:-1] + b"\0")
    system.pipe_file(f"{top}/{third}", files[third] + b"\0")
    system.pipe_file(f"{top}/images/clean/stray.png", b"")
    system.pipe_file(f"{top}/.corruptset/parts/00000-aa.json", b"")
    found = {(problem.kind, problem.path) for problem in corruptset.verify(f"s3://{top}", jobs=1).problems}
    expected = {
        ("missing", first),
        ("hash", second),
        ("size", third),
        ("unexpected", "images/clean/stray.png"),
        ("unexpected", ".corruptset"),
    }
    assert found == expected
    with pytest.raises(IncompleteBuild, match=r"s3://wrong/none has no manifest\.json"):
        corruptset.open("s3://wrong/none")


@pytest.mark.parametrize("form", ["folder", "hdf5"])
def test_views_and_archives_are_those_of_the_copy_on_the_disk(there, tmp_path, form):
    local, url = there[form]
    for name, place in (("far", url), ("near", local)):
        corruptset.export("imagefolder", place, tmp_path / name / "view", any_shape=True)
        corruptset.pack(place, tmp_path / name / "pack")
    assert stores.local_files(tmp_path / "far") == stores.local_files(tmp_path / "near")


@pytest.mark.parametrize(
    "call",
    [
        lambda url, local, tmp_path: corruptset.export("imagefolder", local, url),
        lambda url, local, tmp_path: corruptset.pack(local, url),
        lambda url, local, tmp_path: corruptset.abandon(url),
        lambda url, local, tmp_path: corruptset.verify(url, repair=True),
        lambda url, local, tmp_path: corruptset.rebuild(local, out=url),
    ],
)
def test_what_needs_a_disk_says_so(there, proxy, tmp_path, call):
    with pytest.raises(StoreError, match=r"s3://read/other: .* on a disk only\. Name a local folder"):
        call("s3://read/other", there["folder"][0], tmp_path)
    assert not proxy.requests


def test_fetched_images_leave_the_disk_when_they_are_too_many(there, monkeypatch):
    local, url = there["folder"]
    monkeypatch.setattr(mirrors, "KEPT_BYTES", 1000)
    monkeypatch.setattr(mirrors, "LEAST_KEPT", 3)
    monkeypatch.setattr(mirrors, "WINDOW", 2)
    far: Any = corruptset.open(url)
    assert [label for _, label in far["clean"]] == [label for _, label in corruptset.open(local)["clean"]]
    assert len(list(Path(far.path).glob("images/**/*.png"))) <= 3
