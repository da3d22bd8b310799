"""Test the command `preview`, which shows one image under every set on one sheet."""

from __future__ import annotations

import numpy as np
from PIL import Image

import corruptset
from example_images import synthetic_image


def test_sheet_is_written_and_never_overwritten(run, tmp_path):
    line = "preview --sets 'contrast/*,gaussian_noise/2'"
    run.succeeds(line)
    sheet = (tmp_path / "preview.png").read_bytes()
    with Image.open(tmp_path / "preview.png") as image:
        assert (image.width > 5 * 100, image.height > 2 * 100) == (True, True)
    run.fails("--force", line)
    run.succeeds(line, "--force")
    assert (tmp_path / "preview.png").read_bytes() == sheet


def test_recipe_fits_image(run, tmp_path):
    """Test that an image of MNIST or CIFAR size is not enlarged to 224 pixels."""
    command = "preview 00042.png --sets fade_black/30 --force --json"
    for size, recipe in (
        ((28, 28, 1), "mnist-c"),
        ((28, 28, 3), "cifar10-c"),
        ((64, 80, 3), "tiny-imagenet-c"),
        ((97, 97, 3), "imagenet-c-all"),
    ):
        Image.fromarray(synthetic_image(*size).squeeze()).save(tmp_path / "00042.png")
        record = run.succeeds(command).json
        assert (record["recipe"], record["sets"], record["key"]) == (recipe, ["fade_black/30"], "00042")
    assert run.succeeds(command, "--recipe", "cifar10-c").json["recipe"] == "cifar10-c"


def test_gradual_corruptions_are_shown_for_any_recipe(run, tmp_path):
    Image.fromarray(synthetic_image(32, 32)).save(tmp_path / "a.png")
    both = run.succeeds("preview a.png --sets 'fade_black/*,contrast/3,posterize/0[1-3]' --json").json
    fading = [f"fade_black/{level:02d}" for level in range(1, 31)]
    assert both["sets"] == ["contrast/3", *fading, "posterize/01", "posterize/02", "posterize/03"]
    run.fails("black_lines/01", "preview a.png --sets black_line/01 --force")


def test_some_of_many_levels_are_shown(run, tmp_path):
    (tmp_path / "r.toml").write_text(
        'name = "r"\nversion = "1"\ncalibration = "tiny"\npreprocessing = {kind = "resize", side = 64}\nencoding = '
        '{format = "png"}\n'
        'sets = [{clean = true}, {corruptions = ["fade_black"], levels = 12}, {chain = ["fade_black-02", '
        '"contrast-1"]}]\n'
    )
    set_ids = "clean fade_black/01 fade_black/05 fade_black/10 fade_black-02+contrast-1"
    assert run.succeeds("preview --recipe r.toml --json").json["sets"] == set_ids.split()
    assert len(run.succeeds("preview --recipe r.toml --sets '*' --out all.png --json").json["sets"]) == 14


def test_preview_equals_corrupt(run, tmp_path):
    """Compare levels of a preview, which are computed in one pass, with single calls."""
    names = ("random_boxes/01", "random_boxes/03", "fade_black/05")
    Image.fromarray(synthetic_image(32, 32)).save(tmp_path / "a.png")
    run.succeeds("preview a.png --recipe cifar10-c --seed 4 --sets", ",".join(names))
    sheet = np.asarray(Image.open(tmp_path / "preview.png"))
    for name in names:
        expected = corruptset.corrupt(synthetic_image(32, 32), name, key="a", seed=4)
        corners = np.argwhere((sheet == expected[0, 0]).all(axis=-1))
        assert any(np.array_equal(sheet[y : y + 96 : 3, x : x + 96 : 3], expected) for y, x in corners), name
