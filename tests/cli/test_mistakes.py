"""Mistakes leave with 2 and one message; list and show name everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corruptset.corruptions.registry import corruption_names

MISTAKES: list[tuple[list[str], str]] = [
    (["show", "gausian_noise"], "gaussian_noise"),
    (["show", "blak_lines", "--ladder", "text"], "black_lines"),
    (["show", "fog", "--ladder", "text"], "goes with a gradual degradation"),
    (["show", "imagenet-c", "--ladder", "evaluated"], "goes with a gradual degradation"),
    (["show", "black_lines", "--ladder", "txt"], "'evaluated', 'text'"),
    (["corrupt", "sample:astronaut", "fogg", "-s", "1"], "fog"),
    (["corrupt", "sample:astronaut", "fog"], "severity"),
    (["corrupt", "sample:astronaut", "fog", "-s", "6"], "from 1 to 5"),
    (["corrupt", "sample:astronaut", "fog/1", "-s", "1"], "severity"),
    (["corrupt", "sample:astronaut", "fog", "-s", "1", "-p", "sigma=3"], "weight"),
    (["corrupt", "sample:astronaut", "fog", "-s", "1", "-p", "weight"], "NAME=VALUE"),
    (["corrupt", "sample:astronaut", "fog", "-s", "1", "-p", "seed=1"], "seed"),
    (["corrupt", "sample:astronaut", "fog", "-s", "1", "-p", "plasma=nowhere.npy"], "nowhere.npy"),
    (["corrupt", "sample:astronaut", "fog", "-s", "1", "--calibration", "imagnet"], "imagenet"),
    (["corrupt", "sample:astronaut", "fog", "-s", "1", "--seed", "-1"], "seed"),
    (["corrupt", "sample:astronat", "fog", "-s", "1"], "astronaut"),
    (["build", "imagenet-d2"], "imagenet"),
    (["build", "nowhere.toml"], "nowhere.toml"),
    (["build", "--source", "folder:nowhere"], "nowhere"),
    (["build", "--source", "sampel"], "sample"),
    (["build", "--sets", "foq/3"], "fog/3"),
    (["build", "--samples", "0"], "--samples"),
    (["build", "--metrics", "many"], "--metrics"),
    (["build", "--format", "tar"], "folder"),
    (["plan", "--jobs", "none"], "--jobs"),
    (["preview", "--sets", "foq/3"], "fog/3"),
    (["preview", "--out", "x.jpg"], ".png"),
    (["verify"], "DIR"),
    (["bild"], "build"),
    (["build", "--sed", "3"], "--seed"),
    (["corrupt", "sample:astronaut", "gaussian-noise", "-s", "3"], "Did you mean 'gaussian_noise'?"),
    (["corrupt", "sample:astronaut", "Fog/3"], "Did you mean 'fog'?"),
    (["corrupt", "sample:astronaut", "fog", "3"], "--severity 3"),
    (["corrupt", "fog", "sample:astronaut", "-s", "3"], "fog is a corruption, and the picture comes first"),
    (["preview", "astronaut"], "Did you mean sample:astronaut?"),
    (["show", "gaussian-noise"], "Did you mean 'gaussian_noise'? `corruptset list`"),
    (["show", "nois"], "`corruptset list`"),
    (["build", "imagenet"], "Did you mean 'imagenet-c'? Also near: "),
    (["build", "fog"], "corruptset build imagenet-c --sets 'fog/*'"),
    (["build", "--sets", "fog"], "Did you mean 'fog/*'? Also near: 'fog/1', 'fog/2'."),
    (["build", "--source", "/nowhere/imagenet"], "folder:/nowhere/imagenet"),
    (["build", "imagenet-c", "imagenet:/data"], "--source imagenet:/data"),
    (["build", "--workers", "4"], "No such option: --workers. Worker processes are --jobs N."),
    (["build", "--recipe", "imagenet-c"], "The recipe is the first argument"),
    (["build", "--severity", "3"], "--sets '*/3'"),
    (["list", "recipe"], "'recipe' is not one of 'corruptions', 'recipes', 'sources', 'calibrations'. Did you mean 'recipes'?"),
    (["list", "noise"], "'corruptions', 'recipes'"),
]


@pytest.mark.parametrize(("arguments", "said"), MISTAKES, ids=lambda v: " ".join(v) if isinstance(v, list) else "")
def test_a_mistake_leaves_with_two_and_says_what_was_expected(run: Any, tmp_path: Path, arguments: list[str], said: str) -> None:
    done = run(*arguments)
    assert done.code == 2, done.err
    assert done.out == ""
    assert said in " ".join(done.err.replace("│", " ").split())
    assert "Value error" not in done.err
    assert list(tmp_path.iterdir()) == []


def test_list_names_everything(run: Any) -> None:
    text = run("list")
    assert text.code == 0
    corruptions = run("list", "--json").json["corruptions"]
    assert len(corruptions) == len(corruption_names())
    for row in corruptions:
        assert row["name"] in text.out
        assert row["parameters"] or row["name"] in ("inverse", "black_lines", "white_lines")
        assert (row["levels"] is None) == (row["family"] != "gradual" and row["name"] != "model_gradient")
    strength = {r["name"]: (r["severities"], r["levels"]) for r in corruptions}
    assert strength["fog"] == ([1, 2, 3, 4, 5], None)
    assert strength["canny_edges"] == ([1], None)
    assert strength["posterize"] == ([], 30)
    assert strength["salt_pepper"] == ([], None)
    shown = {line.split()[0]: line for line in text.out.replace("gradual ", "", 1).splitlines()}
    assert "level 1-99" in shown["black_lines"]
    assert "parameters" in shown["salt_pepper"]
    assert {r["role"] for r in corruptions} == {"test", "validation", "train"}
    assert {"sample", "folder"} <= {r["source"] for r in run("list", "sources", "--json").json["sources"]}
    recipes = {r["name"]: r for r in run("list", "recipes", "--json").json["recipes"]}
    assert recipes["imagenet-c"]["sets"] == 76
    assert recipes["imagenet-c-all"]["sets"] == 96
    assert recipes["imagenet-c"]["images"] == 3_800_000
    assert recipes["image-degrade-30"]["images"] is None
    assert [r["side"] for r in run("list", "calibrations", "--json").json["calibrations"]] == [224, 299, 64, 32, 28]


def test_show_prints_documentation_tables_and_reference(run: Any) -> None:
    text = run("show", "motion_blur")
    assert text.code == 0
    for wanted in ("motion_blur", "angle_deg", "calibration cifar", "radius", "sigma", "Reference"):
        assert wanted in text.out
    shown = run("show", "motion_blur", "--json").json
    assert shown["tables"]["imagenet"]["5"] == {"radius": 20.0, "sigma": 15.0}
    recipe = run("show", "imagenet-d", "--json").json
    assert recipe["recipe"]["name"] == "imagenet-c"
    assert len(recipe["sets"]) == 76
    assert "fog/3" in run("show", "imagenet-c").out
    assert run("show", "cifar", "--json").json["side"] == 32
