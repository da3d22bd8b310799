"""Datasets can be read, checked and scored without the modules of Python that Windows does not have."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import commands
import numpy as np
import pytest
import small_builds
import without_unix
from PIL import Image
from record_datasets import random_predictions

import corruptset
from corruptset.generate.recipes.recipe import load_recipe
from corruptset.generate.recipes.recipe_files import recipe_names
from corruptset.scores.scores_file import write_scores

pytestmark = pytest.mark.ci

READ = """
import hashlib, sys
import numpy as np
import corruptset
for prefer in ("hdf5", "folder"):
    data = corruptset.open(sys.argv[1], prefer=prefer)
    for name in data.set_ids:
        pixels = hashlib.sha256(b"".join(np.asarray(image).tobytes() for image, label in data[name])).hexdigest()
        print(prefer, name, data[name].labels.tolist(), pixels)
image = np.arange(40 * 30 * 3, dtype=np.uint8).reshape(40, 30, 3)
print(hashlib.sha256(corruptset.corrupt(image, "brightness-3+contrast-5", key="a").tobytes()).hexdigest())
"""


@pytest.fixture(scope="module")
def reduced_environment(tmp_path_factory):
    """The environment of a Python without these modules."""
    return {**os.environ, **without_unix.environment(tmp_path_factory.mktemp("lacking"))}


@pytest.fixture(scope="module")
def run_without_unix(reduced_environment, tmp_path_factory):
    """Run ``corruptset ARGUMENTS`` in this environment."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name, value in reduced_environment.items():
            monkeypatch.setenv(name, value)
        server = commands.CommandServer(tmp_path_factory.mktemp("there"))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def data_dir(shared_data, tmp_path_factory):
    """A folder with a dataset, predictions, scores and a photograph."""
    folder = tmp_path_factory.mktemp("given")
    data = corruptset.open(shared_data.build(sets=["clean", "contrast/*"], storage="both"))
    (folder / "data").symlink_to(data.path)
    for seed in (0, 1):
        for name, outcome in random_predictions(data, seed).outcomes.items():
            file = folder / f"p{seed}" / f"{name}.npz"
            file.parent.mkdir(parents=True, exist_ok=True)
            np.savez(file, rank_true=outcome.rank, p_true=0.4 * outcome.probability)
        about = {"model": f"m{seed}", "digest": data.digest}
        (folder / f"p{seed}" / "predictions.json").write_text(json.dumps(about), encoding="utf-8")
        (folder / f"s{seed}").mkdir()
        write_scores(corruptset.score(data, folder / f"p{seed}"), folder / f"s{seed}")
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (48, 40, 3), dtype=np.uint8)).save(folder / "photo.png")
    return folder


READING = """
--version
list
show fog
corrupt {given}/photo.png contrast --severity 2 --out out.png
preview {given}/photo.png --out sheet.png --sets contrast/*
verify {given}/data --json
score {given}/data {given}/p0 --out scores --json
compare {given}/s0 {given}/s1 --out compared
report {given}/data {given}/s0 {given}/s1 --out report.html
export imagenet-c {given}/data --out views --any-shape --sets */*
"""
BUILD = "build imagenet-c --sets contrast/2 --samples 2 --jobs 1"


def test_reading_commands_give_same_results(run, run_without_unix, data_dir, tmp_path):
    for number, line in enumerate(READING.strip().splitlines()):
        written_files = []
        for place, call in ((tmp_path / f"here {number}", run), (tmp_path / f"there {number}", run_without_unix)):
            place.mkdir()
            written_files.append(
                (call.succeeds(*line.format(given=data_dir).split(), cwd=place).out, small_builds.read_files(place))
            )
        assert written_files[0] == written_files[1], line
    assert len(run_without_unix.succeeds("plan", *BUILD.split()[1:], "--json").json["sets"]) == 1


def test_build_commands_state_requirements(run_without_unix, data_dir):
    for line in (BUILD, f"pack {data_dir}/data --out packed"):
        result = run_without_unix.fails("need the file locks of Linux or macOS", *line.split())
        assert (result.out, "WSL" in result.err) == ("", True)


def test_python_reads_same_data(reduced_environment, data_dir):
    here, there = (
        subprocess.run(
            [sys.executable, "-c", READ, data_dir / "data"], env=env, capture_output=True, text=True, check=True
        )
        for env in (None, reduced_environment)
    )
    assert here.stdout == there.stdout
    assert here.stdout.count("\n") == 2 * 6 + 1


def test_environment_hides_names(reduced_environment):
    """The environment really lacks these modules."""
    names = json.loads(reduced_environment["CORRUPTSET_LACKS"])
    os_names = "fork getuid pread O_DIRECT O_NOFOLLOW register_at_fork sched_getaffinity"
    assert set(os_names.split()) <= set(names["os"])
    assert {"SIGALRM", "SIGHUP", "pthread_sigmask", "setitimer"} <= set(names["signal"])


def test_no_set_has_reserved_windows_name():
    reserved_names = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
    for recipe in recipe_names():
        for spec in load_recipe(recipe).resolve().sets:
            assert reserved_names.isdisjoint(spec.id.split("/")), spec.id
