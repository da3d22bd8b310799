"""HDF5 files that hang or crash the library, read by a process of its own: it is ended, and nobody is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

import corruptset.manifests.images.guard as guard_module
from corruptset.errors import ParameterError
from corruptset.manifests.images.guard import SECONDS_VARIABLE, Guard, NoAnswer, Refused, seconds_allowed

PIXELS = np.random.default_rng(5).integers(0, 256, (7, 8, 9, 3), dtype=np.uint8)

TROUBLE = """
import os, signal
from corruptset.manifests.images import hdf5_child

def hang(path):
    while True:
        pass

def die(path):
    os.kill(os.getpid(), signal.SIGSEGV)

def once(path):
    if not os.path.exists(path + ".seen"):
        open(path + ".seen", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return hdf5_child.look(path, None, None)

def fault(path):
    raise MemoryError("no room") if path.endswith("memory") else ZeroDivisionError("a mistake")

hdf5_child.ANSWERS.update(hang=hang, die=die, once=once, fault=fault)
hdf5_child.main()
"""


@pytest.fixture
def path(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["images"] = PIXELS
        file["labels"] = np.arange(7)
    return tmp_path / "x.h5"


@pytest.fixture
def guard():
    guard = Guard()
    yield guard
    guard.close()


@pytest.fixture
def troubled():
    """A guard whose child hangs and dies when it is told to."""
    guard = Guard((sys.executable, "-c", TROUBLE))
    yield guard
    guard.close()


def children(of: int) -> list[int]:
    """Return the processes that this one is the parent of, zombies too."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == of:
            found.append(int(stat.parent.name))
    return found


def gone(pid: int, within: float = 60.0) -> bool:
    """Wait until a process is no more, or a zombie that whoever took it over has not looked after yet."""
    until = time.monotonic() + within
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def rows(guard, path, first=0, count=7):
    said, data = guard.ask("rows", path, dataset="images", first=first, count=count)
    return data.reshape(said["shape"])


def test_it_answers_as_h5py_does(guard, path):
    assert np.array_equal(rows(guard, path), PIXELS)
    assert np.array_equal(rows(guard, path, 5, 9), PIXELS[5:])
    said, data = guard.ask("column", path, dataset="labels")
    assert data.view(said["dtype"]).tolist() == list(range(7))
    with pytest.raises(Refused, match="other"):
        guard.ask("rows", path, dataset="other", first=0, count=1)
    with pytest.raises(Refused):
        guard.ask("look", path.with_name("none"), images=None, labels=None)
    with h5py.File(path.with_name("y.h5"), "w") as file:
        file["images"] = PIXELS[::-1]
    path.with_name("y.h5").replace(path)  # a file that was put in its place is opened anew
    assert np.array_equal(rows(guard, path), PIXELS[::-1])
    pid = guard._process.pid
    assert guard.close() == 0
    assert pid not in children(os.getpid())


def test_a_request_that_takes_too_long_ends_the_child(troubled, path, monkeypatch):
    assert np.array_equal(rows(troubled, path), PIXELS)
    pid = troubled._process.pid
    monkeypatch.setenv(SECONDS_VARIABLE, "0.3")
    with pytest.raises(NoAnswer, match=r"did not come back from it within 0\.3 s"):
        troubled.ask("hang", path)
    assert pid not in children(os.getpid())
    monkeypatch.delenv(SECONDS_VARIABLE)
    assert np.array_equal(rows(troubled, path), PIXELS)


def test_a_request_that_takes_too_long_where_there_is_no_alarm(path, monkeypatch):
    """As on Windows; the next request is answered, and a short one has taken its own limit back."""
    monkeypatch.setattr(guard_module, "TOO_LONG", 1)
    troubled = Guard((sys.executable, "-c", f"import signal; del signal.setitimer, signal.SIGALRM\n{TROUBLE}"))
    monkeypatch.setenv(SECONDS_VARIABLE, "1")
    assert np.array_equal(rows(troubled, path), PIXELS)
    pid = troubled._process.pid
    time.sleep(1.2)
    assert np.array_equal(rows(troubled, path), PIXELS)
    assert troubled._process.pid == pid
    with pytest.raises(NoAnswer, match=r"did not come back from it within 1 s"):
        troubled.ask("hang", path)
    assert np.array_equal(rows(troubled, path), PIXELS)
    troubled.close()


def test_a_child_that_dies_is_named_and_one_that_was_killed_between_is_replaced(troubled, path):
    with pytest.raises(NoAnswer, match=r"ended .*SIGSEGV"):
        troubled.ask("die", path)
    assert np.array_equal(rows(troubled, path), PIXELS)
    for _ in range(3):
        pid = troubled._process.pid
        os.kill(pid, signal.SIGKILL)
        assert gone(pid)
        assert np.array_equal(rows(troubled, path), PIXELS)
        assert pid not in children(os.getpid())
    assert troubled.ask("once", path)[0]["images"]["shape"] == [7, 8, 9, 3]


def test_what_is_no_fault_of_the_file_is_not_said_of_it(troubled, path, tmp_path):
    with pytest.raises(MemoryError, match="no room"):
        troubled.ask("fault", tmp_path / "memory")
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        troubled.ask("fault", path)
    assert np.array_equal(rows(troubled, path), PIXELS)


@pytest.mark.parametrize("text", ["0", "-3", "long", "nan", "inf"])
def test_a_limit_that_is_none(monkeypatch, text):
    monkeypatch.setenv(SECONDS_VARIABLE, text)
    with pytest.raises(ParameterError, match=SECONDS_VARIABLE):
        seconds_allowed()


def test_a_forked_process_has_a_child_of_its_own(path):
    # in a process of its own, for pytest may have threads
    code = f"""
import os
import numpy as np
from pathlib import Path
from corruptset.manifests.images.guard import GUARD
path = Path({str(path)!r})
whole = GUARD.ask("rows", path, dataset="images", first=0, count=7)[1].tobytes()
first = GUARD._process.pid
pid = os.fork()
for _ in range(50):
    assert GUARD.ask("rows", path, dataset="images", first=0, count=7)[1].tobytes() == whole
assert (GUARD._process.pid == first) == (pid != 0)
if pid == 0:
    GUARD.close()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


HANGING = """
import signal, sys
from pathlib import Path
from corruptset.manifests.images.guard import Guard
signal.signal(signal.SIGINT, signal.default_int_handler)  # where the tests run in the background, it is ignored
guard = Guard((sys.executable, "-c", sys.argv[1]))
guard.ask("rows", Path(sys.argv[2]), dataset="images", first=0, count=1)
print(guard._process.pid, flush=True)
try:
    guard.ask("hang", Path(sys.argv[2]))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("way", [signal.SIGKILL, signal.SIGINT], ids=["killed", "ctrl-c"])
def test_the_child_ends_with_its_parent_also_while_it_hangs(path, way):
    command = [sys.executable, "-c", HANGING, TROUBLE, str(path)]
    limit = {**os.environ, SECONDS_VARIABLE: "5"}  # the alarm ends the child of a parent that was killed
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, env=limit)
    child = int(parent.stdout.readline())
    time.sleep(0.3)  # it hangs by now, or is about to
    if way == signal.SIGKILL:
        parent.kill()
    else:
        os.killpg(parent.pid, way)  # as a terminal does: to everyone in the group
    said, complaint = parent.communicate(timeout=120)
    assert gone(child)
    assert complaint == ""
    assert said == ("interrupted\n" if way == signal.SIGINT else "")


def test_the_child_imports_no_other_library(guard, path):
    rows(guard, path)
    maps = Path(f"/proc/{guard._process.pid}/maps").read_text()
    assert "h5py" in maps
    assert not [name for name in ("cv2", "numba", "llvmlite", "pydantic_core", "blake3") if name in maps]
