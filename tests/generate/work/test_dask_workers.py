"""Builds by the workers of a real Dask scheduler, which are killed, stopped, retired and added meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import clusters
import layouts
import pytest
from clusters import Cluster, LedSource
from commands import COMMAND

import corruptset
from corruptset.errors import BuildError, MachineError, SourceError
from corruptset.generate.build import Built, build
from corruptset.generate.work import dask_workers
from corruptset.progress import ProgressEvent

pytestmark = pytest.mark.ci

RECIPE = """
name = "dealt"
version = "1.0.0"
title = "Dealt"
calibration = "cifar"

[preprocessing]
kind = "none"
channels = "rgb"

[encoding]
format = "png"

[[sets]]
corruptions = ["contrast", "brightness", "gaussian_noise"]
"""
PARTS = 32


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dealt")
    layouts.write_crops(folder / "source", each=3)
    (folder / "recipe.toml").write_text(RECIPE)
    return folder


@pytest.fixture(scope="module")
def whole(folder: Path) -> dict[str, bytes]:
    """What one process builds."""
    return layouts.files_of(
        build(folder / "recipe.toml", f"folder:{folder}/source", folder / "whole", jobs=1).directory
    )


@pytest.fixture(scope="module")
def cluster(folder: Path, whole: dict[str, bytes]) -> Iterator[Cluster]:
    # kernels are loaded once
    begin = (
        f"corruptset.generate.build.build({str(folder / 'recipe.toml')!r}, 'folder:{folder}/source', "
        f"{str(folder / 'first')!r}, jobs=1)"
    )
    with Cluster(folder / "cluster", begin) as cluster:
        yield cluster


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """What workers do when they load a sample."""
    return tmp_path / "script"


@pytest.fixture
def make(folder: Path, cluster: Cluster, tmp_path: Path, script: Path) -> Callable[..., Built]:
    def make(**options: Any) -> Built:
        source = LedSource(folder / "source", script)
        return build(folder / "recipe.toml", source, tmp_path / "out", scheduler=cluster.address, jobs=1, **options)

    return make


@pytest.fixture
def two(cluster: Cluster) -> list[int]:
    """The processes of two workers, and no others."""
    cluster.kill(*[pid for pid in cluster.pids if pid != cluster.scheduler])
    return [cluster.add(name="one"), cluster.add(name="two")]


def at(parts: int, act: Callable[[], Any]) -> Callable[[ProgressEvent], None]:
    """Act once, when so many parts are done."""
    acted: list[bool] = []

    def look(event: ProgressEvent) -> None:
        if event.phase == "building" and event.parts_done >= parts and not acted:
            acted.append(True)
            act()

    return look


def committed(out: Path) -> int:
    return len(list(out.glob("*/.corruptset/parts/*.json")))


def waited(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_command_builds_the_same_in_a_folder_that_it_names_from_where_it_stands(
    folder: Path, cluster: Cluster, two: list[int], whole: dict[str, bytes]
) -> None:
    """Neither the scheduler, which has no corruptset, nor the workers stand in that folder."""
    arguments = [
        "build",
        "recipe.toml",
        "--source",
        "folder:source",
        "--out",
        "by-dask",
        "--scheduler",
        cluster.address,
    ]
    done = subprocess.run([COMMAND, *arguments], cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, "build: finishing")
    assert layouts.files_of(folder / "by-dask" / "dealt-1.0.0") == whole
    again = subprocess.run([COMMAND, *arguments], cwd=folder, capture_output=True, text=True)
    assert "all there already" in again.stdout


def test_a_client_is_taken_and_left_open(
    make: Any, folder: Path, cluster: Cluster, two: list[int], tmp_path: Path, whole: Any
) -> None:
    from distributed import Client

    with Client(cluster.address, set_as_default=False) as client:
        for kept in (client, cluster.address):  # what workers keep of the first build does not go into the second
            options: dict[str, Any] = {"seed": 0 if kept is client else 1}
            out = tmp_path / str(options["seed"])
            built = build(folder / "recipe.toml", f"folder:{folder}/source", out, scheduler=kept, jobs=1, **options)
            assert (layouts.files_of(built.directory) == whole) == (options["seed"] == 0)
        assert client.status == "running"
        local = build(folder / "recipe.toml", f"folder:{folder}/source", tmp_path / "local", seed=1, jobs=1)
        assert local.digest == built.digest


OTHER = """
import corruptset.generate.work.environment as environment, corruptset.generate.work.dask_workers as tasks
release = environment.version
environment.environment.cache_clear()
environment.version = lambda name: "0.0.1" if name == "corruptset" else release(name)
tasks.sources_digest = lambda: "0000"
"""


def test_unfit_workers_are_refused_by_name(
    make: Any, folder: Path, cluster: Cluster, two: list[int], script: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    others = [cluster.add(clusters.HIDDEN, name="bare"), cluster.add(OTHER, name="old")]
    with pytest.raises(BuildError, match=r"2 of the scheduler's workers cannot make parts of this build:") as refused:
        make()
    cluster.kill(*others)
    bare, old = sorted(line.strip() for line in str(refused.value).splitlines()[1:3])
    assert bare.startswith("bare (tcp://")
    assert f"No module named 'corruptset'; install corruptset {corruptset.__version__} there" in bare
    assert old.startswith("old (tcp://")
    assert f"corruptset is 0.0.1 there and {corruptset.__version__} here; kernels is 0000 there" in old
    assert not (tmp_path / "out").exists()
    with monkeypatch.context() as patch:
        patch.chdir(tmp_path)  # the same path is another folder in each process
        source = f"folder:{folder}/source"
        with pytest.raises(BuildError, match=r"does not see /proc/self/cwd/away/dealt-1.0.0 .*\(No such file"):
            build(folder / "recipe.toml", source, "/proc/self/cwd/away", scheduler=cluster.address, jobs=1)
    cluster.kill(two[0])
    cluster.add("import fcntl\nfcntl.flock = lambda *given: None", name="lockless")
    script.write_text(f"fail {two[1]}")
    with pytest.raises(BuildError) as refused:
        make()
    lockless, blind = sorted(line.strip() for line in str(refused.value).splitlines()[1:3])
    assert f"locks on files in {tmp_path}/out/dealt-1.0.0 do not reach it" in lockless
    assert blind.startswith("two (")
    assert "does not see the source as this machine does ([Errno 2] No such file" in blind
    assert not committed(tmp_path / "out")


def test_one_killed_one_retired_one_that_joined_later(
    make: Any, cluster: Cluster, two: list[int], script: Path, whole: Any
) -> None:
    """Only the one that joined later is left to end it."""
    from distributed import Client

    script.write_text("sleep 0.02")

    def change() -> None:
        os.kill(two[0], signal.SIGKILL)
        with Client(cluster.address, set_as_default=False) as client:
            client.retire_workers(names=["two"])
        cluster.add(name="three")

    built = make(progress=at(5, change))
    assert layouts.files_of(built.directory) == whole
    assert built.images == 450


def test_what_a_worker_that_hangs_had_is_dealt_to_another(make: Any, two: list[int], script: Path, whole: Any) -> None:
    """Dask's own worker-ttl takes it from the list of workers: 6 s here, and 5 min by default."""
    script.write_text("sleep 0.02")
    built = make(progress=at(5, lambda: os.kill(two[0], signal.SIGSTOP)))
    assert layouts.files_of(built.directory) == whole
    os.kill(two[0], signal.SIGCONT)  # what it had is not wanted any more
    time.sleep(1.0)
    assert layouts.files_of(built.directory) == whole


