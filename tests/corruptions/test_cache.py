"""The traps of numba's cache, provoked: a stale callee, a read-only site-packages without a HOME, files that outlive an
install, and a cache of each virtual environment's own."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pickle
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import corruptset
import corruptset.corruptions.cache as cache_module
from corruptset.corruptions.kernels import _hash, _stamp, inlined, read_entry

ROOT = Path(__file__).resolve().parents[2]

NOISE, SEVERAL = "gaussian_noise", "motion_blur"
"""A corruption that compiles fast, with the words that it draws; and one of at least four kernels."""
CALL = (
    "import json, numpy as np, corruptset, hashlib;"
    "image = np.arange(16 * 24 * 3, dtype=np.uint8).reshape(16, 24, 3);"
    "out = corruptset.corrupt(image, '{name}', severity=1, calibration='cifar');"
    "from corruptset.corruptions.cache import cache_root;"
    "print(json.dumps([hashlib.sha256(out.tobytes()).hexdigest(), str(cache_root()), corruptset.__file__]))"
)


def installed(tmp_path: Path) -> Path:
    """Return a site folder with a copy of the package, as an installation lays it out."""
    site = tmp_path / "site"
    shutil.copytree(Path(corruptset.__file__).parent, site / "corruptset", ignore=shutil.ignore_patterns("__pycache__"))
    for room in ("corruptions", "manifests", "generate", "scores", "cli"):
        if not (site / "corruptset" / room).is_dir():  # an editable installation: the rooms stand beside each other
            shutil.copytree(ROOT / room, site / "corruptset" / room, ignore=shutil.ignore_patterns("__pycache__"))
    return site


def call(site: Path, cwd: Path, name: str = NOISE, **environment: str | None) -> tuple[str, str, str]:
    # Python's own cache takes a file of the same size and time for the same: it would hide what is asked of ours
    own = {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
    env = {k: v for k, v in os.environ.items() if not k.startswith(("CORRUPTSET", "NUMBA"))} | own
    env = {k: v for k, v in (env | environment).items() if v is not None}
    done = subprocess.run(
        [sys.executable, "-c", CALL.format(name=name)], cwd=cwd, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    digest, root, file = json.loads(done.stdout)
    return digest, root, file


@pytest.mark.ci
def test_an_edited_callee_changes_the_output(tmp_path):
    """The kernel that calls `philox4x32` stands in another file than the edit: numba alone would keep the stale
    code.
    """
    site, cache = installed(tmp_path), str(tmp_path / "cache")
    before = call(site, tmp_path, CORRUPTSET_CACHE=cache)
    assert before[2].startswith(str(site))
    assert call(site, tmp_path, CORRUPTSET_CACHE=cache)[0] == before[0]
    philox = site / "corruptset" / "corruptions" / "random" / "philox.py"
    stat = philox.stat()
    text = philox.read_text()
    assert "0xD2511F53" in text
    philox.write_text(text.replace("0xD2511F53", "0xD2511F55"))
    os.utime(philox, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert call(site, tmp_path, CORRUPTSET_CACHE=cache)[0] != before[0]
    assert len(list((tmp_path / "cache" / "kernels").iterdir())) == 1


def owned(site: Path, home: Path) -> dict[str, str]:
    """Return the environment of the owner of a home folder, who sets no variable."""
    names = ("CORRUPTSET", "NUMBA", "XDG")
    return {k: v for k, v in os.environ.items() if not k.startswith(names)} | {
        "HOME": str(home),
        "PYTHONPATH": str(site),
    }


SETS = ["imagenet-c", "--sets", "contrast/1,brightness/1"]


def built(site: Path, home: Path, out: str, *more: str) -> tuple[str, str]:
    """Build on a terminal; return the digest and what the terminal shows."""
    main, terminal = pty.openpty()
    command = [sys.executable, "-m", "corruptset", "build", *SETS, "--out", out, *more]
    with subprocess.Popen(
        [*command, "--json"], cwd=home, env=owned(site, home), stdout=subprocess.PIPE, stderr=terminal
    ) as process:
        os.close(terminal)
        shown = b""
        with contextlib.suppress(OSError):  # the other end is closed
            while chunk := os.read(main, 4096):
                shown += chunk
        digest = json.loads(process.stdout.read())["digest"]
    os.close(main)
    return digest, shown.decode()


@pytest.mark.ci
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_two_virtual_environments_of_a_user_compile_once(tmp_path, jobs):
    """Two installations of the same release, unpacked at different times, in the cache that a user has by default."""
    sites = [installed(tmp_path / name) for name in ("first", "second")]
    for number, path in enumerate(sorted(sites[1].rglob("*.py"))):
        os.utime(path, (1_600_000_000 + number, 1_600_000_000 + number))
    home = tmp_path / "home"
    home.mkdir()
    first, shown = built(sites[0], home, "a", "--jobs", jobs)
    assert "compiling" in shown
    kernels = {path: path.stat().st_mtime_ns for path in (home / ".cache/corruptset/kernels").rglob("*.kernel")}
    assert len(kernels) >= 4
    for mark in (home / ".cache/corruptset/kernels").rglob("prepared-*"):
        mark.unlink()  # it would hide what is looked for: the kernels themselves are found
    second, shown = built(sites[1], home, "b", "--jobs", jobs)
    assert second == first
    assert "compiling" not in shown
    assert {path: path.stat().st_mtime_ns for path in home.rglob("*.kernel")} == kernels
    assert not [path for path in (*sites, home) for suffix in ("nbi", "nbc") if [*path.rglob(f"*.{suffix}")]]


def obey_permissions() -> None:
    """Take from root, in a child about to be executed, the right to write what its permissions forbid."""
    if os.getuid() == 0:
        bounding_set_drop, dac_override = 24, 1
        ctypes.CDLL(None).prctl(bounding_set_drop, dac_override, 0, 0, 0)


@pytest.mark.ci
def test_a_read_only_site_without_a_home_works(tmp_path):
    site = installed(tmp_path)
    for folder, _, names in os.walk(site):
        for name in names:
            (Path(folder) / name).chmod(0o444)
        Path(folder).chmod(0o555)
    try:
        env = {k: v for k, v in os.environ.items() if not k.startswith(("CORRUPTSET", "NUMBA", "XDG", "HOME"))}
        env |= {"PYTHONPATH": str(site), "HOME": str(site)}
        touch = "import pathlib; pathlib.Path.home().joinpath('written').touch()"
        forbidden = subprocess.run(
            [sys.executable, "-c", touch], env=env, preexec_fn=obey_permissions, capture_output=True, text=True
        )
        assert "PermissionError" in forbidden.stderr, "the site can be written to, so this test would prove nothing"
        program = [sys.executable, "-c", CALL.format(name=NOISE)]
        done = subprocess.run(
            program, cwd=tmp_path, env=env, preexec_fn=obey_permissions, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        root = Path(json.loads(done.stdout)[1])
        assert root.name.startswith("corruptset-cache-")
        assert not root.exists(), "the private cache outlived its process"
    finally:
        for folder, _, _names in os.walk(site):
            Path(folder).chmod(0o755)


@pytest.mark.ci
def test_a_cache_that_can_only_be_read_is_read(tmp_path):
    """As in a container with a read-only root, which any user runs: nothing is compiled again, and nothing is written
    there.
    """
    site, cache = installed(tmp_path), tmp_path / "cache"
    first = call(site, tmp_path, SEVERAL, CORRUPTSET_CACHE=str(cache))[0]
    kernels = sorted(path.relative_to(cache) for path in cache.rglob("*.kernel"))
    assert len(kernels) >= 4
    for path in (cache, *cache.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    made = (
        CALL.format(name=SEVERAL)
        + ";print([str(p.relative_to(cache_root())) for p in sorted(cache_root().rglob('*.kernel')) if "
        "p.is_symlink()]);"
    )
    made += "print([str(p) for p in cache_root().rglob('*.kernel') if not p.is_symlink()])"
    env = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "XDG", "HOME"))}
    env |= {"PYTHONPATH": str(site), "HOME": str(cache), "CORRUPTSET_CACHE": str(cache)}
    try:
        done = subprocess.run(
            [sys.executable, "-c", made],
            cwd=tmp_path,
            env=env,
            preexec_fn=obey_permissions,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        call_line, linked, compiled = done.stdout.splitlines()
        digest, root, _ = json.loads(call_line)
        assert Path(root).name.startswith("corruptset-cache-")
        assert (digest, linked, compiled) == (first, str([str(path) for path in kernels]), "[]")
        assert sorted(path.relative_to(cache) for path in cache.rglob("*.kernel")) == kernels, (
            "what was removed were the links"
        )
    finally:
        for path in (cache, *cache.rglob("*")):
            path.chmod(0o755)


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]


def damages(data: bytes) -> list[bytes]:
    """Return a kernel's file with what disks and people do to one: emptied, cut off, with bytes flipped."""
    return [
        b"",
        data[:7],
        data[: len(data) // 2],
        data[:-1],
        *(flipped(data, at) for at in range(0, len(data), max(1, len(data) // 40))),
    ]


def test_a_damaged_kernel_counts_as_none(tmp_path):
    payload, file = pickle.dumps(("signature", {"code": bytes(range(256))})), tmp_path / "fog.kernel"
    cache_module.keep_file(file, _hash(payload) + payload)
    whole = file.read_bytes()
    assert read_entry(file) == ("signature", {"code": bytes(range(256))})
    for damaged in damages(whole):
        file.write_bytes(damaged)
        assert read_entry(file) is None
    assert read_entry(tmp_path / "none") is None


def test_a_kernel_that_cannot_be_kept_is_used_all_the_same(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    cache_module.keep_file(tmp_path / "file" / "below" / "fog.kernel", b"compiled")
    assert read_entry(tmp_path / "file" / "below" / "fog.kernel") is None


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


def stamped(text: str) -> str:
    names = {"np": np, "inlined": inlined}
    exec(text, names)
    return _stamp(names["outer"])


def test_a_kernel_is_named_by_its_code_and_by_all_that_it_names():
    same = [("A kernel.", "Another."), ("return 1", "return 2"), ("\n@inlined", "\n# why\n\n@inlined")]
    other = [
        ("x * STEP", "x - STEP"),
        ("STEP, TABLE = 3", "STEP, TABLE = 4"),
        ("arange(4)", "arange(4.0)"),
        ("TABLE[1]", "TABLE[2]"),
    ]
    assert {stamped(KERNEL.replace(*edit)) for edit in same} == {stamped(KERNEL)}
    assert len({stamped(KERNEL.replace(*edit)) for edit in other} | {stamped(KERNEL)}) == len(other) + 1


@pytest.mark.ci
def test_damaged_kernels_are_compiled_again(tmp_path):
    """What numba keeps itself broke every later call, or was run as it was: a crash without a word."""
    site, cache = installed(tmp_path), tmp_path / "cache"
    first = call(site, tmp_path, SEVERAL, CORRUPTSET_CACHE=str(cache))[0]
    kernels = sorted(cache.rglob("*.kernel"))
    whole = [kernel.read_bytes() for kernel in kernels]
    keys = [read_entry(kernel)[0] for kernel in kernels]
    assert len(kernels) >= 4
    # all of them: one that others call is not looked for where they are whole
    for number, (kernel, data) in enumerate(zip(kernels, whole, strict=True)):
        damaged = (b"", data[: len(data) // 2], flipped(data, len(data) // 2), whole[number - 1])
        kernel.write_bytes(damaged[number % 4])
    assert call(site, tmp_path, SEVERAL, CORRUPTSET_CACHE=str(cache))[0] == first
    assert [read_entry(kernel)[0] for kernel in kernels] == keys


def test_nothing_is_kept_inside_the_package(tmp_path, monkeypatch):
    monkeypatch.setenv("CORRUPTSET_CACHE", str(tmp_path / "named"))
    cache_module.cache_root.cache_clear()
    try:
        assert cache_module.cache_root() == tmp_path / "named"
        assert cache_module.kernel_folder.__wrapped__().parent == tmp_path / "named" / "kernels"
    finally:
        monkeypatch.undo()
        cache_module.cache_root.cache_clear()


def test_a_relative_cache_is_one_folder_wherever_the_process_goes(tmp_path, monkeypatch):
    """Workers are told of it by its absolute path, and a later change of directory does not move it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CORRUPTSET_CACHE", "named/below")
    cache_module.cache_root.cache_clear()
    try:
        assert cache_module.cache_root() == tmp_path / "named" / "below"
        assert os.environ["CORRUPTSET_CACHE"] == str(tmp_path / "named" / "below")
    finally:
        monkeypatch.undo()
        cache_module.cache_root.cache_clear()


def test_an_unwritable_cache_is_passed_over(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("CORRUPTSET_CACHE", str(tmp_path / "file" / "below"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    cache_module.cache_root.cache_clear()
    try:
        assert cache_module.cache_root() == tmp_path / "xdg" / "corruptset"
    finally:
        monkeypatch.undo()
        cache_module.cache_root.cache_clear()


def test_what_cannot_be_written_to_is_read_through_links(tmp_path, monkeypatch):
    """Of this version's kernels alone: a cache of many versions has ten thousand files."""
    named = tmp_path / "named"
    own = cache_module._compiler()
    for name in (f"kernels/{own}/a.kernel", "kernels/other/b.kernel"):
        (named / name).parent.mkdir(parents=True, exist_ok=True)
        (named / name).write_bytes(b"kept")
    monkeypatch.setenv("CORRUPTSET_CACHE", str(named))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "none"))
    monkeypatch.setattr(cache_module, "_writable", lambda path: False)
    monkeypatch.setattr(cache_module.tempfile, "tempdir", str(tmp_path))
    cache_module.cache_root.cache_clear()
    try:
        private = cache_module.cache_root()
        links = {p.relative_to(private).as_posix() for p in private.rglob("*") if p.is_symlink()}
        assert links == {f"kernels/{own}/a.kernel"}
        assert all((private / link).read_bytes() == b"kept" for link in links)
        cache_module.keep_file(private / f"kernels/{own}/a.kernel", b"anew")
        assert (private / f"kernels/{own}/a.kernel").read_bytes() == b"anew"
        cache_module._remove_if_mine(private, os.getpid())
        assert not private.exists()
        assert {p.read_bytes() for p in named.rglob("*") if p.is_file()} == {b"kept"}
    finally:
        monkeypatch.undo()
        cache_module.cache_root.cache_clear()
