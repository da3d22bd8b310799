"""The three traps of numba's cache, provoked: a stale callee, a read-only site-packages without a HOME, files that outlive an install."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import corruptset
import corruptset.corruptions.cache as cache_module

ROOT = Path(__file__).resolve().parents[2]

CALL = (
    "import json, numpy as np, corruptset, hashlib;"
    "image = np.arange(16 * 24 * 3, dtype=np.uint8).reshape(16, 24, 3);"
    "out = corruptset.corrupt(image, 'motion_blur', severity=1, calibration='cifar');"
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


def call(site: Path, cwd: Path, **environment: str | None) -> tuple[str, str, str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("CORRUPTSET", "NUMBA"))} | {"PYTHONPATH": str(site)}
    env = {k: v for k, v in (env | environment).items() if v is not None}
    done = subprocess.run([sys.executable, "-c", CALL], cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    digest, root, file = json.loads(done.stdout)
    return digest, root, file


@pytest.mark.ci
def test_an_edited_callee_changes_the_output(tmp_path):
    """The kernel that calls `philox4x32` stands in another file than the edit: numba alone would keep the stale code."""
    site, cache = installed(tmp_path), str(tmp_path / "cache")
    before = call(site, tmp_path, CORRUPTSET_CACHE=cache)
    assert before[2].startswith(str(site))
    assert call(site, tmp_path, CORRUPTSET_CACHE=cache)[0] == before[0]
    philox = site / "corruptset" / "corruptions" / "philox.py"
    stat = philox.stat()
    text = philox.read_text()
    assert "0xD2511F53" in text
    philox.write_text(text.replace("0xD2511F53", "0xD2511F55"))
    os.utime(philox, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert call(site, tmp_path, CORRUPTSET_CACHE=cache)[0] != before[0]
    assert len(list((tmp_path / "cache" / "kernels").iterdir())) == 2


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
        forbidden = subprocess.run([sys.executable, "-c", touch], env=env, preexec_fn=obey_permissions, capture_output=True, text=True)
        assert "PermissionError" in forbidden.stderr, "the site can be written to, so this test would prove nothing"
        done = subprocess.run(
            [sys.executable, "-c", CALL], cwd=tmp_path, env=env, preexec_fn=obey_permissions, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        root = Path(json.loads(done.stdout)[1])
        assert root.name.startswith("corruptset-cache-")
        assert not root.exists(), "the private cache outlived its process"
    finally:
        for folder, _, _names in os.walk(site):
            Path(folder).chmod(0o755)


def test_nothing_is_kept_inside_the_package(tmp_path, monkeypatch):
    monkeypatch.setenv("CORRUPTSET_CACHE", str(tmp_path / "named"))
    cache_module.cache_root.cache_clear()
    try:
        assert cache_module.cache_root() == tmp_path / "named"
        assert cache_module.kernel_folder.__wrapped__().parent == tmp_path / "named" / "kernels"
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
