"""The folder of compiled kernels and of other files that can be created again."""

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
"""The folder that was to be used and cannot be, and its replacement, until a warning has named them."""


@functools.cache
def cache_root() -> Path:
    """Return the folder for everything that can be created again.

    It is ``$CORRUPTSET_CACHE``, or the user's cache directory, or a private temporary folder that is deleted when the
    process ends. Kernels in a folder that can be read but not written to are linked into the folder that is used.
    """
    named, candidates, refused = os.environ.get("CORRUPTSET_CACHE"), [], {}
    if named:
        candidates.append(Path(named).expanduser().absolute())
    with contextlib.suppress(KeyError, RuntimeError):  # neither HOME nor an entry in the password file
        candidates.append(Path(platformdirs.user_cache_dir("corruptset", appauthor=False)))
    for root in filter(Path.is_absolute, candidates):
        if (reason := _refusal(root)) is None:
            instead = f"in {root} instead"
            break
        refused[root] = reason
    else:
        root, instead = Path(tempfile.mkdtemp(prefix="corruptset-cache-")), "until this process ends"
        atexit.register(_remove_if_mine, root, os.getpid())
    if named or refused:  # so that workers use the same folder, whatever their working directory is
        os.environ["CORRUPTSET_CACHE"] = str(root)
    for path in refused:
        if not _planted(path):
            with contextlib.suppress(OSError):  # a kernel that cannot be linked is compiled again
                shutil.copytree(path / KERNELS, root / KERNELS, copy_function=os.symlink, dirs_exist_ok=True)
    _unusable[:] = [f"in {path} ({reason}). They are saved {instead}" for path, reason in refused.items()][:1]
    return root


def warn_if_unusable() -> None:
    """Warn once if kernels that are compiled now cannot be saved in the intended folder."""
    cache_root()
    while _unusable:
        warnings.warn(
            f"Compiled kernels cannot be saved {_unusable.pop()}. Set CORRUPTSET_CACHE to a folder of yours.",
            CorruptsetWarning,
            stacklevel=2,
        )


def _refusal(root: Path) -> str | None:
    """Return why kernels cannot be saved in a folder, or None."""
    if _planted(root):
        return "its kernels belong to another user"
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=root) as file:
            file.write(bytes(_PROBE_BYTES))
    except OSError as e:
        return e.strerror or str(e)
    return None


def _planted(root: Path) -> bool:
    """Return whether another user may have put kernels, which are programs, into a folder that anybody can write to."""
    user = getattr(os, "getuid", int)()  # on Windows every file belongs to user 0
    with contextlib.suppress(OSError):
        foreign = (root / KERNELS).lstat().st_uid != user
        return foreign and any(folder.stat().st_mode & stat.S_IWOTH for folder in (root, root.parent))
    return False


def _remove_if_mine(path: Path, pid: int) -> None:
    if os.getpid() == pid:
        shutil.rmtree(path, ignore_errors=True)


@functools.cache
def kernel_folder(package: str = _PACKAGE) -> Path:
    """Return the folder for the machine code of a package's kernels, which is named by `sources_digest`."""
    folder = cache_root() / KERNELS / f"{package}-{sources_digest(package)[:16]}"
    with contextlib.suppress(OSError):
        if folder.is_dir():
            os.utime(folder)
        else:
            folder.mkdir(parents=True)
            _delete_unused(folder.parent)
    return folder


def _delete_unused(kernels: Path) -> None:
    """Delete the folders of other sources and versions that no process has used for a month."""
    for folder in kernels.iterdir():
        if folder.stat().st_mtime < time.time() - _UNUSED_DAYS * 86400:
            shutil.rmtree(folder, ignore_errors=True)


def source_package(module: str) -> str | None:
    """Return the package, or the single module, whose sources determine a module's kernels.

    It is None in a notebook, which has no file, and in a script, which can import files that belong to no package.
    """
    for name in itertools.accumulate(module.split("."), "{}.{}".format):
        if Path(str(getattr(sys.modules.get(name), "__file__", None))).suffix == ".py":
            return None if name == "__main__" else name
    return None


@functools.cache
def sources_digest(package: str = _PACKAGE) -> str:
    """Return a digest of a package's sources and of all versions that its machine code depends on.

    The digest of a plugin also depends on corruptset's own sources, because its kernels can call corruptset's.
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
