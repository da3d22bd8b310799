"""preview: one picture under every set, on one sheet."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

import corruptset
from pictures import painted


def test_preview_draws_a_contact_sheet(run, tmp_path):
    done = run("preview --sets 'contrast/*,gaussian_noise/*'")
    assert done.code == 0, done.err
    sheet = (tmp_path / "preview.png").read_bytes()
    width, height = Image.open(io.BytesIO(sheet)).size
    assert width > 5 * 100
    assert height > 2 * 100
    assert run("preview --sets 'contrast/*'").code == 2
    Image.fromarray(painted(300, 260)).save(tmp_path / "a.png")
    mine = run("preview a.png --sets 'contrast/*' --out b.png --json")
    assert mine.json["sets"] == [f"contrast/{s}" for s in range(1, 6)]
    assert mine.json["key"] == "a"
    again = run("preview --sets 'contrast/*,gaussian_noise/*' --force")
    assert again.code == 0
    assert (tmp_path / "preview.png").read_bytes() == sheet


def test_preview_takes_the_recipe_that_fits_the_picture(run, tmp_path):
    """A picture of MNIST or CIFAR was enlarged to 224 without a word."""
    asked = ["preview", "00042.png", "--sets", "fade_black/30", "--force", "--json"]
    for size, recipe in (
        ((28, 28, 1), "mnist-c"),
        ((28, 28, 3), "cifar10-c"),
        ((64, 80, 3), "tiny-imagenet-c"),
        ((97, 97, 3), "imagenet-c-all"),
    ):
        Image.fromarray(painted(*size).squeeze()).save(tmp_path / "00042.png")
        shown = run(*asked)
        assert shown.code == 0, shown.err
        assert shown.json["recipe"] == recipe
    assert run(*asked, "--recipe", "cifar10-c").json["recipe"] == "cifar10-c"


def test_preview_shows_gradual_degradations_whatever_the_recipe(run):
    both = run("preview --sets 'fade_black/*,contrast/3,posterize/0[1-3]' --json")
    assert both.code == 0, both.err
    fading = [f"fade_black/{level:02d}" for level in range(1, 31)]
    assert both.json["sets"] == ["contrast/3", *fading, "posterize/01", "posterize/02", "posterize/03"]
    small = run("preview --recipe cifar10-c --sets fade_white/30 --force --json")
    assert small.json["sets"] == ["fade_white/30"]
    wrong = run("preview --sets black_line/01 --force")
    assert wrong.code == 2
    assert "black_lines/01" in wrong.err


def test_preview_shows_some_levels_of_a_recipe_that_has_many(run, tmp_path):
    (tmp_path / "r.toml").write_text(
        'name = "r"\nversion = "1"\ncalibration = "tiny"\npreprocessing = {kind = "resize", side = 64}\nencoding = '
        '{format = "png"}\n'
        'sets = [{clean = true}, {corruptions = ["fade_black"], levels = 12}, {chain = ["fade_black-02", '
        '"contrast-1"]}]\n'
    )
    shown = run("preview --recipe r.toml --json")
    assert shown.json["sets"] == [
        "clean",
        "fade_black/01",
        "fade_black/05",
        "fade_black/10",
        "fade_black-02+contrast-1",
    ]
    assert len(run("preview --recipe r.toml --sets '*' --out all.png --json").json["sets"]) == 14


def test_preview_shows_what_corrupt_makes(run, tmp_path):
    """Levels are one pass of the tree there, and one call here."""
    call = ["--sets", "random_boxes/03,random_boxes/01,fade_black/05", "--recipe", "cifar10-c", "--seed", "4"]
    Image.fromarray(painted(32, 32)).save(tmp_path / "a.png")
    assert run("preview a.png", *call).code == 0
    sheet = np.asarray(Image.open(tmp_path / "preview.png"))
    for name in ("random_boxes/01", "random_boxes/03", "fade_black/05"):
        want = corruptset.corrupt(painted(32, 32), name, key="a", seed=4)
        corners = np.argwhere((sheet == want[0, 0]).all(axis=-1))
        assert any(np.array_equal(sheet[y : y + 96 : 3, x : x + 96 : 3], want) for y, x in corners), name
