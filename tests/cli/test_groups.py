"""Groups as a user meets them: Icons-50 cut by a recipe, a folder cut by a CSV, both verified, mended and made
again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import commands
import icons
import numpy as np
import pytest
from PIL import Image

Run = Callable[..., commands.Done]
RECIPE = """
name = "birds"
version = "1.0.0"
calibration = "cifar"

[preprocessing]
kind = "none"

[encoding]
format = "png"

[[sets]]
clean = true

[[sets]]
corruptions = ["contrast"]
severities = [2]
"""
QUIET = ("--jobs", "1", "--metrics", "0", "--format", "folder")


def manifest(root: Path) -> Any:
    return json.loads((root / "manifest.json").read_text("utf-8"))


def rows(root: Path) -> list[Any]:
    return [json.loads(line) for line in (root / "samples.jsonl").read_text("utf-8").splitlines()]


def test_icons50_is_cut_in_two(run, tmp_path):
    recipe, grouping, held = "microsoft", "style", ["microsoft"]
    icons50 = f"icons50:{icons.write_file(tmp_path / 'Icons-50.npy')}"
    source, of_all, seen = ("--source", icons50), icons.fields()[grouping], []
    test = tmp_path / "test" / f"icons50-{recipe}-1.0.0"
    for part, name, options in (("test", icons50, ()), ("train", f"{icons50}?train", ("--disjoint-from", test))):
        asked = ("build", f"icons50-{recipe}", "--source", name, *QUIET, "--out", tmp_path / part, "--json", *options)
        built = run(*asked)
        assert built.code == 0, built.err
        root = Path(built.json["directory"])
        made = manifest(root)
        assert made["selection"]["hold_out"] == {"groups": held, "part": part}
        assert made["selection"]["grouping"] == grouping
        assert {s["role"] for s in (*made["sets"], *made["recipe"]["sets"])} == {part}
        assert {row["group"] in held for row in rows(root)} == {part == "test"}
        assert f": {', '.join(held)}." in (root / "README.md").read_text("utf-8")
        seen += [(row["id"], row["group"]) for row in rows(root)]
        assert run("verify", root, "--jobs", "1", "--rederive", "all", *source).code == 0
        again = run("rebuild --json", root, "--jobs", "1", *source, "--out", tmp_path / f"{part} again").json
        assert (again["identical"], again["digest"]) == (True, built.json["digest"])
    assert sorted(seen) == [(f"data/{i:05d}", group) for i, group in enumerate(of_all)]
    # the other part is another build, and a build of it in the same place is refused
    refused = run("build --train", f"icons50-{recipe}", *source, *QUIET, "--out", tmp_path / "test")
    assert (refused.code, "selection" in refused.err) == (2, True)
    (test / "samples.jsonl").unlink()
    assert run("verify", test, "--jobs", "1", "--repair", *source).code == 0
    assert {row["group"] for row in rows(test)} == set(held)


@pytest.fixture
def birds(tmp_path):
    """A folder of two classes, and beside it a recipe and a CSV of groups."""
    lines = ["file,group"]
    for folder in ("crow", "wren"):
        (tmp_path / "birds" / folder).mkdir(parents=True)
        for i in range(4):
            pixels = np.random.default_rng(i).integers(0, 256, (16, 20, 3), np.uint8)
            pixels[0, 0] = len(folder), i, folder == "crow"
            Image.fromarray(pixels).save(tmp_path / "birds" / folder / f"{i}.png")
            lines.append(f"{folder}/{i}.png,{('day', 'night', 'dusk', 'day')[i]}")
    (tmp_path / "groups.csv").write_text("\n".join(lines))
    (tmp_path / "birds.toml").write_text(RECIPE)
    return tmp_path


def test_a_folder_is_cut_by_a_csv(run, birds):
    source = ("--source", f"folder:{birds / 'birds'}")
    groups = ("--groups", "groups.csv")
    plain = run("build birds.toml --out plain --json", *source, *QUIET).json
    whole = run("build birds.toml --out whole --json", *source, *groups, *QUIET).json
    # groups are in no digest, and leave no trace where there are none
    assert plain["digest"] == whole["digest"]
    before, after = (birds / name / "birds-1.0.0" for name in ("plain", "whole"))
    assert not any("group" in row for row in rows(before))
    assert not {"grouping", "hold_out"} & manifest(before)["selection"].keys()
    with_groups = rows(after)
    assert [row.pop("group") for row in with_groups] == ["day", "night", "dusk", "day"] * 2
    assert with_groups == rows(before)
    assert manifest(after)["selection"] == manifest(before)["selection"] | {"grouping": "csv"}
    assert "groups.csv" not in (after / "manifest.json").read_text("utf-8")
    held = run("build birds.toml --out held --json", *source, *groups, "--hold-out", "group=d*", *QUIET).json
    root = Path(birds / held["directory"])
    assert [row["id"] for row in rows(root)] == ["crow/0", "crow/2", "crow/3", "wren/0", "wren/2", "wren/3"]
    for options in ((), groups):
        assert run("verify", root, "--jobs", "1", "--rederive", "2", *source, *options).code == 0
        rebuilt = run("rebuild --json", root, "--jobs", "1", *source, *options, "--out", f"again{len(options)}")
        assert rebuilt.json["identical"] is True
    text = (root / "samples.jsonl").read_bytes()
    (root / "samples.jsonl").unlink()  # only the CSV knows the groups
    lost = run("verify", root, "--jobs", "1", "--repair", *source)
    assert (lost.code, "--groups" in lost.out) == (1, True)
    assert run("verify", root, "--jobs", "1", "--repair", *source, *groups).code == 0
    assert (root / "samples.jsonl").read_bytes() == text


def test_other_groups_are_another_source(run, birds):
    source = ("--source", f"folder:{birds / 'birds'}", "--groups", "groups.csv")
    root = birds / "out" / "birds-1.0.0"
    assert run("build birds.toml --out out", *source, *QUIET).code == 0
    text = (birds / "groups.csv").read_text()
    (birds / "groups.csv").write_text(text.replace("crow/1.png,night", "crow/1.png,noon"))
    for command in (
        ("verify", root, "--rederive", "1", "--jobs", "1"),
        ("rebuild", root, "--jobs", "1", "--out", "again"),
    ):
        done = run(*command, *source)
        assert (done.code, "crow/1: has group 'noon', expected 'night'" in done.err) == (2, True)
    assert not (birds / "again").exists()


def test_mistakes_are_said_before_anything_is_written(run, birds):
    source = ("--source", f"folder:{birds / 'birds'}")
    for options, said in (
        (("--hold-out", "group=day"), "The source has no groups"),
        (("--train",), "the recipe birds holds out none. Name them with --hold-out group=NAME."),
        (("--groups", "groups.csv", "--hold-out", "day"), "expected group=NAME"),
        (("--groups", "none.csv"), "The groups none.csv cannot be read"),
    ):
        done = run("build birds.toml --out out", *source, *options)
        assert (done.code, said in done.err.replace("\n", " ")) == (2, True), (options, done.err)
    assert not (birds / "out").exists()
