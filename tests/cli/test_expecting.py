"""Sources and data sets of the wrong size, builds in their own source, names that are too long: refused at once, as a
user meets it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import archives
import numpy as np
import pytest
from PIL import Image

from pictures import numeral, photograph

WNIDS = ("n01440764", "n01443537")
SIDE, SMALL = (500, 375), (32, 32)


def photographs(root: Path, sizes: list[tuple[int, int]], mode: str = "RGB") -> Path:
    """Write JPEGs of (width, height) into wnid folders, named as ILSVRC2012's validation images are."""
    for number, size in enumerate(sizes, 1):
        folder = root / WNIDS[number % 2]
        folder.mkdir(parents=True, exist_ok=True)
        picture = Image.fromarray(photograph("coffee")).resize(size)
        picture.convert(mode).save(folder / f"ILSVRC2012_val_{number:08d}.JPEG")
    return root


@pytest.fixture(scope="session")
def sources(tmp_path_factory):
    """Sources as they are downloaded: photographs, CIFAR-10, MNIST, and what users make of them."""
    root = tmp_path_factory.mktemp("sources")
    images, labels = archives.crops(10)
    archives.tar(root / "cifar-10-python.tar.gz", archives.ten_python((images, labels)), "w:gz")
    digits = np.stack([numeral(i)[:, :, 0] for i in range(6)])
    archives.write(
        root / "MNIST/raw",
        {"t10k-images-idx3-ubyte": archives.idx(digits), "t10k-labels-idx1-ubyte": archives.idx(range(6))},
    )
    for name, pictures in (("crops", images), ("digits-rgb", [np.repeat(d[:, :, None], 3, axis=2) for d in digits])):
        for i, picture in enumerate(pictures):
            (root / name / "a").mkdir(parents=True, exist_ok=True)
            Image.fromarray(picture).save(root / name / "a" / f"{i}.png")
    return {
        "photographs": f"folder:{photographs(root / 'val', [SIDE] * 4)}",
        "imagenet": f"imagenet:{root / 'val'}",
        "cifar": f"cifar10:{root / 'cifar-10-python.tar.gz'}",
        "crops": f"folder:{root / 'crops'}",
        "mnist": f"mnist:{root / 'MNIST/raw'}",
        "digits in colour": f"folder:{root / 'digits-rgb'}",
        "thumbnails": f"folder:{photographs(root / 'thumbnails', [(160, 160)] * 2)}",
    }


REFUSED = [
    ("cifar10-c", "photographs", ["4 of 4 images are 500x375", "Recipe that fits: imagenet-c."]),
    ("mnist-c", "digits in colour", ["grey images of 28x28 pixels", "6 of 6 images are in colour"]),
    ("imagenet-c", "cifar", ["short side below 128 pixels: 32x32", "Recipes that fit: cifar10-c, cifar100-c."]),
    ("imagenet-c-299", "thumbnails", ["short side below 171 pixels: 160x160", "imagenet-c"]),
]


def test_a_source_of_the_wrong_size_is_refused_with_the_recipe_that_fits(run, sources, tmp_path):
    for recipe, source, said in REFUSED:
        for command in ("plan", "build") if recipe == "cifar10-c" else ("plan",):
            done = run(command, recipe, "--source", sources[source])
            assert done.code == 2, done.out
            assert f"The recipe {recipe} is made for " in done.err
            for words in [*said, "--any-shape", "Nothing was written."]:
                assert words in done.err.replace("\n", " "), done.err
    assert list(tmp_path.iterdir()) == []


def test_pairs_on_the_command_line_expect_what_their_calibration_is_for(run, sources):
    pair = ["plan", "pairs?first-stages=fog&second-stages=snow-1", "--source", sources["crops"], "--json"]
    done = run(*pair)
    assert done.code == 2
    assert "Pairs that fit: --calibration cifar." in done.json["error"]["message"]
    assert run(*pair, "--calibration", "cifar").code == 0


def test_what_fits_is_taken(run, sources):
    for recipe, source in (("tiny-imagenet-c", "imagenet"), ("two-factor-69", "mnist"), ("cifar10-c", "crops")):
        done = run("plan", recipe, "--source", sources[source])
        assert done.code == 0, done.err


def build(run: Callable[..., Any], recipe: str, source: str, *more: str) -> Any:
    quick = "--sets contrast/* --jobs 1 --metrics 0 --out sets".split()
    return run("build", recipe, "--source", source, *quick, *more)


def test_the_few_small_and_grey_images_of_imagenet_are_no_hindrance(run, tmp_path):
    root = photographs(tmp_path / "val", [SIDE, (56, 54), SIDE, (60, 60), (375, 500)])
    Image.open(root / WNIDS[1] / "ILSVRC2012_val_00000001.JPEG").convert("L").save(
        root / WNIDS[1] / "ILSVRC2012_val_00000001.JPEG"
    )
    assert run("plan imagenet-c --source", f"imagenet:{root}").code == 0
    done = build(run, "imagenet-c", f"imagenet:{root}")
    assert done.code == 0, done.err
    recipe = json.loads((tmp_path / "sets/imagenet-c-1.1.0/manifest.json").read_text("utf-8"))["recipe"]
    assert not {"expects", "unexpected"} & set(recipe)
    photographs(tmp_path / "val", [SIDE, (56, 54), (90, 80), (60, 60), (375, 500)])
    done = build(run, "imagenet-c", f"imagenet:{root}", "--out", "other")
    assert done.code == 2
    assert "3 of 5 images have a short side below 128 pixels: 56x54, 90x80, 60x60" in done.err


