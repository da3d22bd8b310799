"""The cache folder, which contains compiled kernels and other files that can be recreated."""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import itertools
import os
import platform
import shutil
import stat
import sys
import tempfile
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import platformdirs

from ..errors import CorruptsetWarning

KERNELS = "kernels"
_PACKAGE = __name__.partition(".")[0]
KERNEL_SOURCES = ("corruptions", "generate/pixels")
"""The folders of corruptset that contain kernels."""
_PROBE_BYTES = 1 << 16
"""The free space that a folder must have, which is about the size of one compiled kernel."""
_UNUSED_DAYS = 30
_unusable: list[str] = []
"""The part of a pending warning that names an unusable cache folder and its replacement."""


@functools.cache
def cache_root() -> Path:
    """Return the cache folder.

    The folder is ``$CORRUPTSET_CACHE``, or else the user's cache directory. If neither can be used, it is a private
    temporary folder that is deleted when the process ends. If one of the first two folders can be read but not written
    to, its kernels are linked into the folder that is used instead.
    """
    named, candidates, refused = os.environ.get("CORRUPTSET_CACHE"), [], {}
    if named:
        candidates.append(Path(named).expanduser().absolute())
    with contextlib.suppress(KeyError, RuntimeError):  # The user has neither HOME nor an entry in the password file.
        candidates.append(Path(platformdirs.user_cache_dir("corruptset", appauthor=False)))
    for root in filter(Path.is_absolute, candidates):
        if (reason := _refusal(root)) is None:
            instead = f"in {root} instead"
            break
        refused[root] = reason
    else:
        root, instead = Path(tempfile.mkdtemp(prefix="corruptset-cache-")), "until this process ends"
        atexit.register(_remove_if_mine, root, os.getpid())
    if named or refused:  # Workers then use the same folder, even if their working directory differs.
        os.environ["CORRUPTSET_CACHE"] = str(root)
    for path in refused:
        if not _is_untrusted(path):
            with contextlib.suppress(OSError):  # If a kernel cannot be linked, it is recompiled.
                shutil.copytree(path / KERNELS, root / KERNELS, copy_function=os.symlink, dirs_exist_ok=True)
    _unusable[:] = [f"in {path} ({reason}). They are saved {instead}" for path, reason in refused.items()][:1]
    return root


def warn_if_unusable() -> None:
    """Warn once if compiled kernels cannot be saved in the intended folder."""
    cache_root()
    while _unusable:
        warnings.warn(
            f"Compiled kernels cannot be saved {_unusable.pop()}. Set CORRUPTSET_CACHE to a writable folder.",
            CorruptsetWarning,
            stacklevel=2,
        )


def _refusal(root: Path) -> str | None:
    """Return the reason why kernels cannot be saved in a folder, or None."""
    if _is_untrusted(root):
        return "its kernels belong to another user"
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=root) as file:
            file.write(bytes(_PROBE_BYTES))
    except OSError as e:
        return e.strerror or str(e)
    return None


def _is_untrusted(root: Path) -> bool:
    """Return whether the kernels in a folder, which are executable code, may have been written by another user."""
    user = getattr(os, "getuid", int)()  # On Windows, every file belongs to user 0.
    with contextlib.suppress(OSError):
        foreign = (root / KERNELS).lstat().st_uid != user
        return foreign and any(folder.stat().st_mode & stat.S_IWOTH for folder in (root, root.parent))
    return False


def _remove_if_mine(path: Path, pid: int) -> None:
    if os.getpid() == pid:
        shutil.rmtree(path, ignore_errors=True)


@functools.cache
def kernel_folder(package: str = _PACKAGE) -> Path:
    """Return the folder for the machine code of a package's kernels.

    Its name contains the `sources_digest` of the package.
    """
    folder = cache_root() / KERNELS / f"{package}-{sources_digest(package)[:16]}"
    with contextlib.suppress(OSError):
        if folder.is_dir():
            os.utime(folder)
        else:
            folder.mkdir(parents=True)
            _delete_unused(folder.parent)
    return folder


def _delete_unused(kernels: Path) -> None:
    """Delete the folders of machine code that no process has used for a month."""
    for folder in kernels.iterdir():
        if folder.stat().st_mtime < time.time() - _UNUSED_DAYS * 86400:
            shutil.rmtree(folder, ignore_errors=True)


def source_package(module: str) -> str | None:
    """Return the package, or the single module, whose sources determine the kernels of a module.

    The result is None for a notebook, which has no file, and for a script, which can import arbitrary files.
    """
    for name in itertools.accumulate(module.split("."), "{}.{}".format):
        if Path(str(getattr(sys.modules.get(name), "__file__", None))).suffix == ".py":
            return None if name == "__main__" else name
    return None


@functools.cache
def sources_digest(package: str = _PACKAGE) -> str:
    """Return a digest of a package's sources and of all versions that its machine code depends on.

    The digest of a plugin also depends on corruptset's own sources, because kernels of the plugin can call those of
    corruptset.
    """
    if package == _PACKAGE:
        versions = [f"{name} {version(name)}" for name in ("numba", "llvmlite", "numpy")]
        digest = hashlib.sha256(" ".join([platform.python_version(), *versions]).encode())
        for folder in KERNEL_SOURCES:
            digest.update(folder.encode())
            add_sources(digest, Path(__file__).parents[1] / folder)
    else:
        module, digest = sys.modules[package], hashlib.sha256(sources_digest().encode())
        file = Path(str(module.__file__))
        if hasattr(module, "__path__"):
            add_sources(digest, file.parent)
        else:
            digest.update(file.read_bytes())
    return digest.hexdigest()[:32]


def add_sources(digest: hashlib._Hash, folder: Path) -> None:
    """Add the paths and contents of all Python files below a folder to a digest."""
    for path in sorted(folder.rglob("*.py"), key=lambda path: path.relative_to(folder).as_posix()):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
