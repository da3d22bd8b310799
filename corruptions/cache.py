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
import warnings
from importlib.metadata import version
from pathlib import Path

import platformdirs

from ..errors import CorruptsetWarning

KERNEL_SUFFIX = ".kernel"
KERNELS = "kernels"
_KERNEL_ROOMS = ("corruptions", "generate/pixels")
"""Folders of the package that hold kernels."""
_ROOM = 1 << 16
"""Bytes of free space in a folder that files are kept in: one kernel has about as many."""
_passed_over: list[str] = []
"""The folder that comes first, where nothing can be kept in it, and what is done instead, until somebody is told."""


def _refusal(path: Path) -> str | None:
    """Return why files cannot be kept in a folder, or None."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path) as file:
            file.write(bytes(_ROOM))
    except OSError as e:
        return e.strerror or str(e)
    return None


@functools.cache
def cache_root() -> Path:
    """Return the folder for everything that can be made again.

    It is ``$CORRUPTSET_CACHE``, else the user's cache directory, else a private temporary one that goes away with the
    process. Kernels in what cannot be written to are still read.
    """
    candidates, refused = [], {}
    if named := os.environ.get("CORRUPTSET_CACHE"):
        candidates.append(Path(named).expanduser().absolute())
    with contextlib.suppress(KeyError, RuntimeError):  # no HOME and no entry in the password file
        candidates.append(Path(platformdirs.user_cache_dir("corruptset", appauthor=False)))
    for root in filter(Path.is_absolute, candidates):
        if (why := _refusal(root)) is None:
            instead = f"go to {root}"
            break
        refused[root] = why
    else:
        root, instead = Path(tempfile.mkdtemp(prefix="corruptset-cache-")), "are compiled again each time"
        atexit.register(_remove_if_mine, root, os.getpid())
    if named or refused:  # workers use the same folder, also where this process has gone to another one meanwhile
        os.environ["CORRUPTSET_CACHE"] = str(root)
    for path in refused:
        with contextlib.suppress(OSError):  # what is not there is made again
            shutil.copytree(path / KERNELS, root / KERNELS, copy_function=os.symlink, dirs_exist_ok=True)
    _passed_over[:] = [f"{path} ({why}): they {instead}" for path, why in refused.items()][:1]
    return root


def tell_passed_over() -> None:
    """Warn, once, that kernels which are compiled now are not kept where they were to be."""
    cache_root()
    while _passed_over:
        warnings.warn(
            f"Compiled kernels cannot be kept in {_passed_over.pop()}. Name another folder with CORRUPTSET_CACHE.",
            CorruptsetWarning,
            stacklevel=2,
        )


def _remove_if_mine(path: Path, pid: int) -> None:
    if os.getpid() == pid:
        shutil.rmtree(path, ignore_errors=True)


def keep_file(path: Path, content: bytes) -> None:
    """Put a whole file into a folder, or none.

    A full or read-only disk costs the time of making it again, nothing else.
    """
    tell_passed_over()
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
    return cache_root() / KERNELS / _compiler()


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