def test_who_insists_gets_it_and_the_manifest_says_so(run, sources, tmp_path):
    done = build(run, "cifar10-c", sources["thumbnails"], "--any-shape")
    assert done.code == 0, done.err
    built = tmp_path / "sets/cifar10-c-1.1.0"
    assert json.loads((built / "manifest.json").read_text("utf-8"))["recipe"]["unexpected"] == [
        "2 of 2 images are 160x160"
    ]
    assert run("verify", built).code == 0
    assert build(run, "cifar10-c", sources["thumbnails"]).code == 2
    refused = run("export cifar-c --out view", built)
    assert refused.code == 2
    assert "The view cifar-c is made for colour images of 32x32 pixels." in refused.err
    assert not (tmp_path / "view").exists()
    done = run("export cifar-c --out view --any-shape --json", built)
    assert done.code == 0, done.err
    assert "The view cifar-c is made for colour images of 32x32 pixels." in done.json["notes"]
    assert np.load(tmp_path / "view/CIFAR-10-C/contrast.npy", mmap_mode="r").shape == (10, 160, 160, 3)
    assert run("verify --view view", built).code == 0


def test_a_view_of_the_wrong_size_is_refused_with_the_view_that_fits(run, sources, tmp_path):
    assert build(run, "cifar10-c", sources["cifar"]).code == 0
    assert build(run, "imagenet-c", sources["imagenet"]).code == 0
    cases = [
        ("cifar10-c", "imagenet-c", "10 of 10 images have a short side below 128 pixels: 32x32", "cifar-c"),
        ("cifar10-c", "mnist-c", "10 of 10 images are in colour", "cifar-c"),
        ("imagenet-c", "cifar-c", "4 of 4 images are 224x224", "imagenet-c, imagenet-c-5k"),
    ]
    for recipe, view, found, fits in cases:
        done = run("export --out view", view, f"sets/{recipe}-1.1.0")
        assert done.code == 2, done.out
        assert found in done.err
        assert f"Views that fit: {fits};" in done.err
        assert not (tmp_path / "view").exists()
    assert run("export cifar-c sets/cifar10-c-1.1.0 --out fits").code == 0
    straight = build(run, "cifar10-c", sources["crops"], "--view", "imagenet-c", "--out", "straight")
    assert (straight.code, (tmp_path / "straight").exists()) == (2, False)
    assert "The view imagenet-c is made for images with a short side of at least 128 pixels." in straight.err


def test_a_build_in_its_own_source_is_refused(run, tmp_path, monkeypatch):
    val = photographs(tmp_path / "data" / "val", [SIDE] * 2)
    (tmp_path / "link").symlink_to(val)
    monkeypatch.chdir(val)
    before = sorted(p for p in tmp_path.rglob("*"))
    quick = ["--sets", "contrast/1", "--jobs", "1", "--metrics", "0"]
    for given in (
        ["--source", "folder:."],  # --out is corruptset-out, here
        ["--source", f"folder:{tmp_path / 'link'}", "--out", "deep/down"],
        ["--source", f"imagenet:{tmp_path / 'data'}", "--out", ".."],  # takes the folder around `val`, too
        ["--source", "folder:.", "--out", tmp_path / "link" / WNIDS[0]],
    ):
        done = run("build imagenet-c", *given, *quick)
        assert done.code == 2, done.out
        assert "would lie in the folder of the source" in done.err
        assert sorted(p for p in tmp_path.rglob("*")) == before
    # the folder around the source is none of its own
    done = run("build imagenet-c --source folder:. --out ..", *quick)
    assert done.code == 0, done.err


RECIPE = """
name = "{name}"
version = "1.0.0"
calibration = "imagenet"
preprocessing = {{kind = "resize-crop", resize = 256, crop = 224}}
encoding = {{format = "jpeg"}}
[[sets]]
chain = [{chain}]
{id}
"""


def test_names_that_no_file_can_have_are_refused_at_once(run, tmp_path):
    long = ", ".join(['"brightness-1"'] * 16)
    for given, said in (
        ({"name": "x" * 195}, "name and version make a folder's name of 201 characters"),
        ({"id": f'id = "{"y" * 201}"'}, "needs a file's name of 201 characters; expected at most 200"),
        ({"chain": long}, "needs a file's name of 207 characters; expected at most 200: give a chain a short one"),
    ):
        text = RECIPE.format(**({"name": "own", "chain": '"contrast-1"', "id": ""} | given))
        (tmp_path / "own.toml").write_text(text, encoding="utf-8")
        done = run("build own.toml")
        assert (done.code, said in " ".join(done.err.split())) == (2, True), done.err
    assert [p.name for p in tmp_path.iterdir()] == ["own.toml"]


def test_the_longest_names_build_verify_and_pack(run, tmp_path):
    one = f'id = "{"y" * 200}"'
    (tmp_path / "own.toml").write_text(RECIPE.format(name="x" * 194, chain='"contrast-1"', id=one), encoding="utf-8")
    done = run("build own.toml --samples 1 --format both --jobs 1 --metrics 0 --out o")
    assert done.code == 0, done.err
    built = tmp_path / "o" / f"{'x' * 194}-1.0.0"
    assert run("verify", built).code == 0
    assert run("pack --out packed", built).code == 0
    assert run("export webdataset --out view", built).code == 0