def test_workers_that_cannot_go_on_end_the_build_by_name(
    make: Any, cluster: Cluster, two: list[int], script: Path, whole: Any, tmp_path: Path
) -> None:
    with pytest.raises(MachineError, match=r"The worker tcp://\S+ failed: No such file or directory(.|\n)*resume"):
        make(progress=at(3, lambda: script.write_text("fail all")))
    script.write_text("sleep 0.02")

    def change() -> None:
        cluster.add(clusters.HIDDEN, name="bare")
        os.kill(two[0], signal.SIGKILL)
        os.kill(two[1], signal.SIGKILL)

    with pytest.raises(BuildError, match=r"has no corruptset .*No module named 'corruptset'.*resume"):
        make(progress=at(committed(tmp_path / "out") + 2, change))
    cluster.kill(*[pid for pid in cluster.pids if pid != cluster.scheduler])
    cluster.add(name="three")
    script.unlink()
    assert layouts.files_of(make().directory) == whole


def test_a_part_that_kills_workers_ends_the_build_with_its_name(
    make: Any, cluster: Cluster, two: list[int], script: Path, whole: Any
) -> None:
    """Dask gives up a task when the fourth worker dies of it."""
    cluster.add(name="three")
    cluster.add(name="four")
    cluster.add(name="lives")
    victim = "09_class/im.2"
    script.write_text(f"die {victim}")
    with pytest.raises(MachineError) as stopped:
        make(sets=["contrast/1"])
    said = str(stopped.value)
    assert "Workers did not survive the part 00003-" in said
    assert "samples 24 to 29 of " in said
    script.unlink()
    make(sets=["contrast/1"])
    assert layouts.files_of(make().directory) == whole


