"""`pip install corruptset` without the extra ``build``: what evaluates a data set works, what makes one says what is
missing.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import file_server
import numpy as np
import pytest
from lightness import command

import corruptset

HEAVY = ["numba", "cv2", "scipy", "skimage", "joblib"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """JPEG in folders and shards, the same packed, and pixels in shards; predictions of two models."""
    out = tmp_path_factory.mktemp("built")
    given = ["--samples", "4", "--jobs", "1", "--metrics", "0", "--out", out]
    command(sys.executable, "build", "imagenet-c", "--sets", "clean,contrast/*", "--format", "both", *given)
    command(sys.executable, "build", "image-degrade-30", "--sets", "black_lines/07", "--format", "hdf5", *given)
    command(sys.executable, "pack", out / "imagenet-c-1.1.0", "--out", out / "packed")
    data = corruptset.open(out / "imagenet-c-1.1.0")
    labels = np.array([sample.label for sample in data.samples])
    for seed, model in enumerate(["a", "b"]):
        for set_id in data:
            file = out / model / f"{set_id}.npz"
            file.parent.mkdir(parents=True, exist_ok=True)
            logits = np.random.default_rng(seed).normal(size=(len(labels), len(data.classes)))
            np.savez(file, logits=logits + 2 * np.eye(len(data.classes))[labels])
    return out


@pytest.mark.ci
def test_what_evaluates_works(light: Path, built: Path, tmp_path: Path) -> None:
    data, raw = built / "imagenet-c-1.1.0", next(built.glob("image-degrade-30-*"))
    code = (
        "import sys, corruptset; from importlib.util import find_spec; data = corruptset.open(sys.argv[1]);s = "
        f"data['contrast/3'];print(*(find_spec(name) is None for name in {HEAVY}), '|', *(s[i][0].sum() for i in "
        "range(4)), *s.labels)"
    )
    opened = [
        subprocess.run([one, "-c", code, data], capture_output=True, text=True).stdout
        for one in (light, sys.executable)
    ]
    assert opened[0].startswith("True " * 5)
    assert opened[0].partition("|")[2] == opened[1].partition("|")[2] != ""
    digest = corruptset.open(data).digest
    for directory in (data, raw):
        assert "verified" in command(light, "verify", directory)
        assert "verified" in command(light, "verify", directory, "--jobs", 2)
        command(light, "export", "imagefolder", directory, "--out", tmp_path / f"view of {directory.name}")
        command(light, "verify", directory, "--view", tmp_path / f"view of {directory.name}")
    with file_server.serving() as serve:
        command(light, "fetch", serve(built / "packed").url, "--out", tmp_path / "fetched")
    command(light, "unpack", built / "packed", "--out", tmp_path / "unpacked")
    for folder in ("fetched", "unpacked"):
        (directory,) = (tmp_path / folder).glob("imagenet-c-*")
        assert digest in command(light, "verify", directory)
    for model in ("a", "b"):
        command(light, "score", data, built / model, "--out", tmp_path / "scores" / model)
    assert json.loads((tmp_path / "scores/a/scores.json").read_text())["sets"]["clean"]["n"] == 4
    command(light, "compare", tmp_path / "scores/a", tmp_path / "scores/b", "--out", tmp_path / "comparison")
    command(light, "report", data, tmp_path / "scores/a", tmp_path / "scores/b", "--out", tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 10_000


@pytest.mark.ci
def test_what_makes_images_says_what_to_install(light: Path, built: Path, tmp_path: Path) -> None:
    data = built / "imagenet-c-1.1.0"
    for words in (
        ["build", "imagenet-c"],
        ["plan", "imagenet-c"],
        ["verify", data, "--rederive", "1"],
        ["rebuild", data],
    ):
        said = command(light, *words, *(["--out", tmp_path / "out"] if words[0] != "verify" else []), code=2)
        assert "pip install 'corruptset[build]'" in said, words
        assert "Traceback" not in said
    assert not (tmp_path / "out").exists()
    done = subprocess.run([light, "-c", "import corruptset; corruptset.build"], capture_output=True, text=True)
    assert "NotInstalled" in done.stderr
    assert "pip install 'corruptset[build]'" in done.stderr


def test_a_broken_installation_is_not_called_missing(tmp_path: Path) -> None:
    (tmp_path / "numba").mkdir()
    (tmp_path / "numba/__init__.py").write_text("import llvmlite_that_is_not_there")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import corruptset; corruptset.build"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "No module named 'llvmlite_that_is_not_there'" in done.stderr
    assert "corruptset[build]" not in done.stderr
