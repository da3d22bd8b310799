"""An installation without the extra ``build`` evaluates datasets, and says what is missing to build them."""

from __future__ import annotations

import json
import subprocess
import sys

import file_server
import numpy as np
import pytest
from light_installation import run_python

import corruptset

HEAVY = ["numba", "cv2", "scipy", "skimage", "joblib"]


@pytest.fixture(scope="module")
def datasets_dir(tmp_path_factory):
    """Datasets in all formats (JPEG in folders and shards, packed, and pixels in shards), and predictions of two
    models.
    """
    out = tmp_path_factory.mktemp("built")
    arguments = ["--samples", "4", "--jobs", "1", "--metrics", "0", "--no-page", "--out", out]
    run_python(sys.executable, "build", "imagenet-c", "--sets", "clean,contrast/*", "--storage", "both", *arguments)
    run_python(sys.executable, "build", "image-degrade-30", "--sets", "black_lines/07", "--storage", "hdf5", *arguments)
    run_python(sys.executable, "pack", out / "imagenet-c-1.1.0", "--out", out / "packed")
    data = corruptset.open(out / "imagenet-c-1.1.0")
    for seed, model in enumerate("ab"):
        for set_id in data:
            file = out / model / f"{set_id}.npz"
            file.parent.mkdir(parents=True, exist_ok=True)
            logits = np.random.default_rng(seed).normal(size=(len(data.samples), len(data.classes)))
            np.savez(file, logits=logits + 2 * np.eye(len(data.classes))[data["clean"].labels])
    return out


READ = f"""
import sys, corruptset
from importlib.util import find_spec
s = corruptset.open(sys.argv[1])["contrast/3"]
print([find_spec(name) is None for name in {HEAVY}], "|", [(image.sum(), label) for image, label in s])
"""


@pytest.mark.ci
def test_evaluation_commands_work(light, datasets_dir, tmp_path):
    data, raw = datasets_dir / "imagenet-c-1.1.0", next(datasets_dir.glob("image-degrade-30-*"))
    there, here = (
        subprocess.run([item, "-c", READ, data], capture_output=True, text=True).stdout.partition("|")
        for item in (light, sys.executable)
    )
    assert there[0].count("True") == len(HEAVY)
    assert there[2] == here[2] != ""
    for directory in (data, raw):
        assert "verified" in run_python(light, "verify", directory, "--jobs", 2)
        export_dir = tmp_path / f"export of {directory.name}"
        run_python(light, "export", "imagefolder", directory, "--out", export_dir)
        run_python(light, "verify", directory, "--export", export_dir)
    with file_server.serve_folder() as serve:
        run_python(light, "fetch", serve(datasets_dir / "packed").url, "--out", tmp_path / "fetched")
    run_python(light, "unpack", datasets_dir / "packed", "--out", tmp_path / "unpacked")
    for folder in ("fetched", "unpacked"):
        (directory,) = (tmp_path / folder).glob("imagenet-c-*")
        assert corruptset.open(data).digest in run_python(light, "verify", directory)
    scores = [tmp_path / "scores" / model for model in "ab"]
    for folder in scores:
        run_python(light, "score", data, datasets_dir / folder.name, "--out", folder)
        assert json.loads((folder / "scores.json").read_text())["sets"]["clean"]["n"] == 4
    run_python(light, "compare", *scores, "--out", tmp_path / "comparison")
    run_python(light, "report", data, *scores, "--out", tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 10_000


@pytest.mark.ci
def test_list_and_show_print_available_names(light):
    for arguments in (["list", "sources"], ["show", "fog"], ["show", "imagenet-c"]):
        assert run_python(light, *arguments) == run_python(sys.executable, *arguments), arguments
    assert {"gaussian_noise", "black_lines", "pgd"} <= set(run_python(light, "list").split())
    assert {"imagenet-c-all", "mnist-c"} <= set(run_python(light, "list", "recipes").split())
    assert {"imagenet", "mnist"} <= set(run_python(light, "list", "calibrations").split())


@pytest.mark.ci
def test_build_commands_say_what_to_install(light, datasets_dir, tmp_path):
    data, out, message = datasets_dir / "imagenet-c-1.1.0", tmp_path / "out", "pip install '.[build]'"
    for arguments in (
        ["build", "imagenet-c", "--out", out],
        ["plan", "imagenet-c", "--out", out],
        ["verify", data, "--rederive", "1"],
        ["rebuild", data, "--out", out],
    ):
        text = run_python(light, *arguments, code=2)
        assert (message in text, "Traceback" in text) == (True, False), arguments
    assert not out.exists()
    result = subprocess.run([light, "-c", "import corruptset; corruptset.build()"], capture_output=True, text=True)
    assert "NotInstalled" in result.stderr
    assert message in result.stderr


def test_broken_installation_is_not_reported_as_missing(tmp_path):
    (tmp_path / "numba").mkdir()
    (tmp_path / "numba/__init__.py").write_text("import llvmlite_that_is_not_there")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import corruptset; corruptset.build"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "No module named 'llvmlite_that_is_not_there'" in result.stderr
    assert ".[build]" not in result.stderr