def test_the_scheduler_killed(make: Any, cluster: Cluster, two: list[int], script: Path, whole: Any) -> None:
    script.write_text("sleep 0.02")
    with pytest.raises(
        MachineError, match=r"The connection to the scheduler was lost; \d+ parts are left.*same command again"
    ):
        make(progress=at(5, lambda: cluster.kill(cluster.scheduler)))
    cluster.start_scheduler()
    cluster.add(name="three")
    built = make()
    assert layouts.files_of(built.directory) == whole
    assert built.images < 450 - 5 * 14


def test_the_command_killed_and_another_at_once(
    folder: Path, cluster: Cluster, two: list[int], script: Path, tmp_path: Path, whole: Any, make: Any
) -> None:
    """What the workers of the killed one still make, they do not write beside the next."""
    script.write_text("sleep 0.05")
    code = f"""
from clusters import LedSource
from pathlib import Path
from corruptset.generate.build import build
source = LedSource(Path({str(folder / "source")!r}), Path({str(script)!r}))
build({str(folder / "recipe.toml")!r}, source, {str(tmp_path / "out")!r}, scheduler={cluster.address!r}, jobs=1)
"""
    path = os.pathsep.join([str(Path(clusters.__file__).parent), os.environ.get("PYTHONPATH", "")])
    with subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}) as first:
        waited(lambda: committed(tmp_path / "out") >= 4)
        with pytest.raises(BuildError, match="Another build is working in"):
            make()
        first.kill()
    before = committed(tmp_path / "out")
    assert 4 <= before < PARTS
    built = make()
    assert layouts.files_of(built.directory) == whole
    assert built.images < 450


def test_a_sample_that_changes_meanwhile_is_the_error_that_it_is_locally(
    make: Any, folder: Path, two: list[int], script: Path
) -> None:
    victim = folder / "source" / "09_class" / "im.2.png"
    before = victim.read_bytes()
    try:
        with pytest.raises(SourceError, match="has changed since the source was checked"):
            make(progress=at(1, lambda: victim.write_bytes((folder / "source" / "09_class" / "im.1.png").read_bytes())))
    finally:
        victim.write_bytes(before)


def test_a_scheduler_that_is_none_or_has_no_workers(
    make: Any, cluster: Cluster, two: list[int], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_workers, "CONNECT_S", 0.5)
    for given, said in (
        ("tcp://127.0.0.1:9", "No Dask scheduler answers at tcp://127.0.0.1:9"),
        (8786, "scheduler is 8786; expected an"),
    ):
        with pytest.raises(BuildError, match=said):
            build(folder / "recipe.toml", f"folder:{folder}/source", tmp_path, scheduler=given)
    monkeypatch.setattr(dask_workers, "CONNECT_S", 30.0)
    monkeypatch.setattr(dask_workers, "NOBODY_S", 1.0)
    cluster.kill(*two)
    with pytest.raises(MachineError, match=r"had no worker for 1 s; 32 parts are left.*dask worker"):
        make()
