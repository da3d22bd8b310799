"""How a process of corruptset's own comes up: the command, and the workers that it starts.

None of this is done where a program imports corruptset: what is loaded, and when Python looks for garbage, is that program's affair.
"""

from __future__ import annotations

import gc
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .processes import fill_standard_descriptors

_own = False


def own_process() -> None:
    """Say that this process is corruptset's own, and runs nothing else; it loads what it needs until it has `come_up`.

    To be called before anything else is imported.
    """
    global _own
    _own = True
    fill_standard_descriptors()
    gc.disable()
    # pydantic would read the metadata of every installed package to find plugins; nothing here uses one.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


def is_own() -> bool:
    """Return whether this process is corruptset's own."""
    return _own


def come_up() -> None:
    """End the time in which a process of corruptset's own loads what it begins with; `loading` has the reason."""
    if _own and not gc.isenabled():
        gc.freeze()
        gc.enable()


@contextmanager
def loading() -> Iterator[None]:
    """Load modules without looking for cyclic garbage among what they make, which all stays; in a process of corruptset's own.

    What is there in the end is not looked at again, so that later looks cost nothing.
    """
    if not _own or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        come_up()


@contextmanager
def without_scipy() -> Iterator[None]:
    """Let an ``import scipy`` fail, in a process of corruptset's own, as where it is not installed.

    Numba asks for it, whoever calls it, to be ready for linear algebra: a quarter of the time in which it comes up. No kernel here has
    any; one that had would not compile in these processes, and numba would say why.
    """
    if not _own or "scipy" in sys.modules:
        yield
        return
    sys.modules["scipy"] = None  # type: ignore[assignment]  # Python's own way to say that there is no such module
    try:
        yield
    finally:
        sys.modules.pop("scipy", None)


def start_worker(payload: bytes) -> None:
    """Begin a worker: `payload` is a pickled (function, arguments), which is read and called once Python is set up for it.

    A process that unpickles the function itself has imported all that it needs before anyone can say how.
    """
    own_process()
    with without_scipy():
        function, arguments = pickle.loads(payload)
    come_up()
    function(*arguments)


def payload(function: Callable[..., None], *arguments: object) -> bytes:
    """Return what `start_worker` calls."""
    return pickle.dumps((function, arguments))
