"""Fixtures of all tests. Tests can import the modules in this folder by name, for example `commands`."""

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
    """Small image folders, recipes and builds, each of which is created once. Tests must copy what they change."""
    return small_builds.SharedData(tmp_path_factory.mktemp("shared"))


@pytest.fixture(scope="session")
def crops(shared_data):
    """An image folder with ten classes and two images per class."""
    return shared_data.crops()


@pytest.fixture(scope="session")
def recipe(shared_data):
    """A recipe with two corruptions at five severities, clean images and a chain, stored as PNG."""
    return shared_data.recipe()


@pytest.fixture(scope="session", autouse=True)
def no_power_cuts():
    """Disable fsync, which takes most of the time of a small build. No test in this process simulates a power cut."""
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
    """Decode each photograph of the source `sample` once per process, because decoding dominates small builds."""
    from corruptset.generate.sources import sample

    decoded = functools.cache(sample.decode)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(sample, "decode", lambda data: decoded(data).copy())
        yield


LONGEST = ("loaders", "golden", "faults", "acceptance", "generate")
"""Folders with the slowest tests. They start first, so that no worker of pytest-xdist runs a slow file alone at the
end.
"""


def pytest_collection_modifyitems(items):
    """Run the slowest folders first, and keep the order otherwise."""
    items.sort(key=lambda item: [not item.nodeid.startswith(f"tests/{folder}/") for folder in LONGEST])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """With ``--dist loadfile``, run all files of tests/loaders in one worker, because they share slow builds."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            return "tests/loaders" if file.startswith("tests/loaders/") else file

    return Scheduling(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_configure(config):
    """Let pytest-xdist keep the order of files. By default it runs files with few tests last, even slow ones."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False
