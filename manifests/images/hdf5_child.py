"""The process that reads HDF5 files for another one, `guarded`: it may hang or crash on a damaged file without harm.

Standard input holds requests, a line of JSON each; standard output holds answers, a line of JSON and then as many raw bytes as
its ``bytes`` says. A request has ``do`` (a name of `ANSWERS`), ``path``, ``seconds`` and what its function takes. An answer may
instead have ``error``, what the library raised of a damaged file, or ``fault``, what else was raised. The process ends by the
default action of SIGALRM when a request takes longer than its ``seconds``, whatever C code it is in; and it ends with the one
that started it.

It runs by its path (``python -P hdf5_child.py``) and imports numpy and h5py alone: it stands in 0.2 s.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

CHUNK_CACHE = 64 << 20
"""Bytes: a compressed chunk is not unpacked again for every row of it."""
PARENT_EVERY_S = 1.0
"""How often it looks whether the process that started it is still there; it ends at once where that closed the pipe."""
DAMAGED = (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError, OverflowError)
"""What h5py raises of a damaged file: at opening, and again wherever it goes on to something else in it."""

MOST_NAMES = 12
"""Of the datasets that a file has instead of the one that was asked for."""

Answer = tuple[dict[str, Any], list[Any]]
"""A line, and what holds its bytes."""

_open: tuple[tuple[str, int, int, int], Any, dict[str, Any]] | None = None
"""The file that is open, by (path, inode, size, mtime), and the datasets in it: to open one costs more than to read a row."""


def _file(path: str) -> tuple[Any, dict[str, Any]]:
    import h5py

    global _open
    status = os.stat(path)
    key = (path, status.st_ino, status.st_size, status.st_mtime_ns)
    if _open is None or _open[0] != key:
        old, _open = _open, None
        if old is not None:
            old[2].clear()
            old[1].close()
        _open = (key, h5py.File(path, "r", locking=False, rdcc_nbytes=CHUNK_CACHE), {})
    return _open[1], _open[2]


def _dataset(path: str, name: str) -> Any:
    file, known = _file(path)
    if name not in known:
        known[name] = file[name]
    return known[name]


def look(path: str, images: str | None, labels: str | None) -> Answer:
    """Return what stands in a file under the names of the images and their labels, by default those of shards of ours.

    The answer has ``own`` (whether it is such a shard), ``set`` and, for each of ``images``, ``labels`` and, of a shard,
    ``index``: ``name`` and either ``others`` (it is no dataset of this file; the names of those that are) or ``dtype``,
    ``shape``, ``size`` in bytes, ``encoded`` (variable-length uint8) and ``outside`` (stored in other files).
    """
    import h5py
    import numpy as np

    file, _ = _file(path)
    own = "corruptset_schema" in file.attrs and labels is None and images is None
    wanted = {"images": images or ("encoded" if own and "encoded" in file else "images"), "labels": labels or "labels"}
    if own:
        wanted["index"] = "index"
    said: dict[str, Any] = {"own": own, "set": str(file.attrs["set"]) if own else None}
    for role, name in wanted.items():
        # get with getlink: a link into another file must not be followed to find out that it is one.
        link = file.get(name, getlink=True) if name in file else None
        if link is None or isinstance(link, h5py.ExternalLink) or not isinstance(file[name], h5py.Dataset):
            here: list[str] = []
            file.visititems(lambda n, item, here=here: here.append(n) if isinstance(item, h5py.Dataset) else None)
            said[role] = {"name": name, "others": here[:MOST_NAMES]}
            continue
        found = file[name]
        said[role] = {
            "name": name,
            "dtype": found.dtype.str,
            "shape": list(found.shape or ()),
            "size": int(found.nbytes),
            "encoded": bool(found.ndim == 1 and h5py.check_vlen_dtype(found.dtype) == np.uint8),
            "outside": bool(found.external) or bool(found.is_virtual),
        }
    return said, []


def column(path: str, dataset: str) -> Answer:
    """Return a whole dataset of plain numbers."""
    import numpy as np

    values = np.ascontiguousarray(_dataset(path, dataset)[()])
    return {"dtype": values.dtype.str, "shape": list(values.shape)}, [values]


def rows(path: str, dataset: str, first: int, count: int) -> Answer:
    """Return consecutive rows of pixels; only the first where one of the others cannot be read."""
    import numpy as np

    found = _dataset(path, dataset)
    try:
        values = np.ascontiguousarray(found[first : first + count])
    except DAMAGED:
        if count == 1:
            raise
        values = np.ascontiguousarray(found[first : first + 1])
    return {"shape": list(values.shape)}, [values]


def encoded(path: str, dataset: str, first: int, count: int, most: int) -> Answer:
    """Return consecutive encoded images, fewer than `count` where they have more than `most` bytes together or one cannot be read.

    ``sizes`` has their bytes. Of a single image beyond `most` the size is said, and no bytes come.
    """
    import numpy as np

    found = _dataset(path, dataset)
    values: list[Any] = []
    total = 0
    for row in range(first, min(first + count, len(found))):
        try:
            value = np.ascontiguousarray(found[row], dtype=np.uint8)
        except DAMAGED:
            if not values:
                raise
            break
        total += value.nbytes
        if total > most:
            if not values:
                return {"sizes": [value.nbytes]}, []
            break
        values.append(value)
    return {"sizes": [value.nbytes for value in values]}, values


ANSWERS: dict[str, Callable[..., Answer]] = {"look": look, "column": column, "rows": rows, "encoded": encoded}


def _write(fd: int, data: Any) -> None:
    view = memoryview(data).cast("B")
    while view:
        view = view[os.write(fd, view) :]


def _answer(request: dict[str, Any]) -> Answer:
    function = ANSWERS[request.pop("do")]
    seconds = request.pop("seconds")
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return function(**request)
    except DAMAGED as e:
        return {"error": str(e).partition("\n")[0][:300] or type(e).__name__}, []
    except Exception as e:
        return {"fault": f"{type(e).__name__}: {e}"}, []
    finally:
        # The time that the other process takes to read the answer is its own.
        signal.setitimer(signal.ITIMER_REAL, 0)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_EVERY_S)
    os._exit(1)


def main() -> None:
    """Answer requests until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    parent = int(sys.argv[1])
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    with contextlib.suppress(ImportError):  # a request that needs it says so
        import h5py  # noqa: F401  # now, for a request's time is its own
    # What a library prints must not stand in the answers.
    out = os.dup(1)
    os.dup2(2, 1)
    with open(0, "rb", buffering=1 << 16) as requests:
        for line in requests:
            said, parts = _answer(json.loads(line))
            said["bytes"] = sum(part.nbytes for part in parts)
            _write(out, json.dumps(said).encode() + b"\n")
            for part in parts:
                if part.nbytes:
                    _write(out, part.reshape(-1).view("u1"))


if __name__ == "__main__":
    main()
