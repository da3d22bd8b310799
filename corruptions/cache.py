"""Where compiled kernels are kept between runs, and all else that can be made again.

Outside of the package.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import os
import secrets
import shutil
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import platformdirs

KERNEL_SUFFIX = ".kernel"
_KERNEL_ROOMS = ("corruptions", "generate/pixels")
"""Folders of the package that hold kernels."""


def _writable(path: Path) -> bool:
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return True
    except OSError:
        return False


@functools.cache
def cache_root() -> Path:
    """Return the folder for everything that can be made again.

    It is ``$CORRUPTSET_CACHE``, else the user's cache directory, else a private temporary one that goes away with the
    process. What cannot be written to is still read from.
    """
    candidates = []
    if named := os.environ.get("CORRUPTSET_CACHE"):
        candidates.append(Path(named).expanduser().absolute())
        # A relative path is of the folder in which this process began; workers, and a process that changes its folder,
        # keep it.
        os.environ["CORRUPTSET_CACHE"] = str(candidates[0])
    with contextlib.suppress(KeyError, RuntimeError):  # no HOME and no entry in the password file
        candidates.append(Path(platformdirs.user_cache_dir("corruptset", appauthor=False)))
    for path in candidates:
        if path.is_absolute() and _writable(path):
            return path
    private = Path(tempfile.mkdtemp(prefix="corruptset-cache-"))
    # Workers use the same folder, and only its maker removes it.
    os.environ["CORRUPTSET_CACHE"] = str(private)
    atexit.register(_remove_if_mine, private, os.getpid())
    compiled = f"kernels/{_compiler()}"
    for path in candidates:
        with contextlib.suppress(OSError):  # what is not there is made again
            shutil.copytree(path / compiled, private / compiled, copy_function=os.symlink, dirs_exist_ok=True)
    return private


def _remove_if_mine(path: Path, pid: int) -> None:
    if os.getpid() == pid:
        shutil.rmtree(path, ignore_errors=True)


def keep_file(path: Path, content: bytes) -> None:
    """Put a whole file into a folder, or none.

    A full or read-only disk costs the time of making it again, nothing else.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            temporary.write_bytes(content)
            os.replace(temporary, path)
        except OSError:
            temporary.unlink(missing_ok=True)


@functools.cache
def kernel_folder() -> Path:
    """Return the folder of compiled kernels, named by the releases of what compiles them.

    Their files name their own sources.
    """
    return cache_root() / "kernels" / _compiler()


def _compiler() -> str:
    # kernels are named by their bytecode, which is a Python's own
    releases = (f"{name}{version(name)}" for name in ("numba", "llvmlite", "numpy"))
    return "-".join([str(sys.implementation.cache_tag), *releases])


@functools.cache
def sources_digest() -> str:
    """Return a hash of the text of all files that hold kernels.

    It tells whether two processes have the same ones.
    """
    package, digest = Path(__file__).parents[1], hashlib.sha256(_compiler().encode())
    sources = [path for room in _KERNEL_ROOMS for path in (package / room).rglob("*.py")]
    for source in sorted(sources, key=lambda p: p.relative_to(package).as_posix()):
        digest.update(source.relative_to(package).as_posix().encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:32]
