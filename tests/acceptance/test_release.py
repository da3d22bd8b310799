"""The release workflow of `release.py`, from the sources to the scores of a user."""

from __future__ import annotations

import json
import subprocess
import sys

import file_server
import numpy as np
import pytest
import small_builds
import source_archives
from checkout import ROOT
from light_installation import run_python

from example_images import digit_image

PREDICT = """
import sys, pathlib, numpy, corruptset
data = corruptset.open(sys.argv[1])
for name in data:
    file = pathlib.Path(sys.argv[2], f"{name}.npz")
    file.parent.mkdir(parents=True, exist_ok=True)
    means = numpy.stack([image.mean(axis=(0, 1)).mean() for image, _ in data[name]])
    numpy.savez(file, logits=numpy.cos(means[:, None] + numpy.arange(len(data.classes))))
"""
"""Predictions as docs/evaluate.md describes them for any framework."""


def release(*arguments):
    """Run ``python -m release``."""
    return subprocess.run(
        [sys.executable, "-m", "release", *map(str, arguments)], cwd=ROOT, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Small sources in the published formats."""
    folder = tmp_path_factory.mktemp("sources")
    crops = source_archives.random_crops(20)
    source_archives.write_tar(folder / "cifar-10-python.tar.gz", source_archives.cifar10_python(crops), "w:gz")
    hundred = source_archives.cifar100_python({"test": (crops[0], np.arange(20) % 100, np.arange(20) % 20)})
    source_archives.write_tar(folder / "cifar-100-python.tar.gz", hundred, "w:gz")
    files = {
        "images-idx3": np.stack([digit_image(i % 6)[:, :, 0] for i in range(20)]),
        "labels-idx1": np.arange(20) % 10,
    }
    source_archives.write_files(
        folder / "mnist",
        {
            f"t10k-{kind}-ubyte.gz": source_archives.gzip_bytes(source_archives.idx_bytes(array))
            for kind, array in files.items()
        },
    )
    small_builds.write_crops(folder / "tiny", side=64)
    return {
        **dict.fromkeys(["imagenet-c", "imagenet-c-all", "imagenet-c-299"], "sample"),
        "tiny-imagenet-c": f"folder:{folder}/tiny",
        "cifar10-c": f"cifar10:{folder}/cifar-10-python.tar.gz",
        "cifar100-c": f"cifar100:{folder}/cifar-100-python.tar.gz",
        "mnist-c": f"mnist:{folder}/mnist",
    }


@pytest.mark.parametrize(
    "some",
    [pytest.param({"imagenet-c", "cifar10-c"}, marks=pytest.mark.ci), pytest.param(None, marks=pytest.mark.long)],
)
def test_archives_of_every_benchmark_can_be_fetched_and_scored(sources, some, light, tmp_path):
    sources = {recipe: source for recipe, source in sources.items() if some is None or recipe in some}
    file, published, out = tmp_path / "SOURCES.toml", tmp_path / "published", tmp_path / "out"
    tables = [f'publish = "{published}"']
    for recipe, source in sources.items():
        sets = "clean,canny_edges" if recipe == "mnist-c" else "clean,contrast/*"
        options = f"--sets {sets} --samples 4 --metrics 0 --no-page".split()
        images = "\nimages = false" * (recipe == "imagenet-c")
        tables.append(f'[{recipe}]\nsource = "{source}"\noptions = {json.dumps(options)}{images}')
    file.write_text("\n".join(tables))
    result = release("archives", file, "--out", out, "--jobs", 1)
    assert result.returncode == 0, result.stderr
    manifests = [json.loads(p.read_text()) for p in out.glob("sets/*/manifest.json")]
    digests = {f"{m['name']}-{m['version']}": m["digest"] for m in manifests}
    assert {m["name"] for m in manifests} == sources.keys()
    # only the records of ImageNet images
    dataset_names = sorted(name for name in digests if not name.startswith("imagenet-c-1"))
    assert sorted(p.name for p in published.iterdir()) == sorted(
        [*dataset_names, *(f"{name}-records" for name in digests)]
    )
    for name in dataset_names:
        with file_server.serve_folder() as serve:
            run_python(light, "fetch", serve(published / name).url, "--out", tmp_path / "fetched")
        directory, predictions, scored = (tmp_path / folder / name for folder in ("fetched", "predictions", "scores"))
        assert digests[name] in run_python(light, "verify", directory)
        subprocess.run([light, "-c", PREDICT, directory, predictions], check=True)
        run_python(light, "score", directory, predictions, "--out", scored)
        scores = json.loads((scored / "scores.json").read_text())
        assert scores["digest"] == digests[name]
        assert all(score["accuracy"] is not None for score in scores["sets"].values())
    file.write_text("\n".join(tables[:1] + tables[-1:]))  # a dataset that already exists
    repeated = release("archives", file, "--out", out, "--jobs", 1)
    assert repeated.returncode == 0, repeated.stderr
    assert "all built before" in repeated.stdout
    assert "corruptset verify" not in repeated.stdout + repeated.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[imagenet-c]\npath = "x"\n[fog]\nsource = 1', ["imagenet-c: expected a table with a source", "fog: "]),
        (
            '[cifar10-c]\nsource = "x"\npixels = 1',
            ["cifar10-c: unknown keys pixels; known are images, options, source"],
        ),
        ("", ["it names no recipe"]),
        ("[", ["cannot be read"]),
    ],
)
def test_errors_in_sources_file_are_all_reported(tmp_path, text, message):
    (tmp_path / "SOURCES.toml").write_text(text)
    result = release("archives", tmp_path / "SOURCES.toml", "--out", tmp_path / "out")
    assert result.returncode == 1
    assert all(arguments in result.stderr for arguments in message)
    assert not (tmp_path / "out").exists()
