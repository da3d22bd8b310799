"""A build that was killed, interrupted or lost its workers is resumed, and ends up byte for byte the same."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from joblib.externals.loky import ProcessPoolExecutor

import corruptset
from corruptset.errors import Interrupted, MachineError
from corruptset.generate import build as building
from corruptset.generate.build import Built, ProgressEvent
from corruptset.generate.work import worker
from corruptset.workers import Workers

SCRIPT = """
import signal, sys
from corruptset.errors import CorruptsetError
from corruptset.generate.build import build
signal.signal(signal.SIGINT, signal.default_int_handler)  # where the tests run in the background, it is ignored
if __name__ == "__main__":
    try:
        build(sys.argv[1], "sample", sys.argv[2], jobs=int(sys.argv[3]))
    except CorruptsetError as e:
        print(e, file=sys.stderr)
        sys.exit(e.exit_code)
"""


def sidecars(folder: Path) -> list[Path]:
    return list(folder.glob("*/.corruptset/parts/*.json"))


@pytest.fixture
def start(small_recipe: Path, tmp_path: Path) -> Any:
    """Start a build of all sets in a process group of its own."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    begun: list[subprocess.Popen[str]] = []

    def run(jobs: int) -> subprocess.Popen[str]:
        command = [sys.executable, str(script), str(small_recipe), str(tmp_path / "out"), str(jobs)]
        begun.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True))
        return begun[-1]

    yield run
    for one in begun:
        if one.poll() is None:
            os.killpg(one.pid, signal.SIGKILL)
        one.wait()
        assert one.stderr is not None
        one.stderr.close()


def wait_for_parts(process: subprocess.Popen[str], out: Path, count: int) -> bool:
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        if len(sidecars(out)) >= count:
            return True
        time.sleep(0.002)
    return False


def test_committed_parts_are_never_made_again_and_others_are_made_whole(
    make: Callable[..., Built], tmp_path: Path, whole: Built, files: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    real, calls = worker.write_sidecar, []

    def commit(*arguments: Any) -> None:
        calls.append(arguments[1])
        if len(calls) == 4:
            raise Killed
        real(*arguments)

    monkeypatch.setattr(worker, "write_sidecar", commit)
    with pytest.raises(Killed):
        make()
    directory = tmp_path / "small-1.0.0"
    done = {p.stem for p in sidecars(tmp_path)}
    assert done == set(calls[:3])
    # what a kill can leave: a half-written image, a temporary shard, a temporary sidecar
    half = next(p for p in directory.rglob("*.JPEG"))
    images = {p: p.stat().st_mtime_ns for p in directory.rglob("*.JPEG")}
    stray = [
        directory / "hdf5" / ".0123.part",
        directory / ".corruptset" / "parts" / ".4567.part",
        directory / ".89.part",
    ]
    for path in stray:
        path.write_bytes(b"half")
    last = max(images, key=lambda p: images[p])
    last.write_bytes(b"half")
    calls.clear()
    calls.extend(["", "", "", ""])
    built = make()
    assert not done & set(calls)
    assert half.exists()
    assert not any(p.exists() for p in stray)
    assert files(built.directory) == files(whole.directory)


def test_a_resume_with_other_sets_ends_with_both(make: Callable[..., Built], whole: Built, files: Any) -> None:
    def stop(event: ProgressEvent) -> None:
        if event.phase == "building" and event.parts_done == 2:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="run the same command again to resume") as caught:
        make(sets=["contrast*", "gaussian_noise/*"], progress=stop)
    assert caught.value.exit_code == 130
    built = make(sets=["brightness/*", "Noise*"])
    assert built.digest == whole.digest
    assert files(built.directory) == files(whole.directory)


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.ci)])
def test_a_signal_stops_cleanly_and_says_how_to_resume(
    start: Any, small_recipe: Path, tmp_path: Path, whole: Built, files: Any, number: int
) -> None:
    process = start(2)
    # On a busy machine the build may be done before the first part was seen; then there is nothing to stop.
    if wait_for_parts(process, tmp_path / "out", 1):
        os.killpg(process.pid, number) if number == signal.SIGINT else os.kill(process.pid, number)
    _, said = process.communicate(timeout=60)
    if process.returncode != 0:  # 0: it was done before the signal came
        assert process.returncode == 130, said
        assert "run the same command again to resume" in said
        assert "Traceback" not in said
    built = corruptset.build(small_recipe, "sample", tmp_path / "out", jobs=1)
    assert files(built.directory) == files(whole.directory)


