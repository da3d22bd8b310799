"""Mistakes leave with 2 and one message; list and show name everything."""

from __future__ import annotations

import re
import shlex

import pytest

from corruptset.corruptions.registry import corruption_names

MISTAKES = {
    "show gausian_noise": "gaussian_noise",
    "show blak_lines --ladder text": "black_lines",
    "show fog --ladder text": "goes with a gradual degradation",
    "show black_lines --ladder txt": "'evaluated', 'text'",
    "corrupt sample:astronaut fog": "severity",
    "corrupt sample:astronaut fog -s 6": "from 1 to 5",
    "corrupt sample:astronaut fog -s 1 -p sigma=3": "weight",
    "corrupt sample:astronaut fog -s 1 -p weight": "NAME=VALUE",
    "corrupt sample:astronaut fog -s 1 -p plasma=nowhere.npy": "nowhere.npy",
    "corrupt sample:astronaut fog -s 1 --calibration imagnet": "imagenet",
    "corrupt sample:astronaut fog -s 1 --seed -1": "seed",
    "corrupt sample:astronat fog -s 1": "astronaut",
    "build": "after the command: cifar10-c CIFAR-10-C cifar100-c",
    "build imagenet-d2": "imagenet",
    "build imagenet-c --source sampel": "sample",
    "build imagenet-c --sets foq/3": "fog/3",
    "build imagenet-c --samples 0": "--samples",
    "build imagenet-c --metrics many": "--metrics",
    "preview --out x.jpg": ".png",
    "plan --samples 1180591620717411303424": "--samples is 1180591620717411303424; expected a whole number of images",
    "build imagenet-c --seed abc": "'--seed': 'abc'; expected a whole number.",
    "plan -j0": "'--jobs' / '-j': '0'; expected a number from 1 upwards.",
    "corrupt sample:astronaut fog -s hard": "'--severity' / '-s': 'hard'; expected a number.",
    "build imagenet-c --sets ''": "'--sets': '' names nothing.",
    "build imagenet-c --view ''": "'' is not a view. Known views:",
    "build imagenet-c --scheduler ''": "scheduler is ''; expected an address such as tcp://host:8786",
    "plan imagenet-c --device cuda": "device is 'cuda', where a model computes, and there is none here.",
    "build imagenet-c --out /proc/x": "/proc/x cannot be made: No such file or directory. Nothing was written;",
    "build imagenet-c --sets contrast/1 --out ftp://h/x": "ftp://h/x: builds are written to a local folder.",
    "pack data --out s3://bucket/x": "s3://bucket/x: archives are written to a local folder.",
    "verify s3://bucket/x": "`corruptset fetch` brings it.",
    "bild": "build",
    "build --sed 3": "--seed",
    "corrupt sample:astronaut gaussian-noise -s 3": "Did you mean 'gaussian_noise'?",
    "corrupt sample:astronaut fog 3": "--severity 3",
    "corrupt fog sample:astronaut -s 3": "fog is a corruption, and the picture comes first",
    "preview astronaut": "Did you mean sample:astronaut?",
    "show gaussian-noise": "Did you mean 'gaussian_noise'? `corruptset list`",
    "build imagenet": "Did you mean 'imagenet-c'? Also near: ",
    "build fog": "corruptset build imagenet-c --sets 'fog/*'",
    "build imagenet-c --sets fog": "Did you mean 'fog/*'? Also near: 'fog/1', 'fog/2'.",
    "build imagenet-c --source /nowhere/imagenet": "folder:/nowhere/imagenet",
    "build imagenet-c imagenet:/data": "--source imagenet:/data",
    "build --workers 4": "No such option: --workers. Worker processes are --jobs N.",
    "build --recipe imagenet-c": "The recipe is the first argument",
    "build --severity 3": "--sets '*/3'",
    "list recipe": "'recipe' is not one of 'corruptions', 'recipes', 'sources', 'calibrations'. Did you mean",
}
"""Command line -> what must be said."""


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_leaves_with_two_and_says_what_was_expected(run, tmp_path, line):
    done = run(*shlex.split(line))
    assert done.code == 2, done.err
    assert done.out == ""
    assert MISTAKES[line] in " ".join(done.err.replace("│", " ").split())
    assert "Value error" not in done.err
    said = [one for one in done.err.splitlines() if one and not re.match("Usage: |Try |[╭╰ ]", one)]
    assert len(said) <= 3, "a list of what is known is indented"
    assert list(tmp_path.iterdir()) == []


def test_a_link_to_itself_is_no_place(run, built, tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    for command in (["build", "imagenet-c", "--sets", "contrast/1"], ["pack", built], ["export", "imagefolder", built]):
        done = run(*command, "--out", "loop")
        assert done.code == 2, done.err
        assert "loop is a link that leads to itself" in done.err or "loop is not a folder" in done.err


def test_list_names_everything(run):
    text = run("list")
    assert text.code == 0
    corruptions = run("list --json").json["corruptions"]
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
    recipes = {r["name"]: r for r in run("list recipes --json").json["recipes"]}
    assert recipes["imagenet-c"]["sets"] == 76
    assert recipes["imagenet-c"]["images"] == 3_800_000
    assert recipes["image-degrade-30"]["images"] is None
    assert [r["side"] for r in run("list calibrations --json").json["calibrations"]] == [224, 299, 64, 32, 28]


def test_show_prints_documentation_tables_and_reference(run):
    text = run("show motion_blur")
    assert text.code == 0
    for wanted in ("motion_blur", "angle_deg", "Calibration cifar", "radius", "sigma", "Reference"):
        assert wanted in text.out
    shown = run("show motion_blur --json").json
    assert shown["tables"]["imagenet"]["5"] == {"radius": 20.0, "sigma": 15.0}
    assert run("show imagenet-d --json").json["recipe"]["name"] == "imagenet-c"
    assert run("show cifar --json").json["side"] == 32


@pytest.mark.ci
def test_a_scheduler_that_cannot_be_reached_is_named(run):
    """With Dask installed, which raises errors of its own for these."""
    address = "tls://127.0.0.1:1"
    done = run("build imagenet-c --scheduler", address)
    assert done.code == 2
    assert f"No Dask scheduler answers at {address}" in " ".join(done.err.split())
