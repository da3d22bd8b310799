"""The process that reads HDF5 files for another one, `guard`: on a damaged file it may hang or crash without harm.

Standard input holds requests, one line of JSON each. Standard output holds answers: a line of JSON, and then as many raw bytes as
its ``bytes`` says. A request has ``do`` (a name of `ANSWERS`), ``path``, ``seconds`` and the arguments of its function. An answer
has ``error`` alone where the library refuses the file, ``fault`` alone where anything else is raised.

The process ends when a request takes longer than its ``seconds``, whatever C code runs (`end_after`). It imports numpy and h5py and no
other library: it starts in 0.2 s.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .shards import ENCODED, INDEX, LABELS, RAW, SCHEMA

CHUNK_CACHE = 64 << 20
"""Bytes: a compressed chunk is not unpacked again for every row of it."""
DAMAGED = (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError, OverflowError)
"""What h5py raises of a damaged file, when it is opened and whenever more of it is read."""
MOST_NAMES = 12
"""Of the datasets that a file has instead of the one that was asked for."""

Answer = tuple[dict[str, Any], list[Any]]
"""What the line says, and the arrays whose bytes follow it."""

_open: tuple[tuple[str, int, int, int], Any, dict[str, Any]] | None = None
"""The last file, by (path, inode, size, mtime), and its datasets: to open one costs more than to read a row."""


def _file(path: str) -> tuple[Any, dict[str, Any]]:
    import h5py

    global _open
    status = os.stat(path)
    key = (path, status.st_ino, status.st_size, status.st_mtime_ns)
    if _open is None or _open[0] != key:
        previous, _open = _open, None
        if previous is not None:
            previous[2].clear()
            previous[1].close()
        _open = (key, h5py.File(path, "r", locking=False, rdcc_nbytes=CHUNK_CACHE), {})
    return _open[1], _open[2]


def _dataset(path: str, name: str) -> Any:
    file, datasets = _file(path)
    if name not in datasets:
        datasets[name] = file[name]
    return datasets[name]


def look(path: str, images: str | None, labels: str | None) -> Answer:
    """Return what a file holds under the names of the images and their labels, by default the names in corruptset's shards.

    The answer has ``own`` (whether it is such a shard), ``set`` and, for each of ``images``, ``labels`` and, of a shard, ``index``:
    ``name`` and either ``others`` (it is no dataset of this file; the names of the file's datasets) or ``dtype``, ``shape``, ``size``
    in bytes, ``encoded`` (variable-length uint8) and ``outside`` (stored in other files).
    """
    file, _ = _file(path)
    own = SCHEMA in file.attrs and labels is None and images is None
    answer: dict[str, Any] = {
        "own": own,
        "set": str(file.attrs["set"]) if own else None,
        "images": _described(file, images or (ENCODED if own and ENCODED in file else RAW)),
        "labels": _described(file, labels or LABELS),
    }
    return (answer | {"index": _described(file, INDEX)} if own else answer), []


def _described(file: Any, name: str) -> dict[str, Any]:
    import h5py

    # get with getlink: a link into another file must not be followed to find out that it is one.
    link = file.get(name, getlink=True) if name in file else None
    if link is None or isinstance(link, h5py.ExternalLink) or not isinstance(file[name], h5py.Dataset):
        names: list[str] = []
        file.visititems(lambda n, item: names.append(n) if isinstance(item, h5py.Dataset) else None)
        return {"name": name, "others": names[:MOST_NAMES]}
    dataset = file[name]
    return {
        "name": name,
        "dtype": dataset.dtype.str,
        "shape": list(dataset.shape or ()),
        "size": int(dataset.nbytes),
        "encoded": bool(dataset.ndim == 1 and h5py.check_vlen_dtype(dataset.dtype) == np.uint8),
        "outside": bool(dataset.external) or bool(dataset.is_virtual),
    }


def column(path: str, dataset: str) -> Answer:
    """Return a whole dataset of plain numbers."""
    values = np.ascontiguousarray(_dataset(path, dataset)[()])
    return {"dtype": values.dtype.str, "shape": list(values.shape)}, [values]


def rows(path: str, dataset: str, first: int, count: int) -> Answer:
    """Return consecutive rows of pixels; only the first where another one cannot be read."""
    images = _dataset(path, dataset)
    try:
        values = np.ascontiguousarray(images[first : first + count])
    except DAMAGED:
        if count == 1:
            raise
        values = np.ascontiguousarray(images[first : first + 1])
    return {"shape": list(values.shape)}, [values]


def encoded(path: str, dataset: str, first: int, count: int, most: int) -> Answer:
    """Return consecutive encoded images, fewer than `count` where they have more than `most` bytes together or one cannot be read.

    ``sizes`` has their bytes. Of a first image beyond `most`, the answer has the size and no bytes.
    """
    images = _dataset(path, dataset)
    values: list[Any] = []
    total = 0
    for row in range(first, min(first + count, len(images))):
        try:
            value = np.ascontiguousarray(images[row], dtype=np.uint8)
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


def _answer(request: dict[str, Any]) -> Answer:
    function = ANSWERS[request.pop("do")]
    end_after(request.pop("seconds"))
    try:
        return function(**request)
    except DAMAGED as e:
        return {"error": str(e).partition("\n")[0][:300] or type(e).__name__}, []
    except Exception as e:
        return {"fault": f"{type(e).__name__}: {e}"}, []
    finally:
        end_after(0)  # the time to read the answer is the other process's


def end_after(seconds: float) -> None:
    """End this process after so many seconds, by the default action of SIGALRM or, on Windows, with exit status 1; 0 takes that back."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)
    elif seconds:  # costs twenty times as much: a thread that is started and ended
        faulthandler.dump_traceback_later(seconds, exit=True)
    else:
        faulthandler.cancel_dump_traceback_later()


def main() -> None:
    """Answer requests until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    with contextlib.suppress(ImportError):  # a request that needs it says so
        import h5py  # noqa: F401  # now, so that no request waits for it
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # the output of a library must not get into the answers
        for line in sys.stdin.buffer:
            answer, arrays = _answer(json.loads(line))
            answer["bytes"] = sum(array.nbytes for array in arrays)
            answers.write(json.dumps(answer).encode() + b"\n")
            for array in arrays:
                answers.write(array.reshape(-1).view(np.uint8))
            answers.flush()


if __name__ == "__main__":
    main()