def children() -> list[int]:
    """Return the loky workers of this process."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
            command = (status.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if int(fields[1]) == os.getpid() and b"loky" in command and b"tracker" not in command:
            found.append(int(status.parent.name))
    return found


def test_an_interruption_just_after_a_task_was_submitted_prints_no_traceback(
    make: Callable[..., Built], tmp_path: Path, whole: Built, files: Any, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    """Loky's own thread then finds a task that it has just forgotten."""
    real = ProcessPoolExecutor.shutdown

    def shutdown(pool: Any, *arguments: Any, **options: Any) -> None:
        pool._work_ids.put(10**6)
        real(pool, *arguments, **options)

    def stop(event: ProgressEvent) -> None:
        if event.phase == "building" and event.parts_done == 2:
            monkeypatch.setattr(ProcessPoolExecutor, "shutdown", shutdown)
            raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        make(jobs=2, progress=stop)
    said = capfd.readouterr()
    assert "Traceback" not in said.out + said.err
    monkeypatch.undo()
    assert files(make(jobs=1).directory) == files(whole.directory)


@pytest.mark.ci
def test_a_killed_worker_is_replaced(make: Callable[..., Built], whole: Built, files: Any) -> None:
    killed: list[int] = []

    def kill(event: ProgressEvent) -> None:
        if event.phase == "building" and event.parts_done == 2 and not killed:
            killed.extend(children()[:1])
            os.kill(killed[0], signal.SIGKILL)

    built = make(jobs=2, progress=kill)
    assert killed
    assert files(built.directory) == files(whole.directory)


def test_workers_that_keep_dying_end_the_build_and_name_the_parts(
    make: Callable[..., Built], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []

    def start(workers: Workers, wanted: int, *_: Any) -> int:
        workers.count = min(workers.most, wanted)
        return workers.count

    def broken(workers: Workers, *_: Any) -> None:
        tried.append(workers.count)
        raise BrokenProcessPool

    monkeypatch.setattr(Workers, "start", start)
    monkeypatch.setattr(Workers, "_hand_out", broken)
    monkeypatch.setattr(building, "warm_up", lambda *_, **__: None)
    with pytest.raises(
        MachineError,
        match=r"killed 4 times without finishing a part(.|\n)*2 parts are left(.|\n)*contrast/1(.|\n)*resume",
    ):
        make(jobs=4, sets=["contrast/*"])
    assert tried == [2, 2, 1, 1]
    monkeypatch.undo()
    assert make(sets=["contrast/*"]).images == 16


@pytest.mark.parametrize("number", [signal.SIGINT])
def test_a_signal_within_a_lock_of_pythons_is_an_interruption_too(
    make: Callable[..., Built], whole: Built, files: Any, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    class Writer(ThreadPoolExecutor):
        # What was seen of Ctrl-C while a thread was started: the exception came between a lock's release and its
        # owner's.
        def submit(self, *arguments: Any, **more: Any) -> Any:
            try:
                signal.raise_signal(number)
            except KeyboardInterrupt:
                raise RuntimeError("release unlocked lock") from None

    background = signal.getsignal(signal.SIGINT)
    # as a terminal has it: a background job ignores Ctrl-C, and so does a build there
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        before = signal.getsignal(number)
        with monkeypatch.context() as patch:
            patch.setattr(worker, "ThreadPoolExecutor", Writer)
            with pytest.raises(Interrupted, match="run the same command again to resume"):
                make()
        assert signal.getsignal(number) is before
    finally:
        signal.signal(signal.SIGINT, background)
    assert files(make().directory) == files(whole.directory)


@pytest.mark.parametrize(("number", "stops"), [(signal.SIGINT, False), (signal.SIGTERM, True)])
def test_a_build_in_the_background_leaves_ctrl_c_alone_and_stops_at_sigterm(
    make: Callable[..., Built], whole: Built, files: Any, number: signal.Signals, stops: bool
) -> None:
    background = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with pytest.raises(Interrupted) if stops else nullcontext():
            make(progress=lambda event: signal.raise_signal(number) if event.phase == "building" else None)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, background)
    assert files(make().directory) == files(whole.directory)


def test_an_error_without_a_signal_stays_what_it_is(
    make: Callable[..., Built], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Writer(ThreadPoolExecutor):
        def submit(self, *arguments: Any, **more: Any) -> Any:
            raise RuntimeError("of our own")

    monkeypatch.setattr(worker, "ThreadPoolExecutor", Writer)
    with pytest.raises(RuntimeError, match="of our own"):
        make()
