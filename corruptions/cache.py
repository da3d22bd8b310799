"""Where compiled kernels, noise tables and textures are kept between runs.

Numba's own cache watches only the file that defines a function, so a callee edited in another file leaves stale
machine code behind; it needs a writable site-packages or a HOME; and its files survive an uninstall. So everything is
kept outside the package, in a folder named by the sources that made it.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import os
import shutil
import tempfile
from importlib.metadata import version
from pathlib import Path

import platformdirs


def _writable(path: Path) -> bool:
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return True
    except OSError:
        return False


@functools.cache
def cache_root() -> Path:
    """Return the folder for everything that can be made again: ``$CORRUPTSET_CACHE``, else the user's cache
    directory, else a private temporary one that goes away with the process."""
    wanted = []
    if named := os.environ.get("CORRUPTSET_CACHE"):
        wanted.append(Path(named).expanduser().absolute())
        # A relative one is of the folder in which this process began; workers, and a process that changes its folder, keep it.
        os.environ["CORRUPTSET_CACHE"] = str(wanted[0])
    with contextlib.suppress(KeyError, RuntimeError):  # no HOME and no entry in the password file
        wanted.append(Path(platformdirs.user_cache_dir("corruptset", appauthor=False)))
    for path in wanted:
        if path.is_absolute() and _writable(path):
            return path
    private = Path(tempfile.mkdtemp(prefix="corruptset-cache-"))
    # Workers are told to use the same folder, and only its maker removes it.
    os.environ["CORRUPTSET_CACHE"] = str(private)
    atexit.register(_remove_if_mine, private, os.getpid())
    return private


def _remove_if_mine(path: Path, pid: int) -> None:
    if os.getpid() == pid:
        shutil.rmtree(path, ignore_errors=True)


@functools.cache
def kernel_folder() -> Path:
    """Return the folder of compiled kernels, named by the sha256 of all kernel sources and numba's version."""
    here = Path(__file__).parent
    digest = hashlib.sha256(f"numba {version('numba')}\n".encode())
    for source in sorted(here.rglob("*.py"), key=lambda p: p.relative_to(here).as_posix()):
        digest.update(source.relative_to(here).as_posix().encode() + b"\0" + source.read_bytes() + b"\0")
    return cache_root() / "kernels" / digest.hexdigest()[:32]
