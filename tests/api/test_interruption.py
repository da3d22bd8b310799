"""Ctrl-C, SIGTERM and SIGHUP in one process: the first stops, the next leave clean-up alone, and the program gets its
handlers back.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import pytest

from corruptset.interruption import interruption
from corruptset.processes import interrupts_held_back

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(autouse=True)
def _as_a_terminal_has_it():
    """Give all their defaults, also where the tests run in the background and one is ignored or blocked."""
    before = [(number, signal.getsignal(number)) for number in SIGNALS]
    blocked = signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in SIGNALS[1:]:
        signal.signal(number, signal.SIG_DFL)
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    for number, handler in before:
        signal.signal(number, handler)


@pytest.mark.parametrize("number", SIGNALS)
def test_clean_up_is_not_disturbed(number):
    before = [signal.getsignal(n) for n in SIGNALS]
    cleaned = []

    def work():
        try:
            signal.raise_signal(number)
        finally:
            for other in SIGNALS * 3:
                signal.raise_signal(other)
            cleaned.append("all")

    with interruption() as signals, interruption() as inner:
        assert inner is signals
        assert signals.came is None
        with pytest.raises(KeyboardInterrupt):
            work()
        assert signals.came is not None
    assert cleaned == ["all"]
    assert [signal.getsignal(n) for n in SIGNALS] == before


class Deaf:
    """Python prints what a destructor raises, and goes on."""

    def __del__(self):
        signal.raise_signal(signal.SIGINT)


def fail_in_a_thread():
    thread = threading.Thread(target=lambda: {}["of loky's"])
    thread.start()
    thread.join()


def test_one_within_a_destructor_comes_again_and_what_threads_complain_of_meanwhile_is_not_printed(capfd):
    hook = sys.unraisablehook

    def work():
        Deaf()
        until = time.monotonic() + 20
        while time.monotonic() < until:
            time.sleep(0.005)

    with interruption():
        with pytest.raises(KeyboardInterrupt):
            work()
        fail_in_a_thread()
    assert sys.unraisablehook is hook
    assert capfd.readouterr().err == ""


def test_a_signal_that_another_thread_gets_waits_while_processes_are_started():
    started = []

    def start():
        with interrupts_held_back():
            # in this thread it is blocked, so the system gives it to one where it is not, and Python hands it on to
            # this one
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            signal.raise_signal(signal.SIGINT)
            started.append("all")

    with interruption(), pytest.raises(KeyboardInterrupt):
        start()
    assert started == ["all"]


def test_what_is_ignored_or_handled_by_the_program_stays_so():
    came = []
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, frame: came.append(number))
    with interruption() as signals:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
        assert signals.came is None
    assert came == [signal.SIGTERM]
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


LONG_CLEAN_UP = """
import signal, time
from corruptset import interruption
interruption.PATIENCE_S = 0.2
with interruption.command_interruption():
    try:
        signal.raise_signal({number})
    finally:
        time.sleep(0.1)
        signal.raise_signal({number})
        print("undisturbed", flush=True)
        time.sleep(0.2)
        signal.raise_signal({number})
        print("hangs", flush=True)
"""


def test_clean_up_that_hangs_can_be_ended():
    done = subprocess.run(
        [sys.executable, "-c", LONG_CLEAN_UP.format(number=int(signal.SIGTERM))], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "undisturbed\n", "Interrupted.\n")
