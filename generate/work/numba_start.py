"""Bring numba up before the first kernel is asked for, so that it can be done beside something else."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ...startup import is_own, loading, without_scipy


def load_numba() -> None:
    """Have numba load what it needs before its first kernel; with another release it may do so only then."""
    with loading(), without_scipy(), suppress(ImportError, AttributeError):
        from numba.core.registry import cpu_target

        cpu_target.target_context.refresh()


@contextmanager
def numba_loading() -> Iterator[None]:
    """Bring numba up in a thread of its own, beside what decodes images or waits; it is up when this ends.

    Only in a process of corruptset's own: numba holds no lock for it, and a program's other threads may be asking for it too.
    """
    if not is_own():
        yield
        return
    thread = threading.Thread(target=load_numba, name="numba")
    thread.start()
    try:
        yield
    finally:
        thread.join()
