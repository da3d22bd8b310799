"""Test that mistakes give exit code 2 and one message."""

from __future__ import annotations

import re

import pytest

from corruptset.corruptions.registry import corruption_names

MISTAKES = {
    "show gausian_noise": "gaussian_noise",
    "show ccc-hard": "It is the recipe of a stream, for `corruptset stream ccc-hard`, and comes with the package",
    "plan ccc-hard": "It is the recipe of a stream, for `corruptset stream ccc-hard`, and comes with the package",
    "show blak_lines --ladder text": "black_lines",
    "show fog --ladder text": "'fog' has no levels",
    "corrupt sample:astronaut fog-1+snow-2p5 --ladder text": "can only be used with a gradual degradation",
    "show black_lines --ladder txt": "'evaluated', 'text'",
    "corrupt sample:astronaut fog": "severity",
    "corrupt sample:astronaut fog -s 6": "severity is 6; expected a number from 0 to 5",
    "corrupt sample:astronaut fog -s -1": "severity is -1; expected a number from 0 to 5",
    "corrupt sample:astronaut fog-7": "severity is 7; expected a number from 0 to 5",
    "corrupt sample:astronaut fog-1+snow-7": "snow: severity is 7; expected a number from 0 to 5",
    "corrupt sample:astronaut stripe -s 7 --calibration mnist": "expected 0 or 1, its only severity in calibration",
    "corrupt sample:astronaut black_lines --level 100": "from 1 to 99. Level 0 is the clean image",
    "build cifar10-c": "The images are the sample photographs that come with scikit-image. To use your own",
    "plan mnist-c --source sample": "The images are the sample photographs that come with scikit-image",
    "corrupt sample:astronaut fog -s 1 -p sigma=3": "weight",
    "corrupt sample:astronaut fog -s 1 -p weight": "NAME=VALUE",
    "corrupt sample:astronaut fog -s 1 -p plasma=nowhere.npy": "nowhere.npy",
    "corrupt sample:astronaut fog -s 1 --calibration imagnet": "imagenet",
    "corrupt sample:astronaut fog -s 1 --seed -1": "seed",
    "corrupt sample:astronat fog -s 1": "astronaut",
    "build": "or the path of a recipe file (.toml): cifar10-c CIFAR-10-C cifar100-c",
    "build imagenet-d2": "imagenet",
    "build imagenet-c --source sampel": "sample",
    "build imagenet-c --sets foq/3": "fog/3",
    "build imagenet-c --samples 0": "--samples",
    "build imagenet-c --metrics many": "--metrics",
    "preview --out x.jpg": ".png",
    "plan --samples 1180591620717411303424": "--samples is 1180591620717411303424; expected a whole number of images",
    "build imagenet-c --seed abc": "'--seed': Input should be a valid integer",
    "plan -j0": "'--jobs' / '-j': Input should be greater than or equal to 1",
    "corrupt sample:astronaut fog -s hard": "'--severity' / '-s': Input should be a valid number",
    "build imagenet-c --sets ''": "'--sets': '' is empty.",
    "export '' data --out o": "'' is not a layout. Known layouts:",
    "build imagenet-c --scheduler ''": "scheduler is ''; expected an address such as tcp://host:8786",
    "plan imagenet-c --device cuda": "device is 'cuda', but no set needs a model",
    "build imagenet-c --out /proc/x": "/proc/x cannot be created: No such file or directory. Nothing was written.",
    "build imagenet-c --sets contrast/1 --out ftp://h/x": "ftp://h/x: builds are written to a local folder.",
    "pack data --out s3://bucket/x": "s3://bucket/x: archives are written to a local folder.",
    "verify s3://bucket/x": "To download one, use `corruptset fetch`.",
    "bild": "build",
    "build --sed 3": "--seed",
    "corrupt sample:astronaut gaussian-noise -s 3": "Did you mean 'gaussian_noise'?",
    "corrupt sample:astronaut fog 3": "--severity 3",
    "corrupt fog sample:astronaut -s 3": "fog is the name of a corruption. The image must come first.",
    "preview astronaut": "Did you mean sample:astronaut?",
    "show gaussian-noise": "Did you mean 'gaussian_noise'? `corruptset list",
    "build imagenet": "Did you mean 'imagenet-c'? Also near: ",
    "build fog": "corruptset build imagenet-c --sets 'fog/*'",
    "build imagenet-c --sets fog": "Did you mean 'fog/*'? Also near: 'fog/1', 'fog/2'.",
    "build imagenet-c --source /nowhere/imagenet": "folder:/nowhere/imagenet",
    "build imagenet-c imagenet:/data -j 2": "corruptset build imagenet-c -j 2 --source imagenet:/data",
    "build imagenet-c /data/x": "corruptset build imagenet-c --source folder:/data/x",
    "plan folder:photos --samples 3": "corruptset plan imagenet-c --samples 3 --source folder:photos",
    "build ./photos": "corruptset build imagenet-c --source folder:./photos",
    "build imagenet-c --sets speckle_noise/1": "It is a set of imagenet-c-all and imagenet-c-extra.",
    "build --workers 4": "No such option: --workers. The number of worker processes is set by --jobs N.",
    "build --recipe imagenet-c": "The recipe is the first argument",
    "build --severity 3": "--sets '*/3'",
    "list recipe": "'recipe' is not one of 'corruptions', 'recipes', 'sources', 'calibrations'",
    "plan pairs": "as in: corruptset build pairs --first-stages fog,rotate --second-stages gaussian_noise --",
    "plan pairs --first-stages fgo --second-stages snow": "Did you mean 'fog'",
    "plan pairs --first-stages fgo --second-stages snow:a=2,x=snow:q=3 --calibration tiny": "contains 3 errors",
    "plan pairs --first-stages fog --second-stages snow --severities 6": "item 1: is 6; expected a severity from",
    "plan pairs --first-stages fog:weight=1 --second-stages snow": "so it needs a short name",
    "plan pairs --first-stages a=fog:weight --second-stages snow": "'weight' in 'a=fog:weight' is not an assignment",
    "plan pairs --first-stages fog --second-stages snow --severities one": "is not a list of whole numbers",
    "plan --second-stages snow --orders both": "--second-stages and --orders can only be used with the recipe 'pairs'",
    "plan imagenet-c --severities 3": "cannot be used. Select severities with --sets, such as --sets '*/3,*/5'.",
    "build imagenet-c --format png": "No such option: --format. Files or HDF5 shards are chosen by --storage, and PNG ",
    "plan imagenet-c --first 0": "--first",
    "plan pairs --first fog --second-stages snow": "--first",
    "pack . --out p --max-bytes much": "size such as 50GB",
    "pack . --out p --max-bytes 0": "size such as 50GB",
    "pack . --out p --max-bytes 5XB": "size such as 50GB",
    "score-table .": "Is a directory",
}
"""Command line -> what must be said."""


