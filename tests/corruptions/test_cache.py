"""The traps of numba's cache, provoked: stale callees, read-only sites, damaged files."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import corruptset
import corruptset.corruptions.cache as cache_module
from corruptset.corruptions.kernels import _stamp, inlined, read_entry

CALL = (
    "import json, numpy as np, corruptset, hashlib;"
    "image = np.arange(16 * 24 * 3, dtype=np.uint8).reshape(16, 24, 3);"
    "out = corruptset.corrupt(image, '{name}', severity=1, calibration='cifar');"
    "from corruptset.corruptions.cache import cache_root;"
    "made = [[str(p.relative_to(cache_root())), p.is_symlink()] for p in sorted(cache_root().rglob('*.kernel'))];"
    "print(json.dumps([hashlib.sha256(out.tobytes()).hexdigest(), str(cache_root()), made, corruptset.__file__]))"
)
SEVERAL = "motion_blur"
"""A corruption of at least four kernels."""


@pytest.fixture
def site(tmp_path):
    return installed(tmp_path)


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
    """Take from root the right to write what its permissions forbid.

    It runs in a child that is about to be executed.
    """
    if os.getuid() == 0:
        bounding_set_drop, dac_override = 24, 1
        ctypes.CDLL(None).prctl(bounding_set_drop, dac_override, 0, 0, 0)


def call(site, name="gaussian_noise", **more):
    """Return an output's digest, the folder of the cache, and its kernels.

    Each kernel comes with whether it is a link.
    """
    program = [sys.executable, "-c", CALL.format(name=name)]
    done = subprocess.run(
        program,
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
def test_an_edited_callee_changes_the_output(site, tmp_path):
    """The kernel that calls `philox4x32` stands in another file than the edit.

    Numba alone would keep the stale code.
    """
    cache = {"CORRUPTSET_CACHE": str(tmp_path / "cache")}
    before = call(site, **cache)[0]
    assert call(site, **cache)[0] == before
    philox = site / "corruptset/corruptions/random/philox.py"
    stat, text = philox.stat(), philox.read_text()
    assert "0xD2511F53" in text
    philox.write_text(text.replace("0xD2511F53", "0xD2511F55"))
    os.utime(philox, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert call(site, **cache)[0] != before


@pytest.mark.ci
def test_two_virtual_environments_of_a_user_compile_once(tmp_path):
    """Two installations of the same release, unpacked at different times, in the cache that a user has by default.

    Two processes compile, and one finds what they made.
    """
    home = tmp_path / "home"
    home.mkdir()
    found = []
    for number, (name, jobs) in enumerate({"first": "2", "second": "1"}.items()):
        site = installed(tmp_path / name)
        for path in site.rglob("*.py"):
            os.utime(path, (1_600_000_000 + number, 1_600_000_000 + number))
        for mark in home.rglob("prepared-*"):
            mark.unlink()  # it would hide what is looked for: the kernels themselves are found
        command = [
            sys.executable,
            "-m",
            "corruptset",
            "build",
            "imagenet-c",
            "--sets",
            "contrast/1,brightness/1",
            "--json",
            "--jobs",
            jobs,
        ]
        main, terminal = pty.openpty()
        env = environment(site, HOME=str(home))
        with subprocess.Popen(
            [*command, "--out", name], cwd=home, env=env, stdout=subprocess.PIPE, stderr=terminal
        ) as process:
            os.close(terminal)
            shown = b""
            with contextlib.suppress(OSError):  # the other end is closed
                while chunk := os.read(main, 4096):
                    shown += chunk
            digest = json.loads(process.stdout.read())["digest"]
        os.close(main)
        kernels = {path: path.stat().st_mtime_ns for path in home.rglob("*.kernel")}
        found.append((digest, kernels))
        assert (b"compiling" in shown) == (number == 0)
    assert found[0] == found[1]
    assert len(kernels) >= 4
    assert not [*tmp_path.rglob("*.nb[ic]")], "numba keeps nothing of its own"


@pytest.mark.ci
def test_a_read_only_site_without_a_home_works(site):
    with read_only(site):
        root = call(site, HOME=str(site))[1]
    assert root.name.startswith("corruptset-cache-")
    assert not root.exists(), "the private cache outlived its process"


@pytest.mark.ci
def test_a_cache_that_can_only_be_read_is_read(site, tmp_path):
    """As in a container with a read-only root, which any user runs.

    Nothing is compiled again, and nothing is written there.
    """
    cache = tmp_path / "cache"
    first, _, kernels = call(site, SEVERAL, CORRUPTSET_CACHE=str(cache))
    assert len(kernels) >= 4
    with read_only(cache):
        again, root, links = call(site, SEVERAL, CORRUPTSET_CACHE=str(cache), HOME=str(cache))
    assert root.name.startswith("corruptset-cache-")
    assert (again, links) == (first, [[path, True] for path, _ in kernels])
    assert len([*cache.rglob("*.kernel")]) == len(kernels), "what was removed were the links"


@pytest.mark.ci
def test_damaged_kernels_are_compiled_again(site, tmp_path):
    """What numba keeps itself broke every later call, or was run as it was.

    A crash without a word.
    """
    cache = tmp_path / "cache"
    first = call(site, SEVERAL, CORRUPTSET_CACHE=str(cache))[0]
    kernels = sorted(cache.rglob("*.kernel"))
    whole, keys = [kernel.read_bytes() for kernel in kernels], [read_entry(kernel)[0] for kernel in kernels]
    # all of them: one that others call is not looked for where they are whole
    for number, (kernel, data) in enumerate(zip(kernels, whole, strict=True)):
        at = len(data) // 2
        flipped = data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]
        kernel.write_bytes((b"", data[:at], flipped, whole[number - 1])[number % 4])
        assert number % 4 == 3 or read_entry(kernel) is None
    assert call(site, SEVERAL, CORRUPTSET_CACHE=str(cache))[0] == first
    assert [read_entry(kernel)[0] for kernel in kernels] == keys


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
    def stamped(text):
        names = {"np": np, "inlined": inlined}
        exec(text, names)
        return _stamp(names["outer"])

    same = [("A kernel.", "Another."), ("return 1", "return 2"), ("\n@inlined", "\n# why\n\n@inlined")]
    other = [
        ("x * STEP", "x - STEP"),
        ("STEP, TABLE = 3", "STEP, TABLE = 4"),
        ("arange(4)", "arange(4.0)"),
        ("TABLE[1]", "TABLE[2]"),
    ]
    assert {stamped(KERNEL.replace(*edit)) for edit in same} == {stamped(KERNEL)}
    assert len({stamped(KERNEL.replace(*edit)) for edit in other} | {stamped(KERNEL)}) == len(other) + 1


def test_the_cache_is_the_named_folder_or_the_users_and_one_that_cannot_be_written_is_passed_over(
    tmp_path, monkeypatch
):
    """A relative path is one folder wherever the process goes.

    Workers are told of it by its absolute path.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    (tmp_path / "file").write_text("not a folder")
    try:
        for named, want in (
            ("named/below", tmp_path / "named/below"),
            (str(tmp_path / "file/below"), tmp_path / "xdg/corruptset"),
        ):
            monkeypatch.setenv("CORRUPTSET_CACHE", named)
            cache_module.cache_root.cache_clear()
            assert cache_module.cache_root() == want
            assert os.environ["CORRUPTSET_CACHE"] == str(tmp_path / named)
            folder = cache_module.kernel_folder.__wrapped__()
            assert folder.parent == want / "kernels"
            assert f"{sys.implementation.cache_tag}-" in f"{folder.name}-", (
                "bytecode, which names a kernel, is a Python's own"
            )
        cache_module.keep_file(tmp_path / "file/below/fog.kernel", b"cannot be kept, and is no error")
        assert read_entry(tmp_path / "file/below/fog.kernel") is None
    finally:
        monkeypatch.undo()
        cache_module.cache_root.cache_clear()
