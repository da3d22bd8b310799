"""Test builds with the workers of a real Dask scheduler, some of which are killed, stopped, retired or added.

Tests in which the scheduler or the command is killed are in tests/faults/killing_clusters.py.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import clusters
import pytest
import small_builds
from clusters import Cluster, ScriptedSource
from commands import COMMAND

import corruptset
from corruptset.errors import BuildError, MachineError, SourceError
from corruptset.generate.build import build
from corruptset.generate.work import dask_workers
from corruptset.progress import ProgressEvent

pytestmark = pytest.mark.ci

SETS = '[[sets]]\ncorruptions = ["contrast", "brightness", "gaussian_noise"]\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dealt")
    small_builds.write_crops(folder / "source", each=3)
    small_builds.write_recipe(folder, more=SETS).rename(folder / "recipe.toml")
    return folder


@pytest.fixture(scope="module")
def expected_files(folder):
    """Return the files of a build with one process."""
    source = f"folder:{folder}/source"
    return small_builds.read_files(build(folder / "recipe.toml", source, folder / "whole", jobs=1).directory)


@pytest.fixture(scope="module")
def cluster(folder, expected_files):
    # kernels are loaded once
    call = f"{str(folder / 'recipe.toml')!r}, 'folder:{folder}/source', {str(folder / 'first')!r}, jobs=1"
    with Cluster(folder / "cluster", f"corruptset.generate.build.build({call})") as cluster:
        yield cluster


@pytest.fixture
def script(tmp_path):
    """Write a script that slows down the first samples that workers load."""
    path = tmp_path / "script"
    path.write_text("sleep 0.02")
    return path


@pytest.fixture
def make(folder, cluster, tmp_path, script):
    def run(out="out", **options):
        build_options = {"scheduler": cluster.address, "jobs": 1, **options}
        return build(folder / "recipe.toml", ScriptedSource(folder / "source", script), tmp_path / out, **build_options)

    return run


@pytest.fixture
def worker_pids(cluster):
    """Return the processes of the two workers."""
    cluster.kill(*[pid for pid in cluster.pids if pid != cluster.scheduler])
    return [cluster.add(name="one"), cluster.add(name="two")]


def after_parts(parts: int, act: Callable[[], Any]) -> Callable[[ProgressEvent], None]:
    """Return a callback that acts once, when a number of parts is finished."""
    acted: list[bool] = []

    def look(event: ProgressEvent) -> None:
        if event.phase == "building" and event.parts_done >= parts and not acted:
            acted.append(True)
            act()

    return look


def committed_parts(out: Path) -> int:
    return len(list(out.glob("*/.corruptset/parts/*.json")))


def test_command_builds_same_bytes_in_relative_folder(folder, cluster, worker_pids, expected_files):
    """Neither the scheduler, which has no corruptset, nor the workers run in that folder."""
    arguments = ["recipe.toml", "--source", "folder:source", "--out", "by-dask", "--scheduler", cluster.address]
    result = subprocess.run([COMMAND, "build", *arguments], cwd=folder, capture_output=True, text=True)
    assert (result.returncode, result.stderr.splitlines()[-1]) == (0, "build: finishing")
    assert small_builds.read_files(folder / "by-dask/small-c-1.0.0") == expected_files


def test_client_is_used_and_left_open(make, cluster, worker_pids, expected_files):
    from distributed import Client

    with Client(cluster.address, set_as_default=False) as client:
        assert small_builds.read_files(make("a", scheduler=client).directory) == expected_files
        # what workers keep of the first build does not go into the second
        assert make("b", seed=1).digest == make("c", seed=1, scheduler=None).digest
        assert client.status == "running"


OTHER = """
import corruptset.generate.work.environment as environment, corruptset.generate.work.dask_workers as tasks
release = environment.version
environment.environment.cache_clear()
environment.version = lambda name: "0.0.1" if name == "corruptset" else release(name)
tasks.sources_digest = lambda: "0000"
"""


def test_unsuitable_workers_are_rejected_by_name(make, cluster, worker_pids, script, tmp_path, monkeypatch):
    def refusal(out="out"):
        with pytest.raises(BuildError, match="of the scheduler's workers cannot make parts of this build:") as exc_info:
            make(out)
        return str(exc_info.value)

    others = [cluster.add(clusters.HIDDEN_MODULES, name="bare"), cluster.add(OTHER, name="old")]
    bare, old = sorted(line.strip() for line in refusal().splitlines()[1:3])
    cluster.kill(*others)
    assert bare.startswith("bare (tcp://")
    assert f"No module named 'corruptset'; install corruptset {corruptset.__version__} there" in bare
    assert old.startswith("old (tcp://")
    assert f"corruptset is 0.0.1 there, but {corruptset.__version__} here; kernels is 0000 there" in old
    assert not (tmp_path / "out").exists()
    with monkeypatch.context() as patch:
        patch.chdir(tmp_path)  # the same path is another folder in each process
        message = refusal(Path("/proc/self/cwd/away"))
        assert "does not see /proc/self/cwd/away/small-c-1.0.0" in message
        assert "(No such file" in message
    cluster.kill(worker_pids[0])
    cluster.add("import fcntl\nfcntl.flock = lambda *given: None", name="lockless")
    script.write_text(f"fail {worker_pids[1]}")
    lockless, blind = sorted(line.strip() for line in refusal().splitlines()[1:3])
    assert f"locks on files in {tmp_path}/out/small-c-1.0.0.partial do not reach it" in lockless
    assert blind.startswith("two (")
    assert "does not see the source as this machine does ([Errno 2] No such file" in blind
    assert not committed_parts(tmp_path / "out")


@pytest.mark.long
def test_build_survives_killed_hanging_retired_and_added_workers(make, cluster, worker_pids, expected_files):
    """Only the worker that joined later can finish the build.

    Dask's worker-ttl removes the hanging worker after 6 s here, and after 5 minutes by default.
    """
    from distributed import Client

    hangs = cluster.add(name="hangs")

    def change():
        os.kill(worker_pids[0], signal.SIGKILL)
        os.kill(hangs, signal.SIGSTOP)
        with Client(cluster.address, set_as_default=False) as client:
            client.retire_workers(names=["two"])
        cluster.add(name="three")

    result = make(progress=after_parts(5, change))
    assert small_builds.read_files(result.directory) == expected_files
    assert result.images == 450
    os.kill(hangs, signal.SIGCONT)  # what it had is not wanted any more
    time.sleep(0.5)
    assert small_builds.read_files(result.directory) == expected_files


def test_failing_workers_end_build_by_name(make, folder, cluster, worker_pids, script, expected_files, tmp_path):
    victim, other = (folder / f"source/09_class/im.{i}.png" for i in (2, 1))
    image = victim.read_bytes()
    with pytest.raises(SourceError, match="has changed since the source was checked"):
        make("changed", progress=after_parts(1, lambda: victim.write_bytes(other.read_bytes())))
    victim.write_bytes(image)
    with pytest.raises(MachineError, match=r"The worker tcp://\S+ failed: No such file or directory(.|\n)*resume"):
        make(progress=after_parts(3, lambda: script.write_text("fail all")))
    script.write_text("sleep 0.02")

    def change():
        cluster.add(clusters.HIDDEN_MODULES, name="bare")
        os.kill(worker_pids[0], signal.SIGKILL)
        os.kill(worker_pids[1], signal.SIGKILL)

    with pytest.raises(BuildError, match=r"does not have corruptset .*No module named 'corruptset'.*resume"):
        make(progress=after_parts(committed_parts(tmp_path / "out") + 2, change))
    cluster.kill(*[pid for pid in cluster.pids if pid != cluster.scheduler])
    # Dask gives up a task when the fourth worker dies of it
    for name in ("three", "four", "five", "six", "lives"):
        cluster.add(name=name)
    script.write_text("die 09_class/im.2")
    with pytest.raises(MachineError) as exc_info:
        make("deadly", sets=["contrast/1"])
    assert "Workers failed while they were building the part 00003-" in str(exc_info.value)
    assert "samples 24 to 29 of " in str(exc_info.value)
    script.unlink()
    assert small_builds.read_files(make().directory) == expected_files


def test_missing_scheduler_and_scheduler_without_workers_are_reported(make, cluster, worker_pids, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(dask_workers, "CONNECT_S", 0.5)
        for arguments, message in (
            ("tcp://127.0.0.1:9", "No Dask scheduler answers at tcp://127.0.0.1:9"),
            (8786, "scheduler is 8786; expected an"),
        ):
            with pytest.raises(BuildError, match=message):
                make(scheduler=arguments)
    monkeypatch.setattr(dask_workers, "NO_WORKERS_S", 1.0)
    cluster.kill(*worker_pids)
    with pytest.raises(MachineError, match=r"had no workers for 1 s, and 32 parts remain.*dask worker"):
        make()
