"""Builds in an object store: what they put there, what they refuse, and what becomes of them when requests fail or they are killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import commands
import pytest
import stores

import corruptset
from corruptset.errors import BuildError, MachineError, StoreError
from corruptset.manifests.disk import remote

SETS = ["clean", "contrast/1", "contrast/2"]


class Place:
    """A bucket, what is built in it, and the same build on the disk."""

    def __init__(self, proxy: stores.Proxy, folder: Path, recipe: Path, crops: Path) -> None:
        self.proxy, self.folder, self.recipe, self.source = proxy, folder, recipe, f"folder:{crops}"
        self.system = stores.bucket("sets")
        self.local = corruptset.build(recipe, self.source, folder / "local", jobs=1, format="both", sets=SETS)
        self.files = stores.local_files(self.local.directory)
        self.name = self.local.directory.name

    def build(self, out: str, **options: Any) -> corruptset.generate.build.Built:
        return corruptset.build(self.recipe, self.source, f"s3://sets/{out}", **{"jobs": 1, "format": "both", "sets": SETS, **options})

    def arguments(self, out: str) -> list[str]:
        return [
            "build",
            str(self.recipe),
            "--source",
            self.source,
            "--out",
            f"s3://sets/{out}",
            "--format",
            "both",
            "--jobs",
            "1",
            "--sets",
            ",".join(SETS),
        ]

    def objects(self, out: str) -> dict[str, bytes]:
        return stores.objects(self.system, f"s3://sets/{out}/{self.name}")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, recipe: Path, crops: Path) -> Iterator[Place]:
    with stores.s3() as proxy:
        yield Place(proxy, tmp_path_factory.mktemp("store"), recipe, crops)


@pytest.fixture(autouse=True)
def plain_and_quick(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.proxy.reset()
    monkeypatch.setattr(remote, "FIRST_WAIT_S", 0.001)


@pytest.mark.ci
def test_a_build_in_a_store_is_the_local_one_byte_for_byte(place):
    built = place.build("plain", jobs=2)
    assert (built.digest, built.images) == (place.local.digest, place.local.images)
    assert f"{built.directory}" == f"s3://sets/plain/{place.name}"
    assert place.objects("plain") == place.files
    puts = [path for method, path in place.proxy.requests if method == "PUT"]
    assert puts[-1].split("?")[0].endswith("/manifest.json")
    at = {path.split("?")[0].partition(f"{place.name}/")[2]: number for number, path in enumerate(puts)}
    for sidecar in [path for path in at if "/parts/" in path]:
        assert at[sidecar] > at[".corruptset/build.json"]
    assert place.build("plain").images == 0  # it is there
    assert place.objects("plain") == place.files


@pytest.mark.ci
def test_every_sidecar_comes_after_all_objects_of_its_part(place):
    place.build("order", format="folder")
    puts = [path.split("?")[0].partition(f"{place.name}/")[2] for method, path in place.proxy.requests if method == "PUT"]
    committed = 0
    for number, path in enumerate(puts):
        if path.startswith("images/"):
            assert any("/parts/" in later for later in puts[number:]), path
        committed += "/parts/" in path
    last_image = max(number for number, path in enumerate(puts) if path.startswith("images/"))
    last_sidecar = max(number for number, path in enumerate(puts) if "/parts/" in path)
    assert committed > 1
    assert last_image < last_sidecar < puts.index("sets/clean.jsonl")


KINDS = ["cut", "cut answer", "cut half", "503", "slow"]


@pytest.mark.ci
def test_failing_requests_are_tried_again_and_nothing_is_lost(place):
    draw = random.Random(7)
    faults = {number: draw.choice(KINDS) for number in range(1, 4000) if draw.random() < 0.25}
    place.proxy.reset(
        lambda number, *_: "cut" if number == 1 else faults.get(number) if faults.get(number) != "slow" or number < 60 else None
    )
    assert place.build("faults").digest == place.local.digest
    done = place.proxy.done
    assert min(done[kind] for kind in KINDS) >= 1
    place.proxy.reset()
    assert place.objects("faults") == place.files


@pytest.mark.ci
def test_a_store_that_is_down_stops_the_build_which_goes_on_later(place):
    place.proxy.reset(lambda number, method, path: "503" if number > 40 else None)
    with pytest.raises(MachineError, match=r"failed 8 times in a row .*SlowDown|reduce your request rate") as raised:
        place.build("down")
    assert "run the same command again" in str(raised.value)
    place.proxy.reset()
    kept = [path for path in place.objects("down") if "/parts/" in path]
    assert kept
    assert 0 < place.build("down").images < place.local.images
    assert place.objects("down") == place.files


@pytest.mark.ci
def test_objects_that_are_gone_or_cut_before_the_end_are_made_again(place):
    def remove(number: int, method: str, path: str) -> None:
        if method == "PUT" and "/parts/" in path and not removed:
            removed.extend(name for name in place.system.find(f"sets/gone/{place.name}/images")[:1])
            threading.Thread(target=place.system.rm_file, args=removed).start()

    removed: list[str] = []
    place.proxy.reset(remove)
    with pytest.raises(MachineError, match="objects of 1 parts are gone or have other sizes"):
        place.build("gone")
    place.proxy.reset()
    assert place.build("gone").images > 0
    assert place.objects("gone") == place.files


def killed(place: Place, out: str, moment: int) -> bool:
    """Build in a process that is killed when the store has had so many requests; return whether that came before its end."""
    process = subprocess.Popen([commands.COMMAND, *place.arguments(out)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def fault(number: int, *_: Any) -> str | None:
        if number == moment:
            process.send_signal(signal.SIGKILL)
        return "cut" if number >= moment else None

    place.proxy.reset(fault)
    _, said = process.communicate()
    place.proxy.reset()
    assert process.returncode in (0, -signal.SIGKILL), said.decode()
    return process.returncode != 0


def kill_and_resume(place: Place, out: str, moments: list[int]) -> int:
    """Return how many builds were killed; what they left is finished, and compared."""
    kills = sum([killed(place, out, moment) for moment in moments])
    if f"{place.name}/manifest.json" not in place.objects(out):
        assert not [path for path in place.objects(out) if path.startswith("sets/") and not path.endswith(".jsonl")]
    built = place.build(out)
    assert built.digest == place.local.digest
    assert place.objects(out) == place.files
    return kills


@pytest.mark.ci
def test_a_killed_build_goes_on_where_it_stopped(place):
    assert kill_and_resume(place, "killed", [20, 60, 45]) > 0


@pytest.mark.long
def test_builds_killed_at_moments_of_the_whole_build_go_on(place):
    """The first of two kills is in another fifteenth of the build's requests each time."""
    place.build("counted")
    requests, draw, kills = len(place.proxy.requests), random.Random(3), 0
    for number in range(15):
        first = 1 + int((number + draw.random()) * requests / 15)
        kills += kill_and_resume(place, f"killed-{number}", [first, draw.randrange(1, requests)])
    print(f"a build has {requests} requests; {kills} of 30 builds killed before their end, {15 * len(place.files)} objects compared")
    assert kills >= 15


