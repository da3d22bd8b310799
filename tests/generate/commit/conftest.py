"""Builds of ten small crops, and builds that are interrupted."""

from __future__ import annotations

import pytest
import small_builds

import corruptset
from corruptset.errors import Interrupted


@pytest.fixture
def make(shared_data, tmp_path):
    """Build crops as JPEG in this process, into the folder of the test."""
    recipe, crops = shared_data.recipe(encoding="jpeg"), shared_data.crops(each=1)

    def run(out="out", **options):
        build_options = {
            "jobs": 1,
            "metrics": 0,
            "sets": ["*"],
            "storage": "both",
            "page": False,
            "any_shape": True,
            **options,
        }
        return corruptset.build(build_options.pop("recipe", recipe), f"folder:{crops}", tmp_path / out, **build_options)

    return run


@pytest.fixture
def interrupt_build(make):
    """Start a build, and press Ctrl-C when a number of parts is finished."""

    def run(parts, **options):
        def stop(event):
            if event.phase == "building" and event.parts_done == parts:
                raise KeyboardInterrupt

        with pytest.raises(Interrupted, match="Run the same command again to resume") as exc_info:
            make(progress=stop, **options)
        assert exc_info.value.exit_code == 130

    return run


@pytest.fixture
def expected_files(shared_data):
    """Return the files of an uninterrupted build."""

    def files(**options):
        build_options = {"storage": "both", **options}
        return small_builds.read_files(
            shared_data.build(crops={"each": 1}, recipe={"encoding": "jpeg"}, **build_options)
        )

    return files
