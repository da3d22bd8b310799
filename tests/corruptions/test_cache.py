"""Test the cache of machine code: when kernels are recompiled, where they are saved, and damaged files."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import importlib
import json
import os
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import checkout
import numpy as np
import pytest
from package_copies import PACKAGES, copy_package

import corruptset
from corruptset.corruptions.cache import KERNEL_SOURCES, cache_root, kernel_folder, sources_digest, warn_if_unusable
from corruptset.errors import CorruptsetWarning

CALL = """
import hashlib, json, sys, numpy as np, corruptset
from numba.core import event
from corruptset.corruptions import kernels
from corruptset.corruptions.cache import cache_root
compiled = event.RecordingListener()
event.register("numba:compile", compiled)
image = np.arange(16 * 24 * 3, dtype=np.uint8).reshape(16, 24, 3)
out = [corruptset.corrupt(image, name, calibration="cifar") for name in sys.argv[1:]]
digest = hashlib.sha256(np.stack(out)).hexdigest()
print(json.dumps([digest, str(cache_root()), len(compiled.buffer), kernels.__file__]))
"""
QUICK = "black_lines-01"
"""Its kernels are compiled in a second."""

# --- the kernels of an installed corruptset -------------------------------------------------------------------------


def install_copy(folder):
    """Return a site-packages folder with a copy of the package."""
    copy_package(folder / "site")
    return folder / "site"


def environment(site, **more):
    # Python's own cache would not notice an edit that keeps the size and time of a file.
    env = {k: v for k, v in os.environ.items() if not k.startswith(("CORRUPTSET", "NUMBA", "XDG"))}
    return env | {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"} | more


def obey_permissions() -> None:
    """Drop the privilege of root, in a child process, to write files against their permissions."""
    if os.getuid() == 0:
        bounding_set_drop, dac_override = 24, 1
        ctypes.CDLL(None).prctl(bounding_set_drop, dac_override, 0, 0, 0)


def call(site, *names, **more):
    """Return the digest of the outputs, the cache folder, and the number of started and finished compilations."""
    result = subprocess.run(
        [sys.executable, "-c", CALL, QUICK, *names],
        cwd=site.parent,
        env=environment(site, **more),
        preexec_fn=obey_permissions,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    digest, root, compiled, file = json.loads(result.stdout)
    assert file.startswith(str(site))
    return digest, Path(root), compiled


@contextlib.contextmanager
def read_only(folder):
    paths = [folder, *folder.rglob("*")]
    try:
        for path in paths:
            path.chmod(0o555 if path.is_dir() else 0o444)
        yield
    finally:
        for path in paths:
            path.chmod(0o755)


@pytest.mark.ci
def test_kernels_load_from_read_only_cache_and_are_recompiled_after_edit(tmp_path):
    site, cache = install_copy(tmp_path), tmp_path / "cache"
    first, root, compiled = call(site, "impulse_noise-1", CORRUPTSET_CACHE=str(cache))
    assert (root, compiled > 0) == (cache, True)
    # This is as in a container with a read-only root file system.
    with read_only(cache):
        repeated, root, compiled = call(site, "impulse_noise-1", CORRUPTSET_CACHE=str(cache), HOME=str(cache))
    assert root.name.startswith("corruptset-cache-")
    assert (repeated, compiled) == (first, 0)
    assert len([*cache.rglob("*.nbc")]) >= 4, "only the links are deleted"
    first = call(site, CORRUPTSET_CACHE=str(cache))[0]
    # The kernel that calls `philox4x32` is in another file, and the edited file has the same size and time.
    philox = site / "corruptset/corruptions/random/philox.py"
    before, text = philox.stat(), philox.read_text()
    assert "0xD2511F53" in text
    philox.write_text(text.replace("0xD2511F53", "0xD2511F55"))
    os.utime(philox, ns=(before.st_atime_ns, before.st_mtime_ns))
    with read_only(site):
        edited, root, _ = call(site, HOME=str(site))
    assert edited != first
    assert root.name.startswith("corruptset-cache-")
    assert not root.exists(), "the private folder is deleted when its process ends"
    assert call(site, CORRUPTSET_CACHE=str(cache))[0] == edited


@pytest.mark.ci
def test_concurrent_processes_save_complete_files(tmp_path):
    site, cache = install_copy(tmp_path), tmp_path / "cache"
    line, env = [sys.executable, "-c", CALL, QUICK], environment(site, CORRUPTSET_CACHE=str(cache))
    started = [subprocess.Popen(line, cwd=tmp_path, env=env, stdout=subprocess.PIPE) for _ in range(2)]
    digests = {json.loads(process.communicate()[0])[0] for process in started}
    assert {(*digests, cache, 0)} == {call(site, CORRUPTSET_CACHE=str(cache))}
    assert not [*cache.rglob("*.tmp*")]


@pytest.mark.long
def test_two_virtual_environments_share_compiled_kernels(tmp_path):
    """Test two installations of a release with different file times, which share the default cache."""
    home = tmp_path / "home"
    home.mkdir()
    results = []
    for number, (name, jobs) in enumerate({"first": "2", "second": "1"}.items()):
        site = install_copy(tmp_path / name)
        for path in site.rglob("*.py"):
            os.utime(path, (1_600_000_000 + number, 1_600_000_000 + number))
        for mark in home.rglob("prepared-*"):
            mark.unlink()  # If this variable were set, the kernels would not be looked for.
        line = (
            f"build imagenet-c --sets contrast/1,brightness/1 --metrics 0 --no-page --json --jobs {jobs} --out {name}"
        )
        command, env = [sys.executable, "-m", "corruptset", *line.split()], environment(site, HOME=str(home))
        result = subprocess.run(command, cwd=home, env=env, capture_output=True, check=True)
        kernels = {path: path.stat().st_mtime_ns for path in home.rglob("*.nbc")}
        results.append((json.loads(result.stdout)["digest"], kernels))
    assert results[0] == results[1]
    assert len(kernels) >= 2
    assert not [path for path in tmp_path.rglob("*.nb[ic]") if home not in path.parents]


def test_digest_covers_every_kernel_file():
    """Test that an edited plugin is recompiled."""
    rooms = ("api/", *(f"{room}/" for room in PACKAGES))
    files = [name for name in checkout.checkout_files() if name.startswith(rooms) and name.endswith(".py")]
    with_kernels = [name for name in files if "kernels import" in (checkout.ROOT / name).read_text("utf-8")]
    assert len(with_kernels) > 20
    assert [name for name in with_kernels if not name.startswith(KERNEL_SOURCES)] == []


# --- the kernels of a plugin ----------------------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Use an empty cache folder of the test, and return it."""
    monkeypatch.setenv("CORRUPTSET_CACHE", str(tmp_path / "cache"))
    forget()
    yield tmp_path / "cache"
    monkeypatch.undo()
    forget()


