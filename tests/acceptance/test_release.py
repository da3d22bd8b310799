"""What a maintainer uploads, from the sources to a stranger's scores: `release.py`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import archives
import file_server
import layouts
import numpy as np
import pytest
from checkout import ROOT
from lightness import command
from sklearn.datasets import load_digits

PREDICT = """
import sys, pathlib, numpy, corruptset
data = corruptset.open(sys.argv[1])
for name in data:
    file = pathlib.Path(sys.argv[2], f"{name}.npz")
    file.parent.mkdir(parents=True, exist_ok=True)
    means = numpy.stack([image.mean(axis=(0, 1)).mean() for image, _ in data[name]])
    numpy.savez(file, logits=numpy.cos(means[:, None] + numpy.arange(len(data.classes))))
"""
"""Predictions in a few lines, as docs/evaluate.md has them for any framework."""


def release(*words: object) -> subprocess.CompletedProcess[str]:
    """Run ``python -m release``."""
    return subprocess.run([sys.executable, "-m", "release", *map(str, words)], cwd=ROOT, capture_output=True, text=True)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Small sources in the forms in which the genuine ones are published."""
    folder = tmp_path_factory.mktemp("sources")
    crops = archives.crops(20)
    archives.tar(folder / "cifar-10-python.tar.gz", archives.ten_python(crops), "w:gz")
    hundred = archives.hundred_python({"test": (crops[0], np.arange(20) % 100, np.arange(20) % 20)})
    archives.tar(folder / "cifar-100-python.tar.gz", hundred, "w:gz")
    digits = load_digits()
    images = np.pad(
        np.kron((digits.images[:20] * 15.9).astype(np.uint8), np.ones((1, 3, 3), np.uint8)), ((0, 0), (2, 2), (2, 2))
    )
    files = {"images-idx3": images, "labels-idx1": digits.target[:20]}
    archives.write(
        folder / "mnist",
        {f"t10k-{kind}-ubyte.gz": archives.zipped(archives.idx(array)) for kind, array in files.items()},
    )
    layouts.write_crops(folder / "tiny", side=64)
    return {
        "imagenet-c": "sample",
        "imagenet-c-all": "sample",
        "imagenet-c-299": "sample",
        "tiny-imagenet-c": f"folder:{folder}/tiny",
        "cifar10-c": f"cifar10:{folder}/cifar-10-python.tar.gz",
        "cifar100-c": f"cifar100:{folder}/cifar-100-python.tar.gz",
        "mnist-c": f"mnist:{folder}/mnist",
    }


@pytest.mark.parametrize(
    "some",
    [pytest.param({"imagenet-c", "cifar10-c"}, marks=pytest.mark.ci), pytest.param(None, marks=pytest.mark.long)],
)
def test_archives_of_every_benchmark_reach_a_stranger_who_scores_them(
    sources: dict[str, str], some: set[str] | None, light: Path, tmp_path: Path
) -> None:
    sources = {recipe: source for recipe, source in sources.items() if some is None or recipe in some}
    file = tmp_path / "SOURCES.toml"
    tables = [f'publish = "{tmp_path}/published"']
    for recipe, source in sources.items():
        sets = "clean,canny_edges" if recipe == "mnist-c" else "clean,contrast/*"
        tables.append(
            f'[{recipe}]\nsource = "{source}"\noptions = ["--sets", "{sets}", "--samples", "4", "--metrics", "0", '
            '"--no-page"]'
        )
        if recipe == "imagenet-c":
            tables[-1] += "\nimages = false"
    file.write_text("\n".join(tables))
    done = release("archives", file, "--out", tmp_path / "out", "--jobs", 1)
    assert done.returncode == 0, done.stderr
    digests = {
        json.loads(p.read_text())["name"]: json.loads(p.read_text())["digest"]
        for p in tmp_path.glob("out/sets/*/manifest.json")
    }
    assert digests.keys() == sources.keys()
    published = {path.name for path in (tmp_path / "published").iterdir()}
    assert {name.removesuffix("-records") for name in published if name.endswith("-records")} == {
        p.name for p in (tmp_path / "out/sets").iterdir()
    }
    assert {name.rpartition("-")[0] for name in published if not name.endswith("-records")} == sources.keys() - {
        "imagenet-c"
    }
    for name in sorted(name for name in published if not name.endswith("-records")):
        with file_server.serving() as serve:
            command(light, "fetch", serve(tmp_path / "published" / name).url, "--out", tmp_path / "fetched")
        directory = tmp_path / "fetched" / name
        assert digests[name.rpartition("-")[0]] in command(light, "verify", directory)
        subprocess.run([light, "-c", PREDICT, directory, tmp_path / "predictions" / name], check=True)
        command(light, "score", directory, tmp_path / "predictions" / name, "--out", tmp_path / "scores" / name)
        scores = json.loads((tmp_path / "scores" / name / "scores.json").read_text())
        assert scores["digest"] == digests[name.rpartition("-")[0]]
        assert all(one["accuracy"] is not None for one in scores["sets"].values())
    file.write_text("\n".join(tables[:1] + tables[-1:]))  # one of them again, which is there
    again = release("archives", file, "--out", tmp_path / "out", "--jobs", 1)
    assert again.returncode == 0, again.stderr
    assert "all there already" in again.stdout
    assert "corruptset verify" not in again.stdout + again.stderr


def test_mistakes_in_the_file_of_sources_are_all_told(tmp_path: Path) -> None:
    file = tmp_path / "SOURCES.toml"
    file.write_text('[imagenet-c]\npath = "x"\n[cifar10-c]\nsource = "sample"\npixels = false\n')
    done = release("archives", file, "--out", tmp_path / "out")
    assert done.returncode == 1
    assert "imagenet-c: expected a table with a source" in done.stderr
    assert "cifar10-c: unknown keys pixels; known are images, options, source" in done.stderr
    for text, said in (("", "it names no recipe"), ("[", "cannot be read")):
        file.write_text(text)
        assert said in release("archives", file, "--out", tmp_path / "out").stderr
    assert not (tmp_path / "out").exists()
