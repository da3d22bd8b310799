"""The traps of numba's cache, provoked: stale callees, read-only sites, damaged files."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import corruptset
import corruptset.corruptions.cache as cache_module
from corruptset.corruptions.kernels import _stamp, inlined, read_entry
from corruptset.errors import CorruptsetWarning

CALL = (
    "import json, sys, numpy as np, corruptset, hashlib;"
    "image = np.arange(16 * 24 * 3, dtype=np.uint8).reshape(16, 24, 3);"
    "out = [corruptset.corrupt(image, name, calibration='cifar') for name in sys.argv[1:]];"
    "from corruptset.corruptions.cache import cache_root;"
    "made = [[str(p.relative_to(cache_root())), p.is_symlink()] for p in sorted(cache_root().rglob('*.kernel'))];"
    "print(json.dumps([hashlib.sha256(np.stack(out)).hexdigest(), str(cache_root()), made, corruptset.__file__]))"
)
QUICK = "black_lines-01"
"""Two kernels, which are compiled in a second."""


def installed(folder):
    """Return a site folder with a copy of the package, as installed."""
    shutil.copytree(
        Path(corruptset.__file__).parent, folder / "site/corruptset", ignore=shutil.ignore_patterns("__pycache__")
    )
    return folder / "site"


def environment(site, **more):
    # Python's own cache takes a file of the same size and time for the same: it would hide what is asked of ours
    env = {k: v for k, v in os.environ.items() if not k.startswith(("CORRUPTSET", "NUMBA", "XDG"))}
    return env | {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"} | more


def obey_permissions() -> None:
    """Take from root, in a child to be executed, the right to write what its permissions forbid."""
    if os.getuid() == 0:
        bounding_set_drop, dac_override = 24, 1
        ctypes.CDLL(None).prctl(bounding_set_drop, dac_override, 0, 0, 0)


def call(site, *names, **more):
    """Return outputs' digest, the folder of the cache, and its kernels, each with whether it is a link."""
    done = subprocess.run(
        [sys.executable, "-c", CALL, QUICK, *names],
        cwd=site.parent,
        env=environment(site, **more),
        preexec_fn=obey_permissions,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    digest, root, kernels, file = json.loads(done.stdout)
    assert file.startswith(str(site))
    return digest, Path(root), kernels


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
def test_a_cache_is_read_where_it_can_only_be_read_and_neither_damaged_nor_stale_kernels_are_run(tmp_path):
    site, cache = installed(tmp_path), tmp_path / "cache"
    first, _, kernels = call(site, "impulse_noise-1", CORRUPTSET_CACHE=str(cache))
    # as in a container with a read-only root, which any user runs
    with read_only(cache):
        again, root, links = call(site, "impulse_noise-1", CORRUPTSET_CACHE=str(cache), HOME=str(cache))
    assert root.name.startswith("corruptset-cache-")
    assert (again, links) == (first, [[path, True] for path, _ in kernels]), "something was compiled again"
    files = sorted(cache.rglob("*.kernel"))
    assert len(files) == len(kernels) >= 4, "what was removed were the links"
    # numba alone breaks on a damaged file at every later call, or runs it as it is: a crash without a word
    whole, keys = [file.read_bytes() for file in files], [read_entry(file)[0] for file in files]
    for number, (file, data) in enumerate(
        zip(files, whole, strict=True)
    ):  # all: where one is whole, none it calls is read
        at = len(data) // 2
        flipped = data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]
        file.write_bytes((b"", data[:at], flipped, whole[number - 1])[number % 4])
        assert number % 4 == 3 or read_entry(file) is None
    assert call(site, "impulse_noise-1", CORRUPTSET_CACHE=str(cache))[0] == first
    assert [read_entry(file)[0] for file in files] == keys
    first = call(site, CORRUPTSET_CACHE=str(cache))[0]
    # the kernel that calls `philox4x32` stands in another file than the edit: numba alone would keep the stale code
    philox = site / "corruptset/corruptions/random/philox.py"
    stat, text = philox.stat(), philox.read_text()
    assert "0xD2511F53" in text
    philox.write_text(text.replace("0xD2511F53", "0xD2511F55"))
    os.utime(philox, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    with read_only(site):
        edited, root, _ = call(site, HOME=str(site))
    assert edited != first
    assert root.name.startswith("corruptset-cache-")
    assert not root.exists(), "the private cache outlived its process"
    assert call(site, CORRUPTSET_CACHE=str(cache))[0] == edited


@pytest.mark.ci
def test_two_virtual_environments_of_a_user_compile_once(tmp_path):
    """Two installations of a release, unpacked at different times, with the cache that a user has by default."""
    home = tmp_path / "home"
    home.mkdir()
    found = []
    for number, (name, jobs) in enumerate({"first": "2", "second": "1"}.items()):
        site = installed(tmp_path / name)
        for path in site.rglob("*.py"):
            os.utime(path, (1_600_000_000 + number, 1_600_000_000 + number))
        for mark in home.rglob("prepared-*"):
            mark.unlink()  # it would hide what is looked for: the kernels themselves are found
        line = (
            f"build imagenet-c --sets contrast/1,brightness/1 --metrics 0 --no-page --json --jobs {jobs} --out {name}"
        )
        command, env = [sys.executable, "-m", "corruptset", *line.split()], environment(site, HOME=str(home))
        done = subprocess.run(command, cwd=home, env=env, capture_output=True, check=True)
        kernels = {path: path.stat().st_mtime_ns for path in home.rglob("*.kernel")}
        found.append((json.loads(done.stdout)["digest"], kernels))
    assert found[0] == found[1]
    assert len(kernels) >= 2
    assert not [*tmp_path.rglob("*.nb[ic]")], "numba keeps nothing of its own"


KERNEL = """
STEP, TABLE = 3, np.arange(4)

@inlined
def inner(x):
    return x * STEP

def outer(x):
    "A kernel."
    return inner(x) + TABLE[1]

def plain():
    return 1
"""


def test_a_kernel_is_named_by_its_code_and_by_all_that_it_names():
    def stamped(*edit):
        names = {"np": np, "inlined": inlined}
        exec(KERNEL.replace(*edit), names)
        return _stamp(names["outer"])

    same = [("A kernel.", "Another."), ("return 1", "return 2"), ("\n@inlined", "\n# why\n\n@inlined")]
    other = [("x * STEP", "x - STEP"), ("TABLE = 3", "TABLE = 4"), ("arange(4)", "arange(4.0)"), ("[1]", "[2]")]
    assert {stamped(*edit) for edit in same} == {stamped("", "")}
    assert len({stamped(*edit) for edit in [*other, ("", "")]}) == len(other) + 1


def test_the_cache_is_the_named_folder_or_the_users_and_one_that_cannot_be_written_is_passed_over(
    tmp_path, monkeypatch
):
    """A relative path is one folder wherever the process goes: workers are told of it by its absolute path."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    (tmp_path / "file").write_text("not a folder")
    try:
        for named, want in (("named/below", "named/below"), (str(tmp_path / "file/below"), "xdg/corruptset")):
            monkeypatch.setenv("CORRUPTSET_CACHE", named)
            cache_module.cache_root.cache_clear()
            assert cache_module.cache_root() == tmp_path / want
            assert os.environ["CORRUPTSET_CACHE"] == str(tmp_path / want)
            folder = cache_module.kernel_folder.__wrapped__()
            assert folder.parent == tmp_path / want / "kernels"
            assert f"{sys.implementation.cache_tag}-" in folder.name, (
                "bytecode, which names a kernel, is a Python's own"
            )
        lab, refusal = tmp_path / "named/below", cache_module._refusal
        (lab / "kernels/x").mkdir(parents=True)
        (lab / "kernels/x/fog.kernel").write_bytes(b"a lab's")
        with monkeypatch.context() as patch:
            patch.setenv("CORRUPTSET_CACHE", str(lab))
            patch.setattr(cache_module, "_refusal", lambda path: "Read-only" if path == lab else refusal(path))
            cache_module.cache_root.cache_clear()
            own = cache_module.cache_root() / "kernels/x"
        assert (own / "fog.kernel").read_bytes() == b"a lab's"
        said = rf"cannot be kept in {lab} \(Read-only\): they go to {tmp_path}/xdg/corruptset\. Name another"
        with pytest.warns(CorruptsetWarning, match=said):
            cache_module.keep_file(own / "fog.kernel", b"my own")
        cache_module.keep_file(own / "frost.kernel", b"nothing more is said")
        assert [(path / "fog.kernel").read_bytes() for path in (own, lab / "kernels/x")] == [b"my own", b"a lab's"]
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
        monkeypatch.setenv("CORRUPTSET_CACHE", str(tmp_path / "file/below"))
        at_exit: list[tuple] = []
        monkeypatch.setattr(atexit, "register", lambda *call: at_exit.append(call))
        cache_module.cache_root.cache_clear()
        private = cache_module.cache_root()
        ((remove, *given),) = at_exit
        with monkeypatch.context() as forked:
            forked.setattr(os, "getpid", lambda own=os.getpid(): own + 1)
            remove(*given)
        assert private.is_dir(), "who shares a private folder does not remove it"
        remove(*given)
        assert not private.exists()
        with pytest.warns(CorruptsetWarning, match="compiled again each time"):
            cache_module.keep_file(tmp_path / "file/below/fog.kernel", b"cannot be kept, and is no error")
        assert read_entry(tmp_path / "file/below/fog.kernel") is None
    finally:
        monkeypatch.undo()
        cache_module.cache_root.cache_clear()
