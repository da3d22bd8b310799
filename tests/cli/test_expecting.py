"""Test that wrong image sizes, outputs in the source folder and long names are refused before anything is written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import source_archives
from PIL import Image

from example_images import digit_image, photograph

WNIDS = ("n01440764", "n01443537")
SIDE = (500, 375)
QUICK = "--jobs 1 --metrics 0 --no-page"


def write_photographs(root, sizes):
    """Write JPEG files of sizes (width, height) to wnid folders, with the names of ILSVRC2012 validation images."""
    for number, size in enumerate(sizes, 1):
        folder = root / WNIDS[number % 2]
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(photograph("coffee")).resize(size).save(folder / f"ILSVRC2012_val_{number:08d}.JPEG")
    return root


@pytest.fixture(scope="module")
def sources(shared_data, tmp_path_factory):
    """Return the folder of sources in the form in which users download or create them."""
    root = tmp_path_factory.mktemp("sources")
    crops = source_archives.random_crops(10)
    source_archives.write_tar(root / "cifar-10-python.tar.gz", source_archives.cifar10_python(crops), "w:gz")
    digits = np.stack([digit_image(i)[:, :, 0] for i in range(6)])
    files = {
        "t10k-images-idx3-ubyte": source_archives.idx_bytes(digits),
        "t10k-labels-idx1-ubyte": source_archives.idx_bytes(range(6)),
    }
    source_archives.write_files(root / "MNIST/raw", files)
    return {
        "photographs": f"folder:{write_photographs(root / 'val', [SIDE] * 4)}",
        "imagenet": f"imagenet:{root / 'val'}",
        "cifar": f"cifar10:{root / 'cifar-10-python.tar.gz'}",
        "crops": f"folder:{shared_data.crops(classes=2)}",
        "mnist": f"mnist:{root / 'MNIST/raw'}",
        "digits in colour": f"folder:{shared_data.crops(classes=3, side=28)}",
        "thumbnails": f"folder:{write_photographs(root / 'thumbnails', [(160, 160)] * 2)}",
    }


def test_source_of_wrong_size_is_rejected_and_suitable_recipe_named(run, sources):
    for command, recipe, source, message in (
        ("build", "cifar10-c", "photographs", ["4 of 4 images are 500x375", "Recipe that fits: imagenet-c."]),
        ("plan", "mnist-c", "digits in colour", ["grey images of 28x28 pixels", "6 of 6 images are in colour"]),
        ("plan", "imagenet-c", "cifar", ["below 128 pixels: 32x32", "Recipes that fit: cifar10-c, cifar100-c."]),
        ("plan", "imagenet-c-299", "thumbnails", ["short side below 171 pixels: 160x160", "imagenet-c"]),
    ):
        err = run.fails(f"The recipe {recipe} is made for ", command, recipe, "--source", sources[source]).err
        for arguments in [*message, "--any-shape", "Nothing was written."]:
            assert arguments in err.replace("\n", " ")
    pair = ["plan", *"pairs --first-stages contrast-1 --second-stages brightness-1 --source".split(), sources["crops"]]
    run.fails("Pairs that fit: --calibration cifar.", *pair)
    run.succeeds(*pair, "--calibration", "cifar")
    np.save("x.npy", np.zeros((4, 8, 8, 3), np.uint8))
    np.save("y.npy", np.arange(4))
    run.fails("No --calibration is made for such images.", *pair[:-1], "npy:x.npy,y.npy")
    for recipe, source in (
        ("tiny-imagenet-c --sets contrast/1", "imagenet"),
        ("two-factor-69 --sets clean", "mnist"),
        ("cifar10-c --sets contrast/1", "crops"),
    ):
        run.succeeds(f"plan {recipe} --source", sources[source])


def test_few_small_and_grey_imagenet_images_are_accepted(run, tmp_path):
    root = write_photographs(tmp_path / "val", [SIDE, (56, 54), SIDE, (60, 60), (375, 500)])
    grey = root / WNIDS[1] / "ILSVRC2012_val_00000001.JPEG"
    Image.open(grey).convert("L").save(grey)
    command = f"--sets contrast/1 {QUICK} --source imagenet:val"
    result = Path(run.succeeds(f"build imagenet-c {command} --json").json["directory"])
    assert not {"expects", "unexpected"} & set(json.loads((result / "manifest.json").read_text("utf-8"))["recipe"])
    write_photographs(root, [SIDE, (56, 54), (90, 80), (60, 60), (375, 500)])
    message = "3 of 5 images have a short side below 128 pixels: 56x54, 90x80, 60x60"
    run.fails(message, f"build imagenet-c {command} --out other")


def test_any_shape_option_is_obeyed_and_recorded(run, sources, tmp_path):
    build = [f"build cifar10-c --sets contrast/* {QUICK} --source", sources["thumbnails"]]
    result = Path(run.succeeds(*build, "--any-shape", "--json").json["directory"])
    recipe = json.loads((result / "manifest.json").read_text("utf-8"))["recipe"]
    assert recipe["unexpected"] == ["2 of 2 images are 160x160"]
    run.succeeds("verify", result)
    run.fails("160x160", *build)
    export, message = (
        ["export cifar-c --out exported", result],
        "The layout cifar-c is made for colour images of 32x32 pixels",
    )
    assert "Layouts that fit: imagenet-c, imagenet-c-5k." in run.fails(message, *export).err
    notes = run.succeeds(*export, "--any-shape", "--json").json["notes"]
    assert f"{message}. Images of other shapes are exported, because --any-shape was given." in notes
    assert np.load(tmp_path / "exported/CIFAR-10-C/contrast.npy", mmap_mode="r").shape == (10, 160, 160, 3)
    run.succeeds("verify --export exported", result)


def test_layout_for_other_sizes_is_rejected_and_suitable_layout_named(run, shared_data):
    small = shared_data.build(sets=["contrast/*"])
    for layout, description in (
        ("imagenet-c", "have a short side below 128 pixels: 32x32"),
        ("mnist-c", "are in colour"),
    ):
        result = run.fails(f"20 of 20 images {description}", f"export {layout} --out other", small)
        assert "Layouts that fit: cifar-c. Layouts that accept any images: " in result.err
    run.succeeds("export cifar-c --out fits", small)


def test_build_inside_its_source_is_rejected(run, tmp_path, monkeypatch):
    val = write_photographs(tmp_path / "data" / "val", [SIDE] * 2)
    (tmp_path / "link").symlink_to(val)
    monkeypatch.chdir(val)
    build = f"build imagenet-c --sets contrast/1 {QUICK} --source"
    for options in (
        ["folder:."],  # The default of --out is corruptset-out.
        [f"folder:{tmp_path / 'link'}", "--out", "deep/down"],
        [f"imagenet:{tmp_path / 'data'}", "--out", ".."],  # The folder around `val` is accepted as well.
        ["folder:.", "--out", tmp_path / "link" / WNIDS[0]],
    ):
        run.fails("would be inside the folder of the source", build, *options)
        assert [path.name for path in val.parent.iterdir()] == ["val"]
    # The folder around the source is not a folder of corruptset.
    run.succeeds(build, "folder:.", "--out", "..")


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


def write(folder, **kwargs):
    text = RECIPE.format(**({"name": "own", "chain": '"contrast-1"', "id": ""} | kwargs))
    (folder / "own.toml").write_text(text, encoding="utf-8")


def test_invalid_file_names_are_rejected_before_build(run, tmp_path):
    long = ", ".join(['"brightness-1"'] * 16)
    for arguments, message in (
        ({"name": "x" * 195}, "which consists of name and version, has 201 characters"),
        (
            {"id": f'id = "{"y" * 201}"'},
            "a part between slashes has 201 characters, but names of files may have at most 200",
        ),
        ({"chain": long}, "needs a file name of 207 characters; expected at most 200: give the chain a short id"),
    ):
        write(tmp_path, **arguments)
        run.fails(message, "build own.toml")


def test_longest_valid_names_can_be_built_verified_and_packed(run, tmp_path):
    write(tmp_path, name="x" * 194, id=f'id = "{"y" * 200}"')
    result = run.succeeds(f"build own.toml --samples 1 --storage both {QUICK} --json").json["directory"]
    assert result.endswith(f"{'x' * 194}-1.0.0")
    run.succeeds("verify", result)
    run.succeeds("pack --out packed", result)
    run.succeeds("export webdataset --out tars", result)


def test_command_without_source_states_which_images_it_used(run, tmp_path):
    message = "No --source was given, so the images are the sample photographs that come with scikit-image."
    arguments = "imagenet-c --sets clean --samples 9"
    for line in (f"plan {arguments}", f"build {arguments} --out out --no-page --jobs 1"):
        for chosen, expected in (("", 1), ("--source sample", 0)):
            result = run.succeeds(line, *chosen.split())
            assert (result.out + result.err).count(message) == expected, line
            assert "--samples is 9, but there are only 8 images, so all of them are used." in result.out + result.err
    notes = run.succeeds("plan imagenet-c --sets clean --json").json["notes"]
    assert [note for note in notes if note.startswith(message)]


@pytest.mark.ci
def test_only_a_source_with_other_files_has_a_note_on_boxes_and_masks(run, sources):
    moving = ["plan imagenet-c --sets elastic_transform/1 --samples 1 --any-shape --jobs 1 --source"]
    assert "boxes and masks" not in run.succeeds(*moving, sources["photographs"]).out
    tree = f"tree:{sources['photographs'].partition(':')[2]}"
    assert "boxes and masks are not changed accordingly" in run.succeeds(*moving, tree).out
