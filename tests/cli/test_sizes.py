"""One meaning of size: what plan, build, show and verify say is what the files take on the disk."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import archives
import pytest

from corruptset.quantities import size

Run = Callable[..., Any]
SETS = "gaussian_noise/*,glass_blur/3,fog/*,frost/2,contrast/5,elastic_transform/1,pixelate/4"
FORMS = ("folder", "hdf5")


def disk(root: Path) -> int:
    return sum(p.stat().st_size for p in root.rglob("*") if p.is_file())


@pytest.fixture(scope="module")
def cifar(tmp_path_factory):
    path = tmp_path_factory.mktemp("cifar") / "cifar-10-python.tar.gz"
    archives.tar(path, archives.ten_python(archives.crops(40)), "w:gz")
    return f"cifar10:{path}"


@pytest.mark.parametrize(
    ("recipe", "of_cifar", "options"),
    [
        pytest.param("imagenet-c", False, ["--samples", "3"], marks=pytest.mark.ci),
        pytest.param("cifar10-c", True, ["--format", "hdf5"], marks=pytest.mark.ci),
        ("cifar10-c", True, ["--view", "cifar-c"]),
    ],
    ids=str,
)
def test_all_say_what_is_on_the_disk(run, cifar, tmp_path, recipe, of_cifar, options):
    sets = "contrast/*,gaussian_noise/*" if "--view" in options else SETS
    asked = [recipe, "--source", cifar if of_cifar else "sample", "--sets", sets, *options]
    planned, said = run("plan --json", *asked).json, run("plan", *asked).out
    built = run("build --jobs 2 --out sets", *asked).out
    root = tmp_path / f"sets/{recipe}-1.1.0"
    real = disk(root)
    assert abs(planned["bytes"] / real - 1) < 0.03, (planned["bytes"], real)
    assert f"about {size(planned['bytes'])} on disk" in said
    for text in (built, run("show", root).out):
        assert re.search(rf"^Size: +{size(real)}$", text, re.MULTILINE)
    assert f"{size(real)} on disk" in run("verify", root).out
    assert run("build --jobs 1 --out sets --json", *asked).json["bytes"] == real
    both = "--samples" in options
    assert sorted(planned["alone"]) == sorted(FORMS * both)
    assert ("Every image is stored twice" in said, "Every image is stored twice" in built) == (both, both)
    for form, estimate in planned["alone"].items():
        assert run("build", *asked, "--jobs", "2", "--out", form, "--format", form).code == 0
        assert abs(estimate / disk(tmp_path / form) - 1) < 0.04, form
        assert f"--format {form} alone takes about {size(estimate)}" in said


def test_an_estimate_of_a_part_says_what_it_is_worth(run, tmp_path):
    path = tmp_path / "cifar-10-python.tar.gz"
    archives.tar(path, archives.ten_python(archives.crops(90)), "w:gz")
    asked = ["cifar10-c", "--source", f"cifar10:{path}", "--sets", "contrast/3"]
    planned = run("plan --json", *asked).json
    assert (planned["samples"], planned["looked_at"]) == (90, 64)
    assert 0 < planned["deviation"] < 0.1
    assert ", from 64 of the samples)" in run("plan", *asked).out
