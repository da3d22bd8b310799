"""What all tests share. The modules beside this file can be imported by name: `layouts`, `pictures`, `commands`, ..."""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import small_builds


@pytest.fixture(scope="session")
def shared_data(tmp_path_factory):
    """Small image folders, recipes and builds, each written once: a test copies what it changes."""
    return small_builds.SharedData(tmp_path_factory.mktemp("shared"))


@pytest.fixture(scope="session")
def crops(shared_data):
    """An image folder of ten classes with two crops each."""
    return shared_data.crops()


@pytest.fixture(scope="session")
def recipe(shared_data):
    """Two corruptions at five severities, clean, and a chain, as PNG."""
    return shared_data.recipe()


@pytest.fixture(scope="session", autouse=True)
def no_power_cuts():
    """Skip the wait for the disk, which is most of the time of a small build: no test of this process cuts the
    power.
    """
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def one_process_by_default():
    """Use one process where a test requests no number of jobs, because starting workers takes a second or more."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
        yield


@pytest.fixture(scope="session", autouse=True)
def photographs_decoded_once():
    """Decode each photograph of the source `sample` once a process: a small build decodes all eight three times, most
    of its time.
    """
    from corruptset.generate.sources import sample

    decoded = functools.cache(sample.decode)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(sample, "decode", lambda data: decoded(data).copy())
        yield


LONGEST = ("loaders", "golden", "faults", "acceptance", "generate")
"""Folders whose files take longest: begun first, so that no worker of pytest-xdist is left alone with one at the end.
"""


def pytest_collection_modifyitems(items):
    """Run the longest folders first; within them and among the others the order stays."""
    items.sort(key=lambda item: [not item.nodeid.startswith(f"tests/{folder}/") for folder in LONGEST])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """With ``--dist loadfile``, have one worker run all files of tests/loaders, for their builds take longer than their
    tests.
    """
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            return "tests/loaders" if file.startswith("tests/loaders/") else file

    return Scheduling(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_configure(config):
    """Have pytest-xdist hand out files in their order: by itself it ends with files of few tests, of which some take
    longest.
    """
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False
