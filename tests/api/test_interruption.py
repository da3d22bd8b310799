"""Test SIGINT (Ctrl-C), SIGTERM and SIGHUP in the process of a command."""

from __future__ import annotations

import ctypes
import signal
import sys
import time
from contextlib import suppress

import pytest

from corruptset.interruption import SIGNALS, handle_signals


@pytest.fixture(autouse=True)
def _default_handlers():
    """Give all signals their default handlers, because some are ignored if tests run in the background."""
    before = [(number, signal.getsignal(number)) for number in SIGNALS]
    hook = sys.unraisablehook
    blocked = signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in SIGNALS[1:]:
        signal.signal(number, signal.SIG_DFL)
    yield
    sys.unraisablehook = hook
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    for number, handler in before:
        signal.signal(number, handler)


@pytest.mark.parametrize("number", SIGNALS)
def test_first_signal_interrupts_and_later_signals_do_not_disturb_clean_up(number):
    cleaned = []

    def work():
        try:
            signal.raise_signal(number)
        finally:
            for other in SIGNALS * 3:
                signal.raise_signal(other)
            cleaned.append("all")

    handle_signals()
    with pytest.raises(KeyboardInterrupt):
        work()
    assert cleaned == ["all"]


def test_second_signal_interrupts_if_first_was_discarded():
    handle_signals()
    with suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)


def test_interruption_discarded_by_callback_is_repeated():
    handle_signals()

    def work():
        ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))()
        time.sleep(10)

    with pytest.raises(KeyboardInterrupt):
        work()


def test_ignored_and_handled_signals_stay_so():
    came = []
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, frame: came.append(number))
    handle_signals()
    signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGTERM)
    assert came == [signal.SIGTERM]