@pytest.mark.ci
def test_two_builds_in_one_place_are_refused(place):
    lock = f"sets/locked/{place.name}/.corruptset/lock"
    other = {"holder": "another", "machine": "elsewhere", "since": "2026-01-02T03:04:05+00:00"}
    place.system.pipe_file(lock, json.dumps(other).encode())
    with pytest.raises(BuildError, match=r"locked by a build on elsewhere since 2026-01-02T03:04:05.*remove the object s3://sets/locked/"):
        place.build("locked")
    assert list(place.objects("locked")) == [".corruptset/lock"]
    place.system.rm_file(lock)
    assert place.build("locked").digest == place.local.digest


@pytest.mark.ci
def test_what_a_store_cannot_do_is_refused_before_anything_is_written(place):
    with pytest.raises(BuildError, match=r"own offsets, which an object store does not allow.*--format hdf5"):
        corruptset.build(place.recipe, place.source, "s3://sets/no", jobs=1, view="cifar-c", sets=["*/*"])
    with pytest.raises(StoreError, match=r"s3://nowhere/.*the bucket does not exist"):
        corruptset.build(place.recipe, place.source, "s3://nowhere/x", jobs=1)
    assert not place.objects("no")
    place.system.pipe_file(f"sets/mine/{place.name}/notes.txt", b"mine")
    with pytest.raises(BuildError, match=r"is not empty and holds no build \(notes.txt\)"):
        place.build("mine")
    assert place.objects("mine") == {"notes.txt": b"mine"}
    place.build("part", sets=["clean"])
    with pytest.raises(BuildError, match=r"is a finished build without the sets brightness/1, .*is not extended"):
        place.build("part", sets=["clean", "brightness/1"])


@pytest.mark.ci
def test_no_credentials_and_no_permission_are_said_plainly(place, monkeypatch, tmp_path):
    import fsspec

    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", os.fspath(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.fspath(tmp_path / "none"))
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    with pytest.raises(StoreError, match="there are no credentials for this store"):
        place.build("none")
    monkeypatch.undo()
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    denied = {"status": 403}
    monkeypatch.setattr(stores._Handler, "_hand_on", lambda self: self._answer(denied["status"], {}, DENIED))
    for method in ("do_GET", "do_PUT"):
        monkeypatch.setattr(stores._Handler, method, stores._Handler._hand_on)
    with pytest.raises(StoreError, match=r"writing is not permitted \(.*Access Denied"):
        place.build("none")


DENIED = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"


@pytest.mark.ci
def test_secrets_of_the_environment_appear_nowhere(place, monkeypatch):
    import fsspec

    monkeypatch.setenv("CORRUPTSET_DEBUG", "1")
    command = commands.COMMAND
    done = subprocess.run([command, *place.arguments("secrets")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = [done.stdout, done.stderr]
    place.proxy.reset(lambda *_: "cut")
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    monkeypatch.setenv("AWS_ENDPOINT_URL", os.environ["AWS_ENDPOINT_URL"].replace("//", f"//me:{stores.SECRET}@"))
    for url in ("s3://sets/secrets", f"s3://me:{stores.SECRET}@sets/secrets"):
        with pytest.raises((MachineError, StoreError)) as raised:
            corruptset.open(f"{url}/{place.name}")
        said.append("".join(traceback.format_exception(raised.value)))
    place.proxy.reset()
    monkeypatch.undo()
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    everything = [text.encode() for text in said] + list(place.objects("secrets").values())
    for word in (stores.SECRET, stores.KEY):
        assert not [text for text in everything if word.encode() in text]