def forget():
    """Clear the in-memory caches of folders and source digests, as in a new process."""
    for cached_function in (cache_root, kernel_folder, sources_digest):
        cached_function.cache_clear()


OUTER = """
from corruptset.corruptions.kernels import kernel

from .inner import grown

@kernel
def total(values):
    \"\"\"Return the sum of all values, each of which has grown.\"\"\"
    found = values[0] - values[0]
    for value in values:
        found += grown(value)
    return found
"""
INNER = """
from corruptset.corruptions.kernels import inlined

@inlined
def grown(value):
    return value + 1
"""


@pytest.fixture
def import_kernel(tmp_path, monkeypatch, cache):
    """Return a function that imports the kernel of a plugin again, as a new process does."""
    (tmp_path / "growing").mkdir()
    for name, text in (("__init__", ""), ("outer", OUTER), ("inner", INNER)):
        (tmp_path / f"growing/{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def imported():
        forget()
        for name in [name for name in sys.modules if name.partition(".")[0] == "growing"]:
            del sys.modules[name]
        return importlib.import_module("growing.outer").total

    return imported


VALUES = np.arange(4.0)


def loaded(kernel):
    """Return whether the machine code of a kernel was loaded instead of compiled."""
    ((hits, misses),) = {(sum(kernel.stats.cache_hits.values()), sum(kernel.stats.cache_misses.values()))}
    assert hits + misses == 1
    return hits == 1


def test_plugin_kernel_is_loaded_until_its_package_changes(tmp_path, import_kernel, cache):
    kernel = import_kernel()
    assert (kernel(VALUES), loaded(kernel)) == (10, False)
    kernel = import_kernel()
    assert (kernel(VALUES), loaded(kernel)) == (10, True)
    (folder,) = (cache / "kernels").iterdir()
    assert folder.name.startswith("growing-")
    inner = tmp_path / "growing/inner.py"
    inner.write_text(INNER.replace("value + 1", "value + 2"))
    kernel = import_kernel()
    assert (kernel(VALUES), loaded(kernel)) == (14, False)


def damages(data: bytes) -> list[bytes]:
    """Return the content of a file with different kinds of damage."""
    places = np.linspace(0, len(data) - 1, 5).astype(int)
    flipped = [data[:offset] + bytes([data[offset] ^ 0x10]) + data[offset + 1 :] for offset in places]
    return [b"", data[:3], data[: len(data) // 2], data[:-1], bytes(len(data)), *flipped]


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_damaged_file_is_replaced_and_never_executed(ending, import_kernel, cache):
    import_kernel()(VALUES)
    (path,) = cache.rglob(f"*.{ending}")
    content = path.read_bytes()
    for damaged in damages(content):
        path.write_bytes(damaged)
        assert import_kernel()(VALUES) == 10
        kernel = import_kernel()
        assert (kernel(VALUES), loaded(kernel)) == (10, True), "the file was not replaced"


def test_code_for_other_signature_or_processor_is_not_executed(import_kernel, cache, monkeypatch):
    """Test that two processes can give the code of two signatures the same file name."""
    kernel = import_kernel()
    kernel(VALUES)
    (path,) = cache.rglob("*.nbc")
    of_doubles = path.read_bytes()
    shutil.rmtree(cache)
    import_kernel()(VALUES.astype(np.float32))
    path.write_bytes(of_doubles)
    assert import_kernel()(VALUES.astype(np.float32)) == 10
    kernel = import_kernel()
    assert (kernel(VALUES.astype(np.float32)), loaded(kernel)) == (10, True)


def test_kernel_of_script_or_notebook_is_compiled_but_not_saved(cache):
    names = {"__name__": "__main__"}
    exec(OUTER.replace("from .inner import grown", "").replace("grown(value)", "value"), names)
    assert names["total"](VALUES) == 6
    assert not [*cache.rglob("*.nb?")]


def test_user_functions_compiled_with_numba_keep_their_own_cache(tmp_path, monkeypatch, cache):
    (tmp_path / "of_a_user.py").write_text("import numba\n@numba.njit(cache=True)\ndef twice(x):\n    return 2 * x\n")
    monkeypatch.syspath_prepend(tmp_path)
    twice = importlib.import_module("of_a_user").twice
    assert twice(2) == 4
    assert twice.stats.cache_path == str(tmp_path / "__pycache__")
    del sys.modules["of_a_user"]


# --- the folder -----------------------------------------------------------------------------------------------------


def test_cache_folder_is_configured_or_per_user_with_fallback_if_not_writable(tmp_path, monkeypatch, cache):
    """Test that a relative path refers to one folder even if the working directory changes.

    Workers get the absolute path.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    (tmp_path / "file").write_text("not a folder")
    for configured, expected in (("named/below", "named/below"), (str(tmp_path / "file/below"), "xdg/corruptset")):
        monkeypatch.setenv("CORRUPTSET_CACHE", configured)
        forget()
        assert cache_root() == tmp_path / expected
        assert os.environ["CORRUPTSET_CACHE"] == str(tmp_path / expected)
        assert kernel_folder().parent == tmp_path / expected / "kernels"
    with pytest.warns(CorruptsetWarning) as caught_warnings:
        warn_if_unusable()
    (line,) = caught_warnings
    assert str(line.message) == (
        f"Compiled kernels cannot be saved in {tmp_path}/file/below (Not a directory). They are saved in "
        f"{tmp_path}/xdg/corruptset instead. Set CORRUPTSET_CACHE to a writable folder."
    )
    warn_if_unusable()  # The warning is issued once. A second warning would be an error here.


def test_private_folder_is_last_fallback_and_deleted_with_process(tmp_path, monkeypatch, cache):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setenv("CORRUPTSET_CACHE", str(tmp_path / "file/below"))
    at_exit: list[tuple] = []
    monkeypatch.setattr(atexit, "register", lambda *call: at_exit.append(call))
    private = cache_root()
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    ((remove, *arguments),) = at_exit
    with monkeypatch.context() as forked:
        forked.setattr(os, "getpid", lambda own=os.getpid(): own + 1)
        remove(*arguments)
    assert private.is_dir(), "a process that shares a private folder does not delete it"
    remove(*arguments)
    assert not private.exists()
    with pytest.warns(CorruptsetWarning, match="They are saved until this process ends"):
        warn_if_unusable()


def test_full_disk_costs_only_compile_time(import_kernel, cache, monkeypatch):
    def full(*args, **options):
        raise OSError(28, "No space left on device")

    kernel = import_kernel()
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        assert kernel(VALUES) == 10
    assert not [*cache.rglob("*.nb?")]
    assert import_kernel()(VALUES) == 10
    assert [*cache.rglob("*.nbc")]


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o755])
def test_kernels_of_other_users_are_not_loaded_from_world_writable_folder(mode, tmp_path, monkeypatch, cache):
    """Test that kernels, which are executable code, are only read from folders that other users cannot write."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    (cache / "kernels/growing-0").mkdir(parents=True)
    (cache / "kernels/growing-0/outer.nbi").write_bytes(b"a trap")
    tmp_path.chmod(0o755)
    cache.chmod(mode)
    forget()
    assert cache_root() == cache, "kernels of the user's own are used"
    with monkeypatch.context() as patch:
        patch.setattr(os, "getuid", lambda other=os.getuid() + 1: other)
        forget()
        assert cache_root() == (cache if mode == 0o755 else tmp_path / "xdg/corruptset")
        if mode != 0o755:
            assert not [*cache_root().rglob("*.nbi")]
            with pytest.warns(CorruptsetWarning, match="its kernels belong to another user"):
                warn_if_unusable()


def test_new_folder_replaces_folders_unused_for_a_month(cache):
    for name, days in (("unused", 31), ("used", 29)):
        (cache / "kernels" / name).mkdir(parents=True)
        long_ago = time.time() - days * 86400
        os.utime(cache / "kernels" / name, (long_ago, long_ago))
    assert {path.name for path in kernel_folder().parent.iterdir()} == {"used", kernel_folder().name}
    os.utime(kernel_folder(), (0, 0))
    forget()
    assert kernel_folder().stat().st_mtime > time.time() - 60, "the use of a folder is seen from its time"


# --- without a compiler ---------------------------------------------------------------------------------------------

SWITCHED_OFF = (
    "corruptset cannot corrupt images while numba's compiler is disabled. Unset the environment variable "
    "NUMBA_DISABLE_JIT and restart Python."
)


def test_process_without_compiler_can_read_but_not_corrupt():
    env = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    code = (
        "import numpy, corruptset; print(len(corruptset.names()));"
        "corruptset.corrupt(numpy.zeros((16, 16, 3), numpy.uint8), 'elastic_transform', severity=1)"
    )
    result = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert result.stdout.split() == [str(len(corruptset.names()))]
    assert result.stderr.splitlines()[-1] == f"corruptset.errors.MachineError: {SWITCHED_OFF}"
