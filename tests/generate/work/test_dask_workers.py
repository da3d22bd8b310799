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
def whole(folder):
    """Return the files of a build with one process."""
    source = f"folder:{folder}/source"
    return small_builds.read_files(build(folder / "recipe.toml", source, folder / "whole", jobs=1).directory)


@pytest.fixture(scope="module")
def cluster(folder, whole):
    # kernels are loaded once
    given = f"{str(folder / 'recipe.toml')!r}, 'folder:{folder}/source', {str(folder / 'first')!r}, jobs=1"
    with Cluster(folder / "cluster", f"corruptset.generate.build.build({given})") as cluster:
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
        given = {"scheduler": cluster.address, "jobs": 1, **options}
        return build(folder / "recipe.toml", ScriptedSource(folder / "source", script), tmp_path / out, **given)

    return run


@pytest.fixture
def two(cluster):
    """Return the processes of the two workers."""
    cluster.kill(*[pid for pid in cluster.pids if pid != cluster.scheduler])
    return [cluster.add(name="one"), cluster.add(name="two")]


def at(parts: int, act: Callable[[], Any]) -> Callable[[ProgressEvent], None]:
    """Return a callback that acts once, when a number of parts is finished."""
    acted: list[bool] = []

    def look(event: ProgressEvent) -> None:
        if event.phase == "building" and event.parts_done >= parts and not acted:
            acted.append(True)
            act()

    return look


def committed(out: Path) -> int:
    return len(list(out.glob("*/.corruptset/parts/*.json")))


def test_the_command_builds_the_same_in_a_folder_that_it_names_from_where_it_stands(folder, cluster, two, whole):
    """Neither the scheduler, which has no corruptset, nor the workers run in that folder."""
    arguments = ["recipe.toml", "--source", "folder:source", "--out", "by-dask", "--scheduler", cluster.address]
    done = subprocess.run([COMMAND, "build", *arguments], cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, "build: finishing")
    assert small_builds.read_files(folder / "by-dask/small-c-1.0.0") == whole


def test_a_client_is_taken_and_left_open(make, cluster, two, whole):
    from distributed import Client

    with Client(cluster.address, set_as_default=False) as client:
        assert small_builds.read_files(make("a", scheduler=client).directory) == whole
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


def test_unfit_workers_are_refused_by_name(make, cluster, two, script, tmp_path, monkeypatch):
    def refusal(out="out"):
        with pytest.raises(BuildError, match="of the scheduler's workers cannot make parts of this build:") as refused:
            make(out)
        return str(refused.value)

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
        said = refusal(Path("/proc/self/cwd/away"))
        assert "does not see /proc/self/cwd/away/small-c-1.0.0" in said
        assert "(No such file" in said
    cluster.kill(two[0])
    cluster.add("import fcntl\nfcntl.flock = lambda *given: None", name="lockless")
    script.write_text(f"fail {two[1]}")
    lockless, blind = sorted(line.strip() for line in refusal().splitlines()[1:3])
    assert f"locks on files in {tmp_path}/out/small-c-1.0.0.partial do not reach it" in lockless
    assert blind.startswith("two (")
    assert "does not see the source as this machine does ([Errno 2] No such file" in blind
    assert not committed(tmp_path / "out")


def test_one_killed_one_that_hangs_one_retired_one_that_joined_later(make, cluster, two, whole):
    """Only the worker that joined later can finish the build.

    Dask's worker-ttl removes the hanging worker after 6 s here, and after 5 minutes by default.
    """
    from distributed import Client

    hangs = cluster.add(name="hangs")

    def change():
        os.kill(two[0], signal.SIGKILL)
        os.kill(hangs, signal.SIGSTOP)
        with Client(cluster.address, set_as_default=False) as client:
            client.retire_workers(names=["two"])
        cluster.add(name="three")

    built = make(progress=at(5, change))
    assert small_builds.read_files(built.directory) == whole
    assert built.images == 450
    os.kill(hangs, signal.SIGCONT)  # what it had is not wanted any more
    time.sleep(0.5)
    assert small_builds.read_files(built.directory) == whole


def test_workers_that_cannot_go_on_end_the_build_by_name(make, folder, cluster, two, script, whole, tmp_path):
    victim, other = (folder / f"source/09_class/im.{i}.png" for i in (2, 1))
    image = victim.read_bytes()
    with pytest.raises(SourceError, match="has changed since the source was checked"):
        make("changed", progress=at(1, lambda: victim.write_bytes(other.read_bytes())))
    victim.write_bytes(image)
    with pytest.raises(MachineError, match=r"The worker tcp://\S+ failed: No such file or directory(.|\n)*resume"):
        make(progress=at(3, lambda: script.write_text("fail all")))
    script.write_text("sleep 0.02")

    def change():
        cluster.add(clusters.HIDDEN_MODULES, name="bare")
        os.kill(two[0], signal.SIGKILL)
        os.kill(two[1], signal.SIGKILL)

    with pytest.raises(BuildError, match=r"does not have corruptset .*No module named 'corruptset'.*resume"):
        make(progress=at(committed(tmp_path / "out") + 2, change))
    cluster.kill(*[pid for pid in cluster.pids if pid != cluster.scheduler])
    # Dask gives up a task when the fourth worker dies of it
    for name in ("three", "four", "five", "six", "lives"):
        cluster.add(name=name)
    script.write_text("die 09_class/im.2")
    with pytest.raises(MachineError) as stopped:
        make("deadly", sets=["contrast/1"])
    assert "Workers failed while they were building the part 00003-" in str(stopped.value)
    assert "samples 24 to 29 of " in str(stopped.value)
    script.unlink()
    assert small_builds.read_files(make().directory) == whole


def test_a_scheduler_that_is_none_or_has_no_workers(make, cluster, two, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(dask_workers, "CONNECT_S", 0.5)
        for given, said in (
            ("tcp://127.0.0.1:9", "No Dask scheduler answers at tcp://127.0.0.1:9"),
            (8786, "scheduler is 8786; expected an"),
        ):
            with pytest.raises(BuildError, match=said):
                make(scheduler=given)
    monkeypatch.setattr(dask_workers, "NO_WORKERS_S", 1.0)
    cluster.kill(*two)
    with pytest.raises(MachineError, match=r"had no workers for 1 s, and 32 parts remain.*dask worker"):
        make()