@pytest.mark.parametrize("line", MISTAKES)
def test_usage_error_exits_with_2_and_states_expected_value(run, line):
    result = run.fails(MISTAKES[line], line)
    assert result.out == ""
    assert "Value error" not in result.err
    message = [line for line in result.err.splitlines() if line and not re.match("Usage: |Try |[╭╰ ]", line)]
    assert len(message) <= 3 or " errors:" in result.err, "a list of what is known is indented"


def test_link_to_itself_is_not_valid_place(run, dataset_dir, tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    for line in ("build imagenet-c --sets contrast/1", f"pack {dataset_dir}", f"export imagefolder {dataset_dir}"):
        run.fails("loop is ", line, "--out", "loop")


def test_list_prints_all_names(run):
    text = run.succeeds("list").out
    corruptions = run.succeeds("list --json").json["corruptions"]
    assert [row["name"] for row in corruptions] == list(corruption_names())
    for row in corruptions:
        assert row["name"] in text
        assert row["parameters"] or row["name"] in ("inverse", "black_lines", "white_lines")
        assert (row["levels"] is None) == (row["family"] != "gradual" and row["name"] != "model_gradient")
    strength = {r["name"]: (r["severities"], r["levels"]) for r in corruptions}
    assert [strength[name] for name in ("fog", "canny_edges", "posterize", "salt_pepper")] == [
        ([1, 2, 3, 4, 5], None), ([1], None), ([], 30), ([], None)
    ]  # fmt: skip
    rows_by_name = {line.split()[0]: line for line in text.replace("gradual ", "", 1).splitlines()}
    assert "level 1-99" in rows_by_name["black_lines"]
    assert "parameters" in rows_by_name["salt_pepper"]
    assert [row["name"] for row in corruptions if not row["preserves_geometry"]] == [
        name for name, line in rows_by_name.items() if line.rstrip().endswith("moves")
    ]
    recipes = {r["name"]: r for r in run.succeeds("list recipes --json").json["recipes"]}
    assert (recipes["imagenet-c"]["sets"], recipes["imagenet-c"]["images"]) == (76, 3_800_000)
    assert recipes["image-degrade-30"]["images"] is None
    assert [r["side"] for r in run.succeeds("list calibrations --json").json["calibrations"]] == [224, 299, 64, 32, 28]


def test_show_prints_documentation_tables_and_reference(run):
    text = run.succeeds("show motion_blur").out
    for expected in ("motion_blur", "angle_deg", "Calibration cifar", "radius", "sigma", "Reference"):
        assert expected in text
    assert run.succeeds("show motion_blur --json").json["tables"]["imagenet"]["5"] == {"radius": 20.0, "sigma": 15.0}
    assert run.succeeds("show imagenet-d --json").json["recipe"]["name"] == "imagenet-c"
    assert run.succeeds("show cifar --json").json["side"] == 32


@pytest.mark.ci
def test_unreachable_scheduler_is_named(run):
    """Test these mistakes with Dask installed, which raises other errors for them."""
    address = "tls://127.0.0.1:1"
    run.fails(f"No Dask scheduler answers at {address}", "build imagenet-c --scheduler", address)
