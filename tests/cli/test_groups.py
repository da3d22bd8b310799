"""Test groups of images with Icons-50, which a recipe divides, and with a folder, which a CSV file divides."""

from __future__ import annotations

import json
from pathlib import Path

import icons
import numpy as np
import pytest
import small_builds
from PIL import Image

CONTRAST = '[[sets]]\nclean = true\n[[sets]]\ncorruptions = ["contrast"]\nseverities = [2]\n'
QUIET = "--jobs 1 --metrics 0 --storage folder --no-page --json"


def read_records(root):
    """Return the manifest and the rows of samples.jsonl."""
    rows = [json.loads(line) for line in (root / "samples.jsonl").read_text("utf-8").splitlines()]
    return json.loads((root / "manifest.json").read_text("utf-8")), rows


HELD = {"duck", "rabbit_face", "shark", "victory_hand_type_3"}


def test_icons50_is_split_by_group(run, tmp_path):
    icons50 = f"icons50:{icons.write_file(tmp_path / 'Icons-50.npy')}"
    source, events = ("--source", icons50), []
    test = tmp_path / "test/icons50-subtype-1.0.0"
    for part, name, options in (("test", icons50, ""), ("train", icons50, f"--train --disjoint-from {test}")):
        result = run.succeeds(f"build icons50-subtype --source {name} {QUIET} --out {part} {options}").json
        root = Path(result["directory"])
        results, rows = read_records(root)
        assert results["selection"]["hold_out"] == {"groups": sorted(HELD), "part": part}
        assert results["selection"]["grouping"] == "subtype"
        assert {s["role"] for s in (*results["sets"], *results["recipe"]["sets"])} == {part}
        assert {row["group"] in HELD for row in rows} == {part == "test"}
        assert ": duck, " in (root / "README.md").read_text("utf-8")
        events += [(row["id"], row["group"]) for row in rows]
        assert (
            run.succeeds("rebuild --jobs 1 --json", root, *source, "--out", f"{part} again").json["identical"] is True
        )
    assert sorted(events) == [(f"data/{i:05d}", group) for i, group in enumerate(icons.icon_fields()["subtype"])]
    # The other part is another build, so it cannot be built in the same place.
    run.fails("selection", f"build icons50-subtype --train {QUIET} --out test", *source)
    (test / "samples.jsonl").unlink()
    run.succeeds("verify --jobs 1 --repair", test, *source)
    assert {row["group"] for row in read_records(test)[1]} == HELD


@pytest.fixture
def build(run, tmp_path):
    """Write a folder of two classes, a recipe and groups.csv. Return a function that builds and reads the records."""
    lines = ["file,group"]
    for folder in ("crow", "wren"):
        (tmp_path / "birds" / folder).mkdir(parents=True)
        for i, group in enumerate(("day", "night", "dusk", "day")):
            pixels = np.random.default_rng([i, len(lines)]).integers(0, 256, (16, 20, 3), np.uint8)
            Image.fromarray(pixels).save(tmp_path / "birds" / folder / f"{i}.png")
            lines.append(f"{folder}/{i}.png,{group}")
    (tmp_path / "groups.csv").write_text("\n".join(lines))
    recipe = small_builds.write_recipe(tmp_path, more=CONTRAST)

    def call(out, options=""):
        root = Path(
            run.succeeds(f"build {recipe} --source folder:birds {QUIET} --out {out} {options}").json["directory"]
        )
        return root, *read_records(root)

    return call


GROUPS = "--groups groups.csv"
REMAKE = "--jobs 1 --source folder:birds"


def test_csv_adds_groups_without_changing_digests(build):
    (_, plain, before), (root, full, after) = build("plain"), build("whole", GROUPS)
    assert plain["digest"] == full["digest"]
    assert not {"grouping", "hold_out"} & plain["selection"].keys()
    assert [row.pop("group") for row in after] == ["day", "night", "dusk", "day"] * 2
    assert after == before
    assert full["selection"] == plain["selection"] | {"grouping": "csv"}
    assert "groups.csv" not in (root / "manifest.json").read_text("utf-8")


def test_folder_is_split_by_csv(run, build, tmp_path):
    root, _, rows = build("held", f"{GROUPS} --hold-out 'group=d*'")
    assert [row["id"] for row in rows] == ["crow/0", "crow/2", "crow/3", "wren/0", "wren/2", "wren/3"]
    for options in ("", GROUPS):
        run.succeeds(f"verify {REMAKE} --rederive 2 {options}", root)
        assert (
            run.succeeds(f"rebuild {REMAKE} --json {options} --out again{len(options)}", root).json["identical"] is True
        )
    text = (root / "samples.jsonl").read_bytes()
    (root / "samples.jsonl").unlink()  # Only the CSV file contains the groups.
    run.fails("--groups", f"verify {REMAKE} --repair", root, code=1)
    run.succeeds(f"verify {REMAKE} --repair {GROUPS}", root)
    assert (root / "samples.jsonl").read_bytes() == text
    groups = (tmp_path / "groups.csv").read_text()
    (tmp_path / "groups.csv").write_text(groups.replace("crow/2.png,dusk", "crow/2.png,dawn"))
    for command in ("verify --rederive 1", "rebuild --out another"):
        run.fails("crow/2: has group 'dawn', expected 'dusk'", f"{command} {REMAKE} {GROUPS}", root)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--hold-out group=day", "The source has no groups"),
        ("--train", "the recipe small-c holds out no groups. Name groups with --hold-out group=NAME."),
        (f"{GROUPS} --hold-out day", "expected group=NAME"),
        ("--groups none.csv", "The group file none.csv cannot be read"),
    ],
)
def test_group_errors_are_reported_before_anything_is_written(run, build, options, message):
    run.fails(message, f"build small-c-png.toml --source folder:birds --out out {options}")
