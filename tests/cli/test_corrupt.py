"""corrupt: one picture under one corruption or chain."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from surrogates import smooth

import corruptset
from pictures import painted


def read(path: Path) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.asarray(Image.open(path))


def test_corrupt_writes_what_the_library_makes(run, tmp_path):
    picture = painted(120, 150)
    Image.fromarray(picture).save(tmp_path / "my cat é.png")
    done = run("corrupt 'my cat é.png' gaussian_noise --severity 3 --out x.png")
    assert done.code == 0, done.err
    assert "my cat é\n" in done.out
    expected = corruptset.corrupt(picture, "gaussian_noise", severity=3, key="my cat é")
    assert np.array_equal(read(tmp_path / "x.png"), expected)
    again = run("corrupt 'my cat é.png' gaussian_noise/3 --key 0 --seed 7 --out y.png --json")
    assert again.json["key"] == "0"
    assert np.array_equal(
        read(tmp_path / "y.png"), corruptset.corrupt(picture, "gaussian_noise", severity=3, seed=7, key="0")
    )


def test_0_is_the_picture_itself(run, tmp_path):
    """As a severity and as a level, here, among ``--sets`` and in recipes, as in Python."""
    Image.fromarray(painted(40, 50)).save(tmp_path / "a.png")
    for call in (["fog", "--severity", "0"], ["fog/0"], ["black_lines", "--level", "0"], ["fog-0+black_lines-00"]):
        done = run("corrupt a.png --out x.png --force", *call)
        assert done.code == 0, done.err
        assert np.array_equal(read(tmp_path / "x.png"), painted(40, 50))
    planned = run("plan imagenet-c --sets fog/0,fog/2 --json").json
    assert [s["id"] for s in planned["sets"]] == ["clean", "fog/2"]


def test_corrupt_takes_chains_parameters_and_draws(run, tmp_path):
    picture = painted(64, 80, channels=1)
    Image.fromarray(picture[:, :, 0]).save(tmp_path / "a.png")
    np.save(tmp_path / "points.npy", np.zeros((3, 2)))
    for words, name, keywords in (
        ("", "contrast-2+gaussian_noise-1", {}),
        ("-s 2 -p angle_deg=30", "motion_blur", {"severity": 2, "angle_deg": 30}),
        ("-s 5 -p points=points.npy", "elastic_transform", {"severity": 5, "points": np.zeros((3, 2))}),
        ("-s 5 --scale side", "motion_blur", {"severity": 5, "scale": "side"}),
    ):
        done = run(f"corrupt a.png {name} {words} --out x.png --force")
        assert done.code == 0, done.err
        assert np.array_equal(read(tmp_path / "x.png"), corruptset.corrupt(picture[:, :, 0], name, key="a", **keywords))


def test_output_by_suffix_default_name_and_no_overwriting(run, tmp_path):
    Image.fromarray(painted(40, 50)).save(tmp_path / "a.png")
    kept = (tmp_path / "a.png").read_bytes()
    call = ["corrupt", "a.png", "contrast", "-s", "1"]
    assert run(*call).code == 0
    assert read(tmp_path / "a-contrast-1.png").shape == (40, 50, 3)
    refused = run(*call)
    assert refused.code == 2
    assert "--force" in refused.err
    assert run(*call, "--force").code == 0
    assert run(*call, "--out", "a.png").code == 2
    assert (tmp_path / "a.png").read_bytes() == kept
    assert run(*call, "--out", "b.JPG").code == 0
    assert (tmp_path / "b.JPG").read_bytes().startswith(b"\xff\xd8")
    for out in ("c.gif", "nowhere/c.png"):
        assert run(*call, "--out", out).code == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a-contrast-1.png", "a.png", "b.JPG"]


def test_pictures_are_decoded_by_the_rules_for_sources(run, tmp_path):
    Image.fromarray(painted(40, 50)).convert("CMYK").save(tmp_path / "cmyk.jpg")
    whole = io.BytesIO()
    Image.fromarray(painted(200, 300)).save(whole, "JPEG")
    (tmp_path / "cut.jpg").write_bytes(whole.getvalue()[: len(whole.getvalue()) // 2])
    assert run("corrupt cmyk.jpg contrast/1 --out x.png").code == 0
    assert read(tmp_path / "x.png").shape == (40, 50, 3)
    for name in ("cut.jpg", "missing.png"):
        done = run("corrupt", name, "contrast/1", "--out", "y.png")
        assert done.code == 2, name
        assert name in done.err
        assert not (tmp_path / "y.png").exists()


def test_frost_takes_a_users_own_textures(run, tmp_path):
    (tmp_path / "textures").mkdir()
    Image.fromarray(painted(400, 500)).save(tmp_path / "textures" / "mine.png")
    Image.fromarray(painted(64, 64)).save(tmp_path / "a.png")
    call = ["corrupt", "a.png", "frost", "-s", "2"]
    for name, extra in (("own", ["--frost-textures", "textures"]), ("default", [])):
        done = run(*call, *extra, "--out", f"{name}.png")
        assert done.code == 0, done.err
    assert not np.array_equal(read(tmp_path / "own.png"), read(tmp_path / "default.png"))
    assert run("corrupt a.png fog -s 2 --frost-textures textures --out x.png").code == 2


def test_corrupt_as_a_recipe_does(run, tmp_path):
    """At 299 the calibration does not follow from the size: the recipe names it."""
    Image.fromarray(painted(320, 400)).save(tmp_path / "a.png")
    done = run("corrupt a.png contrast/4 --recipe imagenet-c-299 --out x.png --json")
    assert (done.json["width"], done.json["height"]) == (299, 299)
    assert run("corrupt a.png clean --recipe imagenet-c-299 --out clean.png").code == 0
    clean = read(tmp_path / "clean.png")
    expected = corruptset.corrupt(clean, "contrast", severity=4, calibration="inception")
    assert np.array_equal(read(tmp_path / "x.png"), expected)


@pytest.mark.ci
def test_corrupt_follows_a_model(run, tmp_path):
    picture = painted(24, 20)
    Image.fromarray(picture).save(tmp_path / "a.png")
    surrogate = ["--surrogate", smooth(24, 20)]
    for words, name, keywords in (
        ("-s 3 -p norm=l2 -p eps=200", "pgd", {"severity": 3, "eps": 200, "norm": "l2"}),
        ("", "fog-2+model_gradient-05", {}),
    ):
        assert run(f"corrupt a.png {name} {words} --label 4 --out x.png --force", *surrogate).code == 0
        expected = corruptset.corrupt(picture, name, **keywords, surrogate=smooth(24, 20), label=4, key="a")
        assert np.array_equal(read(tmp_path / "x.png"), expected)
    failed = run("corrupt a.png pgd-3 --label 10 --out y.png", *surrogate)
    assert failed.code == 2
    assert "has classes 0 to 9, and there are labels beyond: 10" in failed.err


def test_a_model_that_is_missing_is_told(run, tmp_path):
    Image.fromarray(painted(24, 20)).save(tmp_path / "a.png")
    failed = run("corrupt a.png pgd-3 --label 4")
    assert failed.code == 2
    assert "pgd follows the gradient of a model, and surrogate is missing" in failed.err
    failed = run("corrupt a.png pgd-3 -p label=4")
    assert "'label' is not a parameter; it has an option of its own" in failed.err
