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
    (["build"], "after the command: cifar10-c CIFAR-10-C cifar100-c"),
    (["build", "--source", "folder:nowhere", "--out", "sets"], "No recipe was named."),
    (["build", "imagenet-d2"], "imagenet"),
    (["build", "nowhere.toml"], "nowhere.toml"),
    (["build", "imagenet-c", "--source", "folder:nowhere"], "nowhere"),
    (["build", "imagenet-c", "--source", "sampel"], "sample"),
    (["build", "imagenet-c", "--sets", "foq/3"], "fog/3"),
    (["build", "imagenet-c", "--samples", "0"], "--samples"),
    (["build", "imagenet-c", "--metrics", "many"], "--metrics"),
    (["build", "imagenet-c", "--format", "tar"], "folder"),
    (["plan", "--jobs", "none"], "--jobs"),
    (["preview", "--sets", "foq/3"], "fog/3"),
    (["preview", "--out", "x.jpg"], ".png"),
    (
        ["plan", "--samples", "1180591620717411303424"],
        "--samples is 1180591620717411303424; expected a whole number of images",
    ),
    (
        ["plan", "--first", "1180591620717411303424"],
        "--first is 1180591620717411303424; expected a whole number of images",
    ),
    (["build", "imagenet-c", "--seed", "abc"], "'--seed': 'abc'; expected a whole number."),
    (["build", "imagenet-c", "--seed=1.5"], "'--seed': '1.5'; expected a whole number."),
    (["plan", "-j0"], "'--jobs' / '-j': '0'; expected a number from 1 upwards."),
    (["corrupt", "sample:astronaut", "fog", "-s", "hard"], "'--severity' / '-s': 'hard'; expected a number."),
    (["build", "imagenet-c", "--sets", ""], "'--sets': '' names nothing."),
    (["plan", "imagenet-c", "--sets", " , "], "'--sets': ' , ' names nothing."),
    (["build", "imagenet-c", "--view", ""], "'' is not a view. Known views:"),
    (["build", "imagenet-c", "--scheduler", ""], "scheduler is ''; expected an address such as tcp://host:8786"),
    (["build", "imagenet-c", "--scheduler", "tls://127.0.0.1:1"], " scheduler "),
    (["build", "imagenet-c", "--scheduler", "ucx://127.0.0.1:1"], " scheduler "),
    (["plan", "imagenet-c", "--device", "cuda"], "device is 'cuda', where a model computes, and there is none here."),
    (
        ["build", "imagenet-c", "--out", "/proc/x"],
        "/proc/x cannot be made: No such file or directory. Nothing was written; choose another --out.",
    ),
    (["build", "imagenet-c", "--sets", "contrast/1", "--out", "ftp://h/x"], "ftp://"),
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
    (["build", "imagenet-c", "--sets", "fog"], "Did you mean 'fog/*'? Also near: 'fog/1', 'fog/2'."),
    (["build", "imagenet-c", "--source", "/nowhere/imagenet"], "folder:/nowhere/imagenet"),
    (["build", "imagenet-c", "imagenet:/data"], "--source imagenet:/data"),
    (["build", "--workers", "4"], "No such option: --workers. Worker processes are --jobs N."),
    (["build", "--recipe", "imagenet-c"], "The recipe is the first argument"),
    (["build", "--severity", "3"], "--sets '*/3'"),
    (
        ["list", "recipe"],
        "'recipe' is not one of 'corruptions', 'recipes', 'sources', 'calibrations'. Did you mean 'recipes'?",
    ),
    (["list", "noise"], "'corruptions', 'recipes'"),
]


@pytest.mark.parametrize(("arguments", "said"), MISTAKES, ids=lambda v: " ".join(v) if isinstance(v, list) else "")
def test_a_mistake_leaves_with_two_and_says_what_was_expected(
    run: Any, tmp_path: Path, arguments: list[str], said: str
) -> None:
    done = run(*arguments)
    assert done.code == 2, done.err
    assert done.out == ""
    assert said in " ".join(done.err.replace("│", " ").split())
    assert "Value error" not in done.err
    assert list(tmp_path.iterdir()) == []


PAIRS = (
    'name = "x"\nversion = "1.0.0"\ncalibration = "imagenet"\n[[pairs]]\nfirst = ["fog"]\nsecond = ["{}"]\nsame = '
    "false\n"
)
ENDS = '[preprocessing]\nkind = "none"\n[encoding]\nformat = "png"\n'


def test_pairs_that_leave_nothing_are_a_mistake_of_the_recipe(run: Any, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(PAIRS.format("fog") + ENDS)
    done = run("plan", "x.toml")
    assert (done.code, "[[pairs]] leave no set" in done.err) == (2, True), done.err


@pytest.mark.parametrize(
    "key", ['surrogate = {file = "a\\u0000b.toml"}', 'plugins = ["a\\u0000b.py"]', 'calibration = "a\\u0000b.toml"']
)
def test_a_nul_character_in_a_recipe_is_a_mistake(run: Any, tmp_path: Path, key: str) -> None:
    (tmp_path / "x.toml").write_text(key + "\n" + PAIRS.format("snow") + ENDS)
    done = run("plan", "x.toml")
    assert (done.code, "has a NUL character" in done.err or "is not TOML" in done.err) == (2, True), done.err


OUTS = [["build", "imagenet-c", "--sets", "contrast/1"], ["pack"], ["export", "imagefolder"], ["rebuild"]]


@pytest.mark.parametrize("command", OUTS, ids=lambda command: command[0])
def test_a_link_to_itself_is_no_place(run: Any, built: Path, tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "loop").symlink_to("loop")
    done = run(*command, *([] if command[0] == "build" else [built]), "--out", "loop")
    assert done.code == 2, done.err
    assert "loop is a link that leads to itself" in done.err or "loop is not a folder" in done.err


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


@pytest.mark.ci
@pytest.mark.parametrize("address", ["tls://127.0.0.1:1", "ucx://127.0.0.1:1"])
def test_a_scheduler_that_cannot_be_reached_is_named(run, address):
    """With Dask installed, which raises errors of its own for these."""
    done = run("build", "imagenet-c", "--scheduler", address)
    assert done.code == 2
    assert f"No Dask scheduler answers at {address}" in " ".join(done.err.split())
