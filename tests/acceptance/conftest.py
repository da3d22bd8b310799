"""The command as a user runs it, in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import commands
import pytest
from lightness import light_python

Run = Callable[..., commands.Done]


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Run ``corruptset ARGUMENTS``, in an empty folder where no other is named; see `commands.Server`."""
    server = commands.Server(tmp_path_factory.mktemp("commands"))
    yield server.call
    server.stop()


SETS = ["gaussian_noise/1", "fog/3", "contrast/2"]
BUILD = ["build", "imagenet-c", "--sets", ",".join(SETS), "--samples", "3", "--jobs", "1", "--metrics", "1"]


@dataclass(frozen=True)
class Made:
    """A small finished build."""

    directory: Path
    done: commands.Done


@pytest.fixture(scope="session")
def built(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Three sets of three photographs, built once for all tests; tests copy what they change."""
    out = tmp_path_factory.mktemp("built")
    done = run(*BUILD, "--out", out)
    assert done.code == 0, done.err
    (directory,) = (p for p in out.iterdir() if p.is_dir())
    return Made(directory, done)


@pytest.fixture(scope="session")
def light(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an installation without the extra ``build``."""
    return light_python(tmp_path_factory.mktemp("light"))
